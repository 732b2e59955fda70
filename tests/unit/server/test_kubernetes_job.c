/*
 * A HyperPodPyTorchJob as it is read and written: the pods with what the template has and what a launcher needs, the status, and what
 * hostile or broken objects do not do. The policy is tests/unit/policy/test_job.c's, the real thing tests/e2e/kubernetes/training.test.mjs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include "base/text.h"
#include "server/reconcile/job/controller.h"
#include "server/reconcile/job/launcher.h"
#include "server/scheduler/kubernetes/job_object.h"

#include <string.h>

#define TEMPLATE                                                                                          \
    "{'metadata': {'labels': {'team': 'a'}, 'annotations': {'k': 'v'}}, 'spec': {'containers': [{"        \
    "'name': 'c', 'image': 'i', 'env': [{'name': 'NNODES', 'value': '9'}], 'command': ['hyperpodrun']}, " \
    "{'name': 'side', 'image': 'i'}], 'nodeSelector': {'x': 'y'}}}"
#define JOB                                                                                                     \
    "{'metadata': {'name': 'demo', 'namespace': 'ml', 'uid': 'u-1', 'resourceVersion': '7', 'labels': "         \
    "{'kueue.x-k8s.io/queue-name': 'q'}}, 'spec': {'nprocPerNode': '8', 'replicaSpecs': [{'name': 'a', "        \
    "'replicas': 2, 'template': " TEMPLATE "}, {'name': 'b', 'replicas': 1, 'spares': 1, 'template': " TEMPLATE \
    "}], 'runPolicy': {'cleanPodPolicy': 'OnlyComplete', 'jobMaxRetryCount': 10, "                              \
    "'restartPolicy': {'numRestartBeforeFullJobRestart': 3, 'evalPeriodSeconds': 21600, "                       \
    "'maxFullJobRestarts': 1}, 'logMonitoringConfiguration': [{'name': 'r', 'logPattern': 'x'}]}}}"

static json_t *parse(const char *text)
{
    autofree char *copy = own_strdup(text);
    json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    for (char *c = copy; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    assert_int_equal(json_parse(copy, strlen(copy), strlen(copy), &json, error), 0);
    return json;
}

static struct workload_job *job_of(json_t *object)
{
    struct workload_job *job;
    assert_int_equal(kube_job_read(object, &job), 0);
    return job;
}

static json_t *at(json_t *json, const char *path)
{
    char part[64];
    while (*path != '\0' && json != NULL) {
        size_t len = strcspn(path, ".");
        memcpy(part, path, len);
        part[len] = '\0';
        json = json_is_array(json) ? json_array_get(json, (size_t)(part[0] - '0')) : json_object_get(json, part);
        path += len + (path[len] == '.');
    }
    return json;
}

static const char *text_at(json_t *json, const char *path)
{
    const char *text = json_string_value(at(json, path));
    return text != NULL ? text : "";
}

static const char *variable(json_t *container, const char *name)
{
    const json_t *list = json_object_get(container, "env");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(text_at(json_array_get(list, i), "name"), name) == 0)
            return text_at(json_array_get(list, i), "value");
    return "";
}

static void test_reads_a_spec(void **state)
{
    (void)state;
    auto_json json_t *object = parse(JOB);
    struct workload_job *job = job_of(object);
    int number;
    assert_string_equal(job->refused, "");
    assert_int_equal(job_pod_count(&job->spec), 4);
    assert_int_equal(job_rank_count(&job->spec), 3);
    assert_string_equal(job_pod_set(&job->spec, 3, &number)->name, "b");
    assert_int_equal(number, 1);
    assert_int_equal(job->spec.retries_max, 10);
    assert_int_equal(job->spec.restarts_before_full, 3);
    assert_int_equal(job->spec.full_restarts_max, 1);
    assert_int_equal(job->spec.eval_ms, 21600000);
    assert_int_equal(job->spec.ttl_ms, JOB_NO_LIMIT);
    assert_int_equal(job->spec.clean, JOB_CLEAN_ONLY_COMPLETE);
    assert_int_equal(json_array_size(job->rules), 1);
    workload_job_free(job);
}

static void test_makes_pods(void **state)
{
    (void)state;
    auto_json json_t *object = parse(JOB);
    struct workload_job *job = job_of(object);
    job->record->incarnations[2] = 5;
    text_copy_cut(job->key, sizeof(job->key), "k");
    auto_json json_t *pod = kube_job_pod(job, 2);
    json_t *first = at(pod, "spec.containers.0");
    assert_string_equal(text_at(pod, "metadata.name"), "demo-b-0");
    assert_string_equal(text_at(pod, "metadata.namespace"), "ml");
    assert_string_equal(text_at(pod, "metadata.labels.team"), "a");
    assert_string_equal(text_at(pod, "metadata.annotations.k"), "v");
    assert_string_equal(text_at(pod, "metadata.labels.holdfast/job"), "u-1");
    assert_string_equal(text_at(pod, "metadata.labels.holdfast/incarnation"), "5");
    assert_string_equal(json_string_value(json_object_get(at(pod, "metadata.labels"), "kueue.x-k8s.io/queue-name")),
                        "q");
    assert_string_equal(text_at(pod, "metadata.ownerReferences.0.uid"), "u-1");
    assert_string_equal(text_at(pod, "spec.nodeSelector.x"), "y");
    assert_string_equal(text_at(pod, "spec.restartPolicy"), "Never");
    assert_string_equal(variable(first, "NNODES"), "9"); /* as people gave it */
    assert_string_equal(variable(first, "PET_NNODES"), "3");
    assert_string_equal(variable(first, "PET_NPROC_PER_NODE"), "8");
    assert_string_equal(variable(first, "PET_SERVER_TOKEN_FILE"), KUBE_JOB_TOKEN_DIR "/token");
    assert_string_equal(variable(at(pod, "spec.containers.1"), "NNODES"), "3");
    assert_string_equal(text_at(pod, "spec.volumes.0.secret.secretName"), "holdfast-u-1-k");
    assert_string_equal(text_at(first, "volumeMounts.0.mountPath"), KUBE_JOB_TOKEN_DIR);
    assert_null(at(pod, "spec.affinity"));
    auto_json json_t *untouched = parse(JOB);
    assert_true(json_equal(untouched, object)); /* the template is copied */
    workload_job_free(job);
}

static void exclude(struct job_record *record, const char *node)
{
    struct job_excluded *excluded = &record->excluded[record->excluded_count++];
    *excluded = (struct job_excluded){0};
    text_copy_cut(excluded->node, sizeof(excluded->node), node);
}

static void test_pods_stay_away_from_excluded_nodes(void **state)
{
    (void)state;
    auto_json json_t *object = parse(JOB);
    json_t *spec = at(object, "spec.replicaSpecs.0.template.spec");
    json_object_set_new(
        spec, "affinity",
        parse("{'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': "
              "[{'matchExpressions': [1]}, {'matchFields': [2]}]}}}"));
    struct workload_job *job = job_of(object);
    exclude(job->record, "n1");
    exclude(job->record, "n2");
    auto_json json_t *pod = kube_job_pod(job, 0);
    json_t *terms =
        at(pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    assert_int_equal(json_array_size(terms), 2);
    assert_int_equal(json_array_size(at(terms, "0.matchFields")), 2);
    assert_int_equal(json_array_size(at(terms, "1.matchFields")), 3); /* terms are alternatives: each has to say it */
    assert_string_equal(text_at(terms, "0.matchFields.1.values.0"), "n2");
    assert_string_equal(text_at(terms, "0.matchFields.1.operator"), "NotIn");
    auto_json json_t *other = kube_job_pod(job, 2);
    assert_int_equal(
        json_array_size(at(other, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                                  "nodeSelectorTerms.0.matchFields")),
        2);
    workload_job_free(job);
}

static void test_status_keeps_when_conditions_changed(void **state)
{
    (void)state;
    auto_json json_t *object = parse(JOB);
    json_object_set_new(object, "status",
                        parse("{'conditions': [{'type': 'Created', 'status': 'True', 'lastTransitionTime': "
                              "'2026-01-01T00:00:00Z'}]}"));
    struct workload_job *job = job_of(object);
    job->record->state = JOB_FAILED;
    job->record->started_at = job->record->completed_at = job->record->since = INT64_C(1800000000000);
    job->record->fault = (struct job_fault){.cause = JOB_CAUSE_APPLICATION,
                                            .level = JOB_LEVEL_JOB,
                                            .pod = 3,
                                            .rank = 2,
                                            .node = "n1",
                                            .reason = "LogHang_r"};
    text_copy_cut(job->record->reason, sizeof(job->record->reason), "NoProgress");
    auto_json json_t *status = kube_job_status(job);
    assert_string_equal(text_at(status, "conditions.0.lastTransitionTime"), "2026-01-01T00:00:00Z");
    assert_string_equal(text_at(status, "conditions.1.type"), "Failed");
    assert_string_equal(text_at(status, "conditions.1.reason"), "NoProgress");
    assert_string_equal(text_at(status, "latestFaultyPodInstanceList.restartType"), "JLR");
    assert_string_equal(json_string_value(json_array_get(at(status, "latestFaultyPodInstanceList.faultyRankList"), 0)),
                        "2");
    assert_null(at(status, "holdfast")); /* HyperPod's command line refuses fields that it does not know */
    assert_string_equal(text_at(status, "latestFaultyPodInstanceList.faultyPodList.0"), "demo-b-1");
    assert_true(json_is_null(json_object_get(status, "masterAddr")));
    workload_job_free(job);
}

static void test_refuses_what_it_cannot_carry_out(void **state)
{
    static const char *const specs[] = {
        "{}",
        "{'replicaSpecs': []}",
        "{'replicaSpecs': [{}]}",
        "{'replicaSpecs': [{'name': 'a', 'replicas': 1}]}",
        "{'replicaSpecs': [{'name': '../a', 'replicas': 1, 'template': " TEMPLATE "}]}",
        "{'replicaSpecs': [{'name': 'a', 'replicas': 0, 'template': " TEMPLATE "}]}",
        "{'replicaSpecs': [{'name': 'a', 'replicas': '2', 'template': " TEMPLATE "}]}",
        "{'replicaSpecs': [{'name': 'a', 'replicas': 4096, 'spares': 1, 'template': " TEMPLATE "}]}",
        "{'replicaSpecs': [{'name': 'a', 'replicas': 5000, 'template': " TEMPLATE "}]}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        auto_json json_t *object = parse(JOB);
        json_object_set_new(object, "spec", parse(specs[i]));
        struct workload_job *job = job_of(object);
        assert_string_not_equal(job->refused, "");
        assert_int_equal(job_pod_count(&job->spec), 0);
        workload_job_free(job);
    }
    auto_json json_t *nameless = parse("{'metadata': {'uid': 'u'}}");
    struct workload_job *job;
    assert_int_equal(kube_job_read(nameless, &job), STATUS_BACKEND);
}

static void test_reads_pods(void **state)
{
    (void)state;
    auto_json json_t *pod = parse(
        "{'metadata': {'name': 'demo-a-1', 'uid': 'p', 'resourceVersion': '9', 'labels': {'holdfast/job': 'other', "
        "'holdfast/pod': '1', 'holdfast/incarnation': '2'}, 'ownerReferences': [{'kind': 'ReplicaSet', 'uid': 'x', "
        "'controller': true}, {'kind': 'HyperPodPyTorchJob', 'uid': 'u-1', 'controller': true}]}, 'spec': {'nodeName': "
        "'n1'}, 'status': {'phase': 'Failed', 'podIP': '10.0.0.7', 'containerStatuses': [{'state': {'terminated': "
        "{'reason': 'Completed'}}}, {'state': {'terminated': {'reason': 'OOMKilled'}}}]}}");
    struct kube_job_pod_kept kept;
    assert_int_equal(kube_job_pod_read(pod, &kept), 0);
    assert_string_equal(kept.job, "u-1"); /* by its owner, and not by a label that anybody may write */
    assert_int_equal(kept.number, 1);
    assert_int_equal(kept.seen.incarnation, 2);
    assert_true(kept.seen.finished && !kept.seen.succeeded && !kept.seen.running);
    assert_string_equal(kept.seen.ended_as, "OOMKilled");
    json_object_del(at(pod, "metadata"), "ownerReferences");
    assert_int_equal(kube_job_pod_read(pod, &kept), STATUS_BACKEND);
}

static void test_reads_launchers(void **state)
{
    static const struct {
        const char *text;
        enum job_agent agent;
        int64_t progress;
    } cases[] = {
        {"{\"status\":\"faulted\",\"reason\":\"LogHang_r\",\"message\":\"m\",\"transitions\":{\"FAULTED\":"
         "\"2026-01-01T00:00:00.500Z\"},\"workers\":[{\"step\":7},{\"step\":9}]}",
         JOB_AGENT_FAULTED, 9},
        {"{\"status\":\"running\",\"progress\":{\"/c\":{\"progressCount\":3}}}", JOB_AGENT_RUNNING, 3},
        {"{\"status\":\"running\",\"workers\":[{\"step\":\"9\"},{}],\"progress\":[]}", JOB_AGENT_RUNNING, -1},
        {"{\"status\":\"RUNNING\"}", JOB_AGENT_UNKNOWN, -1},
        {"{\"status\":7}", JOB_AGENT_UNKNOWN, -1},
        {"[]", JOB_AGENT_UNKNOWN, -1},
        {"<html>", JOB_AGENT_UNKNOWN, -1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_pod seen = {.progress = -1, .agent = JOB_AGENT_READY};
        launcher_read(cases[i].text, strlen(cases[i].text), &seen);
        assert_int_equal(seen.agent, cases[i].agent);
        assert_int_equal(seen.progress, cases[i].progress);
        if (i == 0)
            assert_int_equal(seen.agent_since, INT64_C(1767225600500));
    }
}

static void test_start_has_all_addresses(void **state)
{
    (void)state;
    auto_json json_t *object = parse(JOB);
    struct workload_job *job = job_of(object);
    int *ranks = own_calloc(3, sizeof(*ranks));
    memcpy(ranks, (int[]){3, 0, 1}, 3 * sizeof(*ranks));
    job_record_rank(job->record, ranks, 3);
    job->record->attempt = 2;
    text_copy_cut(job->pods[3].address, sizeof(job->pods[3].address), "10.0.0.3");
    text_copy_cut(job->pods[0].address, sizeof(job->pods[0].address), "fd00::1");
    auto_json json_t *body = launcher_start_body(job, 1);
    assert_int_equal(json_integer_value(at(body, "rank")), 1);
    assert_int_equal(json_integer_value(at(body, "nnodes")), 3);
    assert_int_equal(json_integer_value(at(body, "faultCount")), 1);
    assert_string_equal(text_at(body, "master_addr"), "10.0.0.3");
    assert_string_equal(text_at(body, "rankIps.1.ip"), "fd00::1");
    assert_int_equal(json_array_size(at(body, "log_monitoring_configuration")), 1);
    workload_job_free(job);
}

static void test_each_job_has_a_token_of_its_own(void **state)
{
    const struct seal_key key = {.bytes = {1}}, other = {.bytes = {2}};
    char a[WORKLOAD_TOKEN_MAX], again[WORKLOAD_TOKEN_MAX], b[WORKLOAD_TOKEN_MAX], c[WORKLOAD_TOKEN_MAX];
    (void)state;
    controller_token(&key, "u-1", a);
    controller_token(&key, "u-1", again);
    controller_token(&key, "u-2", b);
    controller_token(&other, "u-1", c);
    assert_int_equal(strlen(a), 64);
    assert_string_equal(a, again);
    assert_string_not_equal(a, b);
    assert_string_not_equal(a, c);
}

/* The annotation is read once: its first word says what begins anew, and the whole of it which time that was asked. */
static void test_reads_what_a_person_asked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool remakes;
    } rows[] = {{"restart 7 by ann", false}, {"remake 8 by ann", true}, {"tuesday", false}, {"do not remake", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_json json_t *object = parse(JOB);
        json_object_set_new(at(object, "metadata"), "annotations",
                            json_pack("{s:s}", KUBE_JOB_ASKED_ANNOTATION, rows[i].text));
        struct workload_job *job = job_of(object);
        assert_string_equal(job->spec.asked, rows[i].text);
        assert_int_equal(job->spec.remakes, rows[i].remakes);
        workload_job_free(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_a_spec),
        cmocka_unit_test(test_reads_what_a_person_asked),
        cmocka_unit_test(test_makes_pods),
        cmocka_unit_test(test_pods_stay_away_from_excluded_nodes),
        cmocka_unit_test(test_status_keeps_when_conditions_changed),
        cmocka_unit_test(test_refuses_what_it_cannot_carry_out),
        cmocka_unit_test(test_reads_pods),
        cmocka_unit_test(test_reads_launchers),
        cmocka_unit_test(test_start_has_all_addresses),
        cmocka_unit_test(test_each_job_has_a_token_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
