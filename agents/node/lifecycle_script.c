/* Runs one attempt of one script. Its argument and two variables name the files that it may read. */
#include "agents/node/lifecycle.h"

#include "base/own.h"
#include "base/text.h"

#include <unistd.h>

#define RESOURCES_VARIABLE "SAGEMAKER_RESOURCE_CONFIG_PATH"
#define SOURCE_VARIABLE "HOLDFAST_LIFECYCLE_SOURCE"
#define EXTRA_VARIABLES 2

/* Our environment with two more variables. The caller frees the array. */
static char **make_env(char *resources, char *source)
{
    size_t count = 0, at = EXTRA_VARIABLES;
    while (environ[count] != NULL)
        count++;
    char **env = own_calloc(count + EXTRA_VARIABLES + 1, sizeof(*env));
    env[0] = resources;
    env[1] = source;
    for (size_t i = 0; i < count; i++)
        if (!text_starts_with(environ[i], RESOURCES_VARIABLE "=") && !text_starts_with(environ[i], SOURCE_VARIABLE "="))
            env[at++] = environ[i];
    return env;
}

int lifecycle_attempt(const struct lifecycle_script *script, struct attempt *attempt, struct attempt_end *ret_end)
{
    autofree char *path = own_printf("%s/%s", script->directory, script->name);
    autofree char *resources = own_printf(RESOURCES_VARIABLE "=%s", script->resources);
    autofree char *source = own_printf(SOURCE_VARIABLE "=%s", script->source);
    autofree char **env = make_env(resources, source);
    const char *argv[] = {path, script->resources, NULL};
    attempt->argv = argv;
    attempt->env = env;
    attempt->directory = script->directory;
    attempt->log_bytes_max = LIFECYCLE_LOG_BYTES_MAX;
    int status = attempt_run(attempt, ret_end);
    attempt->argv = NULL;
    attempt->env = NULL;
    return status;
}
