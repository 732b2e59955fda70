/* Nodes and jobs out of slurmrestd's JSON. What is not understood is refused as a whole, as with the programs' texts. */
#include "server/scheduler/slurm/rest_read.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS_OF_S INT64_C(1000)
#define NODES_OF_JOB_MAX 100000
#define TOKEN_END_S_MAX 253402300800 /* the year 10000 */

int64_t slurm_json_number(const json_t *value)
{
    if (json_is_object(value))
        value = json_is_true(json_object_get(value, "set")) && !json_is_true(json_object_get(value, "infinite"))
                    ? json_object_get(value, "number")
                    : NULL;
    if (json_is_real(value)) {
        double number = json_real_value(value);
        return number > -1e15 && number < 1e15 ? (int64_t)number : 0;
    }
    return json_integer_value(value); /* 0 for what is none */
}

const char *slurm_json_text(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text == NULL ? "" : text;
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

/* Of base64url, without padding; false for what is none. */
static bool decode(const char *text, size_t len, struct text *ret_bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned bits = 0, count = 0;
    for (size_t i = 0; i < len; i++) {
        const char *digit = text[i] == '\0' ? NULL : strchr(digits, text[i]);
        if (digit == NULL)
            return false;
        bits = (bits << 6 | (unsigned)(digit - digits)) & 0xffff;
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        char byte = (char)(bits >> count & 0xff);
        text_add_bytes(ret_bytes, &byte, 1);
    }
    return true;
}

int64_t slurm_token_end(const char *token)
{
    struct text bytes AUTO(text) = {0};
    auto_json json_t *claims = NULL;
    char error[JSON_ERROR_MAX];
    const char *dot = strchr(token, '.');
    if (dot == NULL || !decode(dot + 1, strcspn(dot + 1, "."), &bytes) ||
        json_parse(text_get(&bytes), bytes.len, bytes.len, &claims, error) != 0)
        return 0;
    int64_t end_s = slurm_json_number(json_object_get(claims, "exp"));
    return end_s > 0 && end_s < TOKEN_END_S_MAX ? end_s * 1000 : 0;
}

/* A text, or a list of texts put together. Caller frees. */
static char *joined(const json_t *value, char separator)
{
    struct text text AUTO(text) = {0};
    const char *one = json_string_value(value);
    text_add(&text, one == NULL ? "" : one);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *word = json_string_value(json_array_get(value, i));
        if (word != NULL && word[0] != '\0')
            text_printf(&text, "%s%s", text.len > 0 ? (char[]){separator, '\0'} : "", word);
    }
    return text_take(&text);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static char *state_of(const json_t *node)
{
    autofree char *state = joined(json_object_get(node, "state"), '+');
    autofree char *flags = joined(json_object_get(node, "state_flags"), '+');
    char *whole = own_printf("%s%s%s", state, state[0] != '\0' && flags[0] != '\0' ? "+" : "", flags);
    for (char *c = whole; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return whole;
}

/* Lines of a reason become one, as scontrol's do for us. */
static char *reason_of(const json_t *node)
{
    char *reason = own_strdup(slurm_json_text(node, "reason"));
    char *end = reason;
    for (const char *c = reason; *c != '\0'; c++) {
        *end++ = *c == '\n' ? ' ' : *c;
        if (*c == '\n')
            c += strspn(c + 1, " \n");
    }
    *end = '\0';
    return reason;
}

static int64_t count_of(const json_t *node, const char *member)
{
    int64_t count = slurm_json_number(json_object_get(node, member));
    return count < 0 ? 0 : count;
}

static void read_has(const json_t *node, struct slurm_has *has)
{
    static const char *const members[SLURM_WORDS_MAX] = {"partitions", "active_features", "gres", "gres_used"};
    has->cpus = count_of(node, "cpus");
    has->cpus_used = count_of(node, "alloc_cpus");
    has->memory_mib = count_of(node, "real_memory");
    has->memory_used_mib = count_of(node, "alloc_memory");
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        autofree char *words = joined(json_object_get(node, members[i]), ',');
        if (text_copy(has->words[i], SLURM_WORD_BYTES_MAX, words) != 0)
            has->words[i][0] = '\0';
        slurm_make_printable(has->words[i]);
    }
}

int slurm_json_node(const json_t *json, struct slurm_node *ret_node, struct slurm_has *ret_has)
{
    autofree char *state = state_of(json), *reason = reason_of(json);
    autofree char *user = own_strdup(slurm_json_text(json, "reason_set_by_user"));
    int status =
        slurm_node_of_words(slurm_json_text(json, "name"), state, reason, user[0] == '\0' ? NULL : user, ret_node);
    if (status != 0)
        return status;
    if (text_copy(ret_node->address, sizeof(ret_node->address), slurm_json_text(json, "address")) != 0)
        ret_node->address[0] = '\0';
    if (text_copy(ret_node->host, sizeof(ret_node->host), slurm_json_text(json, "hostname")) != 0)
        ret_node->host[0] = '\0';
    int64_t reason_s = slurm_json_number(json_object_get(json, "reason_changed_at"));
    ret_node->seen.reason_at = ret_node->seen.reason[0] == '\0' || reason_s <= 0 ? 0 : reason_s * MS_OF_S;
    read_has(json, ret_has);
    return 0;
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

static bool is_in(const char *word, const char *const words[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* The one word that squeue shows: of several, the flag that matters to it, else the base state, which comes first. */
char *slurm_json_job_state(const json_t *job)
{
    static const char *const shown[] = {"COMPLETING", "STAGE_OUT",   "CONFIGURING",  "RESIZING",
                                        "REQUEUED",   "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT",
                                        "STOPPED",    "REVOKED",     "SIGNALING",    "RESV_DEL_HOLD"};
    const json_t *state = json_object_get(job, "job_state");
    const char *one = json_string_value(state);
    if (one != NULL)
        return own_strdup(one);
    for (size_t i = 0; i < ARRAY_LEN(shown); i++)
        for (size_t at = 1; at < json_array_size(state); at++) {
            const char *word = json_string_value(json_array_get(state, at));
            if (word != NULL && strcmp(word, shown[i]) == 0)
                return own_strdup(word);
        }
    one = json_string_value(json_array_get(state, 0));
    return own_strdup(one == NULL ? "" : one);
}

/* What is over, or has not begun, has nothing on its nodes any more. */
static bool is_at_work(const char *state)
{
    static const char *const idle[] = {"PENDING",      "COMPLETED",   "CANCELLED",     "FAILED",
                                       "TIMEOUT",      "NODE_FAIL",   "PREEMPTED",     "BOOT_FAIL",
                                       "DEADLINE",     "REVOKED",     "OUT_OF_MEMORY", "REQUEUED",
                                       "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT",  "RESV_DEL_HOLD"};
    return !is_in(state, idle, ARRAY_LEN(idle));
}

/* 0, NOT_FOUND, or BACKEND: a list that cannot be read may name it. */
static int find_node(const char *list, const char *node)
{
    char **names = NULL;
    size_t count = 0;
    bool found = false;
    if (list[0] == '\0')
        return STATUS_NOT_FOUND;
    if (text_hostlist_expand(list, NODES_OF_JOB_MAX, &names, &count) != 0)
        return STATUS_BACKEND;
    for (size_t i = 0; i < count && !found; i++)
        found = strcmp(names[i], node) == 0;
    text_list_free(names, count);
    return found ? 0 : STATUS_NOT_FOUND;
}

static bool is_set(const json_t *value)
{
    return json_is_integer(value) || json_is_true(json_object_get(value, "set"));
}

char *slurm_json_job_id(const json_t *job)
{
    int64_t id = slurm_json_number(json_object_get(job, "job_id"));
    int64_t array = slurm_json_number(json_object_get(job, "array_job_id"));
    int64_t leader = slurm_json_number(json_object_get(job, "het_job_id"));
    const json_t *task = json_object_get(job, "array_task_id");
    const char *tasks = slurm_json_text(job, "array_task_string");
    if (array > 0 && tasks[0] != '\0')
        return own_printf("%" PRId64 "_[%s]", array, tasks);
    if (array > 0 && is_set(task))
        return own_printf("%" PRId64 "_%" PRId64, array, slurm_json_number(task));
    if (leader > 0)
        return own_printf("%" PRId64 "+%" PRId64, leader, slurm_json_number(json_object_get(job, "het_job_offset")));
    return own_printf("%" PRId64, id);
}

char *slurm_json_job_user(const json_t *job)
{
    const char *name = slurm_json_text(job, "user_name");
    return name[0] != '\0' ? own_strdup(name)
                           : own_printf("%" PRId64, slurm_json_number(json_object_get(job, "user_id")));
}

int slurm_json_job_on(const json_t *json, const char *node, struct slurm_job *ret_job)
{
    autofree char *state = slurm_json_job_state(json), *id = slurm_json_job_id(json), *user = slurm_json_job_user(json);
    if (!json_is_object(json) || state[0] == '\0')
        return STATUS_BACKEND;
    int status = is_at_work(state) ? find_node(slurm_json_text(json, "nodes"), node) : STATUS_NOT_FOUND;
    if (status != 0)
        return status;
    autofree char *leader = own_printf("%" PRId64, slurm_json_number(json_object_get(json, "het_job_id")));
    bool requeueable =
        json_is_true(json_object_get(json, "batch_flag")) && json_is_true(json_object_get(json, "requeue"));
    return slurm_job_of_words(id, leader, state, user, requeueable, ret_job);
}
