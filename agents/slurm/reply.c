/* Reads {"resumeAction": …, "nodes": [{"node": …, "reason": …}], "earlierRuns": …, "earlierFutile": …}. */
#include "agents/slurm/reply.h"

#include "base/status.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define REPLY_BYTES_MAX (4 * 1024 * 1024)
#define NODE_NAME_LEN_MAX 63

static int refuse(char ret_error[JSON_ERROR_MAX], const char *what)
{
    snprintf(ret_error, JSON_ERROR_MAX, "hpd's answer %s", what);
    return STATUS_INVALID;
}

/* It goes into arguments of Slurm's programs. */
static bool is_node_name(const char *name)
{
    if (name == NULL || !isalnum((unsigned char)name[0]) || strlen(name) > NODE_NAME_LEN_MAX)
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
            return false;
    return true;
}

static int read_nodes(const json_t *list, struct resume_reply *reply)
{
    size_t i;
    const json_t *item;
    if (json_array_size(list) > RESUME_NODES_MAX)
        return STATUS_TOO_LARGE;
    reply->broken.names = own_calloc(json_array_size(list) + 1, sizeof(*reply->broken.names));
    json_array_foreach(list, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "node"));
        const char *why = json_string_value(json_object_get(item, "reason"));
        if (!is_node_name(name))
            return STATUS_INVALID;
        reply->broken.names[reply->broken.count++] = own_strdup(name);
        if (i == 0 && why != NULL)
            text_copy_clean(reply->why, sizeof(reply->why), why, strlen(why));
    }
    return 0;
}

/* A number that is none of ours is none. */
static int64_t read_count(const json_t *json, const char *name)
{
    json_int_t count = json_integer_value(json_object_get(json, name));
    return count < 0 || count > ATTEMPT_NUMBER_MAX ? 0 : count;
}

int resume_reply_parse(const char *body, size_t len, struct resume_reply *ret_reply, char ret_error[JSON_ERROR_MAX])
{
    struct resume_reply reply = {0};
    auto_json json_t *json = NULL;
    int status = json_parse(body, len, REPLY_BYTES_MAX, &json, ret_error);
    if (status != 0)
        return status;
    if (!json_is_object(json) ||
        resume_action_parse(json_string_value(json_object_get(json, "resumeAction")), &reply.action) != 0)
        return refuse(ret_error, "has no resumeAction that this program knows");
    status = read_nodes(json_object_get(json, "nodes"), &reply);
    if (status == 0 && reply.action == RESUME_ACTION_RETRYSTEP && reply.broken.count == 0)
        status = STATUS_INVALID;
    if (status != 0) {
        resume_reply_free(&reply);
        return refuse(ret_error, "names no nodes that could be dropped");
    }
    reply.earlier_runs = read_count(json, "earlierRuns");
    reply.earlier_futile = read_count(json, "earlierFutile");
    *ret_reply = reply;
    return 0;
}

void resume_reply_free(struct resume_reply *reply)
{
    resume_names_free(&reply->broken);
}
