/* The part of hpd's configuration that says which schedulers it drives: schedulers, a list, or slurm for a single one. */
#ifndef HOLDFAST_SERVER_CONFIG_SCHEDULER_H
#define HOLDFAST_SERVER_CONFIG_SCHEDULER_H

#include "base/json.h"
#include "model/group_spec.h"
#include "model/limits.h"
#include "server/scheduler/scheduler.h"

#ifndef CONFIG_ERROR_MAX
#define CONFIG_ERROR_MAX 512
#endif

#define CONFIG_SCHEDULERS_MAX 32
#define CONFIG_SCHEDULER_PATH_MAX (NAME_MAX_BYTES + 16)
#define CONFIG_SCHEDULER_ONLY "slurm" /* what the one of the short form is called */

struct config_scheduler;

/* A kind of scheduler, as hpd's configuration has it; scheduler.c has the table of them. */
struct config_scheduler_kind {
    const char *name;       /* after kind: in the file; its driver's name as well */
    const char *reached_by; /* the keys that make two of them different, for people: "conf, ssh.host or rest.url" */
    /* What a mapping has beside name and kind: into scheduler and its options. ret_error: CONFIG_ERROR_MAX bytes. */
    int (*read)(struct config_scheduler *scheduler, json_t *json, char *ret_error);
    bool (*is_same)(const struct config_scheduler *a, const struct config_scheduler *b); /* one, under two names */
    /* Logs what keeps it from working now. It may come later, so it is no error. */
    void (*warn)(const struct config_scheduler *scheduler);
    int (*make)(const struct config_scheduler *scheduler, struct scheduler_driver *ret_driver);
    void (*free)(struct config_scheduler *scheduler); /* its options; also of one that was not read to its end */
};

struct config_scheduler {
    char name[NAME_MAX_BYTES];            /* by which clusters name it */
    char path[CONFIG_SCHEDULER_PATH_MAX]; /* of its keys in the file, for messages: "slurm", "schedulers.east" */
    char arn[SCHEDULER_ARN_MAX_BYTES];    /* by which clusters of the AWS API name it; "": by its kind only */
    int64_t observe_interval_ms;          /* 0: recovery.observeInterval */
    int64_t job_snapshot_interval_ms;     /* 0: it is never asked for its jobs */
    bool managed;                         /* its nodes and partitions are written by us … */
    bool topology_managed;                /* … and its switches */
    enum desired_strategy strategy;       /* … by this */
    const struct config_scheduler_kind *kind;
    void *options; /* the kind's own */
};

struct config_schedulers {
    struct config_scheduler *list; /* owned */
    size_t count;
};

/* Either may be NULL: the file does not say it. ret_error: CONFIG_ERROR_MAX bytes. */
int config_schedulers_read(struct config_schedulers *schedulers, json_t *slurm, json_t *list, char *ret_error);
void config_schedulers_free(struct config_schedulers *schedulers); /* the contents */

#endif
