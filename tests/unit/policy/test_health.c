/* Health beside state, silence and evidence. */
#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOW INT64_C(1795176000000)
#define HOUR INT64_C(3600000)

static const struct {
    const char *story;
    enum node_state state;
    const char *code;            /* "": no verdict */
    int64_t seen_ago, heard_ago; /* -1: never */
    bool deaf;
    enum health health;
} table[] = {
    {"quiet", NODE_STATE_READY, "", 0, 1000, false, HEALTH_HEALTHY},
    {"a person holds it, but nothing is wrong", NODE_STATE_HELD, "", 0, 1000, false, HEALTH_HEALTHY},
    {"fatal", NODE_STATE_READY, "xid.79", 1000, 1000, false, HEALTH_UNHEALTHY},
    {"fatal and silent", NODE_STATE_READY, "xid.79", 5 * 60000, 5 * 60000, false, HEALTH_UNHEALTHY},
    {"for a person", NODE_STATE_HELD, "xid.78", 1000, 1000, false, HEALTH_DEGRADED},
    {"contained", NODE_STATE_READY, "xid.94", 1000, 1000, false, HEALTH_DEGRADED},
    {"watched", NODE_STATE_READY, "xid.163", 1000, 1000, false, HEALTH_DEGRADED},
    {"watched two days ago", NODE_STATE_READY, "xid.163", 48 * HOUR, 1000, false, HEALTH_HEALTHY},
    {"a program", NODE_STATE_READY, "xid.31", 1000, 1000, false, HEALTH_HEALTHY},
    {"silent", NODE_STATE_READY, "", 0, 2 * 60000, false, HEALTH_UNKNOWN},
    {"silent, watched before", NODE_STATE_READY, "xid.163", 3 * 60000, 2 * 60000, false, HEALTH_UNKNOWN},
    {"silent for a second less", NODE_STATE_READY, "", 0, 59000, false, HEALTH_HEALTHY},
    {"unreachable", NODE_STATE_READY, "", 0, 11 * 60000, true, HEALTH_UNHEALTHY},
    {"never heard", NODE_STATE_READY, "", 0, -1, true, HEALTH_UNKNOWN},
    {"coming up", NODE_STATE_STARTING, "", 0, -1, false, HEALTH_UNKNOWN},
    {"not yet proven", NODE_STATE_VERIFYING, "", 0, 1000, false, HEALTH_UNKNOWN},
    {"fails its return gate", NODE_STATE_VERIFYING, "xid.79", 1000, 1000, false, HEALTH_UNHEALTHY},
    {"in repair", NODE_STATE_REPAIRING, "", 0, 1000, false, HEALTH_UNHEALTHY},
    {"gave up", NODE_STATE_FAILED, "", 0, 1000, false, HEALTH_UNHEALTHY},
    {"empty slot", NODE_STATE_PENDING, "", 0, -1, false, HEALTH_UNKNOWN},
    {"going", NODE_STATE_DELETING, "xid.79", 1000, 1000, false, HEALTH_UNKNOWN},
};

static void by_state_silence_and_evidence(void **state)
{
    (void)state;
    struct policy_snapshot snapshot = {.now_ms = NOW};
    policy_settings_default(&snapshot.settings);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct verdict v = {
            .id = 1, .count = 1, .first_at = NOW - table[i].seen_ago, .last_at = NOW - table[i].seen_ago};
        const struct verdict *refs[] = {&v};
        text_copy_cut(v.code, sizeof(v.code), table[i].code);
        text_copy_cut(v.instance_id, sizeof(v.instance_id), "i");
        text_copy_cut(v.boot_id, sizeof(v.boot_id), "b");
        struct policy_node node = {.id = 1,
                                   .name = "n",
                                   .state = table[i].state,
                                   .instance_id = "i",
                                   .boot_id = "b",
                                   .scheduler_known = true,
                                   .scheduler_responding = !table[i].deaf,
                                   .verdicts = refs,
                                   .verdict_count = table[i].code[0] != '\0' ? 1 : 0};
        node.last_heartbeat_at = table[i].heard_ago < 0 ? 0 : NOW - table[i].heard_ago;
        enum health health = policy_health(&snapshot, &node);
        if (health != table[i].health)
            fail_msg("%s: %s", table[i].story, health_text(health));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_state_silence_and_evidence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
