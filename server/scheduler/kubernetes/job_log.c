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

/* The time before a line, which the API server puts there; 0: there is none. */
static size_t stamp_len(const char *line, size_t len)
{
    size_t at = strlen("2026-11-20T15:02:11");
    if (len <= at || line[4] != '-' || line[10] != 'T' || line[13] != ':' || line[at] != '.')
        return 0;
    while (at < len && line[at] != ' ' && at < JOB_LOG_STAMP_MAX)
        at++;
    return at < len && line[at] == ' ' && at < JOB_LOG_STAMP_MAX ? at : 0;
}

/* What came of one request. */
struct lines {
    struct text text;
    int64_t count;  /* that came */
    bool continues; /* one of them is not later than what was known before */
    char last[JOB_LOG_STAMP_MAX];
};

static void take_line(struct lines *lines, const char *after, const char *line, size_t len)
{
    char stamp[JOB_LOG_STAMP_MAX] = "";
    size_t before = stamp_len(line, len);
    lines->count++;
    if (before > 0) {
        memcpy(stamp, line, before);
        stamp[before] = '\0';
        text_copy_cut(lines->last, sizeof(lines->last), stamp);
        line += before + 1;
        len -= before + 1;
    }
    if (before > 0 && after[0] != '\0' && strcmp(stamp, after) <= 0) {
        lines->continues = true;
        return;
    }
    autofree char *clean = kube_log_lines(line, len);
    text_add(&lines->text, len > 0 ? clean : "\n");
}

static void take_lines(struct lines *lines, const char *after, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t line = end != NULL ? (size_t)(end - bytes) : len, taken = line + (end != NULL);
        take_line(lines, after, bytes, line);
        bytes += taken;
        len -= taken;
    }
}

/*
 * The API server finds where the last lines begin and sends so many bytes from there, so of long lines the newest are missing: then it is
 * asked for fewer, until they end before the limit. A single line that is longer is shown from its beginning.
 */
int kube_log_read(const struct job_log_ask *ask, kube_log_get_fn get, void *arg, struct job_log *ret_log)
{
    int64_t wanted = ask->lines;
    for (;;) {
        struct lines lines = {0};
        autofree char *bytes = NULL;
        size_t len = 0;
        int status = get(arg, wanted, &bytes, &len);
        if (status != 0)
            return status;
        take_lines(&lines, ask->after, bytes, len);
        if (len < JOB_LOG_BYTES_MAX || wanted == 1) {
            bool missed = ask->after[0] != '\0' && !lines.continues && lines.count >= wanted;
            ret_log->text = text_take(&lines.text);
            ret_log->cut = wanted < ask->lines || len >= JOB_LOG_BYTES_MAX || missed;
            text_copy_cut(ret_log->last, sizeof(ret_log->last), lines.last[0] != '\0' ? lines.last : ask->after);
            return 0;
        }
        wanted = lines.count - lines.count / 4 < wanted / 2 ? lines.count - lines.count / 4 : wanted / 2;
        wanted = wanted < 1 ? 1 : wanted;
        free(text_take(&lines.text));
    }
}

struct asking {
    struct kube_call *call;
    const struct finding *finding;
    const struct job_log_ask *ask;
};

static int ask_server(void *arg, int64_t lines, char **ret_bytes, size_t *ret_len)
{
    const struct asking *asking = arg;
    const struct finding *finding = asking->finding;
    const struct job_log_ask *ask = asking->ask;
    autofree char *space = kube_escape(finding->space), *name = kube_escape(finding->name);
    autofree char *container = kube_escape(finding->container), *after = kube_escape(ask->after);
    autofree char *path =
        own_printf("/api/v1/namespaces/%s/pods/%s/log?container=%s&timestamps=true&tailLines=%lld&limitBytes=%zu%s%s%s",
                   space, name, container, (long long)lines, JOB_LOG_BYTES_MAX, ask->previous ? "&previous=true" : "",
                   ask->after[0] != '\0' ? "&sinceTime=" : "", after);
    int status = kube_get_text(asking->call, path, ret_bytes, ret_len);
    if (status == STATUS_NOT_FOUND)
        return kube_call_fail(asking->call, status,
                              "Rank %lld has no pod now: the pod %s is gone, and its log with it.",
                              (long long)ask->rank, finding->name);
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
    struct asking asking = {&call, &finding, ask};
    int status = kube_log_read(ask, ask_server, &asking, ret_log);
    if (status != 0)
        return status;
    text_copy_cut(ret_log->source, sizeof(ret_log->source), finding.name);
    text_copy_cut(ret_log->node, sizeof(ret_log->node), finding.node);
    return 0;
}
