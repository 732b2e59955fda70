/* What an executable of a site says, by its exit code and its output, and what that means here. Pure. */
#ifndef HOLDFAST_SERVER_PROVIDER_COMMAND_ANSWER_H
#define HOLDFAST_SERVER_PROVIDER_COMMAND_ANSWER_H

#include "base/enum.h"
#include "server/provider/provider.h"

/* Their names are those of the executables. */
#define COMMAND_ACTION_LIST(X) \
    X(LAUNCH, "launch")        \
    X(DESCRIBE, "describe")    \
    X(REBOOT, "reboot")        \
    X(TERMINATE, "terminate")

enum command_action {
#define X(SYMBOL, text) COMMAND_ACTION_##SYMBOL,
    COMMAND_ACTION_LIST(X)
#undef X
        COMMAND_ACTION_COUNT
};
ENUM_DECLARE(command_action);

/* What an exit code means. Every other one is a fault of the executable: it is run again. */
#define COMMAND_EXIT_LIST(X)                                                \
    X(0, 0, "done")                                                         \
    X(3, STATUS_FULL, "no capacity: repairs that need a machine wait")      \
    X(4, STATUS_UNAVAILABLE, "not now: asked again within the step's time") \
    X(5, STATUS_DENIED, "never: the step fails at once")                    \
    X(6, STATUS_NOT_FOUND, "no such machine: it is gone, or never was")

/* An answer that is longer is none. */
#define COMMAND_ANSWER_BYTES_MAX ((size_t)64 * 1024)
#define COMMAND_LIST_BYTES_MAX ((size_t)32 * 1024 * 1024) /* of list and events */

/* How one run ended. */
struct command_run {
    int status;    /* of running it at all: 0, TIMEOUT, NOT_FOUND, IO */
    int exit_code; /* with status 0 */
    const char *out, *err;
    bool out_cut;
};

/* What the run means, and for what was done the machine in ret_instance (launch and describe). ret_error (PROVIDER_ERROR_MAX bytes)
 * has the last line of standard error, or what is wrong with the answer (status BACKEND). */
int command_answer(enum command_action action, const struct command_run *run, struct provider_instance *ret_instance,
                   char *ret_error);

/* What the executable "list" said: {"machines": [{"ref": …, "instanceId": …}]}. The caller frees. */
int command_list_answer(const struct command_run *run, struct provider_listed **ret_list, size_t *ret_count,
                        char *ret_error);

/* What the executable "events" said: {"events": [{"id": …, "ref": …, "kind": …, "at": …}]}. The caller frees. */
int command_events_answer(const struct command_run *run, struct provider_notice **ret_notices, size_t *ret_count,
                          char *ret_error);

/* The last line of a text that has something in it, cleaned. */
void command_last_line(const char *text, char *ret_line, size_t size);

#endif
