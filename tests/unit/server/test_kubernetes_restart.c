/*
 * PyTorchJobs of Kubeflow that ask for HyperPod's auto restart, on a fake API server with an operator that makes deleted pods anew: who asks
 * is restarted as a whole, once for each drain, whatever is interrupted on the way, and as often as its limit says. No pod that was made anew
 * is deleted, although the operator changes the job with each pod that goes.
 */
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/kubernetes/kubernetes.h"
#include "tests/support/fake_server.h"
#include "tests/unit/server/kubernetes_world.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TIMEOUT_MS 20000
#define ASKS "\"sagemaker.amazonaws.com/enable-job-auto-resume\":\"true\""
#define MOST(n) "\"sagemaker.amazonaws.com/job-max-retry-count\":\"" n "\""
#define RESTARTED(count) \
    "\"holdfast/restarts\":\"{\\\"count\\\":" count ",\\\"pods\\\":[\\\"old\\\"],\\\"done\\\":true}\""
#define NO_RIGHT(verb) \
    "{\"message\":\"pytorchjobs 'train' is forbidden: User 'h' cannot " verb " resource 'pytorchjobs'\"}"
#define NO_POLICY "{\"message\":\"pytorchjobs 'train' is forbidden: ValidatingAdmissionPolicy 'p' denied request: no\"}"

/* The server's thread and the test take turns. */
struct kubeflow {
    struct fake_server *server;
    struct scheduler_driver driver;
    json_t *job, *pods, *events;   /* pods by name, events by name */
    int made, changes, fails_at;   /* changes that were asked for; which of them fails, from 1 */
    size_t page;                   /* pods of a job in one answer */
    int64_t version;               /* of the job */
    bool budget, busy;             /* busy: each look at a job with a record is followed by a change of the operator */
    const char *refused, *refusal; /* method on the job; the answer */
};

/* --- the server ----------------------------------------------------------------------------------------------------- */

static json_t *pod_of(const char *name, const char *uid, const char *node)
{
    return json_pack("{s:{s:s, s:s, s:s, s:{s:s}, s:[{s:s, s:s, s:b}]}, s:{s:s}, s:{s:s}}", "metadata", "name", name,
                     "namespace", "team", "uid", uid, "labels", "training.kubeflow.org/job-name", "train",
                     "ownerReferences", "kind", "PyTorchJob", "name", "train", "controller", 1, "spec", "nodeName",
                     node, "status", "phase", "Running");
}

static const char *node_of(const json_t *pod)
{
    return json_string_value(json_object_get(json_object_get(pod, "spec"), "nodeName"));
}

static bool is_finished(const json_t *pod)
{
    return strcmp(json_string_value(json_object_get(json_object_get(pod, "status"), "phase")), "Running") != 0;
}

static void answer_list(struct kubeflow *k, json_t *items, const char *go_on, struct fake_answer *answer)
{
    auto_json json_t *list =
        json_pack("{s:{s:s, s:s}, s:O}", "metadata", "resourceVersion", "9", "continue", go_on, "items", items);
    autofree char *text = json_dumps(list, JSON_COMPACT);
    fake_answer_json(answer, k->server, 200, text);
}

static void answer_node_pods(struct kubeflow *k, const char *request, struct fake_answer *answer)
{
    auto_json json_t *items = json_array();
    const char *name;
    json_t *pod;
    json_object_foreach(k->pods, name, pod)
    {
        autofree char *selector = own_printf("fieldSelector=spec.nodeName%%3D%s ", node_of(pod));
        if (strstr(request, "fieldSelector=") == NULL || strstr(request, selector) != NULL)
            json_array_append(items, pod);
    }
    answer_list(k, items, "", answer);
}

/* In pages, without those that the selector leaves out. */
static void answer_job_pods(struct kubeflow *k, const char *request, struct fake_answer *answer)
{
    auto_json json_t *items = json_array();
    const char *name, *from = strstr(request, "&continue=from%3D");
    size_t at = 0, first = from == NULL ? 0 : strtoul(from + strlen("&continue=from%3D"), NULL, 10);
    json_t *pod;
    bool running = strstr(request, "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&") != NULL;
    json_object_foreach(k->pods, name, pod)
    {
        if (running && is_finished(pod))
            continue;
        if (at >= first && at < first + k->page)
            json_array_append(items, pod);
        at++;
    }
    autofree char *go_on = at > first + k->page ? own_printf("from=%zu", first + k->page) : own_strdup("");
    answer_list(k, items, go_on, answer);
}

/* The operator writes how the job stands. */
static void change_job(struct kubeflow *k)
{
    autofree char *version = own_printf("%lld", (long long)++k->version);
    json_object_set_new(json_object_get(k->job, "metadata"), "resourceVersion", json_string(version));
}

/* The operator makes it anew, elsewhere. */
static int remove_pod(struct kubeflow *k, const char *name, const json_t *options)
{
    const json_t *only = json_object_get(json_object_get(options, "preconditions"), "uid");
    const json_t *pod = json_object_get(k->pods, name);
    if (pod == NULL || !json_equal(json_object_get(json_object_get(pod, "metadata"), "uid"), only))
        return pod == NULL ? 404 : 409;
    autofree char *uid = own_printf("new-%d", ++k->made);
    json_object_set_new(k->pods, name, pod_of(name, uid, "gpu-9"));
    change_job(k);
    return 200;
}

static void answer_job(struct kubeflow *k, const char *method, const char *body, struct fake_answer *answer)
{
    json_t *metadata = json_object_get(k->job, "metadata");
    json_t *annotations = json_object_get(metadata, "annotations");
    if (k->refused != NULL && strcmp(method, k->refused) == 0) {
        fake_answer_json(answer, k->server, 403, k->refusal);
        return;
    }
    if (strcmp(method, "PATCH") == 0) {
        auto_json json_t *patch = json_loads(body, 0, NULL);
        json_t *changed = json_object_get(patch, "metadata");
        if (!json_equal(json_object_get(changed, "resourceVersion"), json_object_get(metadata, "resourceVersion"))) {
            fake_answer_json(answer, k->server, 409, "{\"message\":\"it has changed\"}");
            return;
        }
        json_object_update(annotations, json_object_get(changed, "annotations"));
        change_job(k);
    }
    autofree char *text = json_dumps(k->job, JSON_COMPACT);
    fake_answer_json(answer, k->server, 200, text);
    if (k->busy && json_object_get(annotations, "holdfast/restarts") != NULL)
        change_job(k);
}

static void answer_change(struct kubeflow *k, const char *method, char *path, const char *body,
                          struct fake_answer *answer)
{
    static const char eviction[] = "/eviction";
    auto_json json_t *json = json_loads(body, 0, NULL);
    bool evicts = text_ends_with(path, eviction);
    if (text_ends_with(path, "/events")) {
        const char *name = json_string_value(json_object_get(json_object_get(json, "metadata"), "name"));
        int there = json_object_get(k->events, name) != NULL;
        json_object_set(k->events, name, json);
        fake_answer_json(answer, k->server, there ? 409 : 201, "{}");
        return;
    }
    if (evicts)
        path[strlen(path) - strlen(eviction)] = '\0';
    if (evicts && k->budget) {
        fake_answer_json(answer, k->server, 429, "{\"message\":\"a budget\"}");
        return;
    }
    assert_true(evicts || strcmp(method, "DELETE") == 0);
    const json_t *options = evicts ? json_object_get(json, "deleteOptions") : json;
    fake_answer_json(answer, k->server, remove_pod(k, strrchr(path, '/') + 1, options), "{}");
}

static void answer_request(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct kubeflow *k = arg;
    char method[16], path[512];
    const char *body = strstr(request, "\r\n\r\n") + 4;
    (void)len;
    answer->close = true; /* the server has one connection at a time */
    if (strstr(request, "watch=true") != NULL) {
        answer->pieces[answer->count++] = "HTTP/1.1 200 X\r\nConnection: close\r\n\r\n";
        return;
    }
    assert_int_equal(sscanf(request, "%15s %511[^ ?]", method, path), 2);
    bool changes = strcmp(method, "GET") != 0;
    if (changes && ++k->changes == k->fails_at)
        fake_answer_json(answer, k->server, 500, "{\"message\":\"etcd is away\"}");
    else if (strstr(path, "/pytorchjobs/") != NULL)
        answer_job(k, method, body, answer);
    else if (changes)
        answer_change(k, method, path, body, answer);
    else if (strcmp(path, "/apis/policy") == 0)
        fake_answer_json(answer, k->server, 200, "{\"versions\":[{\"version\":\"v1\"}]}");
    else if (strcmp(path, "/api/v1/nodes") == 0)
        fake_answer_json(answer, k->server, 200,
                         "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{\"name\":\"gpu-1\","
                         "\"uid\":\"n\",\"resourceVersion\":\"5\"}},{\"metadata\":{\"name\":\"gpu-2\",\"uid\":\"n2\","
                         "\"resourceVersion\":\"6\"}}]}");
    else if (strstr(request, "labelSelector=training.kubeflow.org%2Fjob-name%3Dtrain") != NULL)
        answer_job_pods(k, request, answer);
    else
        answer_node_pods(k, request, answer);
}

/* --- the world ------------------------------------------------------------------------------------------------------ */

/* Two pods on the node that is drained, two elsewhere. */
static void start_anew(struct kubeflow *k, const char *annotations)
{
    static const char *const pods[][2] = {{"train-master-0", "gpu-1"},
                                          {"train-worker-0", "gpu-1"},
                                          {"train-worker-1", "gpu-2"},
                                          {"train-worker-2", "gpu-3"}};
    json_decref(k->job);
    json_object_clear(k->pods);
    json_object_clear(k->events);
    k->made = k->changes = k->fails_at = 0;
    k->budget = k->busy = false;
    k->refused = NULL;
    k->page = 2;
    k->version = 1;
    autofree char *text = own_printf("{\"metadata\":{\"name\":\"train\",\"namespace\":\"team\",\"uid\":\"j\","
                                     "\"resourceVersion\":\"1\",\"annotations\":{%s}}}",
                                     annotations);
    k->job = json_loads(text, 0, NULL);
    assert_non_null(k->job);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        autofree char *uid = own_printf("uid-%zu", i);
        json_object_set_new(k->pods, pods[i][0], pod_of(pods[i][0], uid, pods[i][1]));
    }
}

static int evict_from(struct kubeflow *k, const char *node)
{
    char error[SCHEDULER_ERROR_MAX] = "";
    const struct scheduler_owner owner = {.note = "a test"};
    return k->driver.ops->evict(k->driver.self, node, &owner, error);
}

static int evict(struct kubeflow *k)
{
    return evict_from(k, "gpu-1");
}

/* Caller frees. */
static json_t *record_of(const struct kubeflow *k)
{
    const json_t *annotations = json_object_get(json_object_get(k->job, "metadata"), "annotations");
    const char *text = json_string_value(json_object_get(annotations, "holdfast/restarts"));
    return text == NULL ? NULL : json_loads(text, 0, NULL);
}

static json_int_t restarts(const struct kubeflow *k)
{
    auto_json json_t *record = record_of(k);
    return json_integer_value(json_object_get(record, "count"));
}

static bool is_done(const struct kubeflow *k)
{
    auto_json json_t *record = record_of(k);
    return json_is_true(json_object_get(record, "done"));
}

static bool is_old(const struct kubeflow *k, const char *pod)
{
    const json_t *metadata = json_object_get(json_object_get(k->pods, pod), "metadata");
    return text_starts_with(json_string_value(json_object_get(metadata, "uid")), "uid-");
}

static int set_up(void **state)
{
    static struct kubeflow k;
    k.pods = json_object();
    k.events = json_object();
    k.server = fake_server_start(NULL, 0, NULL, NULL, answer_request, &k);
    kubernetes_world_open(k.server, TIMEOUT_MS, &k.driver);
    *state = &k;
    return 0;
}

static int tear_down(void **state)
{
    struct kubeflow *k = *state;
    k->driver.ops->free(k->driver.self);
    fake_server_stop(k->server);
    json_decref(k->job);
    json_decref(k->pods);
    json_decref(k->events);
    return 0;
}

/* One restart of all, each pod once. */
static void assert_restarted_once(const struct kubeflow *k, const char *what, int number)
{
    const char *name;
    json_t *pod;
    if (restarts(k) != 1 || json_object_size(k->events) != 1 || k->made != 4)
        fail_msg("%s %d: %lld restarts, %zu events, %d pods made anew", what, number, (long long)restarts(k),
                 json_object_size(k->events), k->made);
    json_object_foreach(k->pods, name, pod)
    {
        assert_false(is_old(k, name));
    }
}

/* --- tests ---------------------------------------------------------------------------------------------------------- */

static void test_only_jobs_that_ask_are_restarted_up_to_their_limit(void **state)
{
    static const struct {
        const char *annotations, *refused, *refusal;
        json_int_t count; /* of restarts, after it */
        int events;
        const char *says;
    } cases[] = {
        {ASKS "," MOST("2"), NULL, NULL, 1, 1, "Restart 1 of 2: the node gpu-1 is drained"},
        {ASKS, NULL, NULL, 1, 1, "Restart 1: the node gpu-1 is drained"},
        {ASKS "," MOST("2") "," RESTARTED("1"), NULL, NULL, 2, 1, "Restart 2 of 2: the node gpu-1 is drained"},
        {ASKS "," MOST("2") "," RESTARTED("2"), NULL, NULL, 2, 0, ""},
        {ASKS "," MOST("0"), NULL, NULL, 0, 0, ""},
        {ASKS "," MOST("many"), NULL, NULL, 0, 0, ""},
        {ASKS "," RESTARTED("-7"), NULL, NULL, 1, 1, "Restart 1: the node gpu-1 is drained"},
        {ASKS ",\"holdfast/restarts\":\"[[[\"", NULL, NULL, 1, 1, "Restart 1: the node gpu-1 is drained"},
        {"\"sagemaker.amazonaws.com/enable-job-auto-resume\":\"false\"", NULL, NULL, 0, 0, ""},
        {MOST("2"), NULL, NULL, 0, 0, ""},
        {ASKS, "GET", NO_RIGHT("get"), 0, 0, ""},
        {ASKS, "PATCH", NO_RIGHT("patch"), 0, 0, ""},
        {ASKS, "PATCH", NO_POLICY, 0, 0, ""},
    };
    struct kubeflow *k = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *name;
        json_t *event;
        start_anew(k, cases[i].annotations);
        k->refused = cases[i].refused;
        k->refusal = cases[i].refusal;
        assert_int_equal(evict(k), 0);
        bool restarted = cases[i].events > 0;
        if (restarts(k) != cases[i].count || (int)json_object_size(k->events) != cases[i].events)
            fail_msg("case %zu: %lld restarts, %zu events", i, (long long)restarts(k), json_object_size(k->events));
        assert_true(!is_old(k, "train-master-0") && !is_old(k, "train-worker-0")); /* the node's leave in any case */
        if (is_old(k, "train-worker-1") == restarted || is_old(k, "train-worker-2") == restarted)
            fail_msg("case %zu: the other pods", i);
        json_object_foreach(k->events, name, event)
        {
            assert_string_equal(json_string_value(json_object_get(event, "reason")), "PyTorchJobRestarting");
            assert_string_equal(json_string_value(json_object_get(event, "message")), cases[i].says);
        }
    }
}

/* What a budget protects is asked for again and again. The rest of the job has long begun anew. */
static void test_a_drain_restarts_once(void **state)
{
    struct kubeflow *k = *state;
    start_anew(k, ASKS "," MOST("5"));
    k->budget = true;
    for (int i = 0; i < 4; i++)
        assert_int_equal(evict(k), 0);
    assert_true(is_old(k, "train-master-0"));
    k->budget = false;
    assert_int_equal(evict(k), 0);
    assert_restarted_once(k, "budget", 0);
    assert_true(is_done(k));
}

/* Then nothing says that it is done, and each call looks again. */
static void test_the_operator_is_faster_at_each_try(void **state)
{
    struct kubeflow *k = *state;
    start_anew(k, ASKS "," MOST("5"));
    k->busy = k->budget = true;
    for (int i = 0; i < 3; i++)
        assert_int_equal(evict(k), 0);
    assert_false(is_done(k));
    k->budget = false;
    assert_int_equal(evict(k), 0);
    assert_restarted_once(k, "busy", 0);
}

static void test_a_restart_interrupted_at_any_change_counts_once(void **state)
{
    struct kubeflow *k = *state;
    int failed = 0;
    for (int at = 1;; at++) {
        start_anew(k, ASKS "," MOST("1"));
        k->fails_at = at;
        int status = evict(k);
        if (k->changes < at)
            break;
        failed++;
        if (status == 0)
            fail_msg("change %d was refused, and nothing says so", at);
        assert_int_equal(evict(k), 0);
        assert_restarted_once(k, "change", at);
    }
    assert_int_equal(failed, 8); /* two records, one of them twice, two deletions, the event, two evictions */
}

/* hpd begins it for one node and is interrupted at once. The other node's pods are in it: it goes on, for both. */
static void test_a_second_node_belongs_to_the_restart(void **state)
{
    struct kubeflow *k = *state;
    start_anew(k, ASKS "," MOST("5"));
    k->fails_at = 2;
    assert_int_not_equal(evict(k), 0);
    assert_int_equal(k->made, 0);
    assert_int_equal(evict_from(k, "gpu-2"), 0);
    assert_int_equal(k->made, 2);
    assert_true(is_done(k));
    assert_int_equal(evict(k), 0);
    assert_restarted_once(k, "nodes", 2);
    assert_string_equal(
        json_string_value(json_object_get(json_object_iter_value(json_object_iter(k->events)), "message")),
        "Restart 1 of 5: the node gpu-1 is drained");
}

static void *drain_second(void *arg)
{
    return evict_from(arg, "gpu-2") == 0 ? NULL : arg;
}

static void test_two_nodes_at_once(void **state)
{
    struct kubeflow *k = *state;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *failed;
        start_anew(k, ASKS "," MOST("5"));
        assert_int_equal(pthread_create(&thread, NULL, drain_second, k), 0);
        int status = evict(k);
        assert_int_equal(pthread_join(thread, &failed), 0);
        assert_int_equal(status, 0);
        assert_null(failed);
        assert_restarted_once(k, "round", i);
    }
}

static void add_pods(struct kubeflow *k, size_t count, const char *phase)
{
    for (size_t i = 0; i < count; i++) {
        autofree char *name = own_printf("train-%s-%zu", phase, i), *uid = own_printf("uid-%s-%zu", phase, i);
        json_t *pod = pod_of(name, uid, "gpu-4");
        json_object_set_new(json_object_get(pod, "status"), "phase", json_string(phase));
        json_object_set_new(k->pods, name, pod);
    }
}

static void test_finished_pods_stay(void **state)
{
    struct kubeflow *k = *state;
    start_anew(k, ASKS);
    add_pods(k, 4200, "Succeeded");
    k->page = 500;
    assert_int_equal(evict(k), 0);
    assert_int_equal(restarts(k), 1);
    assert_int_equal(k->made, 4);
    assert_true(is_old(k, "train-Succeeded-0") && is_old(k, "train-Succeeded-4199"));
}

/* Its record would be too long. */
static void test_a_job_of_too_many_pods_is_evicted(void **state)
{
    struct kubeflow *k = *state;
    start_anew(k, ASKS);
    add_pods(k, 3000, "Running");
    k->page = 500;
    assert_int_equal(evict(k), 0);
    assert_int_equal(restarts(k), 0);
    assert_int_equal(json_object_size(k->events), 0);
    assert_int_equal(k->made, 2);
    assert_false(is_old(k, "train-master-0") || is_old(k, "train-worker-0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_jobs_that_ask_are_restarted_up_to_their_limit),
        cmocka_unit_test(test_a_drain_restarts_once),
        cmocka_unit_test(test_the_operator_is_faster_at_each_try),
        cmocka_unit_test(test_a_restart_interrupted_at_any_change_counts_once),
        cmocka_unit_test(test_a_second_node_belongs_to_the_restart),
        cmocka_unit_test(test_two_nodes_at_once),
        cmocka_unit_test(test_finished_pods_stay),
        cmocka_unit_test(test_a_job_of_too_many_pods_is_evicted),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
