/*
 * One turn's transaction: what is written in it of nodes, operations and the timeline.
 *
 * Inside a transaction (on the writer's thread, while the loop waits) nothing in memory is changed: what shall change is noted as an
 * effect (base/effect.h) and done after the commit, because a transaction may be run again and may fail.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_RECORD_H
#define HOLDFAST_SERVER_RECONCILE_BASE_RECORD_H

#include "base/log.h"
#include "model/model.h"

struct db_tx;
struct decide_batch;
struct effect;
struct provision;
struct rcluster;
struct reconcile;
struct rgroup;
struct rnode;

#define OPERATE_MAX 64    /* operations advanced in a turn */
#define TURN_LINES_MAX 64 /* lines for the log from one turn; more are counted */

struct turn_line {
    enum log_level level;
    char *text;
};

/* One turn's transaction. */
struct turn {
    struct reconcile *r;
    struct db_tx *tx;
    int64_t now;
    struct decide_batch *batch; /* nodes that are looked at; NULL: none */
    struct rnode *ready[OPERATE_MAX];
    size_t ready_count;
    int slots_left;               /* backend calls that may still be sent */
    int provider_slots_left;      /* … of those that are no scheduler's */
    struct provision *provision;  /* a cluster that moves; NULL: none */
    const struct rcluster *asked; /* the cluster that the store was asked about in this turn; NULL: none yet … */
    bool asked_paused;            /* … and whether a person has paused it */
    bool muted;                   /* nothing is told: it was told the first time */
    bool tidies;                  /* with housekeeping */
    struct effect *effects;
    size_t effect_count, effect_capacity;
    struct event_about about; /* of the next event */
    int64_t event_count;
    struct turn_line lines[TURN_LINES_MAX];
    size_t line_count;
    int64_t lines_left_out;
};

void turn_reset(struct turn *turn);
/* What the next event of the turn is about, for programs; "" for what it does not have. */
void turn_about(struct turn *turn, const char *subject, const char *state, const char *actor);
/* The same of a state or health, with what it was. */
void turn_about_move(struct turn *turn, const char *was, const char *is);
int turn_event(struct turn *turn, enum event_level level, enum event_kind kind, struct rnode *node,
               const struct operation *operation, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
int turn_cluster_event(struct turn *turn, enum event_level level, enum event_kind kind, const struct rcluster *cluster,
                       const char *failure, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* A line about the operation of a change of the whole cluster; its error is why it failed. */
int turn_change_event(struct turn *turn, enum event_level level, enum event_kind kind,
                      const struct operation *operation, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Moves by the table (a move it does not hold is our bug), writes the row, tells the timeline. */
int turn_node_move(struct turn *turn, struct rnode *node, struct node *row, enum node_state to, const char *reason);
/* A line about a group; failure may be "". */
int turn_group_event(struct turn *turn, enum event_level level, enum event_kind kind, const struct rgroup *group,
                     const char *failure, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Writes the row as it is. */
int turn_node_write(struct turn *turn, struct rnode *node, const struct node *row);

struct new_operation {
    enum operation_kind kind;
    enum urgency urgency;
    enum operation_cause cause;
    const char *key, *reason, *actor;
    const char *code;                /* what it is about, where no decision says that; NULL: nothing */
    const char *uid;                 /* NULL: a new one */
    const struct decision *decision; /* NULL: none */
};

/* EXISTS or CONFLICT when there is one already: nothing was done. */
int turn_operation_new(struct turn *turn, struct rnode *node, const struct node *row,
                       const struct new_operation *wanted, int64_t *ret_id);
/* Notes an event that was written; forgets those of a transaction that was not, writes those of one that was. */
void turn_log(struct turn *turn, const struct event *event);
void turn_log_forget(struct turn *turn);
void turn_log_write(struct turn *turn);

#endif
