/*
 * The last lines of a training job's rank, as its pod's container wrote them: the API server asks the node's kubelet for them. Any bytes may
 * come; what is handed out are lines of printable UTF-8.
 */
#include "server/scheduler/kubernetes/job_object.h"
#include "server/scheduler/kubernetes/private.h"

#include "base/status.h"
#include "base/text.h"

#include <string.h>

struct finding {
    const char *id;
    int64_t rank;
    bool found;
    int ranks;
    int pod; /* -1: no pod has the rank */
    char name[WORKLOAD_NAME_MAX], space[WORKLOAD_UID_MAX], uid[WORKLOAD_UID_MAX], container[WORKLOAD_UID_MAX];
    char node[JOB_NODE_MAX];
};

static void take_container(struct finding *finding, const struct workload_job *job)
{
    int number = 0;
    const struct job_set *set = job_pod_set(&job->spec, finding->pod, &number);
    const json_t *sets = kube_at(job->object, "spec", "replicaSpecs");
    const json_t *template =
        set == NULL ? NULL : json_object_get(json_array_get(sets, (size_t)(set - job->spec.sets)), "template");
    const json_t *containers = kube_at(template, "spec", "containers");
    text_copy_cut(finding->container, sizeof(finding->container), kube_text(json_array_get(containers, 0), "name"));
}

static void match(const struct workload_job *job, void *arg)
{
    struct finding *finding = arg;
    autofree char *id = own_printf("%s/%s", job->space, job->name);
    if (finding->found || strcmp(id, finding->id) != 0)
        return;
    const struct job_record *record = job->record;
    finding->found = true;
    finding->ranks = record->rank_count;
    if (finding->rank >= record->rank_count)
        return;
    finding->pod = record->ranks[finding->rank];
    autofree char *name = kube_job_pod_name(job, finding->pod);
    text_copy_cut(finding->name, sizeof(finding->name), name);
    text_copy_cut(finding->space, sizeof(finding->space), job->space);
    text_copy_cut(finding->uid, sizeof(finding->uid), job->uid);
    text_copy_cut(finding->node, sizeof(finding->node), record->rank_nodes[finding->rank]);
    take_container(finding, job);
}

/* A progress bar goes back to the start of its line: each turn is a line here. */
char *kube_log_lines(const char *bytes, size_t len)
{
    struct text out = {0};
    while (len > 0) {
        size_t line = 0;
        while (line < len && bytes[line] != '\n' && bytes[line] != '\r')
            line++;
        autofree char *clean = own_calloc(line + 1, 1);
        text_copy_clean(clean, line + 1, bytes, line);
        text_add(&out, clean);
        text_add_char(&out, '\n');
        bool both = line + 1 < len && bytes[line] == '\r' && bytes[line + 1] == '\n';
        size_t taken = line < len ? line + 1 + both : line;
        bytes += taken;
        len -= taken;
    }
    return text_take(&out);
}

static int ask_server(struct kube_call *call, const struct finding *finding, const struct job_log_ask *ask,
                      struct job_log *ret_log)
{
    autofree char *space = kube_escape(finding->space), *name = kube_escape(finding->name);
    autofree char *container = kube_escape(finding->container), *bytes = NULL;
    autofree char *path =
        own_printf("/api/v1/namespaces/%s/pods/%s/log?container=%s&tailLines=%lld&limitBytes=%zu%s", space, name,
                   container, (long long)ask->lines, JOB_LOG_BYTES_MAX, ask->previous ? "&previous=true" : "");
    size_t len;
    int status = kube_get_text(call, path, &bytes, &len);
    if (status == STATUS_NOT_FOUND)
        return kube_call_fail(call, status, "Rank %lld has no pod now: the pod %s is gone, and its log with it.",
                              (long long)ask->rank, finding->name);
    if (status == 0)
        ret_log->text = kube_log_lines(bytes, len);
    return status;
}

int kube_job_log(struct scheduler *s, const struct job_log_ask *ask, struct job_log *ret_log, char *ret_error)
{
    struct kube_call call;
    struct finding finding = {.id = ask->job, .rank = ask->rank, .pod = -1};
    kube_call_start(&call, s->client, ret_error);
    kube_training_each(s, match, &finding);
    if (!finding.found)
        return kube_call_fail(&call, STATUS_NOT_FOUND,
                              "hpd reads the logs of training jobs, and \"%.64s\" is none. Use kubectl logs.",
                              ask->job);
    if (finding.pod < 0)
        return kube_call_fail(&call, STATUS_NOT_FOUND, "The job has %d rank%s now: there is no rank %lld.",
                              finding.ranks, text_plural(finding.ranks), (long long)ask->rank);
    int status = ask_server(&call, &finding, ask, ret_log);
    if (status != 0)
        return status;
    text_copy_cut(ret_log->source, sizeof(ret_log->source), finding.name);
    text_copy_cut(ret_log->node, sizeof(ret_log->node), finding.node);
    return 0;
}
