/*
 * The conversation with the server: enrol, heartbeat, report; one exchange at a time, never waiting.
 *
 *     STRANGER ──enrolled──► KNOWN ──401──► REJECTED ─┐
 *        ▲                     │                      ├─ a token is there: enrol again
 *        └─────────────────────┴──stale──► STALE ─────┘
 *
 * STRANGER  no credential yet
 * KNOWN     heartbeats and reports flow
 * REJECTED  the server does not know the credential (any more)
 * STALE     this instance was replaced: it must not report for the node
 *
 * A machine of an inventory asks for its standing in another way: it reports as a spare, again and again, until the server answers
 * which instance it is. That may be another one than before: then the agent begins anew as that (becomes).
 */
#ifndef HOLDFAST_AGENTS_NODE_LINK_H
#define HOLDFAST_AGENTS_NODE_LINK_H

#include "agents/node/message.h"
#include "agents/node/spool.h"
#include "agents/node/state.h"
#include "base/clock.h"
#include "base/wire.h"

#include <stdbool.h>

#define LINK_MACHINE_MS 5000              /* changes within this time (all checks at the start) are sent together */
#define LINK_REPORT_BYTES_MAX (96 * 1024) /* under AGENT_BODY_BYTES_MAX with the largest verdict on top */

enum link_standing { LINK_STRANGER, LINK_KNOWN, LINK_REJECTED, LINK_STALE };
enum link_ask {
    LINK_NOTHING,
    LINK_ENROLL,
    LINK_SPARE,
    LINK_HEARTBEAT,
    LINK_REPORT,
    LINK_MACHINE,
    LINK_SETTINGS,
    LINK_SETTINGS_SAID
};

struct link_options {
    const char *node;       /* NULL: the token names it */
    const char *machine;    /* of an inventory, by its name there: the server says what it is; NULL: it is a node */
    const char *token_file; /* NULL: none */
    const char *address;    /* of this machine; NULL: this end of the connection */
    int64_t heartbeat_interval_ms;
    int64_t backoff_min_ms, backoff_max_ms;
    int64_t probe_ms; /* REJECTED: how often to try whether the credential is valid again */
    int64_t token_ms; /* how often to look for a token */
};

struct link {
    struct link_options options;
    const struct clock *clock;
    struct wire *wire;
    struct spool *spool;
    const struct state *state;
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES];
    enum link_standing standing;
    enum link_ask ask;
    struct message_enrolled enrolled;
    bool kmsg_covered;   /* set by the owner */
    bool resets;         /* set by the owner, */
    bool reboots;        /* as this, */
    int64_t deep_checks; /* and this */
    struct text body, record;
    struct verdict verdict;                /* scratch of a report */
    uint64_t batch[VERDICTS_PER_POST_MAX]; /* serials of the report in flight */
    size_t batch_len, batch_max;           /* batch_max shrinks to 1 when a report was refused */
    int64_t heartbeat_at, not_before, last_seq;
    int failures;
    bool away, told_no_token, reported_last, rested;
    bool (*on_inject)(const char *line, void *arg);
    /* For each kind of runner, with every heartbeat. key "": nothing is requested. */
    void (*on_order)(enum runner_id id, const char *key, void *arg);
    void (*write_machine)(struct text *out, void *arg); /* the machine report; NULL: none */
    bool machine_changed;                               /* set by the owner: to be sent */
    int64_t machine_at;                                 /* not before this time */
    /* The settings of the node's group: whether a tag is new, the text itself, and the report about them. */
    bool (*is_settings_news)(uint64_t tag, void *arg); /* NULL: settings are not taken */
    void (*on_settings)(const char *body, size_t len, void *arg);
    void (*write_settings)(struct text *out, void *arg);
    uint64_t settings_tag;                /* set by the owner */
    bool settings_said, settings_changed; /* set by the owner: there is a report; it is to be sent */
    bool settings_wanted;                 /* to be fetched */
    void *arg;
    char machine_credential[CREDENTIAL_MAX_BYTES];    /* of options.machine; "": not enrolled yet */
    char becomes[ID_INSTANCE_MAX];                    /* the instance that it is from now on; "": it stays what it is */
    bool waits;                                       /* as a spare */
    void (*write_spare)(struct text *out, void *arg); /* set by the owner of a machine */
    int64_t refused;                                  /* verdicts that the server refused for good */
};

/* All arguments must outlive the link. The caller owns wire and spool. */
void link_init(struct link *link, const struct link_options *options, const struct clock *clock, struct wire *wire,
               struct spool *spool, const struct state *state, const char *instance_id, const char *boot_id);
void link_clear(struct link *link);
/* Does what is due. Never waits. */
void link_turn(struct link *link);
/* When link_turn has to be called next, monotonic. */
int64_t link_due_ms(const struct link *link);
/* Seq of the protocol: CLOCK_BOOTTIME in milliseconds, and at least one more than the last. */
int64_t link_next_seq(struct link *link);

#endif
