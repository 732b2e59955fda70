/*
 * Reads hpd's YAML file by lists of sections and keys; those of the policy and the loop are in settings.c. docs/man/hpd.8
 * names the same keys. Durations are texts with a unit ("90s"), never bare numbers.
 */
#include "server/config/settings.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"
#include "server/config/check_limits.h"
#include "server/config/section.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

void config_default(struct config *ret_config)
{
    *ret_config = (struct config){
        .listen_host = "127.0.0.1",
        .listen_port = 8700,
        .log_level = LOG_LEVEL_INFO,
        .workers = 2,
        .heartbeat_interval_ms = 5 * MS_PER_S,
        .diagnosis_settle_ms = 10 * MS_PER_S, /* HyperPod's take 10 to 30 s */
        .local_boot_delay_ms = MS_PER_S,
    };
    loop_settings_default(&ret_config->reconcile);
}

int config_parse_listen(struct config *config, const char *text)
{
    const char *colon = strrchr(text, ':');
    int64_t port;
    if (colon == NULL || colon == text || text_parse_i64(colon + 1, 0, 65535, &port) != 0)
        return STATUS_INVALID;
    size_t len = (size_t)(colon - text);
    if (text[0] == '[') {
        if (text[len - 1] != ']')
            return STATUS_INVALID;
        text++;
        len -= 2;
    }
    if (len == 0 || memchr(text, ' ', len) != NULL)
        return STATUS_INVALID;
    char host[sizeof(config->listen_host)];
    if (text_copy_bytes(host, sizeof(host), text, len) != 0)
        return STATUS_INVALID;
    if (text_equal(host, "localhost"))
        text_copy(host, sizeof(host), "127.0.0.1");
    struct in6_addr any;
    if (inet_pton(AF_INET, host, &any) != 1 && inet_pton(AF_INET6, host, &any) != 1)
        return STATUS_INVALID;
    memcpy(config->listen_host, host, sizeof(host));
    config->listen_port = (int)port;
    return 0;
}

bool config_is_loopback(const struct config *config)
{
    return text_starts_with(config->listen_host, "127.") || text_equal(config->listen_host, "::1");
}

static int read_command(struct local_service *service, const json_t *command, char *ret_error)
{
    size_t count = json_array_size(command);
    if (!json_is_array(command) || count == 0 || count > LOCAL_ARGS_MAX) {
        snprintf(ret_error, CONFIG_ERROR_MAX,
                 "providers.local.services: command of \"%s\" must be a list of 1 to %d arguments (no shell is used)",
                 service->name, LOCAL_ARGS_MAX);
        return STATUS_INVALID;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *arg = json_array_get(command, i);
        if (!json_is_string(arg)) {
            snprintf(ret_error, CONFIG_ERROR_MAX,
                     "providers.local.services: argument %zu of \"%s\" must be a text; put numbers in quotes", i + 1,
                     service->name);
            return STATUS_INVALID;
        }
        service->argv[i] = own_strdup(json_string_value(arg));
    }
    return 0;
}

/* Here, where the file is read, and not when the first machine is launched. */
static int check_service(const struct config *config, size_t at, char *ret_error)
{
    const struct local_service *service = &config->local_services[at];
    char error[PROVIDER_ERROR_MAX] = "the name must be letters, digits and hyphens";
    int rc = text_is_name(service->name) ? local_check_command(service->argv, error) : STATUS_INVALID;
    for (size_t i = 0; rc == 0 && i < at; i++)
        if (text_equal(config->local_services[i].name, service->name)) {
            snprintf(error, sizeof(error), "another service has the same name");
            rc = STATUS_INVALID;
        }
    if (rc != 0)
        snprintf(ret_error, CONFIG_ERROR_MAX, "providers.local.services, entry %zu: %s", at + 1, error);
    return rc;
}

static int read_services(struct config *config, const json_t *services, char *ret_error)
{
    if (!json_is_array(services) || json_array_size(services) > LOCAL_SERVICES_MAX) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "providers.local.services must be a list of at most %d services",
                 LOCAL_SERVICES_MAX);
        return STATUS_INVALID;
    }
    for (size_t i = 0; i < json_array_size(services); i++) {
        struct local_service *service = &config->local_services[i];
        json_t *command = NULL;
        const struct json_field fields[] = {
            {.name = "name",
             .type = JSON_FIELD_TEXT,
             .required = true,
             .target = service->name,
             .size = sizeof(service->name),
             .check = NULL,
             .min = 1},
            {.name = "command", .type = JSON_FIELD_ARRAY, .required = true, .target = &command, .min = 1, .max = 64},
        };
        char error[JSON_ERROR_MAX];
        int rc = json_read(json_array_get(services, i), fields, ARRAY_LEN(fields), error);
        if (rc != 0) {
            snprintf(ret_error, CONFIG_ERROR_MAX, "providers.local.services, entry %zu: %s", i + 1, error);
            return rc;
        }
        config->local_service_count = i + 1;
        rc = read_command(service, command, ret_error);
        if (rc == 0)
            rc = check_service(config, i, ret_error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int read_providers(struct config *config, json_t *providers, char *ret_error)
{
    int rc = config_commands_read(&config->commands, providers, ret_error);
    json_t *local = json_object_get(providers, "local");
    if (rc != 0 || local == NULL)
        return rc;
    const struct key keys[] = {
        {"dir", KEY_TEXT, config->local_dir, sizeof(config->local_dir), 0, 0},
        {"bootDelay", KEY_DURATION, &config->local_boot_delay_ms, 0, 0, MS_PER_HOUR},
    };
    static const char *const skip[] = {"services", NULL};
    rc = section_read(local, "providers.local", keys, ARRAY_LEN(keys), skip, ret_error);
    json_t *services = json_object_get(local, "services");
    if (rc == 0 && services != NULL)
        rc = read_services(config, services, ret_error);
    config->local_enabled = rc == 0;
    return rc;
}

static int read_subnets(struct config *config, json_t *subnets, char *ret_error)
{
    if (!json_is_array(subnets) || json_array_size(subnets) > CONFIG_SUBNETS_MAX) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "subnets must be a list of at most %d subnets", CONFIG_SUBNETS_MAX);
        return STATUS_INVALID;
    }
    for (size_t i = 0; i < json_array_size(subnets); i++) {
        char error[JSON_ERROR_MAX];
        const struct json_field fields[] = {
            {.name = "id",
             .type = JSON_FIELD_TEXT,
             .required = true,
             .target = config->subnets[i].id,
             .size = sizeof(config->subnets[i].id),
             .min = 1},
            {.name = "zone",
             .type = JSON_FIELD_TEXT,
             .required = true,
             .target = config->subnets[i].zone,
             .size = sizeof(config->subnets[i].zone),
             .min = 1},
        };
        int rc = json_read(json_array_get(subnets, i), fields, ARRAY_LEN(fields), error);
        if (rc != 0) {
            snprintf(ret_error, CONFIG_ERROR_MAX, "subnets, entry %zu: %s", i + 1, error);
            return rc;
        }
        for (size_t other = 0; other < i; other++)
            if (text_equal(config->subnets[other].id, config->subnets[i].id)) {
                snprintf(ret_error, CONFIG_ERROR_MAX, "subnets, entry %zu: entry %zu has the same id", i + 1,
                         other + 1);
                return STATUS_INVALID;
            }
    }
    config->subnet_count = json_array_size(subnets);
    return 0;
}

/* A section that is all settings. */
static int read_settings(struct config *config, json_t *object, const char *section, char *ret_error)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return section_read(object, section, NULL, 0, NULL, ret_error); /* which says so */
    json_object_foreach(object, name, value)
    {
        const struct setting *setting = setting_find(section, name);
        char rule[SETTING_RULE_MAX];
        struct setting_value read = {0};
        if (setting == NULL) {
            struct nearest nearest = {.word = name};
            setting_near(section, &nearest);
            return section_unknown(section, &nearest, ret_error);
        }
        if (setting_read(setting, value, &read, rule) != 0) {
            snprintf(ret_error, CONFIG_ERROR_MAX, "%s.%s must be %s", section, name, rule);
            return STATUS_INVALID;
        }
        setting_put(config, setting, &read);
        config->configured[setting - settings] = true;
    }
    return 0;
}

static int read_agents(struct config *config, json_t *agents, char *ret_error)
{
    int rc = read_settings(config, agents, "agents", ret_error);
    if (rc == 0 && config->reconcile.policy.silent_after_ms < 2 * config->heartbeat_interval_ms) {
        snprintf(
            ret_error, CONFIG_ERROR_MAX,
            "agents.silentAfter must be at least twice agents.heartbeatInterval, or every lost packet is a finding");
        return STATUS_INVALID;
    }
    return rc;
}

static int read_recovery(struct config *config, json_t *recovery, char *ret_error)
{
    return read_settings(config, recovery, "recovery", ret_error);
}

static int read_checks(struct config *config, json_t *checks, char *ret_error)
{
    struct loop_settings *r = &config->reconcile;
    const struct key keys[] = {
        {"busyWait", KEY_DURATION, &r->check_wait_ms, 0, 0, MS_PER_DAY},
        {"quickDeadline", KEY_DURATION, &r->check_quick_ms, 0, MS_PER_S, MS_PER_DAY},
        {"deepDeadline", KEY_DURATION, &r->check_deep_ms, 0, MS_PER_S, MS_PER_DAY},
        {"idleEvery", KEY_DURATION, &r->check_idle_ms, 0, 0, 90 * MS_PER_DAY},
        {"stressTime", KEY_DURATION, &r->check_stress_ms, 0, MS_PER_S, MS_PER_HOUR},
    };
    static const char *const skip[] = {"limits", NULL};
    int rc = section_read(checks, "checks", keys, ARRAY_LEN(keys), skip, ret_error);
    json_t *limits = json_object_get(checks, "limits");
    return rc != 0 || limits == NULL ? rc : check_limits_read(limits, &r->check_limits, ret_error, CONFIG_ERROR_MAX);
}

static int read_history(struct config *config, json_t *history, char *ret_error)
{
    return read_settings(config, history, "history", ret_error);
}

static int read_webhooks(struct config *config, json_t *webhooks, char *ret_error)
{
    return config_webhooks_read(&config->webhooks, webhooks, ret_error);
}

static int read_ssh(struct config *config, json_t *ssh, char *ret_error)
{
    return config_reboot_read_ssh(&config->reboot, ssh, ret_error);
}

static int read_node_commands(struct config *config, json_t *commands, char *ret_error)
{
    return config_node_commands_read(&config->node_commands, commands, ret_error);
}

static int read_bmc(struct config *config, json_t *bmc, char *ret_error)
{
    return config_reboot_read_bmc(&config->reboot, bmc, ret_error);
}

static int read_root(struct config *config, json_t *root, char *ret_error)
{
    static const struct {
        const char *name;
        int (*read)(struct config *config, json_t *object, char *ret_error);
    } sections[] = {{"subnets", read_subnets},   {"providers", read_providers},
                    {"agents", read_agents},     {"recovery", read_recovery},
                    {"history", read_history},   {"checks", read_checks},
                    {"webhooks", read_webhooks}, {"nodeCommands", read_node_commands},
                    {"ssh", read_ssh},           {"bmc", read_bmc}};
    static const char *const skip[] = {"slurm",    "schedulers", "subnets",      "providers", "agents",
                                       "recovery", "history",    "checks",       "webhooks",  "tls",
                                       "ssh",      "bmc",        "nodeCommands", NULL};
    const struct key keys[] = {
        {"listen", KEY_LISTEN, config, 0, 0, 0},
        {"publicUrl", KEY_TEXT, config->public_url, sizeof(config->public_url), 0, 0},
        {"awsPathPrefix", KEY_PATH, config->aws_path_prefix, sizeof(config->aws_path_prefix), 0, 0},
        {"logLevel", KEY_LOG_LEVEL, &config->log_level, 0, 0, 0},
        {"workers", KEY_INT, &config->workers, 0, 1, CONFIG_WORKERS_MAX},
        {"faultTables", KEY_PATH, config->fault_tables, sizeof(config->fault_tables), 0, 0},
        {"dnsDomain", KEY_TEXT, config->dns_domain, sizeof(config->dns_domain), 0, 0},
        {"imageRelease", KEY_TEXT, config->image_release, sizeof(config->image_release), 0, 0},
    };
    const struct key tls[] = {
        {"certificate", KEY_TEXT, config->tls_certificate, sizeof(config->tls_certificate), 0, 0},
        {"key", KEY_TEXT, config->tls_key, sizeof(config->tls_key), 0, 0},
    };
    int rc = section_read(root, "", keys, ARRAY_LEN(keys), skip, ret_error);
    json_t *object = json_object_get(root, "tls");
    if (rc == 0 && object != NULL)
        rc = section_read(object, "tls", tls, ARRAY_LEN(tls), NULL, ret_error);
    if (rc == 0)
        rc = config_schedulers_read(&config->schedulers, json_object_get(root, "slurm"),
                                    json_object_get(root, "schedulers"), ret_error);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(sections); i++) {
        object = json_object_get(root, sections[i].name);
        if (object != NULL)
            rc = sections[i].read(config, object, ret_error);
    }
    return rc;
}

int config_read_file(struct config *config, const char *path, char ret_error[CONFIG_ERROR_MAX])
{
    autofree char *data = NULL;
    size_t len;
    int rc = file_read(path, CONFIG_FILE_BYTES_MAX, &data, &len);
    if (rc != 0) {
        const char *why = rc == STATUS_NOT_FOUND ? "no such file" : status_meaning(rc);
        snprintf(ret_error, CONFIG_ERROR_MAX, "%s: %s", path, why);
        return rc;
    }
    auto_json json_t *root = NULL;
    char error[JSON_ERROR_MAX], where[CONFIG_ERROR_MAX];
    rc = yaml_parse(data, len, CONFIG_FILE_BYTES_MAX, &root, error);
    if (rc == 0 && json_is_null(root))
        return 0; /* an empty file asks for nothing */
    if (rc == 0)
        rc = read_root(config, root, where);
    else
        text_copy_cut(where, sizeof(where), error);
    if (rc != 0)
        snprintf(ret_error, CONFIG_ERROR_MAX, "%.120s: %.380s", path, where);
    return rc;
}

void config_free(struct config *config)
{
    for (size_t i = 0; i < LOCAL_SERVICES_MAX; i++)
        for (size_t k = 0; k < LOCAL_ARGS_MAX; k++) {
            free(config->local_services[i].argv[k]);
            config->local_services[i].argv[k] = NULL;
        }
    check_limits_free(&config->reconcile.check_limits);
    config_commands_free(&config->commands);
    config_schedulers_free(&config->schedulers);
}
