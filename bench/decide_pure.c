/* decide policy and decide simulate: what needs neither a store nor a loop. */
#include "base/clock.h"
#include "base/own.h"
#include "bench/decide.h"
#include "policy/policy.h"
#include "simulate/simulate.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#define GROUP_NODES 1000 /* as bench/seed makes them */
#define TROUBLED 128     /* nodes of one snapshot: as many as the loop looks at in a turn */
#define POLICY_SECONDS 2

/* --- the pure function -------------------------------------------------------------------------------------------- */

struct troubled {
    char name[32];
    struct verdict verdict;
    const struct verdict *ref;
};

/* Each has a critical verdict and was rebooted for another device before. */
void decide_policy(void)
{
    const int64_t now = clock_wall_ms(clock_system());
    autofree struct troubled *troubled = own_calloc(TROUBLED, sizeof(*troubled));
    autofree struct policy_node *nodes = own_calloc(TROUBLED, sizeof(*nodes));
    const struct policy_repair earlier = {.kind = OPERATION_KIND_REBOOT,
                                          .instance_id = "i-1",
                                          .device = "0000:1a:00",
                                          .code = OFF_THE_BUS,
                                          .new_instance = "",
                                          .at = now - MS_PER_DAY,
                                          .finished_at = now - MS_PER_DAY,
                                          .succeeded = true,
                                          .error = ""};
    struct policy_snapshot snapshot = {.now_ms = now, .nodes = nodes, .node_count = TROUBLED};
    policy_settings_default(&snapshot.settings);
    snapshot.group = (struct policy_group){.cluster = "bench",
                                           .name = "g0",
                                           .recovery = NODE_RECOVERY_AUTOMATIC,
                                           .desired = GROUP_NODES,
                                           .failed_recently = TROUBLED};
    for (int i = 0; i < TROUBLED; i++) {
        troubled[i].verdict = off_the_bus("i-1", "boot", i, now);
        troubled[i].ref = &troubled[i].verdict;
        snprintf(troubled[i].name, sizeof(troubled[i].name), "bench-%06d", i);
        nodes[i] = (struct policy_node){.id = i + 1,
                                        .name = troubled[i].name,
                                        .state = NODE_STATE_READY,
                                        .instance_id = "i-1",
                                        .boot_id = "boot",
                                        .boot_at = now - MS_PER_HOUR,
                                        .last_heartbeat_at = now,
                                        .scheduler_reason = "",
                                        .request_by = "",
                                        .verdicts = &troubled[i].ref,
                                        .verdict_count = 1,
                                        .repairs = &earlier,
                                        .repair_count = 1};
    }
    double from = cpu_seconds(), took;
    int64_t decisions = 0;
    do {
        struct policy_plan plan;
        policy_decide(&snapshot, &plan);
        decisions += (int64_t)plan.count;
        policy_plan_free(&plan);
        took = cpu_seconds() - from;
    } while (took < POLICY_SECONDS);
    printf("{\"decisions\":%" PRId64 ",\"perSecond\":%.1f}\n", decisions, (double)decisions / took);
}

/* --- a fleet that is not there -------------------------------------------------------------------------------------- */

void decide_simulate(const char *nodes)
{
    autofree struct simulate_scenario *scenario = own_calloc(1, sizeof(*scenario));
    autofree struct simulate_outcome *outcome = own_calloc(1, sizeof(*outcome));
    char error[SIMULATE_ERROR_MAX];
    struct rusage usage;
    if (simulate_profile_load("llama3", scenario) != 0 || simulate_set(scenario, "nodes", nodes, error) != 0 ||
        simulate_set(scenario, "groupNodes", "1000", error) != 0 ||
        simulate_set(scenario, "jobNodes", "256", error) != 0 || simulate_check(scenario, error) != 0)
        die("so many nodes cannot be simulated");
    double from = cpu_seconds();
    simulate_run(scenario, 1, outcome);
    double took = cpu_seconds() - from;
    getrusage(RUSAGE_SELF, &usage);
    double node_days =
        (double)scenario->number[SIMULATE_NODES] * (double)scenario->number[SIMULATE_TIME] / (double)MS_PER_DAY;
    printf("{\"nodeDays\":%.0f,\"seconds\":%.3f,\"perSecond\":%.0f,\"decisions\":%" PRId64 ",\"memoryMb\":%.0f}\n",
           node_days, took, node_days / took, outcome->decisions, (double)usage.ru_maxrss / 1024);
}
