/*
 * hpd's process: reads the configuration, builds the parts in the order in which they need each other, waits for a
 * signal, and takes them down in the opposite order. Nothing is decided here.
 */
#include "api/api.h"
#include "api/aws/eventbridge.h"
#include "api/render.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/option.h"
#include "base/own.h"
#include "base/text.h"
#include "base/version.h"
#include "policy/faults/faults.h"
#include "server/certificate.h"
#include "server/config/fault_file.h"
#include "server/config/policy_registry.h"
#include "server/config/settings.h"
#include "server/live/machine_registry.h"
#include "server/live/provider_registry.h"
#include "server/metrics.h"
#include "server/provider/command/command.h"
#include "server/provider/inventory/inventory.h"
#include "server/provider/manual/manual.h"
#include "server/reconcile/reconcile.h"
#include "server/restore.h"
#include "server/service/access/access.h"
#include "server/service/access/store.h"
#include "server/service/agent/agent_settings.h"
#include "server/service/cluster/cluster.h"
#include "server/service/event/event.h"
#include "server/service/machine/machine.h"
#include "server/service/policy/policy.h"
#include "server/service/service.h"
#include "server/state_dir.h"
#include "server/webhook/webhook.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define EXECUTOR_QUEUE_MAX 4096
#define SELF_PATH_MAX 4096

struct hpd {
    struct config config;
    struct policy_registry *registry;
    bool new_admin_token, new_secret_key, made_admin_token;
    struct id_source ids;
    struct db *db;
    struct service_backends backends;
    struct service service;
    struct executor *executor;
    struct reconcile_deps deps;
    struct reconcile *reconcile;
    struct metrics_sources metrics;
    struct api *api;
    struct webhooks *webhooks;
    atomic_bool reconciling;
    struct fault_overrides **overrides; /* each that was ever read; the last is in use */
    size_t override_count;
    struct tls_pair tls; /* empty over plain HTTP */
    char self[SELF_PATH_MAX];
};

struct hpd_options {
    const char *state_dir, *listen, *file, *level;
    bool new_admin_token, new_secret_key, force, version, help;
};
#define TEXT(...) OPTION_ROW_TEXT(struct hpd_options, __VA_ARGS__)
#define FLAG(...) OPTION_ROW_FLAG(struct hpd_options, __VA_ARGS__)
static const struct option_row option_rows[] = {
    TEXT("state-dir", state_dir, "DIR", "where everything is kept; an empty directory is fine"),
    TEXT("listen", listen, "ADDRESS:PORT", "plain HTTP on loopback, TLS elsewhere (127.0.0.1:8700); port 0 picks one"),
    TEXT("config", file, "FILE", "YAML; hpd(8) lists the keys"),
    TEXT("log-level", level, "LEVEL", "debug, info, warn or error (info)"),
    FLAG("new-admin-token", new_admin_token, "make the admin token anew, because the first one is lost"),
    FLAG("new-secret-key", new_secret_key,
         "make secret.key anew, because it is lost; access keys must then be made anew"),
    FLAG("force", force, "restore: also a file that is known to be incomplete or of another secret.key"),
    FLAG("version", version, "print the version"),
    FLAG("help", help, "print this"),
};
static const struct option_table option_table = {
    .rows = option_rows, .count = ARRAY_LEN(option_rows), .abbreviated = true};

static void print_help(void)
{
    puts("hpd keeps GPU clusters training through hardware failure: the control plane of Holdfast.\n\n"
         "usage: hpd --state-dir DIR [--listen 127.0.0.1:8700] [--config FILE] [--log-level LEVEL]\n"
         "       hpd restore --state-dir DIR FILE [--force]\n");
    option_print_all(&option_table, stdout);
    puts("\nThe admin token is in DIR/admin.token. \"hpd machine DIR\" is the local provider's business.");
}

static int usage(const char *message)
{
    fprintf(stderr, "hpd: %s\nhpd: try --help\n", message);
    return EXIT_USAGE;
}

/* -1: go on; else the exit code. The file is read before the other options, so that these win. */
static int read_options(struct hpd *hpd, int argc, char **argv)
{
    struct hpd_options o = {0};
    autofree const char **words = own_calloc((size_t)argc + 1, sizeof(*words));
    char error[CONFIG_ERROR_MAX], option_error[OPTION_ERROR_MAX];
    if (option_read(&option_table, argc, argv, &o, words, option_error) != 0)
        return usage(option_error);
    if (o.version) {
        printf("hpd %s, fault table %s, schema %d\n", HOLDFAST_VERSION, fault_table_version(), db_schema_version());
        return 0;
    }
    if (o.help) {
        print_help();
        return 0;
    }
    hpd->new_admin_token = o.new_admin_token;
    hpd->new_secret_key = o.new_secret_key;
    if (text_equal(words[0], "restore")) {
        if (o.state_dir == NULL || words[1] == NULL || words[2] != NULL)
            return usage("restore takes --state-dir DIR and the file that hpctl backup made");
        return restore_main(o.state_dir, words[1], o.force);
    }
    if (words[0] != NULL || o.force)
        return usage(o.force ? "--force is for restore"
                             : "it takes options only; or: hpd restore --state-dir DIR FILE");
    if (o.state_dir == NULL || text_copy(hpd->config.state_dir, sizeof(hpd->config.state_dir), o.state_dir) != 0)
        return usage("--state-dir is needed: a directory of its own");
    if (o.file != NULL && config_read_file(&hpd->config, o.file, error) != 0)
        return usage(error);
    if (o.listen != NULL && config_parse_listen(&hpd->config, o.listen) != 0)
        return usage("--listen takes an IP address and a port, such as 127.0.0.1:8700");
    if (o.level != NULL && log_level_parse(o.level, &hpd->config.log_level) != 0)
        return usage("--log-level is debug, info, warn or error");
    return -1;
}

static int fail(const char *what, const char *detail)
{
    log_error("%s: %s", what, detail);
    return 1;
}

/* A document that cannot be read any more is no reason not to start: the last good one stays. */
static int load_policy(struct hpd *hpd)
{
    struct problem problem = {0};
    int64_t version = 0;
    int rc = service_policy_load(&hpd->service, &version, &problem);
    if (rc < 0 && rc != STATUS_INVALID)
        return fail("the store cannot be read", problem.detail);
    if (rc == STATUS_INVALID)
        log_error("%s; version %lld stands instead (0: what hpd is configured with)", problem.detail,
                  (long long)version);
    return 0;
}

static int load_agent_settings(struct hpd *hpd)
{
    struct problem problem = {0};
    int rc = service_agent_settings_load(&hpd->service, &problem);
    return rc < 0 ? fail("the store cannot be read", problem.detail) : 0;
}

/* One that cannot be read is no reason not to start: the others are served. */
static int check_specs(struct hpd *hpd)
{
    struct problem problem = {0};
    int rc = service_specs_check(&hpd->service, &problem);
    return rc < 0 ? fail("the store cannot be read", problem.detail) : 0;
}

static int open_store(struct hpd *hpd)
{
    char error[DB_ERROR_MAX] = "";
    int rc = file_make_dirs(hpd->config.state_dir, 0700);
    if (rc != 0)
        return fail(hpd->config.state_dir, status_meaning(rc));
    rc = state_dir_close_to_others(hpd->config.state_dir, error);
    if (rc != 0)
        return fail("the state directory", error);
    rc = db_open(hpd->config.state_dir, clock_system(), 0, &hpd->db, error);
    if (rc != 0)
        return fail("the store cannot be opened", *error ? error : status_meaning(rc));
    hpd->registry = policy_registry_new(&hpd->config);
    hpd->service = (struct service){
        .registry = hpd->registry,
        .db = hpd->db,
        .fleet = fleet_new(),
        .clock = clock_system(),
        .ids = &hpd->ids,
        .heartbeat_interval_ms = hpd->config.heartbeat_interval_ms,
        .diagnosis_settle_ms = hpd->config.diagnosis_settle_ms,
        .memory = service_memory_new(),
        .machines = machine_registry_new(),
        .providers = provider_registry_new(),
        .webhooks = hpd->config.webhooks.list,
        .webhook_count = hpd->config.webhooks.count,
    };
    int64_t newest_at = 0;
    rc = service_event_newest_at(&hpd->service, &newest_at);
    clock_keep_steady(newest_at); /* what was stored is not in the future, whatever the machine's clock says */
    if (rc == 0)
        rc = load_policy(hpd);
    if (rc == 0)
        rc = load_agent_settings(hpd);
    if (rc == 0)
        rc = check_specs(hpd);
    if (rc != 0)
        return rc;
    autofree char *key = own_printf("%s/secret.key", hpd->config.state_dir);
    char key_error[SERVICE_KEY_ERROR_MAX] = "";
    rc = service_seal_key_open(&hpd->service, key, hpd->new_secret_key, key_error);
    return rc != 0 ? fail("the key of secrets", *key_error ? key_error : status_meaning(rc)) : 0;
}

static int find_unused_admin(const void *row, void *arg)
{
    const struct token *token = row;
    if (token->kind == TOKEN_KIND_API && token->role == ROLE_ADMIN && token->used_at == 0 &&
        text_equal(token->name, "admin"))
        *(bool *)arg = true;
    return 0;
}

/* The token is made and written in two steps. When a crash came between them, nobody knows the secret: a token that was
 * never used and has no file is made anew. */
static int ensure_admin_token(struct hpd *hpd)
{
    struct problem problem = {0};
    bool unused = false;
    autofree char *path = own_printf("%s/admin.token", hpd->config.state_dir);
    if (service_token_list(&hpd->service, find_unused_admin, &unused, &problem) != 0)
        return fail("the store cannot be read", problem.detail);
    bool anew = hpd->new_admin_token || (unused && !file_exists(path));
    char text[SERVICE_TOKEN_TEXT_MAX];
    int rc = service_ensure_admin_token(&hpd->service, anew, text);
    if (rc != 0)
        return fail("the admin token cannot be made", status_meaning(rc));
    if (*text == 0)
        return 0;
    autofree char *line = own_printf("%s\n", text);
    rc = file_write(path, line, strlen(line), 0600);
    if (rc != 0)
        return fail(path, status_meaning(rc));
    hpd->made_admin_token = true; /* told once the server listens: without a port it is of no use */
    return 0;
}

static int prepare_tls(struct hpd *hpd)
{
    char error[CERTIFICATE_ERROR_MAX] = "";
    int rc = certificate_prepare(&hpd->config, &hpd->tls, error);
    if (rc != 0)
        return fail("the certificate", error);
    text_copy_cut(hpd->service.fingerprint, sizeof(hpd->service.fingerprint), hpd->tls.fingerprint);
    hpd->service.certificate_ends_at = hpd->tls.ends_at;
    hpd->service.own_certificate = hpd->tls.self_made ? hpd->tls.cert_pem : NULL;
    return 0;
}

/* --- contract tests of providers ------------------------------------------------------------------- */

struct provider_job {
    struct hpd *hpd;
    const struct provider_driver *provider;
    bool launches;
};

static void on_found(const char *check, bool passed, const char *detail, void *arg)
{
    const struct provider_job *job = arg;
    provider_registry_found(job->hpd->service.providers, job->provider->ops->name, check, passed, detail);
}

static void run_provider_test(void *arg)
{
    autofree struct provider_job *job = arg;
    const struct service *s = &job->hpd->service;
    const struct provider_test test = {.launches = job->launches,
                                       .instance_type = "",
                                       .server_url = s->server_url,
                                       .fingerprint = s->fingerprint,
                                       .found = on_found,
                                       .arg = job};
    job->provider->ops->test(job->provider->self, &test);
    provider_registry_test_ended(s->providers, job->provider->ops->name, clock_wall_ms(s->clock));
}

static int begin_provider_test(void *arg, const char *name, bool launches)
{
    struct hpd *hpd = arg;
    for (size_t i = 0; i < hpd->deps.provider_count; i++) {
        const struct provider_driver *provider = &hpd->deps.providers[i];
        if (!text_equal(provider->ops->name, name) || provider->ops->test == NULL)
            continue;
        struct provider_job *job = own_calloc(1, sizeof(*job));
        *job = (struct provider_job){hpd, provider, launches};
        int rc = executor_submit(hpd->executor, run_provider_test, job);
        if (rc != 0)
            free(job);
        return rc;
    }
    return STATUS_NOT_FOUND;
}

/* The APIs refuse clusters that ask for anything else. */
static void tell_backends(struct hpd *hpd)
{
    struct service_backends *backends = &hpd->backends;
    _Static_assert(SERVICE_PROVIDERS_MAX >= RECONCILE_PROVIDERS_MAX, "the APIs know every provider");
    for (size_t i = 0; i < hpd->deps.provider_count; i++) {
        const struct provider_ops *ops = hpd->deps.providers[i].ops;
        backends->providers[backends->provider_count++] = ops->name;
        provider_registry_add(hpd->service.providers, ops->name, ops->kind != NULL ? ops->kind : ops->name,
                              ops->by_person, ops->test != NULL);
    }
    hpd->service.provider_test = begin_provider_test;
    hpd->service.provider_test_arg = hpd;
    for (size_t i = 0; i < hpd->deps.scheduler_count; i++)
        if (orchestrator_parse(hpd->deps.schedulers[i].driver.ops->name, &backends->kinds[backends->kind_count++]) != 0)
            abort(); /* ours: a kind that ORCHESTRATOR_LIST does not have */
    backends->has_ssh = hpd->config.reboot.ssh.given;
    backends->has_bmc = hpd->config.reboot.bmc.given;
    backends->release = hpd->config.image_release;
    backends->dns_domain = hpd->config.dns_domain;
    _Static_assert(SERVICE_SUBNETS_MAX == CONFIG_SUBNETS_MAX &&
                       sizeof(backends->subnets) == sizeof(hpd->config.subnets),
                   "one table");
    memcpy(backends->subnets, hpd->config.subnets, sizeof(backends->subnets));
    backends->subnet_count = hpd->config.subnet_count;
    hpd->service.backends = backends;
}

static int make_schedulers(struct hpd *hpd)
{
    _Static_assert(CONFIG_SCHEDULERS_MAX <= RECONCILE_SCHEDULERS_MAX, "the loop has room for all");
    for (size_t i = 0; i < hpd->config.schedulers.count; i++) {
        const struct config_scheduler *from = &hpd->config.schedulers.list[i];
        struct reconcile_scheduler *scheduler = &hpd->deps.schedulers[i];
        int64_t jobs_ms = from->job_snapshot_interval_ms;
        *scheduler = (struct reconcile_scheduler){.name = from->name,
                                                  .arn = from->arn,
                                                  .managed = from->managed,
                                                  .topology_managed = from->topology_managed,
                                                  .strategy = from->strategy,
                                                  .observe_interval_ms = from->observe_interval_ms,
                                                  .job_snapshot_interval_ms = jobs_ms > 0 ? jobs_ms : RECONCILE_NEVER};
        from->kind->warn(from);
        int rc = from->kind->make(from, &scheduler->driver);
        if (rc != 0)
            return fail(from->path, status_meaning(rc));
        hpd->deps.scheduler_count++;
    }
    return 0;
}

/* Machines by a site's executables. */
static int make_commands(struct hpd *hpd)
{
    const struct config *c = &hpd->config;
    _Static_assert(CONFIG_COMMANDS_MAX + 2 <= RECONCILE_PROVIDERS_MAX, "the loop has room for all, local and manual");
    for (size_t i = 0; i < c->commands.count; i++) {
        const struct config_command *from = &c->commands.list[i];
        char error[PROVIDER_ERROR_MAX] = "";
        autofree char *dir = own_printf("%s/providers/%s", c->state_dir, from->name);
        autofree char *where = own_printf("providers.%s", from->name);
        const struct command_options options = {.name = from->name,
                                                .directory = from->directory,
                                                .state_dir = dir,
                                                .self_path = hpd->self,
                                                .variables = (const char *const *)from->variables,
                                                .timeout_ms = from->timeout_ms,
                                                .end_orphans = from->end_orphans};
        int rc = command_new(&options, &hpd->deps.providers[hpd->deps.provider_count], error);
        if (rc != 0)
            return fail(where, error);
        hpd->deps.provider_count++;
    }
    return 0;
}

static int make_ec2(struct hpd *hpd)
{
    const struct config *c = &hpd->config;
    for (size_t i = 0; i < c->commands.ec2_count; i++) {
        const struct config_ec2 *from = &c->commands.ec2[i];
        char error[PROVIDER_ERROR_MAX] = "";
        if (config_ec2_make(from, c->state_dir, &hpd->deps.providers[hpd->deps.provider_count], error) != 0)
            return fail(from->name, error);
        hpd->deps.provider_count++;
    }
    return 0;
}

/* Machines of the site's own. */
static void make_inventories(struct hpd *hpd)
{
    const struct config_commands *c = &hpd->config.commands;
    const struct machine_store store = service_machine_store(&hpd->service);
    for (size_t i = 0; i < c->inventory_count; i++) {
        hpd->deps.providers[hpd->deps.provider_count++] = inventory_new(c->inventories[i], &store);
        hpd->backends.burn_in_ms[hpd->backends.inventory_count] = c->burn_in_ms[i];
        hpd->backends.inventories[hpd->backends.inventory_count++] = c->inventories[i];
    }
}

static int make_backends(struct hpd *hpd)
{
    struct config *c = &hpd->config;
    hpd->deps = (struct reconcile_deps){.service = &hpd->service, .settings = c->reconcile};
    int rc = make_schedulers(hpd);
    if (rc != 0)
        return rc;
    if (c->local_enabled) {
        if (*c->local_dir == 0)
            snprintf(c->local_dir, sizeof(c->local_dir), "%.4000s/instances", c->state_dir);
        struct local_options options = {.dir = c->local_dir,
                                        .self_path = hpd->self,
                                        .services = c->local_services,
                                        .service_count = c->local_service_count,
                                        .boot_delay_ms = c->local_boot_delay_ms};
        rc = local_new(&options, &hpd->deps.providers[hpd->deps.provider_count]);
        if (rc != 0)
            return fail("providers.local", status_meaning(rc));
        hpd->deps.provider_count++;
    }
    rc = make_commands(hpd);
    if (rc == 0)
        rc = make_ec2(hpd);
    if (rc != 0)
        return rc;
    make_inventories(hpd);
    hpd->deps.reboots = config_reboot_make(&c->reboot);
    /* Last: a group that names no provider is the first one's, and people are asked only when there is none that was configured. */
    hpd->deps.providers[hpd->deps.provider_count++] = manual_driver();
    tell_backends(hpd);
    if (config_node_commands_make(&c->node_commands, &hpd->service) != 0)
        return fail("nodeCommands", "no thread could be started");
    hpd->executor =
        executor_threads_new(reconcile_threads(&c->reconcile, hpd->deps.scheduler_count), EXECUTOR_QUEUE_MAX);
    hpd->deps.executor = hpd->executor;
    rc = reconcile_new(&hpd->deps, &hpd->reconcile);
    if (rc != 0)
        return fail(
            "what the store holds cannot be read",
            "it is damaged, or the disk failed; sqlite3's integrity check tells which. If it is damaged, restore "
            "a backup");
    return 0;
}

/* Before the first request is taken: enrolment hands this address out. */
static void on_bound(uint16_t port, void *arg)
{
    struct hpd *hpd = arg;
    const struct config *c = &hpd->config;
    bool v6 = strchr(c->listen_host, ':') != NULL;
    bool any = text_equal(c->listen_host, "0.0.0.0") || text_equal(c->listen_host, "::");
    char host[NAME_MAX_BYTES * 2] = "";
    if (any)
        gethostname(host, sizeof(host) - 1); /* "everywhere" is no address that an agent could use */
    else
        snprintf(host, sizeof(host), "%s%s%s", v6 ? "[" : "", c->listen_host, v6 ? "]" : "");
    if (*c->public_url != 0)
        text_copy(hpd->service.server_url, sizeof(hpd->service.server_url), c->public_url);
    else
        snprintf(hpd->service.server_url, sizeof(hpd->service.server_url), "%s://%.100s:%u",
                 hpd->tls.cert_pem != NULL ? "https" : "http", host, (unsigned)port);
}

static void on_metrics(struct text *out, void *arg)
{
    metrics_render(out, &((struct hpd *)arg)->metrics);
}

#define UNRECORDED_MAX_MS (10 * MS_PER_S) /* a slow disk is no outage */

static bool is_ready(char ret_why[API_WHY_MAX], void *arg)
{
    const struct hpd *hpd = arg;
    char at[CLOCK_TEXT_MAX];
    struct db_stats store;
    struct reconcile_stats loop;
    if (!atomic_load(&hpd->reconciling)) {
        text_copy_cut(ret_why, API_WHY_MAX, "the reconcile loop does not run yet");
        return false;
    }
    if (!db_is_in_place(hpd->db)) {
        text_copy_cut(ret_why, API_WHY_MAX,
                      "the store's files were removed or replaced under hpd; put them back or restart hpd");
        return false;
    }
    db_stats(hpd->db, &store);
    if (store.failing_since != 0) {
        snprintf(ret_why, API_WHY_MAX, "the store has taken no writes since %s", clock_format(store.failing_since, at));
        return false;
    }
    reconcile_stats(hpd->reconcile, &loop);
    int64_t waits = loop.unrecorded_since == 0 ? 0 : clock_mono_ms(clock_system()) - loop.unrecorded_since;
    if (waits > UNRECORDED_MAX_MS)
        snprintf(ret_why, API_WHY_MAX, "the reconcile loop could not record anything for %lld s",
                 (long long)(waits / MS_PER_S));
    return waits <= UNRECORDED_MAX_MS;
}

static int open_apis(struct hpd *hpd)
{
    const struct config *c = &hpd->config;
    bool v6 = strchr(c->listen_host, ':') != NULL;
    autofree char *listen = own_printf("%s%s%s:%d", v6 ? "[" : "", c->listen_host, v6 ? "]" : "", c->listen_port);
    hpd->metrics = (struct metrics_sources){
        .db = hpd->db, .fleet = hpd->service.fleet, .reconcile = hpd->reconcile, .service = &hpd->service};
    struct api_options options = {
        .listen = listen,
        .workers = (int)c->workers,
        .cert_pem = hpd->tls.cert_pem,
        .key_pem = hpd->tls.key_pem,
        .aws_path_prefix = c->aws_path_prefix,
        .version = HOLDFAST_VERSION,
        .fault_table_version = fault_table_version(),
        .schema_version = db_schema_version(),
        .metrics = on_metrics,
        .ready = is_ready,
        .bound = on_bound,
        .arg = hpd,
    };
    char error[API_ERROR_MAX] = "";
    int rc = api_start(&options, &hpd->service, &hpd->api, error);
    if (rc != 0)
        return fail("hpd cannot start", *error ? error : status_meaning(rc));
    log_info("listening on %s, state in %s", hpd->service.server_url, c->state_dir);
    if (hpd->made_admin_token)
        log_info("the admin token is in %s/admin.token", c->state_dir);
    return 0;
}

/* After the APIs are open: links are made from the address that is bound. */
static int start_webhooks(struct hpd *hpd)
{
    const struct webhooks_options options = {.service = &hpd->service,
                                             .version = HOLDFAST_VERSION,
                                             .render = render_webhook_data,
                                             .hyperpod = aws_eventbridge};
    char error[WEBHOOKS_ERROR_MAX] = "";
    int rc = webhooks_start(&options, &hpd->webhooks, error);
    return rc != 0 ? fail("webhooks", error) : 0;
}

static void take_down(struct hpd *hpd)
{
    if (hpd->reconcile != NULL)
        reconcile_stop(hpd->reconcile);
    webhooks_stop(hpd->webhooks);
    api_stop(hpd->api);
    node_commands_free(hpd->service.node_commands);
    executor_free(hpd->executor);
    reconcile_free(hpd->reconcile);
    for (size_t i = 0; i < hpd->deps.scheduler_count; i++)
        if (hpd->deps.schedulers[i].driver.ops->free != NULL)
            hpd->deps.schedulers[i].driver.ops->free(hpd->deps.schedulers[i].driver.self);
    for (size_t i = 0; i < hpd->deps.provider_count; i++)
        if (hpd->deps.providers[i].ops->free != NULL)
            hpd->deps.providers[i].ops->free(hpd->deps.providers[i].self);
    config_reboot_end(&hpd->deps.reboots);
    db_close(hpd->db);
    api_free(hpd->api);
    policy_registry_free(hpd->registry);
    service_memory_free(hpd->service.memory);
    machine_registry_free(hpd->service.machines);
    provider_registry_free(hpd->service.providers);
    fleet_free(hpd->service.fleet);
    for (size_t i = 0; i < hpd->override_count; i++)
        fault_overrides_free(hpd->overrides[i]);
    free(hpd->overrides);
    tls_pair_free(&hpd->tls);
    config_free(&hpd->config);
}

/* What was read before stays in memory: threads may still look at it, and people change it rarely. */
static int read_fault_tables(struct hpd *hpd)
{
    struct fault_overrides *overrides = NULL;
    char error[FAULT_FILE_ERROR_MAX];
    if (*hpd->config.fault_tables == 0)
        return 0;
    int rc = fault_file_read(hpd->config.fault_tables, &overrides, error);
    if (rc != 0)
        return fail("faultTables", error);
    hpd->overrides = own_realloc(hpd->overrides, hpd->override_count + 1, sizeof(*hpd->overrides));
    hpd->overrides[hpd->override_count++] = overrides;
    const struct fault_scope scope = {.overrides = overrides};
    atomic_store(&hpd->service.fault_overrides, overrides);
    if (hpd->service.wake != NULL)
        hpd->service.wake(hpd->service.wake_arg, SERVICE_WAKE_POLICY, 0); /* what is open is looked at by them */
    log_info("%zu rows of %s stand before the fault tables: version %s", fault_overrides_count(overrides),
             hpd->config.fault_tables, fault_version_in(&scope));
    return 0;
}

/* Until a signal to end. */
static int wait_for_end(struct hpd *hpd, const sigset_t *signals)
{
    int signal_number = 0;
    while (sigwait(signals, &signal_number) == 0 && signal_number == SIGHUP)
        if (*hpd->config.fault_tables == 0)
            log_info("SIGHUP: there is no faultTables to read again");
        else if (read_fault_tables(hpd) != 0)
            log_warn("SIGHUP: the fault tables in use stay in use");
    return signal_number;
}

static int serve(struct hpd *hpd, const sigset_t *signals)
{
    int rc = open_store(hpd);
    if (rc == 0)
        rc = read_fault_tables(hpd);
    if (rc == 0)
        rc = ensure_admin_token(hpd);
    if (rc == 0)
        rc = prepare_tls(hpd);
    if (rc == 0)
        rc = make_backends(hpd);
    if (rc == 0)
        rc = open_apis(hpd);
    if (rc == 0)
        rc = start_webhooks(hpd);
    if (rc == 0 && reconcile_start(hpd->reconcile) != 0)
        rc = fail("reconcile", "no thread could be started");
    if (rc != 0)
        return rc;
    atomic_store(&hpd->reconciling, true);
    log_info("ending on signal %d", wait_for_end(hpd, signals));
    return 0;
}

/* What hpd has open without a single agent: the store's connections, each worker's four, threads' pipes, children. */
#define DESCRIPTORS_BASE 96
#define DESCRIPTORS_WORKER 8
#define DESCRIPTORS_SCHEDULER 16

/* Each agent keeps a connection: as many as the system lets us have, and a start only where there are some for agents. */
static int raise_descriptors(const struct hpd *hpd)
{
    struct rlimit files;
    const struct config *c = &hpd->config;
    rlim_t needed = (rlim_t)(DESCRIPTORS_BASE + DESCRIPTORS_WORKER * c->workers +
                             DESCRIPTORS_SCHEDULER * (int64_t)c->schedulers.count);
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return 0;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur >= needed)
        return 0;
    log_error("open files are limited to %llu, and hpd needs %llu and one more for each agent: raise it (ulimit -n, "
              "LimitNOFILE)",
              (unsigned long long)files.rlim_cur, (unsigned long long)needed);
    return 1;
}

int main(int argc, char **argv)
{
    static struct hpd hpd; /* large, and one per process */
    if (argc == 3 && text_equal(argv[1], "machine"))
        return local_machine_main(argv[2]);
    if (argc == 3 && text_equal(argv[1], "machine-reboot"))
        return local_machine_reboot_main(argv[2]);
    if (argc == 3 && text_equal(argv[1], "provider-call"))
        return command_call_main(argv[2]);
    config_default(&hpd.config);
    int rc = read_options(&hpd, argc, argv);
    if (rc >= 0)
        return rc;
    log_set_level(hpd.config.log_level);
    ssize_t len = readlink("/proc/self/exe", hpd.self, sizeof(hpd.self) - 1);
    if (len <= 0)
        return fail("/proc/self/exe", strerror(errno));
    umask(0077);
    if (raise_descriptors(&hpd) != 0)
        return 1;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread, so that all inherit it */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a full disk: an error code, and an answer */
    rc = serve(&hpd, &signals);
    take_down(&hpd);
    return rc;
}
