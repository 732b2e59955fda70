/*
 * The connectivity test: an agent that has come to it asks here with whom it is tested, again and again, until it hears what came of
 * it. Who is paired with whom is server/live/pair_matching.c's to say; here it learns who else may come.
 */
#include "server/service/private.h"

#include "base/address.h"
#include "base/sm.h"
#include "base/text.h"
#include "server/live/pair_matching.h"
#include "server/service/node/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SESSION_MAX_BYTES (KEY_MAX_BYTES * 2)

/* "17/p5.48xlarge/nccl"; a group whose machines have no type is paired by itself. */
static void name_session(const struct fleet_view *live, const struct deep_job *job, const char *tool,
                         char ret_session[SESSION_MAX_BYTES])
{
    const char *type = deep_plain_type(job->instance_type);
    if (type[0] != '\0')
        snprintf(ret_session, SESSION_MAX_BYTES, "%" PRId64 "/%s/%s", live->slot.cluster_id, type, tool);
    else
        snprintf(ret_session, SESSION_MAX_BYTES, "%" PRId64 "/group %" PRId64 "/%s", live->slot.cluster_id,
                 live->slot.group_id, tool);
}

struct looking {
    int64_t cluster_id;
    const char *type, *group;
    char **names;
    size_t count;
};

static int add_name(const void *row, void *arg)
{
    const struct deep_run *run = row;
    struct looking *looking = arg;
    bool alike = looking->type[0] != '\0' ? text_equal(deep_plain_type(run->instance_type), looking->type)
                                          : text_equal(run->group, looking->group);
    if (!alike || (run->checks & SM_BIT(DEEP_CHECK_CONNECTIVITY)) == 0)
        return 0;
    looking->names = own_realloc(looking->names, looking->count + 1, sizeof(*looking->names));
    looking->names[looking->count++] = own_strdup(run->node);
    return 0;
}

static int look_read(struct db_tx *tx, void *arg)
{
    struct looking *looking = arg;
    const struct db_deep_filter filter = {.cluster_id = looking->cluster_id, .unfinished = true};
    looking->count = 0;
    return db_deep_run_list(tx, &filter, add_name, looking);
}

/* Who else may come, looked up once in a while for all who ask. */
static int look(struct service *s, const struct fleet_view *live, const struct deep_job *job, const char *session,
                struct problem *problem)
{
    struct looking looking = {
        .cluster_id = live->slot.cluster_id, .type = deep_plain_type(job->instance_type), .group = job->group};
    int64_t now_ms = service_now(s);
    if (!pair_matching_asks_who(fleet_pair_matching(s->fleet), session, now_ms))
        return 0;
    int status = service_read(s, look_read, &looking, problem);
    if (status == 0)
        pair_matching_expect(fleet_pair_matching(s->fleet), session, (const char *const *)looking.names, looking.count,
                             now_ms);
    text_list_free(looking.names, looking.count);
    return status;
}

/* What it says of others is shown to people. */
static bool is_sound(const struct deep_pair_ask *ask)
{
    char address[ADDRESS_TEXT_MAX];
    bool sound = text_is_name(ask->tool) && (ask->address[0] == '\0' || address_parse(ask->address, address) == 0);
    for (size_t i = 0; i < ask->said_count; i++)
        sound = sound && text_is_name(ask->said[i].partner) && text_is_name(ask->said[i].match);
    return sound;
}

int service_agent_pair(struct service *s, int64_t node_id, const char *peer, const struct deep_pair_ask *ask,
                       struct deep_pair_reply *ret_reply, struct problem *ret_problem)
{
    struct deep_job job;
    struct fleet_view live;
    char session[SESSION_MAX_BYTES];
    if (!is_sound(ask))
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "The tool, a match or a partner is no name, or the address is not one of a machine.");
    if (agent_tasks_get_check(fleet_agent_tasks(s->fleet), node_id, &job) != 0 || !text_equal(job.key, ask->key) ||
        (job.checks & SM_BIT(DEEP_CHECK_CONNECTIVITY)) == 0 || fleet_get(s->fleet, node_id, &live) != 0)
        return problem_say(ret_problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "This instance is no longer asked to test that. Stop.");
    name_session(&live, &job, ask->tool, session);
    int status = look(s, &live, &job, session, ret_problem);
    if (status != 0)
        return status;
    autofree struct deep_pair_ask *own = own_calloc(1, sizeof(*own));
    *own = *ask;
    if (own->address[0] == '\0')
        text_copy_cut(own->address, sizeof(own->address), peer);
    const struct pair_matching_node node = {.session = session, .name = job.node, .settle_ms = job.settle_ms};
    pair_matching_answer(fleet_pair_matching(s->fleet), &node, own, s->ids, service_now(s), ret_reply);
    return 0;
}
