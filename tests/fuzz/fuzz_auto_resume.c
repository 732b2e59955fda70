/* All that srun's --auto-resume reads: its option, the job as Slurm shows it, hpd's answer, the site's configuration. */
// ROOMS: base model agents policy
#include "tests/fuzz/fuzz.h"

#include "agents/slurm/config.h"
#include "agents/slurm/option.h"
#include "agents/slurm/reply.h"

static void require_option(const char *text)
{
    struct resume_option option;
    char error[RESUME_OPTION_ERROR_MAX];
    if (!resume_option_parse(text, &option, error)) {
        REQUIRE(memchr(error, '\0', sizeof(error)) != NULL);
        return;
    }
    REQUIRE(option.on || (option.crash_max == 0 && option.attempts_max == 0));
    REQUIRE(option.crash_max >= 0 && option.crash_max <= RESUME_COUNT_MAX);
    REQUIRE(option.attempts_max >= 0 && option.attempts_max <= RESUME_COUNT_MAX);
    REQUIRE(memchr(option.progress, '\0', sizeof(option.progress)) != NULL);
}

static void require_job(const char *text)
{
    static struct resume_job job;
    if (resume_job_parse(text, &job) != 0)
        return;
    REQUIRE(job.node_count >= 0 && job.cpus >= 0);
    REQUIRE(text_is_clean(job.nodes) && strchr(job.nodes, ' ') == NULL);
    REQUIRE(text_is_clean(job.partition) && strchr(job.partition, ' ') == NULL);
}

static void require_reply(const char *text, size_t size)
{
    struct resume_reply reply;
    char error[JSON_ERROR_MAX];
    if (resume_reply_parse(text, size, &reply, error) != 0)
        return;
    REQUIRE(reply.action != RESUME_ACTION_RETRYSTEP || reply.broken.count > 0);
    REQUIRE(text_is_clean(reply.why));
    for (size_t i = 0; i < reply.broken.count; i++)
        REQUIRE(reply.broken.names[i][0] != '-' && strpbrk(reply.broken.names[i], ", \n[]") == NULL);
    resume_reply_free(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct resume_config config;
    char error[JSON_ERROR_MAX];
    char *text = fuzz_text(data, size);
    require_option(text);
    require_job(text);
    require_reply(text, size);
    if (resume_config_parse(text, size, &config, error) == 0) {
        REQUIRE(config.poll_ms >= 100 && config.poll_ms <= 60000 && config.attempts_max >= 1);
        REQUIRE((config.token[0] == '\0') != (config.token_file[0] == '\0'));
    }
    free(text);
    return 0;
}
