/*
 * Slurm's words: one-line node records, fixed-width job lines, state words and reasons.
 *
 * The input comes from programs of any version from 20.11 on, and reasons and comments in it from
 * anybody who may write them. So nothing is assumed that is not checked: a record that is not understood is
 * refused as a whole, never half-read.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_PARSE_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_PARSE_H

#include "server/scheduler/scheduler.h"

/* What a state word says, and the few groups of them that matter. */
enum slurm_state {
    SLURM_STATE_UP = 1 << 0,   /* the base word is one in which a node takes work */
    SLURM_STATE_BUSY = 1 << 1, /* work is running or completing */
    SLURM_STATE_DOWN = 1 << 2,
    SLURM_STATE_DRAIN = 1 << 3,
    SLURM_STATE_FAIL = 1 << 4,
    SLURM_STATE_MUTE = 1 << 5,      /* its daemon is not heard, or cannot be */
    SLURM_STATE_AWAY = 1 << 6,      /* maintenance, power saving, reboot under way: no new work */
    SLURM_STATE_OTHER = 1 << 7,     /* a base word that we do not know */
    SLURM_STATE_MAINT = 1 << 9,     /* in a maintenance reservation */
    SLURM_STATE_RESERVED = 1 << 10, /* in somebody's reservation, or planned for a job */
    SLURM_STATE_OFF = 1 << 8, /* slurmctld switched it off, or is about to have it on again: power saving, a reboot */
};
#define SLURM_STATE_HELD (SLURM_STATE_DOWN | SLURM_STATE_DRAIN | SLURM_STATE_FAIL)

struct slurm_node {
    struct scheduler_node seen;
    unsigned state;                                           /* bits of enum slurm_state */
    char address[ADDRESS_MAX_BYTES], host[ADDRESS_MAX_BYTES]; /* NodeAddr, NodeHostName; "": not shown */
    bool blanked;                                             /* the reason is SLURM_REASON_BLANK, and shown as none */
};

/* Stands for no reason, which no update can give a node. */
#define SLURM_REASON_BLANK " "

/* What a node is made of, and what jobs have of it. */
#define SLURM_WORDS_MAX 4
#define SLURM_WORD_BYTES_MAX 1024
struct slurm_has {
    int64_t cpus, cpus_used, memory_mib, memory_used_mib;
    char words[SLURM_WORDS_MAX][SLURM_WORD_BYTES_MAX]; /* partitions, active features, gres, gres in use; "" for none */
};

struct slurm_job {
    struct scheduler_job seen;
    char target[SCHEDULER_JOB_ID_MAX]; /* the id that requeue and cancel want: "12", "12_3", the leader of a het job */
    bool ending;                       /* COMPLETING: it has been told */
};

/* Bits of enum slurm_state for "IDLE+DRAIN", "DOWN*+CLOUD", "drained*". */
unsigned slurm_state_parse(const char *text);
/* Reasons that slurmctld and slurmd write by themselves: a finding, not somebody's decision. */
bool slurm_reason_is_automatic(const char *reason);
/* Those of them that a repair puts an end to. */
bool slurm_reason_is_cured(const char *reason);
/* Slurm took the node down and kept the blank in place of its own words. */
bool slurm_downed_unsaid(const struct slurm_node *node);
/* Reasons that Holdfast writes for holding a node. */
/* What we write as a node's reason: HyperPod's words for the repairs, and ours for a hold; and behind somebody else's reason. */
#define SLURM_REASON_REBOOT "Action:Reboot"
#define SLURM_REASON_REPLACE "Action:Replace"
#define SLURM_REASON_OURS "holdfast: "
#define SLURM_REASON_ANNOTATION " (holdfast: "
bool slurm_reason_is_ours(const char *reason);
/* REBOOT or REPLACE for the two exact texts, NONE else. */
enum scheduler_request slurm_reason_action(const char *reason);

/* One line of "scontrol -o show node"; the line is cut up in place. stamp is what stands behind the seconds in
 * the time of a reason ("~" and a secret), NULL for Slurm's own time formats. STATUS_BACKEND when it is no such line. */
int slurm_parse_node(char *line, const char *stamp, struct slurm_node *ret_node);

/* The same of words that came otherwise; state, reason and reason_user are made printable in place. A user without a reason says nothing. */
int slurm_node_of_words(const char *name, char *state, char *reason, char *reason_user, struct slurm_node *ret_node);

/* Of the same line, before it is cut up. What is not there, or too long, is 0 or "". */
void slurm_parse_has(char *line, struct slurm_has *ret_has);

/* Columns of SLURM_JOB_FORMAT. STATUS_BACKEND likewise; STATUS_NOT_FOUND for a job that occupies nothing (pending, over). */
#define SLURM_JOB_FORMAT "JobArrayID:40,HetJobID:16,BatchFlag:8,Requeue:8,State:24,UserName:64"
int slurm_parse_job(char *line, struct slurm_job *ret_job);
/* The same of words. leader: the first part's id of a heterogeneous job, else "0" or what is no id. */
int slurm_job_of_words(const char *id, const char *leader, char *state, char *user, bool requeueable,
                       struct slurm_job *ret_job);

/* A flag as squeue prints it: "1" or "yes". */
bool slurm_is_yes(const char *s);

/* Takes the next line off *rest (at a newline or the end); NULL when there is none. */
char *slurm_next_line(char **rest);

/* Letters, digits, '.', '_', '-', at most 63, not beginning with '-'. */
bool slurm_is_node_name(const char *name);
/* Bytes that would hurt a terminal, a log or JSON become '?'. */
void slurm_make_printable(char *text);
/* Printable text of one line. */
bool slurm_is_line(const char *text);
/* The same, and it fits. */
bool slurm_is_reason(const char *reason);

#endif
