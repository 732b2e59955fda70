/*
 * The variables of a worker as a list; the same names and values as torchrun 1.13 to 2.x sets, so that a script cannot tell the difference.
 * Of two there are an old and a new name, and both are set. TORCHELASTIC_USE_AGENT_STORE is False: rank 0 of the workers holds the store.
 */
#include "agents/launcher/place.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <string.h>

#define VARIABLES_MAX 32

struct set {
    char *entries[VARIABLES_MAX]; /* "NAME=value" */
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void add(struct set *set, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    set->entries[set->count++] = own_vprintf(format, ap);
    va_end(ap);
}

static const char *lookup(char *const env[], const char *name)
{
    size_t len = strlen(name);
    for (; *env != NULL; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static void add_default(struct set *set, char *const env[], const char *name, const char *value)
{
    if (lookup(env, name) == NULL)
        add(set, "%s=%s", name, value);
}

static void describe(struct set *set, const struct place *place, int local_rank, const struct place_extra *extra,
                     char *const env[])
{
    long world = (long)place->nodes * place->ranks, rank = (long)place->rank * place->ranks + local_rank;
    add(set, "LOCAL_RANK=%d", local_rank);
    add(set, "RANK=%ld", rank);
    add(set, "GROUP_RANK=%d", place->rank);
    add(set, "ROLE_RANK=%ld", rank);
    add(set, "ROLE_NAME=%s", place->role);
    add(set, "LOCAL_WORLD_SIZE=%d", extra->one_process ? 1 : place->ranks);
    add(set, "WORLD_SIZE=%ld", world);
    add(set, "GROUP_WORLD_SIZE=%d", place->nodes);
    add(set, "ROLE_WORLD_SIZE=%ld", world);
    add(set, "MASTER_ADDR=%s", place->master_addr);
    add(set, "MASTER_PORT=%d", place->master_port);
    add(set, "JOB_RESTART_COUNT=%lld", (long long)place->restart_count);
    add(set, "TORCHELASTIC_RESTART_COUNT=%lld", (long long)place->restart_count);
    add(set, "TORCHELASTIC_MAX_RESTARTS=%lld", (long long)place->max_restarts);
    add(set, "TORCHELASTIC_RUN_ID=%s", place->run_id);
    add(set, "TORCHELASTIC_USE_AGENT_STORE=False");
    add_default(set, env, "NCCL_ASYNC_ERROR_HANDLING", "1");
    add_default(set, env, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
    add_default(set, env, "HYPERPOD_SIGNAL_COORDINATION", "distributed");
    if (extra->default_threads)
        add_default(set, env, "OMP_NUM_THREADS", "1");
    if (extra->error_file != NULL)
        add(set, "TORCHELASTIC_ERROR_FILE=%s", extra->error_file);
    if (extra->socket_path != NULL)
        add(set, "HYPERPOD_ELASTICAGENT_SOCKET_SERVER_PATH=%s", extra->socket_path);
}

static bool is_set(const struct set *set, const char *entry)
{
    size_t len = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < set->count; i++)
        if (strncmp(set->entries[i], entry, len) == 0)
            return true;
    return false;
}

char **place_env(const struct place *place, int local_rank, const struct place_extra *extra, char *const env[])
{
    struct set set = {0};
    size_t inherited = 0, count = 0;
    describe(&set, place, local_rank, extra, env);
    while (env[inherited] != NULL)
        inherited++;
    char **all = own_calloc(inherited + set.count + 1, sizeof(*all));
    for (size_t i = 0; i < inherited; i++)
        if (!is_set(&set, env[i]))
            all[count++] = own_strdup(env[i]);
    for (size_t i = 0; i < set.count; i++)
        all[count++] = set.entries[i];
    return all;
}

void place_env_free(char **env)
{
    for (size_t i = 0; env != NULL && env[i] != NULL; i++)
        free(env[i]);
    free(env);
}

/* --- templates ---------------------------------------------------------------------------------------- */

static bool value_of(const char *name, size_t len, const struct place *place, int local_rank, struct text *text)
{
    const struct {
        const char *name;
        long long value;
    } numbers[] = {
        {"local_rank", local_rank},
        {"rank", (long long)place->rank * place->ranks + local_rank},
        {"group_rank", place->rank},
        {"restart_count", place->restart_count},
    };
    if (len == strlen("role_name") && strncmp(name, "role_name", len) == 0) {
        text_add(text, place->role);
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (strlen(numbers[i].name) == len && strncmp(numbers[i].name, name, len) == 0) {
            text_printf(text, "%lld", numbers[i].value);
            return true;
        }
    return false;
}

char *place_substitute(const char *template, const struct place *place, int local_rank)
{
    struct text text = {0};
    while (*template != '\0') {
        bool braces = template[0] == '$' && template[1] == '{';
        const char *name = template + (braces ? 2 : 1);
        size_t len = 0;
        while (template[0] == '$' && (isalnum((unsigned char)name[len]) || name[len] == '_'))
            len++;
        bool whole = len > 0 && (!braces || name[len] == '}');
        if (whole && value_of(name, len, place, local_rank, &text))
            template = name + len + (braces ? 1 : 0);
        else
            text_add_char(&text, *template ++);
    }
    return text_take(&text);
}

char *place_prefix(const struct place *place, int local_rank, const char *template)
{
    return place_substitute(template != NULL ? template : "[${role_name}${local_rank}]:", place, local_rank);
}

/* --- how many ----------------------------------------------------------------------------------------- */

int place_ranks(const char *nproc, int gpus, int cpus, int *ret_ranks)
{
    int64_t number;
    if (strcmp(nproc, "gpu") == 0)
        number = gpus;
    else if (strcmp(nproc, "cpu") == 0)
        number = cpus;
    else if (strcmp(nproc, "auto") == 0)
        number = gpus > 0 ? gpus : cpus;
    else if (text_parse_i64(nproc, 1, LOCAL_RANKS_MAX, &number) != 0)
        return STATUS_INVALID;
    if (number < 1 || number > LOCAL_RANKS_MAX)
        return STATUS_INVALID;
    *ret_ranks = (int)number;
    return 0;
}

static int count_devices(const char *dev)
{
    DIR *directory = opendir(dev);
    int count = 0;
    struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        const char *digits = entry->d_name + strlen("nvidia");
        if (strncmp(entry->d_name, "nvidia", strlen("nvidia")) == 0 && *digits != '\0' &&
            strspn(digits, "0123456789") == strlen(digits))
            count++;
    }
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* CUDA's reading: a list that ends at the first entry that is none. */
int place_gpus(const char *visible, const char *dev)
{
    int all = count_devices(dev), count = 0;
    if (visible == NULL)
        return all;
    for (const char *at = visible; *at != '\0' && *at != '-';) {
        size_t len = strcspn(at, ",");
        int64_t number;
        autofree char *entry = own_printf("%.*s", (int)len, at);
        if (text_parse_i64(entry, 0, INT32_MAX, &number) == 0 ? number >= all : len < 4)
            break; /* no such device, or neither a number nor a UUID */
        count++;
        at += len + (at[len] == ',' ? 1 : 0);
    }
    return count < all ? count : all;
}
