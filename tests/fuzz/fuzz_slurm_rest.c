/* slurmrestd's replies: what is read of nodes and jobs holds what the programs' texts hold, and the texts made of it are read again. */
// ROOMS: base model server
#include "tests/fuzz/fuzz.h"

#include "base/own.h"
#include "base/text.h"
#include "server/scheduler/slurm/job_snapshot.h"
#include "server/scheduler/slurm/metrics.h"
#include "server/scheduler/slurm/rest.h"
#include "server/scheduler/slurm/rest_read.h"

#include <ctype.h>

#define SEPARATOR "~5eedf00d"

static void require_text(const char *s)
{
    REQUIRE(text_is_utf8(s, strlen(s)));
    for (; *s != '\0'; s++)
        REQUIRE(!iscntrl((unsigned char)*s));
}

static void require_node(const json_t *json)
{
    struct slurm_node node;
    struct slurm_has has;
    if (slurm_json_node(json, &node, &has) != 0)
        return;
    const struct scheduler_node *seen = &node.seen;
    REQUIRE(slurm_is_node_name(seen->name));
    REQUIRE(seen->state[0] != '\0');
    require_text(seen->state);
    require_text(seen->reason);
    require_text(seen->reason_user);
    REQUIRE(!seen->schedulable || (seen->responding && !seen->drained));
    REQUIRE(has.cpus >= 0 && has.cpus_used >= 0 && has.memory_mib >= 0 && has.memory_used_mib >= 0);
    for (size_t i = 0; i < SLURM_WORDS_MAX; i++)
        require_text(has.words[i]);
    if (seen->request == SCHEDULER_REQUEST_REBOOT || seen->request == SCHEDULER_REQUEST_REPLACE)
        REQUIRE(slurm_reason_action(seen->reason) == seen->request && seen->drained);
}

static void require_job(const json_t *json)
{
    struct slurm_job job;
    if (slurm_json_job_on(json, "gpu-1", &job) != 0)
        return;
    REQUIRE(isdigit((unsigned char)job.target[0]));
    REQUIRE(job.target[strspn(job.target, "0123456789_+")] == '\0');
    require_text(job.seen.user);
    require_text(job.seen.state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *token = fuzz_text(data, size);
    REQUIRE(slurm_token_end(token) >= 0);
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    if (json_parse((const char *)data, size, size, &json, error) != 0)
        return 0;
    struct slurm_rest_version version;
    if (slurm_rest_choose(json, &version) == 0)
        REQUIRE(version.number >= SLURM_REST_VERSION_MIN && version.number <= SLURM_REST_VERSION_MAX);
    const json_t *nodes = json_object_get(json, "nodes"), *jobs = json_object_get(json, "jobs");
    for (size_t i = 0; i < json_array_size(nodes); i++)
        require_node(json_array_get(nodes, i));
    for (size_t i = 0; i < json_array_size(jobs); i++)
        require_job(json_array_get(jobs, i));
    AUTO(job_snapshot) struct job_snapshot *snapshot = job_snapshot_new();
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    char *queue = NULL;
    if (slurm_json_queue(jobs, SEPARATOR, &queue) == 0 && slurm_queue_parse(queue, SEPARATOR, snapshot) == 0)
        REQUIRE(snapshot->count == json_array_size(jobs));
    autofree char *reservations = slurm_json_reservations(json_object_get(json, "reservations"), 1795372152000);
    REQUIRE(slurm_metrics_reservations(metrics, reservations) == 0);
    autofree char *diag = slurm_json_diag(json_object_get(json, "statistics"));
    (void)slurm_metrics_diag(metrics, diag);
    return 0;
}
