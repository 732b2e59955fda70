/*
 * What the gathering hprun decides, apart from sockets: who is there, which rank they have, and what is to be said to whom. Pure but for
 * what it calls.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_MEET_HOST_H
#define HOLDFAST_AGENTS_LAUNCHER_MEET_HOST_H

#include <stdbool.h>
#include <stdint.h>

enum member_state { MEMBER_WAITS, MEMBER_RUNS, MEMBER_SUCCEEDED, MEMBER_STOPPED };
enum phase { PHASE_GATHER, PHASE_RUN, PHASE_STOP, PHASE_END };

struct member {
    enum member_state state;
    int node_rank; /* as it said, of static; -1 */
    int rank;      /* in this start; -1: has no part in it */
    int64_t order; /* of joining */
    void *connection;
    struct member *next;
};

struct host {
    int nodes_min, nodes_max;
    bool ranked; /* static: the nodes say which one they are */
    int64_t restart_count, max_restarts, last_call_ms, joined;
    enum phase phase;
    bool counts;                              /* what made it stop counts as a restart */
    int64_t gather_until_ms, last_call_at_ms; /* 0: no */
    struct member *members;
    char reason[256], message[1024]; /* of the last fault */
    /* all of them for the members of this start */
    void (*start)(void *arg, struct member *member, int rank, int nodes);
    void (*stop)(void *arg, struct member *member);
    void (*end)(void *arg, struct member *member, bool succeeded);
    void *arg;
};

/* A node came. *ret_why is set when it cannot have part (STATUS_CONFLICT). It is the caller's, until host_leave. */
int host_join(struct host *host, struct member *member, int64_t now_ms, const char **ret_why);
/* A node is gone. */
void host_leave(struct host *host, struct member *member, int64_t now_ms);
void host_fault(struct host *host, const char *reason, const char *message);
void host_succeeded(struct host *host, struct member *member);
void host_stopped(struct host *host, struct member *member, int64_t now_ms);
void host_tick(struct host *host, int64_t now_ms);
int64_t host_due_ms(const struct host *host);

#endif
