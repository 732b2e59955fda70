/*
 * hprun itself: one node's workers, from their start to their end, in stages (a script before, training, a script after).
 *
 * Who decides is one of three: HyperPod's operator, or ours, over HTTP (hyperpod); this hprun alone (one node); or the hprun of the
 * first node (meet.h). All of them call launcher_begin and launcher_stop, and hear of the end by launcher.on_over.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_LAUNCHER_H
#define HOLDFAST_AGENTS_LAUNCHER_LAUNCHER_H

#include "agents/launcher/loop.h"
#include "agents/launcher/options.h"
#include "agents/launcher/output.h"
#include "agents/launcher/place.h"
#include "agents/launcher/state.h"
#include "agents/launcher/watch.h"
#include "agents/launcher/worker.h"
#include "base/clock.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

enum stage { STAGE_NONE, STAGE_PRE, STAGE_TRAIN, STAGE_POST };

/* What a worker says of itself over its socket. */
struct heartbeat {
    int64_t at_ms; /* of the wall clock; 0: never */
    int64_t step;
    double loss;
    bool has_step, has_loss;
    char checkpoint[512];
};

enum over {
    OVER_SUCCESS,
    OVER_FAULT,   /* launcher.reason and message say what; workers may still be ending */
    OVER_STOPPED, /* as asked by launcher_stop; no worker is left */
};

struct launcher {
    const struct options *options;
    char *const *env;
    struct loop loop;
    struct console consoles[2];
    struct watch *watch;    /* NULL: nobody watches the output */
    struct rule_list rules; /* for the next start */
    int64_t rules_file_checked_ms, rules_file_stamp;

    enum agent_state state;
    int64_t moved_ms[AGENT_STATES];     /* wall clock; 0: never */
    char *reason, *message;             /* of the state */
    char *fault_reason, *fault_message; /* of the last fault */

    struct place place;
    enum stage stage;
    struct worker *workers;
    int worker_count, running;
    struct heartbeat *heartbeats; /* one a local rank */
    bool faulted, stopping;
    int64_t kill_at_ms; /* 0: no */
    char *log_root;     /* goes with us, unless --log-dir names where it is kept */
    char *log_stage;    /* of the stage that runs */

    void (*on_over)(struct launcher *launcher, enum over over);
    bool has_faulted, has_succeeded, is_stopped; /* to be told by launcher_tell */
    struct socket_server *socket;                /* NULL: none */
    struct http_server *http;                    /* NULL: none */
    struct meet *meet;                           /* with other nodes, without an operator; NULL: none */
    int assigned_rank;                           /* by the operator; -1: none yet */
    char address_version[64];                    /* of pod_resourceconfig.json; "": none */
    bool done;
    int exit_code, ended_by; /* ended_by: a signal, or 0 */
};

/* STATUS_IO with the reason logged. */
int launcher_init(struct launcher *launcher, const struct options *options, char *const env[]);
void launcher_free(struct launcher *launcher);

/* Aborts where the table of states does not have the move. reason and message may be NULL. */
void launcher_move(struct launcher *launcher, enum agent_state to, const char *reason, const char *message);
bool launcher_may_move(const struct launcher *launcher, enum agent_state to);

/* Starts the stages for place. No worker may be running. */
void launcher_begin(struct launcher *launcher, const struct place *place);
/* Asks the workers to end, kills them after timeout_ms, and on_over(OVER_STOPPED) follows. */
void launcher_stop(struct launcher *launcher, int signal, int64_t timeout_ms);
/* Something says that the workers are no good: the log, a worker. They go on until somebody stops them. Once a run. */
void launcher_fault(struct launcher *launcher, const char *reason, const char *message);
/* Rules for the workers that run, and for those that follow. Takes the list over. */
void launcher_set_rules(struct launcher *launcher, struct rule_list *rules);

/* Calls on_over for what has happened; after each event. */
void launcher_tell(struct launcher *launcher);

/* When launcher_tick has something to do (monotonic); INT64_MAX: never. */
int64_t launcher_due_ms(const struct launcher *launcher);
void launcher_tick(struct launcher *launcher, int64_t now_ms);
/* A signal that came to us. */
void launcher_take_signal(struct launcher *launcher, int signal);

#endif
