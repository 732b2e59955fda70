/*
 * A training job as anybody may have written it, its status too: the first byte says whether the rest is a HyperPodPyTorchJob, a pod of
 * one, or what a launcher answers. Whatever is read of a job, the policy's next steps hold, and what is written of it is read the same.
 */
// ROOMS: server base model policy db
#include "tests/fuzz/fuzz.h"

#include "server/reconcile/job/launcher.h"
#include "server/scheduler/kubernetes/job_object.h"
#include "server/scheduler/kubernetes/job_record.h"

#define STEPS 4
#define PODS_MAX 64 /* more says nothing new */

static void check_step(struct workload_job *job, int64_t now)
{
    AUTO(job_plan) struct job_plan *plan = job_plan_new(&job->spec);
    const struct job_seen seen = {.now = now, .pods = job->seen};
    job_next(&job->spec, &seen, job->record, plan);
    for (int i = 0; i < job_pod_count(&job->spec); i++) {
        struct job_pod *pod = &job->seen[i];
        REQUIRE(plan->acts[i] != JOB_ACT_CREATE || !pod->exists);
        REQUIRE(plan->acts[i] != JOB_ACT_START || job_rank_of(job->record, i) >= 0);
        if (plan->acts[i] == JOB_ACT_CREATE)
            *pod = (struct job_pod){
                .exists = true, .running = true, .agent = JOB_AGENT_READY, .incarnation = job->record->incarnations[i]};
        if (plan->acts[i] == JOB_ACT_DELETE)
            pod->exists = false;
        if (plan->acts[i] == JOB_ACT_START)
            pod->agent = JOB_AGENT_RUNNING;
    }
}

static void check_written(const struct workload_job *job)
{
    auto_json json_t *record = kube_job_record_json(job->record);
    AUTO(job_record) struct job_record *again = kube_job_record_read(record, &job->spec);
    auto_json json_t *same = kube_job_record_json(again);
    REQUIRE(json_equal(record, same));
    auto_json json_t *status = kube_job_status(job);
    REQUIRE(status != NULL);
    autofree char *text = kube_job_record_text(job);
    REQUIRE(text != NULL);
    for (int i = 0; i < job_pod_count(&job->spec); i++) {
        auto_json json_t *pod = kube_job_pod(job, i);
        REQUIRE(pod != NULL);
    }
    for (int i = 0; i < job->record->rank_count; i++) {
        auto_json json_t *body = launcher_start_body(job, i);
        REQUIRE(body != NULL);
    }
}

static void read_job(const char *text, size_t len)
{
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    struct workload_job *job;
    if (json_parse(text, len, len, &json, error) != 0 || kube_job_read(json, &job) != 0)
        return;
    if (job->refused[0] == '\0' && job_pod_count(&job->spec) <= PODS_MAX)
        for (int i = 0; i < STEPS; i++) {
            check_step(job, INT64_C(1700000000000) + i * 1000);
            check_written(job);
        }
    workload_job_free(job);
}

static void read_pod(const char *text, size_t len)
{
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    struct kube_job_pod_kept kept;
    if (json_parse(text, len, len, &json, error) != 0 || kube_job_pod_read(json, &kept) != 0)
        return;
    REQUIRE(kept.job[0] != '\0' && kept.number >= 0 && kept.number < JOB_PODS_MAX && kept.seen.exists);
    REQUIRE(!kept.seen.running || kept.pod.address[0] != '\0');
}

static void read_launcher(const char *text, size_t len)
{
    struct job_pod seen = {.progress = -1};
    launcher_read(text, len, &seen);
    REQUIRE(seen.progress >= -1 && seen.agent <= JOB_AGENT_SHUTDOWN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = fuzz_text(data + 1, size - 1);
    if (data[0] == 'j')
        read_job(text, size - 1);
    else if (data[0] == 'p')
        read_pod(text, size - 1);
    else
        read_launcher(text, size - 1);
    free(text);
    return 0;
}
