/* Reading what scontrol and sacctmgr print of settings, partitions, QOS and accounts; see snapshot.h. */
#include "server/scheduler/slurm/snapshot.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/parse.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define FIELDS_MAX 7
#define MEMORY_MAX (INT64_MAX / 200)
#define KEEPS_ACCOUNTS "accounting_storage/slurmdbd"

/* --- settings ----------------------------------------------------------------------------------------------------- */

/* "Key   = value": the value, trimmed; NULL when the line is of another shape. */
static char *setting_of(char *line, char **ret_key)
{
    char *equals = strchr(line, '=');
    if (equals == NULL)
        return NULL;
    *equals = '\0';
    *ret_key = text_trim(line);
    return text_trim(equals + 1);
}

static void set_number(int64_t *number, const char *value)
{
    if (text_parse_i64(value, 0, INT64_MAX, number) != 0)
        *number = 0;
}

int slurm_parse_settings(char *text, struct slurm_settings *ret_settings)
{
    static const struct {
        const char *key;
        size_t offset;
    } words[] = {
        {"ClusterName", offsetof(struct slurm_settings, cluster)},
        {"AccountingStorageType", offsetof(struct slurm_settings, accounting)},
        {"AccountingStorageEnforce", offsetof(struct slurm_settings, enforced)},
        {"AccountingStorageTRES", offsetof(struct slurm_settings, counted)},
        {"PriorityType", offsetof(struct slurm_settings, priority)},
        {"PreemptType", offsetof(struct slurm_settings, preempt)},
    };
    struct slurm_settings settings = {0};
    char *key, *value;
    for (char *line; (line = slurm_next_line(&text)) != NULL;) {
        if ((value = setting_of(line, &key)) == NULL)
            continue;
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            if (strcasecmp(key, words[i].key) == 0)
                text_copy_cut((char *)&settings + words[i].offset, SLURM_SETTING_MAX, value);
        if (strcasecmp(key, "PriorityWeightFairShare") == 0)
            set_number(&settings.weight_fair_share, value);
        if (strcasecmp(key, "PriorityWeightQOS") == 0)
            set_number(&settings.weight_qos, value);
    }
    if (settings.cluster[0] == '\0')
        return STATUS_BACKEND;
    *ret_settings = settings;
    return 0;
}

/* --- partitions --------------------------------------------------------------------------------------------------- */

static bool word_at(const char *line, const char *key, char *dst, size_t size)
{
    const char *at = strstr(line, key);
    if (at == NULL)
        return false;
    at += strlen(key);
    return text_copy_bytes(dst, size, at, strcspn(at, " ")) == 0;
}

int slurm_parse_partitions(char *text, struct slurm_snapshot *snapshot)
{
    for (char *line; (line = slurm_next_line(&text)) != NULL;) {
        struct slurm_partition partition;
        char tier[24], name[SLURM_SETTING_MAX];
        if (line[0] == '\0' || strcmp(line, "No partitions in the system") == 0)
            continue;
        if (!text_starts_with(line, "PartitionName=") || !word_at(line, "PartitionName=", name, sizeof(name)) ||
            !word_at(line, " PriorityTier=", tier, sizeof(tier)) ||
            text_parse_i64(tier, 0, UINT16_MAX, &partition.tier) != 0)
            return STATUS_BACKEND;
        if (text_copy(partition.name, sizeof(partition.name), name) != 0)
            continue; /* longer than any class: nobody asks for it */
        snapshot->partitions =
            own_realloc(snapshot->partitions, snapshot->partition_count + 1, sizeof(*snapshot->partitions));
        snapshot->partitions[snapshot->partition_count++] = partition;
    }
    return 0;
}

/* --- sacctmgr's lines --------------------------------------------------------------------------------------------- */

/* Cuts "a|b|c" into count fields, in place; the last takes what is left, as it is somebody's text. */
static bool split(char *line, char *fields[], size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        char *bar = strchr(line, '|');
        if (bar == NULL)
            return false;
        *bar = '\0';
        fields[i] = line;
        line = bar + 1;
    }
    fields[count - 1] = line;
    return true;
}

static bool copy(char *dst, size_t size, const char *src)
{
    return text_copy(dst, size, src) == 0;
}
#define COPY(dst, src) copy(dst, sizeof(dst), src)

int slurm_parse_qos(char *text, struct slurm_snapshot *snapshot)
{
    for (char *line; (line = slurm_next_line(&text)) != NULL;) {
        struct slurm_qos qos;
        char *f[4]; /* Name, Priority, GrpTRES, Description */
        if (line[0] == '\0')
            continue;
        if (!split(line, f, ARRAY_LEN(f)) || text_parse_i64(f[1], 0, UINT32_MAX, &qos.priority) != 0)
            return STATUS_BACKEND;
        if (!COPY(qos.name, f[0]) || !COPY(qos.limits, f[2]))
            continue; /* none that Holdfast makes is so long */
        text_copy_cut(qos.description, sizeof(qos.description), f[3]);
        snapshot->qos = own_realloc(snapshot->qos, snapshot->qos_count + 1, sizeof(*snapshot->qos));
        snapshot->qos[snapshot->qos_count++] = qos;
    }
    return 0;
}

int slurm_parse_accounts(char *text, struct slurm_snapshot *snapshot)
{
    for (char *line; (line = slurm_next_line(&text)) != NULL;) {
        struct slurm_account account = {0};
        char *f[2]; /* Account, Description */
        if (line[0] == '\0')
            continue;
        if (!split(line, f, ARRAY_LEN(f)))
            return STATUS_BACKEND;
        if (!COPY(account.name, f[0]))
            continue;
        text_copy_cut(account.description, sizeof(account.description), f[1]);
        snapshot->accounts = own_realloc(snapshot->accounts, snapshot->account_count + 1, sizeof(*snapshot->accounts));
        snapshot->accounts[snapshot->account_count++] = account;
    }
    return 0;
}

int slurm_parse_associations(char *text, const char *cluster, struct slurm_snapshot *snapshot)
{
    for (char *line; (line = slurm_next_line(&text)) != NULL;) {
        char *f[FIELDS_MAX]; /* Cluster, Account, User, Share, GrpTRES, QOS, DefaultQOS */
        if (line[0] == '\0')
            continue;
        if (!split(line, f, ARRAY_LEN(f)))
            return STATUS_BACKEND;
        struct slurm_account *account = slurm_account_find(snapshot, f[1]);
        if (account == NULL)
            continue;
        if (f[2][0] != '\0' || strcasecmp(f[0], cluster) != 0) {
            account->used = true;
            continue;
        }
        account->here = true;
        if (text_parse_i64(f[3], 0, UINT32_MAX, &account->share) != 0)
            account->share = -1; /* "parent" */
        if (!COPY(account->limits, f[4]) || !COPY(account->qos, f[5]) || !COPY(account->qos_default, f[6]))
            return STATUS_BACKEND;
    }
    return 0;
}

/* --- the look ----------------------------------------------------------------------------------------------------- */

static int ask(struct slurm_call *call, const char *const argv[], char **ret_out)
{
    return slurm_run(call, argv, ret_out);
}

static int unreadable(struct slurm_call *call, int status, const char *what)
{
    return status == 0 ? 0 : slurm_call_fail(call, status, "Slurm printed %s that cannot be read", what);
}

/* Each cluster that slurmdbd knows has the account root: a list without it is not the whole one. */
static int check_root(struct slurm_call *call, const struct slurm_snapshot *snapshot)
{
    const struct slurm_account *root = slurm_account_find(snapshot, "root");
    if (root != NULL && root->here)
        return 0;
    return slurm_call_fail(call, STATUS_UNAVAILABLE, "slurmdbd shows nothing of the cluster %s",
                           snapshot->settings.cluster);
}

static int take_accounting(struct slurm_call *call, struct slurm_snapshot *snapshot)
{
    const char *sacctmgr = call->s->sacctmgr;
    autofree char *qos = NULL, *accounts = NULL, *associations = NULL;
    int status = ask(
        call, (const char *[]){sacctmgr, "-n", "-P", "show", "qos", "format=Name,Priority,GrpTRES,Description", NULL},
        &qos);
    if (status == 0)
        status = unreadable(call, slurm_parse_qos(qos, snapshot), "a QOS");
    if (status == 0)
        status =
            ask(call, (const char *[]){sacctmgr, "-n", "-P", "show", "account", "format=Account,Description", NULL},
                &accounts);
    if (status == 0)
        status = unreadable(call, slurm_parse_accounts(accounts, snapshot), "an account");
    if (status == 0)
        status = ask(call,
                     (const char *[]){sacctmgr, "-n", "-P", "show", "assoc",
                                      "format=Cluster,Account,User,Share,GrpTRES,QOS,DefaultQOS", NULL},
                     &associations);
    if (status == 0)
        status = unreadable(call, slurm_parse_associations(associations, snapshot->settings.cluster, snapshot),
                            "an association");
    return status != 0 ? status : check_root(call, snapshot);
}

int slurm_snapshot_take(struct slurm_call *call, struct slurm_snapshot *ret_snapshot)
{
    autofree char *settings = NULL, *partitions = NULL;
    struct slurm_snapshot snapshot = {0};
    int status = ask(call, (const char *[]){call->s->scontrol, "show", "config", NULL}, &settings);
    if (status == 0)
        status = unreadable(call, slurm_parse_settings(settings, &snapshot.settings), "a configuration");
    if (status == 0)
        status = ask(call, (const char *[]){call->s->scontrol, "-a", "-o", "show", "partition", NULL}, &partitions);
    if (status == 0)
        status = unreadable(call, slurm_parse_partitions(partitions, &snapshot), "a partition");
    if (status != 0) {
        slurm_snapshot_free(&snapshot);
        return status;
    }
    snapshot.accounts_kept = strcmp(snapshot.settings.accounting, KEEPS_ACCOUNTS) == 0;
    if (snapshot.accounts_kept) {
        struct slurm_call aside = *call;
        aside.error = snapshot.accounting_error;
        snapshot.accounting = take_accounting(&aside, &snapshot);
    }
    *ret_snapshot = snapshot;
    return 0;
}

void slurm_snapshot_free(struct slurm_snapshot *snapshot)
{
    free(TAKE(snapshot->partitions));
    free(TAKE(snapshot->qos));
    free(TAKE(snapshot->accounts));
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

struct slurm_partition *slurm_partition_find(const struct slurm_snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->partition_count; i++)
        if (strcmp(snapshot->partitions[i].name, name) == 0)
            return &snapshot->partitions[i];
    return NULL;
}

struct slurm_qos *slurm_qos_find(const struct slurm_snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->qos_count; i++)
        if (strcmp(snapshot->qos[i].name, name) == 0)
            return &snapshot->qos[i];
    return NULL;
}

struct slurm_account *slurm_account_find(const struct slurm_snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->account_count; i++)
        if (strcmp(snapshot->accounts[i].name, name) == 0)
            return &snapshot->accounts[i];
    return NULL;
}

bool slurm_list_has(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; *at != '\0';) {
        size_t part = strcspn(at, ",");
        if (part == len && strncasecmp(at, word, len) == 0)
            return true;
        at += part + (at[part] == ',');
    }
    return false;
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

/* Slurm counts memory in MiB and writes it with the largest unit that loses nothing: 1536 as "1.50G". */
static int value_of(const char *text, size_t len, bool memory, int64_t *ret_value)
{
    static const char units[] = "MGTP";
    char digits[24];
    const char *unit = memory && len > 0 ? memchr(units, text[len - 1], sizeof(units) - 1) : NULL;
    int64_t value, hundredths = 0, factor = unit == NULL ? 1 : INT64_C(1) << (10 * (unit - units));
    if (text_copy_bytes(digits, sizeof(digits), text, len - (unit != NULL)) != 0)
        return STATUS_BACKEND;
    char *point = unit == NULL ? NULL : strchr(digits, '.');
    if (point != NULL) {
        *point++ = '\0';
        if (strlen(point) != 2 || text_parse_i64(point, 0, 99, &hundredths) != 0)
            return STATUS_BACKEND;
    }
    if (text_parse_i64(digits, 0, MEMORY_MAX / factor, &value) != 0)
        return STATUS_BACKEND;
    *ret_value = value * factor + hundredths * factor / 100;
    return 0;
}

int slurm_limits_parse(const char *text, struct slurm_limits *ret_limits)
{
    struct slurm_limits limits = {.count = 0};
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, ","), name = strcspn(at, "=");
        struct slurm_limit *limit = &limits.limits[limits.count];
        if (limits.count == SLURM_LIMITS_MAX || name == 0 || name >= len ||
            text_copy_bytes(limit->name, sizeof(limit->name), at, name) != 0 ||
            value_of(at + name + 1, len - name - 1, strcmp(limit->name, "mem") == 0, &limit->value) != 0)
            return STATUS_BACKEND;
        limits.count++;
        at += len + (at[len] == ',');
    }
    *ret_limits = limits;
    return 0;
}

static const struct slurm_limit *limit_find(const struct slurm_limits *limits, const char *name)
{
    for (size_t i = 0; i < limits->count; i++)
        if (strcmp(limits->limits[i].name, name) == 0)
            return &limits->limits[i];
    return NULL;
}

static bool is_within(const struct slurm_limits *a, const struct slurm_limits *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct slurm_limit *other = limit_find(b, a->limits[i].name);
        if (other == NULL || other->value != a->limits[i].value)
            return false;
    }
    return true;
}

bool slurm_limits_equal(const struct slurm_limits *a, const struct slurm_limits *b)
{
    return is_within(a, b) && is_within(b, a);
}

char *slurm_limits_change(const struct slurm_limits *from, const struct slurm_limits *to)
{
    AUTO(text) struct text t = {0};
    for (size_t i = 0; i < to->count; i++) {
        const struct slurm_limit *limit = &to->limits[i], *there = limit_find(from, limit->name);
        if (there == NULL || there->value != limit->value)
            text_printf(&t, "%s%s=%lld", text_get(&t)[0] == '\0' ? "" : ",", limit->name, (long long)limit->value);
    }
    for (size_t i = 0; i < from->count; i++)
        if (limit_find(to, from->limits[i].name) == NULL)
            text_printf(&t, "%s%s=-1", text_get(&t)[0] == '\0' ? "" : ",", from->limits[i].name);
    return text_take(&t);
}
