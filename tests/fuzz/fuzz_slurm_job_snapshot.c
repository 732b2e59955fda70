/* What squeue, sdiag, sshare and scontrol print of Slurm's figures: what is read is text for JSON, and what is made of it Prometheus'. */
// ROOMS: base model server
#include "tests/fuzz/fuzz.h"

#include "base/own.h"
#include "base/text.h"
#include "server/scheduler/slurm/job_snapshot.h"
#include "server/scheduler/slurm/metrics.h"
#include "server/scheduler/slurm/parse.h"

#include <ctype.h>

#define SEPARATOR "~5eedf00d"

static void require_text(const char *s)
{
    REQUIRE(text_is_utf8(s, strlen(s)));
    for (; *s != '\0'; s++)
        REQUIRE(!iscntrl((unsigned char)*s));
}

static void require_job(const struct cluster_job *job)
{
    const char *const texts[] = {
        job->id,     job->name,  job->user,     job->account, cluster_job_state_text(job->state),
        job->reason, job->nodes, job->partition};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        require_text(texts[i]);
    REQUIRE(isdigit((unsigned char)job->id[0]));
    REQUIRE(job->tasks >= 1 && job->cpus >= 0 && job->gpus >= 0 && job->restarts >= 0 && job->time_limit_s >= 0);
    REQUIRE(job->submitted_at >= 0 && job->started_at >= 0 && job->ends_at >= 0);
}

/* Each line is a comment, or name, perhaps labels, and one number behind one space. */
static void require_prometheus(const char *text)
{
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        REQUIRE(strchr(line, '\n') != NULL);
        REQUIRE(text_starts_with(line, "# ") || text_starts_with(line, "slurm_"));
        if (line[0] == '#')
            continue;
        const char *at = line + strspn(line, "abcdefghijklmnopqrstuvwxyz_");
        bool quoted = false;
        if (*at == '{') {
            for (at++; quoted || *at != '}'; at++) {
                REQUIRE(*at != '\n');
                if (*at == '\\')
                    at++;
                else if (*at == '"')
                    quoted = !quoted;
            }
            at++;
        }
        REQUIRE(*at == ' ');
        at++;
        REQUIRE(strspn(at, "0123456789.e+-") > 0 && at[strspn(at, "0123456789.e+-")] == '\n');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int (*const readers[])(struct slurm_metrics *, char *) = {
        slurm_metrics_diag, slurm_metrics_shares, slurm_metrics_reservations, slurm_metrics_licenses};
    AUTO(job_snapshot) struct job_snapshot *snapshot = job_snapshot_new();
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    if (slurm_queue_parse(fuzz_text(data, size), SEPARATOR, snapshot) == 0) {
        for (size_t i = 0; i < snapshot->count; i++)
            require_job(&snapshot->jobs[i]);
        slurm_metrics_jobs(metrics, snapshot);
    }
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        autofree char *text = fuzz_text(data, size);
        (void)readers[i](metrics, text);
    }
    autofree char *nodes = fuzz_text(data, size);
    char *rest = nodes;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;) {
        struct slurm_has has;
        struct slurm_node node;
        slurm_parse_has(line, &has);
        for (int i = 0; i < SLURM_WORDS_MAX; i++)
            require_text(has.words[i]);
        if (slurm_parse_node(line, NULL, &node) != 0)
            continue;
        AUTO(text) struct text words = {0};
        text_add_bytes(&words, "", 1);
        node.seen.gres = words.len;
        text_add_bytes(&words, has.words[2], strlen(has.words[2]) + 1);
        node.seen.partitions = words.len;
        text_add_bytes(&words, has.words[0], strlen(has.words[0]) + 1);
        struct scheduler_observation seen = {.nodes = &node.seen, .count = 1, .words = words.data};
        slurm_metrics_nodes(metrics, &seen);
    }
    autofree char *text = slurm_metrics_render(metrics);
    require_prometheus(text);
    return 0;
}
