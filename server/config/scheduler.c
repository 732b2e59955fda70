/*
 * Which schedulers hpd drives. schedulers is a list of names, kinds and how each is reached; slurm is the same without a name, for the
 * many who have one. Both have one reader, and an error names the key by its path: slurm.ssh, schedulers.east.ssh.
 */
#include "server/config/scheduler.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/ssh.h"
#include "base/status.h"
#include "base/text.h"
#include "server/config/section.h"
#include "server/scheduler/slurm/rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_OF_PART_MAX (CONFIG_SCHEDULER_PATH_MAX + 16)

static const char *part_path(const struct config_scheduler *scheduler, const char *part, char path[PATH_OF_PART_MAX])
{
    snprintf(path, PATH_OF_PART_MAX, "%s.%s", scheduler->path, part);
    return path;
}

static int read_ssh(struct config_scheduler *scheduler, json_t *json, char *ret_error)
{
    struct config_slurm *slurm = &scheduler->slurm;
    char path[PATH_OF_PART_MAX];
    const struct key keys[] = {
        {"host", KEY_TEXT, slurm->ssh.host, sizeof(slurm->ssh.host), 0, 0},
        {"port", KEY_INT, &slurm->ssh.port, sizeof(slurm->ssh.port), 1, UINT16_MAX},
        {"user", KEY_TEXT, slurm->ssh.user, sizeof(slurm->ssh.user), 0, 0},
        {"keyFile", KEY_TEXT, slurm->ssh.key_file, sizeof(slurm->ssh.key_file), 0, 0},
        {"agent", KEY_TEXT, slurm->ssh.agent, sizeof(slurm->ssh.agent), 0, 0},
        {"knownHosts", KEY_TEXT, slurm->ssh.known_hosts, sizeof(slurm->ssh.known_hosts), 0, 0},
    };
    int rc = section_read(json, part_path(scheduler, "ssh", path), keys, ARRAY_LEN(keys), NULL, ret_error);
    if (rc != 0)
        return rc;
    const char *missing = slurm->ssh.host[0] == '\0'          ? "host, the machine on which Slurm's commands are"
                          : slurm->ssh.known_hosts[0] == '\0' ? "knownHosts, a file with that machine's host key"
                                                              : NULL;
    if (missing != NULL) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "%s needs %s", path, missing);
        return STATUS_INVALID;
    }
    slurm->over_ssh = true;
    return 0;
}

static int read_rest(struct config_scheduler *scheduler, json_t *json, char *ret_error)
{
    struct config_slurm *slurm = &scheduler->slurm;
    char path[PATH_OF_PART_MAX];
    const struct key keys[] = {
        {"url", KEY_TEXT, slurm->rest.url, sizeof(slurm->rest.url), 0, 0},
        {"user", KEY_TEXT, slurm->rest.user, sizeof(slurm->rest.user), 0, 0},
        {"tokenFile", KEY_TEXT, slurm->rest.token_file, sizeof(slurm->rest.token_file), 0, 0},
        {"caFile", KEY_TEXT, slurm->rest.ca_file, sizeof(slurm->rest.ca_file), 0, 0},
    };
    const char *why = "";
    int rc = section_read(json, part_path(scheduler, "rest", path), keys, ARRAY_LEN(keys), NULL, ret_error);
    if (rc != 0)
        return rc;
    if (!slurm_rest_is_url(slurm->rest.url, &why)) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "%s.url, where slurmrestd listens: %s", path, why);
        return STATUS_INVALID;
    }
    bool socket = text_starts_with(slurm->rest.url, "unix:");
    if (!socket && slurm->rest.token_file[0] == '\0') {
        snprintf(ret_error, CONFIG_ERROR_MAX,
                 "%s needs tokenFile, a file with what 'scontrol token' prints; only a Unix socket does without", path);
        return STATUS_INVALID;
    }
    slurm->over_rest = true;
    return 0;
}

/* What a scheduler's mapping has beside name and kind. */
static int read_slurm(struct config_scheduler *scheduler, json_t *json, char *ret_error)
{
    struct config_slurm *slurm = &scheduler->slurm;
    char path[PATH_OF_PART_MAX];
    const struct key keys[] = {
        {"binDir", KEY_TEXT, slurm->bin_dir, sizeof(slurm->bin_dir), 0, 0},
        {"conf", KEY_TEXT, slurm->conf, sizeof(slurm->conf), 0, 0},
        {"timeout", KEY_DURATION, &slurm->timeout_ms, 0, MS_PER_S, 10 * MS_PER_MIN},
        {"surveyInterval", KEY_DURATION, &scheduler->job_snapshot_interval_ms, 0, 0, MS_PER_HOUR},
        {"observeInterval", KEY_DURATION, &scheduler->observe_interval_ms, 0, 100, MS_PER_HOUR},
    };
    static const char *const skip[] = {"name", "kind", "ssh", "rest", "manage", NULL};
    const bool named = text_starts_with(scheduler->path, "schedulers");
    slurm->timeout_ms = 20 * MS_PER_S;
    slurm->ssh.port = SSH_PORT;
    text_copy_cut(slurm->ssh.user, sizeof(slurm->ssh.user), "slurm");
    text_copy_cut(slurm->rest.user, sizeof(slurm->rest.user), "slurm");
    scheduler->job_snapshot_interval_ms = 15 * MS_PER_S; /* as often as Prometheus is used to scrape an exporter */
    int rc = section_read(json, scheduler->path, keys, ARRAY_LEN(keys), named ? skip : skip + 2, ret_error);
    json_t *ssh = json_object_get(json, "ssh"), *rest = json_object_get(json, "rest");
    json_t *manage = json_object_get(json, "manage");
    if (rc == 0 && ssh != NULL)
        rc = read_ssh(scheduler, ssh, ret_error);
    if (rc == 0 && rest != NULL)
        rc = read_rest(scheduler, rest, ret_error);
    if (rc == 0 && manage != NULL)
        rc = config_manage_read(&slurm->manage, part_path(scheduler, "manage", path), manage, ret_error);
    return rc;
}

static int refuse(char *ret_error, const char *path, const char *rule)
{
    snprintf(ret_error, CONFIG_ERROR_MAX, "%s: %s", path, rule);
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
    if (kind == NULL || !text_equal(kind, "slurm")) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "%s.kind must be slurm", scheduler->path);
        return STATUS_INVALID;
    }
    return read_slurm(scheduler, json, ret_error);
}

/* Two names for one Slurm: each would undo what the other does to a node. */
static bool is_reached_alike(const struct config_slurm *a, const struct config_slurm *b)
{
    if (a->over_rest || b->over_rest)
        return a->over_rest && b->over_rest && text_equal(a->rest.url, b->rest.url);
    return text_equal(a->conf, b->conf) && text_equal(a->ssh.host, b->ssh.host) && a->ssh.port == b->ssh.port;
}

static int check_reach(const struct config_schedulers *schedulers, size_t at, char *ret_error)
{
    for (size_t i = 0; i < at; i++)
        if (is_reached_alike(&schedulers->list[i].slurm, &schedulers->list[at].slurm)) {
            snprintf(ret_error, CONFIG_ERROR_MAX,
                     "schedulers, entry %zu: it is reached as entry %zu is: conf, ssh.host or rest.url has to differ",
                     at + 1, i + 1);
            return STATUS_INVALID;
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
        return read_slurm(only, slurm, ret_error);
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
        config_manage_free(&schedulers->list[i].slurm.manage);
    free(TAKE(schedulers->list));
    schedulers->count = 0;
}
