/* The kinds of runners (agents/node/runner.h). */
#ifndef HOLDFAST_AGENTS_NODE_RUNNER_LIST_H
#define HOLDFAST_AGENTS_NODE_RUNNER_LIST_H

/* X(ID, kind, the member of a heartbeat's reply that has the key) */
#define RUNNER_LIST(X)                     \
    X(LIFECYCLE, lifecycle_runner, "work") \
    X(RESET, reset_runner, "reset")        \
    X(REBOOT, reboot_runner, "reboot")     \
    X(DEEP_CHECK, deep_check_runner, "check")

enum runner_id {
#define X(id, kind, member) RUNNER_##id,
    RUNNER_LIST(X)
#undef X
        RUNNER_COUNT
};

#endif
