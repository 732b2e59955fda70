/*
 * How an agent comes in: a short-lived enrolment token becomes a credential of the node's own, which only speaks for that
 * node and only while its instance fills the slot. Repeating it is safe: the newest credential is the one that counts.
 *
 * Three ways in. A token made for one instance (a launch by a provider) enrols that instance and no other. A free token
 * re-enrols the instance that fills the slot. And a free token for a slot that no provider filled (bare machines)
 * registers whoever reports, in place of the machine that registered so before; but while that one speaks only a token
 * for this very node does, so that a machine that gives a wrong name takes no slot from another.
 */
#include "server/service/agent/agent.h"
#include "server/live/provider_registry.h"
#include "server/service/access/access.h"
#include "server/service/private.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENROLL_KEY_PREFIX "enroll/" /* so that the launch_key of who registers itself is unique, too */
#define NODE_ROW_DIGITS_MAX 19

/* --- identities ------------------------------------------------------------------------------------ */

bool agent_word_is_fine(const char *text, size_t size)
{
    size_t len = strnlen(text, size);
    if (len == 0 || len == size)
        return false;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == len;
}

int instance_spoke(struct instance *instance, bool boot_changed)
{
    enum instance_state state = instance->state;
    if (state == INSTANCE_STATE_TERMINATING || state == INSTANCE_STATE_TERMINATED)
        return STATUS_STALE;
    /* One that is to reboot still speaks for a while; only another boot ends that. */
    if (state == INSTANCE_STATE_RUNNING || (state == INSTANCE_STATE_REBOOTING && !boot_changed))
        return 0;
    int moved = (int)state;
    sm_move(&instance_state_machine, &moved, INSTANCE_STATE_RUNNING);
    instance->state = INSTANCE_STATE_RUNNING;
    return 0;
}

/* --- authenticate ---------------------------------------------------------------------------------- */

/* "hfn_<row>.<secret>" into its parts. */
static int parse_credential(const char *bearer, size_t len, int64_t *ret_node_id, const char **ret_secret)
{
    size_t prefix = strlen(SECRET_PREFIX_NODE);
    if (len < prefix || memcmp(bearer, SECRET_PREFIX_NODE, prefix) != 0)
        return STATUS_UNAUTHENTICATED;
    const char *at = bearer + prefix, *end = bearer + len;
    int64_t row = 0;
    for (int digits = 0; at < end && *at >= '0' && *at <= '9'; at++, digits++) {
        if (digits == NODE_ROW_DIGITS_MAX || row > (INT64_MAX - 9) / 10)
            return STATUS_UNAUTHENTICATED;
        row = row * 10 + (*at - '0');
    }
    if (row == 0 || at == end || *at != '.')
        return STATUS_UNAUTHENTICATED;
    *ret_node_id = row;
    *ret_secret = at + 1;
    return 0;
}

int service_agent_authenticate(struct service *s, const char *bearer, size_t len, int64_t *ret_node_id)
{
    uint8_t hash[ID_SHA256_BYTES];
    const char *secret = NULL;
    int64_t node_id = 0;
    int status = bearer == NULL ? STATUS_UNAUTHENTICATED : parse_credential(bearer, len, &node_id, &secret);
    if (status == 0)
        status = secret_hash(secret, (size_t)(bearer + len - secret), hash);
    if (status == 0)
        status = fleet_authenticate(s->fleet, node_id, hash);
    if (status == 0)
        *ret_node_id = node_id;
    return status;
}

/* --- enrol ----------------------------------------------------------------------------------------- */

struct enrolling {
    struct fleet *fleet;
    struct provider_registry *providers;
    const struct service_enrollment *enrollment;
    const uint8_t *token_hash, *credential_hash;
    int64_t now_ms;
    int64_t boot_at; /* 0: now */
    struct problem *problem;
    struct service_audit *audit; /* may be NULL */
    struct place place;
};

/* Who asks stands in the token, and what for in the store, so the audit log learns both here. */
static void audit_token(const struct enrolling *enrolling, const struct token *token)
{
    if (enrolling->audit == NULL)
        return;
    struct audit *entry = &enrolling->audit->entry;
    say_cut(entry->actor, sizeof(entry->actor), "enrollment:%s", token->name);
    memcpy(entry->credential, token->uid, sizeof(entry->credential));
}

static void audit_place(const struct enrolling *enrolling)
{
    if (enrolling->audit == NULL)
        return;
    struct audit *entry = &enrolling->audit->entry;
    say_cut(entry->cluster, sizeof(entry->cluster), "%s", enrolling->place.cluster.name);
    say_cut(entry->resource, sizeof(entry->resource), "%s", enrolling->place.node.name);
}

static int find_token(struct db_tx *tx, const struct enrolling *enrolling, struct token *ret_token)
{
    int status = db_token_find(tx, enrolling->token_hash, ret_token);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    if (status == STATUS_NOT_FOUND || ret_token->kind != TOKEN_KIND_ENROLLMENT ||
        (ret_token->expires_at != 0 && ret_token->expires_at <= enrolling->now_ms))
        return problem_say(enrolling->problem, STATUS_UNAUTHENTICATED, PROBLEM_UNAUTHENTICATED,
                           "The enrolment token is unknown or has expired. Ask for a new one: hpctl token create.");
    audit_token(enrolling, ret_token);
    return 0;
}

/* Which node the token and the agent mean; both must agree. */
static int find_node(struct db_tx *tx, struct enrolling *enrolling, const struct token *token)
{
    const char *name = enrolling->enrollment->node;
    struct place *place = &enrolling->place;
    struct node node;
    if (token->node_id == 0 && name[0] == '\0')
        return problem_say(enrolling->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "node is missing: the token is good for every node of its cluster, so the agent has to say "
                           "which one it is (hp-agent --node).");
    int status = token->node_id != 0 ? db_node_get_row(tx, token->node_id, &node)
                                     : db_node_get(tx, token->cluster_id, name, &node);
    if (status == STATUS_NOT_FOUND)
        return problem_say(enrolling->problem, status, PROBLEM_NOT_FOUND,
                           "The token's cluster has no node named \"%s\". hp-agent --node takes a name that `hpctl "
                           "node list` shows.",
                           name);
    if (status == 0)
        status = place_find_row(tx, node.id, place);
    if (status < 0)
        return status;
    audit_place(enrolling);
    if (name[0] != '\0' && strcmp(name, place->node.name) != 0)
        return problem_say(enrolling->problem, STATUS_DENIED, PROBLEM_FORBIDDEN,
                           "The token is for the node \"%s\", not for \"%s\".", place->node.name, name);
    if (place->node.state == NODE_STATE_DELETING || place->node.state == NODE_STATE_DELETED)
        return problem_say(enrolling->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The node \"%s\" is being deleted; nothing can enrol there any more.", place->node.name);
    return 0;
}

/* The machine that registered itself here before makes way. */
static int retire(struct db_tx *tx, struct instance *instance, int64_t now_ms)
{
    static const enum instance_state way[] = {INSTANCE_STATE_TERMINATING, INSTANCE_STATE_TERMINATED};
    for (size_t i = 0; i < ARRAY_LEN(way); i++) {
        int state = (int)instance->state;
        if (!sm_may(&instance_state_machine, state, (int)way[i]))
            continue;
        sm_move(&instance_state_machine, &state, (int)way[i]);
        instance->state = way[i];
    }
    instance->terminated_at = now_ms;
    return db_instance_update(tx, instance);
}

static int register_instance(struct db_tx *tx, struct enrolling *enrolling)
{
    struct place *place = &enrolling->place;
    const char *instance_id = enrolling->enrollment->instance_id;
    struct instance known;
    int status = db_instance_get(tx, instance_id, &known);
    if (status == 0)
        return problem_say(enrolling->problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "The instance %s filled a slot before and does not come back. Enrol the machine under a new "
                           "instance id.",
                           instance_id);
    if (status != STATUS_NOT_FOUND)
        return status;
    if (place->instance.id != 0) {
        status = retire(tx, &place->instance, enrolling->now_ms);
        if (status < 0)
            return status;
    }
    place->instance = (struct instance){.node_id = place->node.id,
                                        .state = INSTANCE_STATE_RUNNING,
                                        .launched_at = enrolling->now_ms,
                                        .self_registered = true};
    snprintf(place->instance.instance_id, sizeof(place->instance.instance_id), "%s", instance_id);
    snprintf(place->instance.launch_key, sizeof(place->instance.launch_key), ENROLL_KEY_PREFIX "%" PRId64 "/%s",
             place->node.id, instance_id);
    status = db_instance_insert(tx, &place->instance);
    if (status < 0)
        return status;
    place->node.instance_row = place->instance.id;
    return db_node_update(tx, &place->node);
}

static bool is_speaking(const struct enrolling *enrolling)
{
    struct fleet_view live;
    return fleet_get(enrolling->fleet, enrolling->place.node.id, &live) == 0 && live.last_heartbeat_at != 0 &&
           !live.silent && strcmp(live.slot.instance_id, enrolling->place.instance.instance_id) == 0;
}

/* Who fills the slot after this, by the three ways in. */
static int find_instance(struct db_tx *tx, struct enrolling *enrolling, const struct token *token)
{
    const char *reported = enrolling->enrollment->instance_id;
    const struct instance *instance = &enrolling->place.instance;
    bool fills_slot = instance->id != 0 && strcmp(instance->instance_id, reported) == 0;
    if (token->instance_id[0] != '\0' && strcmp(token->instance_id, reported) != 0)
        return problem_say(enrolling->problem, STATUS_DENIED, PROBLEM_FORBIDDEN,
                           "The token was made for the instance %s, not for %s.", token->instance_id, reported);
    if (fills_slot)
        return 0;
    if (token->instance_id[0] != '\0')
        return problem_say(enrolling->problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "The instance %s does not fill the slot of \"%s\" any more: it was replaced.", reported,
                           enrolling->place.node.name);
    if (instance->id != 0 && !instance->self_registered)
        return problem_say(
            enrolling->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
            "The slot of \"%s\" is filled by the instance %s, which a provider launched. Its agent needs --instance-id "
            "%s. To fill the slot with another machine, replace the node.",
            enrolling->place.node.name, instance->instance_id, instance->instance_id);
    if (instance->id != 0 && token->node_id == 0 && is_speaking(enrolling))
        return problem_say(
            enrolling->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
            "The slot of \"%s\" is filled by %s, whose agent speaks. Is the name right? To take the slot "
            "from it, ask for a token for this node: hpctl token create --enrollment --node %s.",
            enrolling->place.node.name, instance->instance_id, enrolling->place.node.name);
    const char *provider = enrolling->place.group.provider;
    if (instance->id == 0 && provider_registry_launches(enrolling->providers, provider))
        return problem_say(
            enrolling->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
            "The provider %s launches the machines of \"%s\", and did not launch %s. The agent of a launched machine "
            "has the --instance-id and the token of its launch.",
            provider, enrolling->place.node.name, reported);
    return register_instance(tx, enrolling);
}

static int take_in(struct db_tx *tx, struct enrolling *enrolling)
{
    const struct service_enrollment *enrollment = enrolling->enrollment;
    struct place *place = &enrolling->place;
    struct instance *instance = &place->instance;
    bool boot_changed = strcmp(instance->boot_id, enrollment->boot_id) != 0;
    int status = instance_spoke(instance, boot_changed);
    if (status < 0)
        return problem_say(enrolling->problem, status, PROBLEM_STALE_REPORT,
                           "The instance %s is being terminated and cannot enrol any more.", instance->instance_id);
    if (boot_changed) {
        snprintf(instance->boot_id, sizeof(instance->boot_id), "%s", enrollment->boot_id);
        instance->boot_at = enrolling->boot_at > 0 ? enrolling->boot_at : enrolling->now_ms;
    }
    status = db_instance_update(tx, instance);
    if (status < 0)
        return status;
    struct credential credential = {.node_id = place->node.id, .created_at = enrolling->now_ms};
    snprintf(credential.instance_id, sizeof(credential.instance_id), "%s", instance->instance_id);
    memcpy(credential.hash, enrolling->credential_hash, sizeof(credential.hash));
    status = db_credential_set(tx, &credential);
    if (status < 0)
        return status;
    return place_event(tx, place, NULL, EVENT_LEVEL_INFO, EVENT_KIND_AGENT_ENROLLED,
                       "The agent of %s enrolled: instance %s, boot %s", place->node.name, instance->instance_id,
                       instance->boot_id);
}

static int enroll_write(struct db_tx *tx, void *arg)
{
    struct enrolling *enrolling = arg;
    struct token token;
    int status = find_token(tx, enrolling, &token);
    if (status == 0)
        status = find_node(tx, enrolling, &token);
    if (status == 0)
        status = find_instance(tx, enrolling, &token);
    if (status == 0)
        status = take_in(tx, enrolling);
    return status < 0 ? status : db_token_used(tx, token.id, enrolling->now_ms);
}

static int check_words(const struct service_enrollment *enrollment, struct problem *problem)
{
    if (!agent_word_is_fine(enrollment->instance_id, sizeof(enrollment->instance_id)))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "instanceId must be 1 to %d letters, digits and hyphens.", ID_INSTANCE_MAX - 1);
    if (!agent_word_is_fine(enrollment->boot_id, sizeof(enrollment->boot_id)))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "bootId must be 1 to %d letters, digits and hyphens.", BOOT_ID_MAX_BYTES - 1);
    return 0;
}

/* What the store says of a slot. */
struct slot_reading {
    int64_t node_id;
    struct fleet_slot slot;
};

static int slot_read(struct db_tx *tx, void *arg)
{
    struct slot_reading *reading = arg;
    struct place place;
    struct credential credential;
    int status = place_find_row(tx, reading->node_id, &place);
    if (status < 0)
        return status;
    reading->slot =
        (struct fleet_slot){.node_id = place.node.id, .cluster_id = place.cluster.id, .group_id = place.group.id};
    memcpy(reading->slot.instance_id, place.instance.instance_id, sizeof(place.instance.instance_id));
    memcpy(reading->slot.boot_id, place.instance.boot_id, sizeof(place.instance.boot_id));
    memcpy(reading->slot.address, place.instance.address, sizeof(place.instance.address));
    status = db_credential_get(tx, place.node.id, &credential);
    reading->slot.has_credential = status == 0;
    if (status == 0)
        memcpy(reading->slot.hash, credential.hash, sizeof(credential.hash));
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static bool same_owner(const struct fleet_slot *a, const struct fleet_slot *b)
{
    return strcmp(a->instance_id, b->instance_id) == 0 && a->has_credential == b->has_credential &&
           memcmp(a->hash, b->hash, sizeof(a->hash)) == 0;
}

/* Two that enrol at once, or an enrolment beside a launch, may tell the fleet in another order than they told the store,
 * and the one who was followed would go on to be believed. So whoever tells the fleet asks the store again,
 * until it was the truth that was told last. The boot goes second: a fleet that knows the instance keeps the order of
 * its boots. */
static void tell_fleet(struct service *s, int64_t node_id)
{
    struct slot_reading told = {.node_id = node_id}, now = told;
    if (service_read(s, slot_read, &now, NULL) < 0)
        return;
    do {
        struct fleet_slot owner = now.slot;
        told = now;
        owner.boot_id[0] = '\0';
        fleet_put(s->fleet, &owner);
        fleet_set_boot(s->fleet, node_id, now.slot.instance_id, now.slot.boot_id);
    } while (service_read(s, slot_read, &now, NULL) == 0 && !same_owner(&told.slot, &now.slot));
}

static int enroll_machine_write(struct db_tx *tx, void *arg)
{
    struct enrolling *enrolling = arg;
    struct place *place = &enrolling->place;
    int status = place_find_row(tx, place->node.id, place);
    if (status != 0)
        return status;
    if (!text_equal(place->instance.instance_id, enrolling->enrollment->instance_id))
        return problem_say(enrolling->problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "The instance %s does not fill the slot any more.", enrolling->enrollment->instance_id);
    return take_in(tx, enrolling);
}

int agent_enroll_machine(struct service *s, int64_t node_id, const char *instance_id, const char *boot_id,
                         int64_t boot_at, char ret_credential[SERVICE_TOKEN_TEXT_MAX], struct problem *problem)
{
    uint8_t credential_hash[ID_SHA256_BYTES];
    char secret[SERVICE_TOKEN_TEXT_MAX];
    struct service_enrollment enrollment = {.node = ""};
    text_copy_cut(enrollment.instance_id, sizeof(enrollment.instance_id), instance_id);
    text_copy_cut(enrollment.boot_id, sizeof(enrollment.boot_id), boot_id);
    secret_make(s, "", secret, credential_hash);
    struct enrolling enrolling = {.fleet = s->fleet,
                                  .enrollment = &enrollment,
                                  .credential_hash = credential_hash,
                                  .now_ms = service_now(s),
                                  .boot_at = boot_at,
                                  .problem = problem,
                                  .place.node.id = node_id};
    int status = service_write(s, "agent-enroll", enroll_machine_write, &enrolling, problem);
    if (status < 0)
        return status;
    tell_fleet(s, node_id);
    say_cut(ret_credential, SERVICE_TOKEN_TEXT_MAX, SECRET_PREFIX_NODE "%" PRId64 ".%s", node_id, secret);
    service_agent_changed(s, node_id);
    service_events_added(s);
    return 0;
}

int service_agent_enroll(struct service *s, const char *bearer, const struct service_enrollment *enrollment,
                         int64_t *ret_node_id, char ret_credential[SERVICE_TOKEN_TEXT_MAX], struct problem *ret_problem)
{
    uint8_t token_hash[ID_SHA256_BYTES], credential_hash[ID_SHA256_BYTES];
    char secret[SERVICE_TOKEN_TEXT_MAX];
    if (bearer == NULL || secret_hash_of(SECRET_PREFIX_ENROLLMENT, bearer, token_hash) < 0)
        return problem_say(ret_problem, STATUS_UNAUTHENTICATED, PROBLEM_UNAUTHENTICATED,
                           "Enrolling needs an enrolment token (hfe_…).");
    int status = check_words(enrollment, ret_problem);
    if (status < 0)
        return status;
    secret_make(s, "", secret, credential_hash);
    struct enrolling enrolling = {.fleet = s->fleet,
                                  .providers = s->providers,
                                  .enrollment = enrollment,
                                  .token_hash = token_hash,
                                  .credential_hash = credential_hash,
                                  .now_ms = service_now(s),
                                  .problem = ret_problem,
                                  .audit = audit_current()};
    status = service_write(s, "agent-enroll", enroll_write, &enrolling, ret_problem);
    if (status < 0)
        return status;
    tell_fleet(s, enrolling.place.node.id);
    *ret_node_id = enrolling.place.node.id;
    say_cut(ret_credential, SERVICE_TOKEN_TEXT_MAX, SECRET_PREFIX_NODE "%" PRId64 ".%s", *ret_node_id, secret);
    service_agent_changed(s, *ret_node_id);
    service_events_added(s);
    return 0;
}
