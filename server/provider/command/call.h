/* A call that has an effect: run in a process that outlives hpd, and kept on disk under its key. Blocking. */
#ifndef HOLDFAST_SERVER_PROVIDER_COMMAND_CALL_H
#define HOLDFAST_SERVER_PROVIDER_COMMAND_CALL_H

#include "server/provider/command/answer.h"

struct command_call {
    enum command_action action;
    const char *key;
    const char *state_dir, *self_path;
    const char *program;
    const char *const *environment; /* whole */
    const char *input;              /* the request, a JSON object; NULL: only what is kept is asked for */
    int64_t timeout_ms;
};

/* What came of the action under its key: from disk when it was done, else by running it. As command_answer; TIMEOUT while an earlier
 * run goes on. With no input: NOT_FOUND when there is nothing, UNAVAILABLE while it runs. */
int command_call(const struct command_call *call, struct provider_instance *ret_instance, char *ret_error);

/* What nobody asks for any more goes. */
void command_calls_prune(const char *state_dir);

#endif
