/*
 * Which schedulers hpd drives. schedulers is a list of names, kinds and how each is reached; slurm is the same without a name, for the
 * many who have one. Both have one reader for each kind, and an error names the key by its path: slurm.ssh, schedulers.east.ssh.
 */
#include "server/config/scheduler.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/config/kubernetes.h"
#include "server/config/slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every kind there is. A new one is a row here, one in ORCHESTRATOR_LIST, and its folder in server/scheduler/. */
static const struct config_scheduler_kind *const kinds[] = {&config_slurm_kind, &config_kubernetes_kind};

static int refuse(char *ret_error, const char *path, const char *rule)
{
    snprintf(ret_error, CONFIG_ERROR_MAX, "%s: %s", path, rule);
    return STATUS_INVALID;
}

static const struct config_scheduler_kind *find_kind(const char *name)
{
    for (size_t i = 0; name != NULL && i < ARRAY_LEN(kinds); i++)
        if (text_equal(kinds[i]->name, name))
            return kinds[i];
    return NULL;
}

static int refuse_kind(const struct config_scheduler *scheduler, char *ret_error)
{
    AUTO(text) struct text names = {0};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        text_printf(&names, "%s%s", i == 0 ? "" : i + 1 < ARRAY_LEN(kinds) ? ", " : " or ", kinds[i]->name);
    snprintf(ret_error, CONFIG_ERROR_MAX, "%s.kind must be %s", scheduler->path, text_get(&names));
    return STATUS_INVALID;
}

static int read_entry(struct config_schedulers *schedulers, size_t at, json_t *json, char *ret_error)
{
    struct config_scheduler *scheduler = &schedulers->list[at];
    char entry[CONFIG_SCHEDULER_PATH_MAX], rule[128];
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *kind = json_string_value(json_object_get(json, "kind"));
    snprintf(entry, sizeof(entry), "schedulers, entry %zu", at + 1);
    if (!json_is_object(json))
        return refuse(ret_error, entry, "it must be a mapping with name, kind and how it is reached");
    if (name == NULL || !text_is_name(name) || text_copy(scheduler->name, sizeof(scheduler->name), name) != 0)
        return refuse(ret_error, entry, "name must be letters, digits and hyphens");
    for (size_t i = 0; i < at; i++)
        if (text_equal(schedulers->list[i].name, name)) {
            snprintf(rule, sizeof(rule), "entry %zu has the same name", i + 1);
            return refuse(ret_error, entry, rule);
        }
    snprintf(scheduler->path, sizeof(scheduler->path), "schedulers.%s", name);
    scheduler->kind = find_kind(kind);
    return scheduler->kind == NULL ? refuse_kind(scheduler, ret_error)
                                   : scheduler->kind->read(scheduler, json, ret_error);
}

/* Two names for one scheduler: each would undo what the other does to a node. */
static int check_reach(const struct config_schedulers *schedulers, size_t at, char *ret_error)
{
    const struct config_scheduler *later = &schedulers->list[at];
    for (size_t i = 0; i < at; i++) {
        const struct config_scheduler *earlier = &schedulers->list[i];
        if (earlier->kind == later->kind && earlier->kind->is_same(earlier, later)) {
            snprintf(ret_error, CONFIG_ERROR_MAX,
                     "schedulers, entry %zu: it is reached as entry %zu is: %s has to differ", at + 1, i + 1,
                     later->kind->reached_by);
            return STATUS_INVALID;
        }
        if (later->arn[0] != '\0' && text_equal(earlier->arn, later->arn)) {
            snprintf(ret_error, CONFIG_ERROR_MAX, "schedulers, entry %zu: it has the eksClusterArn of entry %zu",
                     at + 1, i + 1);
            return STATUS_INVALID;
        }
    }
    return 0;
}

static struct config_scheduler *add(struct config_schedulers *schedulers)
{
    schedulers->list = own_realloc(schedulers->list, schedulers->count + 1, sizeof(*schedulers->list));
    struct config_scheduler *scheduler = &schedulers->list[schedulers->count++];
    memset(scheduler, 0, sizeof(*scheduler));
    return scheduler;
}

int config_schedulers_read(struct config_schedulers *schedulers, json_t *slurm, json_t *list, char *ret_error)
{
    if (slurm != NULL && list != NULL)
        return refuse(ret_error, "slurm", "it is the short form of schedulers, and both are there: keep one of them");
    if (slurm != NULL) {
        struct config_scheduler *only = add(schedulers);
        text_copy_cut(only->name, sizeof(only->name), CONFIG_SCHEDULER_ONLY);
        text_copy_cut(only->path, sizeof(only->path), "slurm");
        only->kind = &config_slurm_kind;
        return only->kind->read(only, slurm, ret_error);
    }
    size_t count = json_array_size(list);
    if (list != NULL && (!json_is_array(list) || count == 0 || count > CONFIG_SCHEDULERS_MAX)) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "schedulers must be a list of 1 to %d schedulers", CONFIG_SCHEDULERS_MAX);
        return STATUS_INVALID;
    }
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        add(schedulers);
        rc = read_entry(schedulers, i, json_array_get(list, i), ret_error);
        if (rc == 0)
            rc = check_reach(schedulers, i, ret_error);
    }
    return rc;
}

void config_schedulers_free(struct config_schedulers *schedulers)
{
    for (size_t i = 0; i < schedulers->count; i++)
        if (schedulers->list[i].kind != NULL)
            schedulers->list[i].kind->free(&schedulers->list[i]);
    free(TAKE(schedulers->list));
    schedulers->count = 0;
}
