/*
 * Commands on nodes. Who ran what, where and when stands in the timeline and in the audit log before anything runs: a crash may leave a
 * command that is recorded and never ran, and none that ran unrecorded. The command goes to the machine that fills the node's slot now, and only
 * where that shows a host key which its agent reported.
 */
#include "base/text.h"
#include "db/hardware.h"
#include "server/live/node_commands.h"
#include "server/service/node/node.h"
#include "server/service/private.h"

#include <stdio.h>
#include <string.h>

#define COMMAND_EVENT "%s runs a command: %s"
_Static_assert(NAME_MAX_BYTES + sizeof(COMMAND_EVENT) + NODE_COMMAND_TEXT_MAX <= SENTENCE_MAX_BYTES,
               "a command is recorded whole");

struct asking {
    struct service *s;
    const char *cluster, *node;
    struct node_command *command;
    struct problem *problem;
    struct place place;
};

static int add_key(const void *row, void *arg)
{
    const struct host_key *key = row;
    struct node_command *command = arg;
    if (!hardware_is_host_key(&key->key))
        return 0;
    size_t len = strlen(command->host_keys);
    int added = snprintf(command->host_keys + len, sizeof(command->host_keys) - len, "%s %s %s\n", command->address,
                         key->key.location, key->key.detail);
    if (added < 0 || (size_t)added >= sizeof(command->host_keys) - len)
        command->host_keys[len] = '\0'; /* half a key is none */
    return 0;
}

static int find_machine(struct db_tx *tx, struct asking *asking)
{
    struct node_command *command = asking->command;
    const struct place *place = &asking->place;
    text_copy_cut(command->cluster, sizeof(command->cluster), place->cluster.name);
    text_copy_cut(command->node, sizeof(command->node), place->node.name);
    text_copy_cut(command->address, sizeof(command->address), place->instance.address);
    command->node_id = place->node.id;
    command->host_keys[0] = '\0';
    if (command->address[0] == '\0')
        return problem_say(
            asking->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
            "The agent of %s has reported no address yet. Use hpctl node ssh %s, which goes by its name.",
            place->node.name, place->node.name);
    int status = db_host_key_list(tx, place->cluster.id, place->node.name, "", 0, add_key, command);
    if (status < 0 || command->host_keys[0] != '\0')
        return status;
    return problem_say(
        asking->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
        "The agent of %s has reported no SSH host key, so hpd cannot know the machine. Look at hpctl node "
        "hardware %s.",
        place->node.name, place->node.name);
}

static int ask_write(struct db_tx *tx, void *arg)
{
    struct asking *asking = arg;
    struct node_command *command = asking->command;
    node_commands_drop(asking->s->node_commands, command->id); /* of a try of this transaction that was taken back */
    int status = place_find(tx, asking->cluster, asking->node, &asking->place, asking->problem);
    if (status == 0)
        status = find_machine(tx, asking);
    if (status == 0 && node_commands_add(asking->s->node_commands, command) != 0)
        return problem_say(asking->problem, STATUS_CONFLICT, PROBLEM_LIMIT_EXCEEDED,
                           "%d commands run on %s, or %d run or wait on all nodes. Try again when one has ended.",
                           NODE_COMMANDS_OF_NODE_MAX, command->node, NODE_COMMANDS_MAX);
    if (status < 0)
        return status;
    status = place_event(tx, &asking->place, NULL, EVENT_LEVEL_INFO, EVENT_KIND_OPERATOR_REQUEST, COMMAND_EVENT,
                         command->actor, command->text);
    if (status < 0)
        node_commands_drop(asking->s->node_commands, command->id);
    return status;
}

int service_node_command_run(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                             const char *text, int64_t timeout_ms, struct node_command *ret_command,
                             struct problem *ret_problem)
{
    struct asking asking = {.s = s, .cluster = cluster, .node = node, .command = ret_command, .problem = ret_problem};
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    if (s->node_commands == NULL)
        return problem_say(ret_problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "hpd has no key for nodes. Configure nodeCommands (hpd(8)), or use hpctl node ssh.");
    if (timeout_ms > s->node_command_max_ms)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "timeoutSeconds is %lld; nodeCommands.timeoutMax allows %lld.",
                           (long long)(timeout_ms / MS_PER_S), (long long)(s->node_command_max_ms / MS_PER_S));
    *ret_command = (struct node_command){.timeout_ms = timeout_ms, .asked_at = service_now(s)};
    id_uuid(s->ids, ret_command->id);
    text_copy_cut(ret_command->actor, sizeof(ret_command->actor), actor->name);
    text_copy_cut(ret_command->text, sizeof(ret_command->text), text);
    status = service_write(s, "node-command", ask_write, &asking, ret_problem);
    if (status < 0) {
        node_commands_drop(s->node_commands, ret_command->id);
        return status;
    }
    service_events_added(s);
    node_commands_go(s->node_commands, ret_command->id);
    return 0;
}

int service_node_command_get(struct service *s, const char *id, struct node_command *ret_command,
                             struct problem *ret_problem)
{
    if (s->node_commands != NULL && node_commands_get(s->node_commands, id, ret_command) == 0)
        return 0;
    return problem_say(ret_problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                       "No command with id \"%s\": hpd remembers the newest %d until it is restarted.", id,
                       NODE_COMMANDS_MAX);
}
