/*
 * The keys of a Slurm: its programs, here or over SSH, slurmrestd, and whether its nodes and partitions are ours to write.
 */
#include "server/config/slurm.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/ssh.h"
#include "base/status.h"
#include "base/text.h"
#include "server/config/section.h"
#include "server/scheduler/slurm/slurm.h"

#include <stdio.h>
#include <stdlib.h>

#define PATH_OF_PART_MAX (CONFIG_SCHEDULER_PATH_MAX + 16)

static const char *part_path(const struct config_scheduler *scheduler, const char *part, char path[PATH_OF_PART_MAX])
{
    snprintf(path, PATH_OF_PART_MAX, "%s.%s", scheduler->path, part);
    return path;
}

static int read_ssh(struct config_scheduler *scheduler, json_t *json, char *ret_error)
{
    struct config_slurm *slurm = scheduler->options;
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
    struct config_slurm *slurm = scheduler->options;
    char path[PATH_OF_PART_MAX];
    const struct key keys[] = {
        {"url", KEY_TEXT, slurm->rest.url, sizeof(slurm->rest.url), 0, 0},
        {"user", KEY_TEXT, slurm->rest.user, sizeof(slurm->rest.user), 0, 0},
        {"tokenFile", KEY_TEXT, slurm->rest.token_file, sizeof(slurm->rest.token_file), 0, 0},
        {"caFile", KEY_TEXT, slurm->rest.ca_file, sizeof(slurm->rest.ca_file), 0, 0},
    };
    char why[SCHEDULER_ERROR_MAX];
    int rc = section_read(json, part_path(scheduler, "rest", path), keys, ARRAY_LEN(keys), NULL, ret_error);
    if (rc != 0)
        return rc;
    const struct slurm_rest_options options = {.url = slurm->rest.url, .token_file = slurm->rest.token_file};
    if (slurm_rest_options_check(&options, why) != 0) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "%s%s", path, why);
        return STATUS_INVALID;
    }
    slurm->over_rest = true;
    return 0;
}

/* What a scheduler's mapping has beside name and kind. */
static int read(struct config_scheduler *scheduler, json_t *json, char *ret_error)
{
    struct config_slurm *slurm = scheduler->options = own_calloc(1, sizeof(*slurm));
    char path[PATH_OF_PART_MAX];
    const struct key keys[] = {
        {"binDir", KEY_TEXT, slurm->bin_dir, sizeof(slurm->bin_dir), 0, 0},
        {"conf", KEY_TEXT, slurm->conf, sizeof(slurm->conf), 0, 0},
        {"timeout", KEY_DURATION, &slurm->timeout_ms, 0, MS_PER_S, 10 * MS_PER_MIN},
        {"jobSnapshotInterval", KEY_DURATION, &scheduler->job_snapshot_interval_ms, 0, 0, MS_PER_HOUR},
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
    scheduler->managed = slurm->manage.file[0] != '\0';
    scheduler->topology_managed = scheduler->managed && slurm->manage.topology[0] != '\0';
    scheduler->strategy = slurm->manage.strategy;
    return rc;
}

/* Slurm's own options, which borrow the configuration's texts. */
struct options {
    struct ssh_options ssh;
    struct slurm_rest_options rest;
    struct slurm_manage_options manage;
    struct slurm_options slurm;
};

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void fill(const struct config_slurm *slurm, struct options *ret)
{
    ret->ssh = (struct ssh_options){.host = slurm->ssh.host,
                                    .user = slurm->ssh.user,
                                    .port = (int)slurm->ssh.port,
                                    .key_file = slurm->ssh.key_file,
                                    .agent = slurm->ssh.agent,
                                    .known_hosts = slurm->ssh.known_hosts};
    ret->rest = (struct slurm_rest_options){.url = slurm->rest.url,
                                            .user = slurm->rest.user,
                                            .token_file = slurm->rest.token_file,
                                            .ca_file = slurm->rest.ca_file};
    ret->manage = (struct slurm_manage_options){.file = slurm->manage.file,
                                                .gres = or_null(slurm->manage.gres),
                                                .topology = or_null(slurm->manage.topology),
                                                .restart = (const char *const *)slurm->manage.restart,
                                                .site = &slurm->manage.site};
    ret->slurm = (struct slurm_options){.bin_dir = or_null(slurm->bin_dir),
                                        .conf = or_null(slurm->conf),
                                        .timeout_ms = slurm->timeout_ms,
                                        .ssh = slurm->over_ssh ? &ret->ssh : NULL,
                                        .rest = slurm->over_rest ? &ret->rest : NULL,
                                        .manage = slurm->manage.file[0] != '\0' ? &ret->manage : NULL};
}

static bool is_same(const struct config_scheduler *a, const struct config_scheduler *b)
{
    struct options of_a, of_b;
    fill(a->options, &of_a);
    fill(b->options, &of_b);
    return slurm_options_are_alike(&of_a.slurm, &of_b.slurm);
}

static void warn(const struct config_scheduler *scheduler)
{
    struct options options;
    fill(scheduler->options, &options);
    slurm_options_warn(&options.slurm, scheduler->path);
}

static int make(const struct config_scheduler *scheduler, struct scheduler_driver *ret_driver)
{
    struct options options;
    fill(scheduler->options, &options);
    return slurm_new(&options.slurm, ret_driver);
}

static void free_options(struct config_scheduler *scheduler)
{
    struct config_slurm *slurm = TAKE(scheduler->options);
    if (slurm == NULL)
        return;
    config_manage_free(&slurm->manage);
    free(slurm);
}

const struct config_scheduler_kind config_slurm_kind = {.name = "slurm",
                                                        .reached_by = "conf, ssh.host or rest.url",
                                                        .read = read,
                                                        .is_same = is_same,
                                                        .warn = warn,
                                                        .make = make,
                                                        .free = free_options};

const struct config_slurm *config_slurm_of(const struct config_scheduler *scheduler)
{
    return scheduler->options;
}
