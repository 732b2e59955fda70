/*
 * Which version of slurmrestd to speak, out of its OpenAPI document: a path of it is "/slurm/v0.0.38/nodes", with a slash at its
 * end in some releases, and below it stand the methods. Releases bring three versions each and drop the oldest.
 */
#include "server/scheduler/slurm/rest.h"

#include "base/status.h"
#include "base/text.h"

#include <string.h>

#define PREFIX "/slurm/v0.0."

/* 38 of "/slurm/v0.0.38/nodes/", and "nodes" into ret_rest; 0 for what is none. */
static int version_of(const char *path, struct text *rest)
{
    int64_t number;
    char digits[8];
    if (!text_starts_with(path, PREFIX))
        return 0;
    const char *at = path + strlen(PREFIX);
    size_t len = strspn(at, "0123456789");
    if (at[len] != '/' || text_copy_bytes(digits, sizeof(digits), at, len) != 0 ||
        text_parse_i64(digits, 1, 9999, &number) != 0)
        return 0;
    at += len + 1;
    len = strlen(at);
    text_add_bytes(rest, at, len > 0 && at[len - 1] == '/' ? len - 1 : len);
    return (int)number;
}

static unsigned ability_of(const char *rest, const json_t *methods)
{
    static const struct {
        const char *path, *method;
        enum slurm_rest_ability ability;
    } abilities[] = {
        {"node/{node_name}", "post", SLURM_REST_UPDATES_NODES},
        {"job/{job_id}", "delete", SLURM_REST_CANCELS_JOBS},
        {"reservations", "get", SLURM_REST_SHOWS_RESERVATIONS},
        {"diag", "get", SLURM_REST_SHOWS_FIGURES},
    };
    for (size_t i = 0; i < ARRAY_LEN(abilities); i++)
        if (strcmp(rest, abilities[i].path) == 0 && json_object_get(methods, abilities[i].method) != NULL)
            return abilities[i].ability;
    return 0;
}

int slurm_rest_choose(const json_t *document, struct slurm_rest_version *ret_version)
{
    json_t *paths = json_object_get(document, "paths");
    const char *path;
    json_t *methods;
    unsigned can[SLURM_REST_VERSION_MAX + 1] = {0};
    bool shows_nodes[SLURM_REST_VERSION_MAX + 1] = {0};
    int newest = 0;
    if (!json_is_object(paths))
        return STATUS_BACKEND;
    json_object_foreach(paths, path, methods)
    {
        AUTO(text) struct text rest = {0};
        int number = version_of(path, &rest);
        newest = number > newest ? number : newest;
        if (number < SLURM_REST_VERSION_MIN || number > SLURM_REST_VERSION_MAX)
            continue;
        can[number] |= ability_of(text_get(&rest), methods);
        shows_nodes[number] |= strcmp(text_get(&rest), "nodes") == 0;
    }
    *ret_version = (struct slurm_rest_version){.number = newest};
    for (int number = SLURM_REST_VERSION_MAX; number >= SLURM_REST_VERSION_MIN; number--)
        if (shows_nodes[number]) {
            *ret_version = (struct slurm_rest_version){.number = number, .can = can[number]};
            return 0;
        }
    return STATUS_NOT_FOUND;
}
