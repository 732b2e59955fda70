/*
 * Reads one line of "scontrol -o show job", with "-d" or without it. The job's name comes before all else and may hold anything, so reading begins behind
 * the user's id; who calls a job so that it reads otherwise deceives nobody but the own job.
 */
#include "agents/slurm/job.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* The value of " key=", up to the next blank; "" for what Slurm writes when there is none. */
static int value(const char *line, const char *key, char *ret_value, size_t size)
{
    autofree char *wanted = own_printf(" %s=", key);
    const char *at = strstr(line, wanted);
    ret_value[0] = '\0';
    if (at == NULL)
        return STATUS_NOT_FOUND;
    at += strlen(wanted);
    int status = text_copy_bytes(ret_value, size, at, strcspn(at, " \n"));
    if (status != 0 || !text_is_clean(ret_value)) {
        ret_value[0] = '\0';
        return STATUS_INVALID;
    }
    if (strcmp(ret_value, "(null)") == 0 || strcmp(ret_value, "N/A") == 0)
        ret_value[0] = '\0';
    return 0;
}

static bool is_one(const char *line, const char *key)
{
    char text[8];
    return value(line, key, text, sizeof(text)) == 0 && strcmp(text, "1") == 0;
}

/* "2" and "2-4": the first. */
static int count(const char *line, const char *key, int64_t *ret_count)
{
    char text[32];
    if (value(line, key, text, sizeof(text)) != 0)
        return STATUS_INVALID;
    text[strcspn(text, "-")] = '\0';
    return text_parse_i64(text, 0, INT32_MAX, ret_count);
}

static void memory(const char *line, const char *key, char ret_text[RESUME_WORD_MAX])
{
    if (value(line, key, ret_text, RESUME_WORD_MAX) != 0 || strcmp(ret_text, "0") == 0)
        ret_text[0] = '\0';
}

/* It has ended, or is about to, or waits to run anew. */
static bool is_end(const char *state)
{
    static const char *const ends[] = {"CANCELLED", "COMPLETED", "COMPLETING", "FAILED",   "TIMEOUT",       "NODE_FAIL",
                                       "PREEMPTED", "DEADLINE",  "BOOT_FAIL",  "REQUEUED", "OUT_OF_MEMORY", "PENDING"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (strcmp(state, ends[i]) == 0)
            return true;
    return false;
}

int resume_job_parse(const char *line, struct resume_job *ret_job)
{
    struct resume_job job = {0};
    char state[32], text[RESUME_WORD_MAX];
    autofree char *resources = own_calloc(RESUME_WORD_MAX, 16);
    const char *rest = text_starts_with(line, "JobId=") ? strstr(line, " UserId=") : NULL;
    if (rest == NULL || value(rest, "JobState", state, sizeof(state)) != 0 ||
        value(rest, "NodeList", job.nodes, sizeof(job.nodes)) != 0 || count(rest, "NumNodes", &job.node_count) != 0 ||
        count(rest, "NumCPUs", &job.cpus) != 0 || value(rest, "Partition", job.partition, RESUME_WORD_MAX) != 0)
        return STATUS_INVALID;
    job.running = strcmp(state, "RUNNING") == 0;
    job.ends = is_end(state);
    job.batch = is_one(rest, "BatchFlag");
    job.requeueable = is_one(rest, "Requeue");
    (void)value(rest, "BatchHost", job.batch_host, RESUME_WORD_MAX); /* what is missing is "" from here on */
    (void)value(rest, "ExcNodeList", job.excluded, sizeof(job.excluded));
    (void)value(rest, "Account", job.account, RESUME_WORD_MAX);
    (void)value(rest, "QOS", job.qos, RESUME_WORD_MAX);
    (void)value(rest, "Reservation", job.reservation, RESUME_WORD_MAX);
    (void)value(rest, "Features", job.features, RESUME_WORD_MAX);
    memory(rest, "MinMemoryNode", job.memory);
    memory(rest, "MinMemoryCPU", job.memory_per_cpu);
    job.exclusive = value(rest, "OverSubscribe", text, sizeof(text)) == 0 && strcmp(text, "NO") == 0;
    static const char *const tres[] = {"TRES", "ReqTRES", "AllocTRES"}; /* the first one up to Slurm 22.05 */
    for (size_t i = 0; i < ARRAY_LEN(tres) && !job.gres; i++)
        job.gres = value(rest, tres[i], resources, RESUME_WORD_MAX * 16) == 0 && strstr(resources, "gres/") != NULL;
    for (const char *at = rest; !job.gres && (at = strstr(at, " TresPer")) != NULL; at++)
        job.gres = strncmp(at + strcspn(at, "="), "=gres", strlen("=gres")) == 0;
    /* A job that has its nodes alone has their GRES, whether it asked for them or not. */
    if (!job.gres)
        job.gres = value(rest, "JOB_GRES", resources, RESUME_WORD_MAX * 16) == STATUS_INVALID || resources[0] != '\0';
    *ret_job = job;
    return 0;
}

/* Behind "key   = ", up to the end of the line; "" where there is none. */
static size_t config_value(const char *config, const char *key, const char **ret_value)
{
    const char *at = config;
    size_t key_len = strlen(key);
    while (at != NULL && !(text_starts_with(at, key) && at[key_len] == ' ')) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    *ret_value = "";
    if (at == NULL)
        return 0;
    at += key_len;
    *ret_value = at + strspn(at, " =");
    return strcspn(*ret_value, "\n");
}

static bool config_has(const char *config, const char *key, const char *word)
{
    const char *value;
    size_t len = config_value(config, key, &value);
    autofree char *text = own_printf("%.*s", (int)len, value);
    return strstr(text, word) != NULL;
}

void resume_site_parse(const char *config, struct resume_site *ret_site)
{
    const char *version, *types;
    bool prolog = config_has(config, "PrologFlags", "Alloc") || config_has(config, "PrologFlags", "Contain") ||
                  config_has(config, "PrologFlags", "X11") || config_has(config, "PrologFlags", "RunInJob");
    (void)config_value(config, "SLURM_VERSION", &version);
    size_t len = config_value(config, "GresTypes", &types);
    *ret_site = (struct resume_site){.bars_newcomers = prolog && strtol(version, NULL, 10) > 22,
                                     .has_gres = len > 0 && !text_starts_with(types, "(null)"),
                                     .has_database = config_has(config, "AccountingStorageType", "slurmdbd")};
}

int resume_names_expand(const char *list, struct resume_names *ret_names)
{
    struct resume_names names = {0};
    int status = list[0] == '\0' ? 0 : text_hostlist_expand(list, RESUME_NODES_MAX, &names.names, &names.count);
    if (status == 0)
        *ret_names = names;
    return status;
}

void resume_names_free(struct resume_names *names)
{
    text_list_free(names->names, names->count);
    *names = (struct resume_names){0};
}

bool resume_names_has(const struct resume_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->names[i], name) == 0)
            return true;
    return false;
}

char *resume_names_without(const struct resume_names *all, const struct resume_names *without, size_t *ret_count)
{
    struct text AUTO(text) list = {0};
    size_t left = 0;
    for (size_t i = 0; i < all->count; i++)
        if (!resume_names_has(without, all->names[i]))
            text_printf(&list, "%s%s", left++ > 0 ? "," : "", all->names[i]);
    *ret_count = left;
    return text_take(&list);
}
