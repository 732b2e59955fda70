/*
 * The fault tables: what each code means, what it asks for, and who says so. Data, versioned, pure.
 *
 * Used by agents (to know a line and its severity) and by the policy (to decide). A verdict carries the
 * version of the table its agent had; the policy judges by its own table from the raw line.
 */
#ifndef HOLDFAST_POLICY_FAULTS_FAULTS_H
#define HOLDFAST_POLICY_FAULTS_FAULTS_H

#include "model/health.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "2026-11-20.1": changes with every change of a row. Static. */
const char *fault_table_version(void);

/* A row of a table. Texts are static. */
struct fault_row {
    const char *code;         /* "xid.79", "node.disk.full" */
    int number;               /* the vendor's (Xid, SXid, DCGM error); 0: none */
    const char *mnemonic;     /* the vendor's name, "" where it has none */
    const char *meaning;      /* our words */
    const char *nvidia;       /* the immediate bucket of NVIDIA's Xid catalog, "" where it has none */
    enum action_class action; /* first time */
    enum action_class again;  /* same device again within repeat_window_ms after a repair */
    enum urgency urgency;
    enum severity severity; /* what an agent reports */
    int rate_count;         /* WATCH and APP: this many within rate_window_ms ask for rate_action; 0: never */
    int64_t rate_window_ms;
    enum action_class rate_action;
    int64_t lasts_ms;               /* WATCH: still there after this long asks for lasts_action; 0: never */
    enum action_class lasts_action; /* WATCH without lasts_ms: it is there to be read, however long it lasts */
    bool sympathetic;               /* goes with other codes within a minute: folded into them */
    bool driver_word;               /* what the driver itself asks for: supersedes other codes on that device */
    const char *cancels;            /* this code takes that one back ("xid.162" takes "xid.163" back); "": none */
    const char *ends;               /* this code says that those which begin so are over; "": none */
    const char *sources;            /* "[V] NVIDIA catalog: RESTART_BM; [V] NVSentinel …; [P] …" */
};

/* The codes of a table begin with its name: "xid.", "node." */
struct fault_table {
    const char *name, *about;
    const struct fault_row *rows; /* xid, sxid, dcgm: in ascending order of number; the others: as in their file */
    size_t count;
};

/* All tables, in the order in which people read them. */
const struct fault_table *fault_tables(size_t *ret_count);
/* NULL: there is none of this name. */
const struct fault_table *fault_table_find(const char *name);
/* NULL for a code that no table has. */
const struct fault_row *fault_find(const char *code);
/* By the vendor's number: fault_find_number("dcgm", 85). */
const struct fault_row *fault_find_number(const char *table, int number);

/* The agent's checks that have to look before a node returns that was repaired for this code: "nvidia dcgm"; "": none. Static. */
const char *fault_return_checks(const char *code);
/* The checks that have to have looked before a new machine takes work: "nvidia efa". Static. */
const char *fault_launch_checks(void);
/* Whether a machine of which a check finds this is none that came up, though it costs no node that works. */
bool fault_bars_launch(const char *code);

/* What is broken when this code is seen; also for codes that no table has ("xid.999" is a GPU's). */
enum fault_class fault_class_of(const char *code);

/* What else is known of codes (trait.def). The policy compares codes here alone. */
enum fault_trait {
    FAULT_TRAIT_OF_A_PLACE, /* many nodes may show it for one reason that is no node's: heat, a line, a file server, a switch */
    FAULT_TRAIT_PLANNED,      /* by the provider, with a date: the breaker does not count it */
    FAULT_TRAIT_TESTED_ALONE, /* a failed deep test that one node can run again */
    FAULT_TRAIT_DOUBLE_BIT,   /* of memory: its companions say how urgent it is */
    FAULT_TRAIT_CONTAINED,    /* such a companion: a row was remapped, or the error contained */
    FAULT_TRAIT_UNCONTAINED,
    FAULT_TRAIT_SUSPECTED, /* what a report says */
    FAULT_TRAIT_JOB_FAILED,
    FAULT_TRAIT_STRAGGLER,
    FAULT_TRAIT_OF_AN_IMAGE,      /* software that an image has or lacks; no broken device shows it */
    FAULT_TRAIT_NETWORK_OUTAGE,   /* a switch, or another thing at the end of its cables, may be down … */
    FAULT_TRAIT_POWER_OUTAGE,     /* … or the power or cooling of a rack */
    FAULT_TRAIT_EVENT,            /* such a one that has happened once */
    FAULT_TRAIT_ANSWERED_BY_TEST, /* such a report, until a deep check has passed */
};
bool fault_has_trait(const char *code, enum fault_trait trait);
/* Whether the word is the code or the beginning of it, up to a point: "node.disk" covers "node.disk.full". */
bool fault_word_covers(const char *word, size_t word_len, const char *code, size_t len);

/* No finding of this code costs a node or colours its health, however often it comes and whatever its line says: it is there
 * to be read. False for codes that no table has. */
bool fault_is_inert(const char *code);

/* One NVRM line taken apart. Views point into the line. */
struct xid_line {
    int code;
    bool is_sxid;                  /* an NVSwitch line, "SXid" */
    char device[DEVICE_MAX_BYTES]; /* "PCI:0000:b9:00" made plain: "0000:b9:00", lower case */
    int64_t pid;                   /* 0: none or unknown */
    const char *detail;            /* what follows the code */
    size_t detail_len;
};

/* Finds "NVRM: Xid (PCI:…): N, …" anywhere in a line (any prefix of time stamps). 0, or STATUS_NOT_FOUND when the
 * line holds none, or STATUS_INVALID when it starts like one and is broken. len bytes, no zero needed. */
int xid_line_parse(const char *line, size_t len, struct xid_line *ret_xid);

/* The table's and the line's own word together: decodes Xid 154's recovery action, the registers of 74 and of 144–150, and
 * the fatal flag of NVSwitch lines; for the codes of other tables the row speaks alone. One line at a time: what
 * companions change (48 with 63) is the policy's folding. */
struct fault_judgement {
    const struct fault_row *row; /* NULL: a code nobody knows: SUPPORT is never guessed, WATCH is */
    enum action_class action, again;
    enum urgency urgency;
    enum severity severity;
    bool
        undecided; /* NVIDIA leaves it to an Xid 154 beside it: one GPU's is watched, of several at once it is the fabric */
    bool by_site;                 /* an override said it, whatever the table and the line say */
    bool driver_word;             /* Xid 154 or its twin of nvidia-smi: supersedes other codes on that device */
    char why[SENTENCE_MAX_BYTES]; /* "Xid 79 (GPU has fallen off the bus): NVIDIA asks to restart the machine" */
};

/* What a site says otherwise about a code. Texts are copied. */
struct fault_override {
    const char *code, *instance_type; /* instance_type "": for all that have no row of their own */
    enum action_class action, again;
    enum urgency urgency;
    int rate_count; /* 0: never */
    int64_t rate_window_ms;
    enum action_class rate_action;
    const char *why; /* shown where the sources are */
};
#define FAULT_OVERRIDES_MAX 256 /* each is looked at for every verdict */

/* Constant once it is in use. */
struct fault_overrides;
/* tag: six characters that tell it from other versions of it; part of fault_version_in. */
struct fault_overrides *fault_overrides_new(const char *tag);
void fault_overrides_free(struct fault_overrides *overrides);
/* INVALID with words that complete "xid.79 …"; static. */
int fault_overrides_add(struct fault_overrides *overrides, const struct fault_override *wanted, const char **ret_wrong);
size_t fault_overrides_count(const struct fault_overrides *overrides);
/* For any type of instance. overrides may be NULL. */
bool fault_is_overridden(const struct fault_overrides *overrides, const char *code);

/* Whose word counts: the site's for this type of instance, then the tables'. NULL or zeros: the tables alone. */
struct fault_scope {
    const struct fault_overrides *overrides;
    const char *instance_type;
};
const char *fault_version_in(const struct fault_scope *scope);

/* code is a verdict's ("xid.79", "node.disk.full"); raw_line may be "". Always fills *ret_judgement. */
void fault_judge_in(const struct fault_scope *scope, const char *source, const char *code, const char *raw_line,
                    struct fault_judgement *ret_judgement);
/* By the tables alone. */
void fault_judge(const char *source, const char *code, const char *raw_line, struct fault_judgement *ret_judgement);

/* Whether two lines of one code are about the same part of the device, for rate rules: Xid 13 by GPC and TPC, 74 by
 * link. True where the code has no parts or a line does not name one. */
bool fault_same_unit(const char *code, const char *line_a, const char *line_b);

#endif
