/*
 * hp-agent: options, signals, and the loop around agents/node/agent.c.
 */
#include "agents/checks/kmsg.h"
#include "agents/node/agent.h"
#include "agents/node/by_hand.h"
#include "agents/node/runner.h"
#include "base/address.h"
#include "base/log.h"
#include "base/option.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/version.h"
#include "model/limits.h"
#include "policy/faults/faults.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define TURN_MS_MAX 60000
#define INTERVAL_MIN_MS 100
#define CHECKS_ANEW_WITHIN_MS 2000 /* of a spare that becomes a node: its return gate waits for them */

struct options {
    struct agent_options agent;
    bool version, help;
};

static int set_node(void *options, const char *value)
{
    ((struct options *)options)->agent.node = value;
    return value[0] != '\0' && strlen(value) < NODE_NAME_MAX_BYTES ? 0 : STATUS_INVALID;
}

static int set_machine(void *options, const char *value)
{
    ((struct options *)options)->agent.machine = value;
    return text_is_name(value) ? 0 : STATUS_INVALID;
}

static int set_instance_id(void *options, const char *value)
{
    ((struct options *)options)->agent.instance_id = value;
    return text_starts_with(value, "i-") ? 0 : STATUS_INVALID;
}

static int set_fingerprint(void *options, const char *value)
{
    ((struct options *)options)->agent.fingerprint = value[0] != '\0' ? value : NULL;
    return 0;
}

static int set_address(void *options, const char *value)
{
    static char address[ADDRESS_TEXT_MAX]; /* as long as the options */
    ((struct options *)options)->agent.address = address;
    return address_parse(value, address);
}

static int set_journal(void *options, const char *value)
{
    (void)value;
    ((struct options *)options)->agent.kmsg = KMSG_JOURNAL;
    return 0;
}

static int set_interval(void *options, const char *value)
{
    int64_t interval;
    if (clock_parse_duration(value, &interval) != 0 || interval < INTERVAL_MIN_MS || interval > 10 * MS_PER_MIN)
        return STATUS_INVALID;
    ((struct options *)options)->agent.heartbeat_interval_ms = interval;
    return 0;
}

static int set_runner(struct options *options, enum runner_id id, const char *key)
{
    options->agent.runner_kind = runner_kind(id);
    options->agent.runner_key = key;
    return key[0] != '\0' && strlen(key) < KEY_MAX_BYTES ? 0 : STATUS_INVALID;
}

static int set_lifecycle(void *options, const char *key)
{
    return set_runner(options, RUNNER_LIFECYCLE, key);
}

static int set_deep_check(void *options, const char *key)
{
    return set_runner(options, RUNNER_DEEP_CHECK, key);
}

static int set_reset(void *options, const char *key)
{
    return set_runner(options, RUNNER_RESET, key);
}

static int set_reboot(void *options, const char *key)
{
    return set_runner(options, RUNNER_REBOOT, key);
}

static int set_level(void *options, const char *text)
{
    enum log_level level;
    if (log_level_parse(text, &level) != 0)
        return STATUS_INVALID;
    log_set_level(level);
    ((struct options *)options)->agent.log_level_given = true;
    return 0;
}

#define TEXT(...) OPTION_ROW_TEXT(struct options, __VA_ARGS__)
#define FLAG(...) OPTION_ROW_FLAG(struct options, __VA_ARGS__)
/* clang-format off */
static const struct option_row rows[] = {
    TEXT("server", agent.url, "URL", "the control plane: https://host:port, or http:// on the loopback"),
    TEXT("state-dir", agent.state_dir, "DIR", "where credential, spool and progress are stored"),
    OPTION_ROW_SET("node", set_node, "NAME", "the node's name; not needed if the token has it"),
    OPTION_ROW_SET("machine", set_machine, "NAME", "this is a machine of an inventory; the server says which node it is"),
    OPTION_ROW_SET("instance-id", set_instance_id, "ID", "i-... of this machine; generated and stored if not given"),
    TEXT("token-file", agent.token_file, "FILE", "an enrolment token, for the first contact"),
    OPTION_ROW_SET("fingerprint", set_fingerprint, "sha256:...", "the server's public key (default: the system's CAs)"),
    OPTION_ROW_SET("address", set_address, "IP", "IPv4 or IPv6 address of this machine (default: of the connection)"),
    TEXT("kernel-log", agent.kmsg, "WHERE", "/dev/kmsg, journal, journal:DIR or a file (default: what can be read)"),
    TEXT("kmsg", agent.kmsg, "PATH", "same as --kernel-log"),
    OPTION_ROW_SET("journal", set_journal, NULL, "same as --kernel-log journal"),
    TEXT("boot-id-file", agent.boot_id_file, "PATH", "file with the boot id (default: the kernel's)"),
    TEXT("checks", agent.checks, "NAMES", "all (default), none, or some: disk,... (hp-agent check)"),
    TEXT("checks-dir", agent.checks_dir, "DIR", "a site's own checks (default /etc/holdfast/checks.d)"),
    TEXT("settings", agent.settings, "FILE", "settings of the checks (default /etc/holdfast/agent.yaml)"),
    TEXT("metrics", agent.metrics, "ADDRESS", "IP:PORT for Prometheus: measurements of the checks"),
    TEXT("instance-type", agent.instance_type, "TYPE", "instance type, for checks that depend on it"),
    OPTION_ROW_SET("heartbeat-interval", set_interval, "TIME", "such as 5s, until the server sets it (default 5s)"),
    FLAG("health-events", agent.health_events, "print faults on stdout as HyperPod's agent logs them"),
    FLAG("allow-inject", agent.allow_inject, "accept test lines in the kernel log, also from the server"),
    FLAG("allow-reboot", agent.allow_reboot, "reboot this machine when the server orders it"),
    TEXT("reboot-command", agent.reboot_command, "COMMAND", "for /bin/sh (default: systemctl reboot)"),
    FLAG("no-lifecycle", agent.no_lifecycle, "run no lifecycle scripts, and report that"),
    TEXT("lifecycle-log", agent.lifecycle_log, "FILE", "their output (default: lifecycle.log in the state directory)"),
    TEXT("ca-file", agent.ca_file, "FILE", "CAs for https sources of lifecycle scripts (default: the system's)"),
    TEXT("s3-config", agent.s3_config, "FILE", "keys, region and endpoint for s3 sources of lifecycle scripts"),
    TEXT("config-dir", agent.config_dir, "DIR", "what scripts read is there, too (default /opt/ml/config; \"\": nowhere)"),
    OPTION_ROW_SET("lifecycle", set_lifecycle, "KEY", "internal: run the scripts of this order"),
    OPTION_ROW_SET("deep-check", set_deep_check, "KEY", "internal: run the tests of this order"),
    OPTION_ROW_SET("reset", set_reset, "KEY", "internal: reset the device of this order"),
    OPTION_ROW_SET("reboot", set_reboot, "KEY", "internal: reboot this machine for this order"),
    OPTION_ROW_SET("log-level", set_level, "LEVEL", "debug, info (default), warn, error"),
    FLAG("version", version, "print the version"),
    FLAG("help", help, "print this"),
};
/* clang-format on */
static const struct option_table table = {.rows = rows, .count = ARRAY_LEN(rows), .abbreviated = true};

static void print_help(FILE *out)
{
    fputs("hp-agent --server URL --state-dir DIR [options]\nhp-agent check [NAME...] [--json]\n"
          "hp-agent settings [--json]\n\n"
          "Watches this node and reports to Holdfast. It measures; it decides nothing.\n\n",
          out);
    option_print_all(&table, out);
}

static int usage(const char *why, const char *what)
{
    fprintf(stderr, "hp-agent: %s%s%s\nTry hp-agent --help.\n", why, what[0] != '\0' ? ": " : "", what);
    return EXIT_USAGE;
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, struct options *options)
{
    char error[OPTION_ERROR_MAX];
    autofree const char **words = own_calloc((size_t)argc + 1, sizeof(*words));
    agent_options_init(&options->agent);
    if (option_read(&table, argc, argv, options, words, error) != 0)
        return usage(error, "");
    if (options->help) {
        print_help(stdout);
        return 0;
    }
    if (options->version) {
        printf("hp-agent %s, fault table %s\n", HOLDFAST_VERSION, fault_table_version());
        return 0;
    }
    if (words[0] != NULL)
        return usage("unexpected argument", words[0]);
    if (options->agent.machine != NULL && (options->agent.instance_id != NULL || options->agent.node != NULL))
        return usage("--machine excludes --node and --instance-id", "");
    if (options->agent.url == NULL || options->agent.state_dir == NULL)
        return usage("--server and --state-dir are needed", "");
    return -1;
}

/* Signals become a descriptor, so that they are noticed between two turns and never within one. */
static int open_stop_fd(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The agent itself is another process. */
static int run_as_runner(const struct agent_options *options)
{
    const struct runner_options runner = {.url = options->url,
                                          .fingerprint = options->fingerprint,
                                          .state_dir = options->state_dir,
                                          .instance_id = options->instance_id,
                                          .boot_id_file = options->boot_id_file,
                                          .address = options->address,
                                          .log = options->lifecycle_log,
                                          .ca_file = options->ca_file,
                                          .s3_config = options->s3_config,
                                          .config_dir =
                                              options->config_dir != NULL ? options->config_dir : "/opt/ml/config",
                                          .reboot_command = options->reboot_command,
                                          .allow_reboot = options->allow_reboot,
                                          .refused = options->no_lifecycle};
    if (options->instance_id == NULL)
        return usage("--instance-id is needed with", options->runner_kind->option);
    return runner_main(options->runner_kind, runner, options->runner_key);
}

/* A machine of an inventory becomes one instance after the other: each is an agent of its own. */
static int run(const struct agent_options *given)
{
    struct agent_options mine = *given, *options = &mine;
    char error[AGENT_ERROR_MAX] = "no signalfd";
    int stop_fd = open_stop_fd();
    bool again = stop_fd >= 0;
    while (again) {
        struct agent *agent = NULL;
        again = agent_new(options, &agent, error) == 0;
        if (!again)
            break;
        log_info("hp-agent %s started server=%s kernelLog=%s faultTable=%s", HOLDFAST_VERSION, options->url,
                 options->kmsg != NULL ? options->kmsg : KMSG_DEVICE, fault_table_version());
        while (agent_turn(agent, stop_fd, TURN_MS_MAX))
            ;
        struct agent_figures figures = agent_figures(agent);
        again = agent_begins_anew(agent);
        agent_free(agent);
        log_info("hp-agent %s spooled=%zu dropped=%" PRId64, again ? "begins anew" : "ends", figures.spooled,
                 figures.dropped);
        if (!again)
            return EXIT_SUCCESS;
        mine.checks_first_ms = CHECKS_ANEW_WITHIN_MS;
    }
    log_error("hp-agent cannot start: %s", error);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct options all = {0};
    const struct agent_options *options = &all.agent;
    if (argc > 1 && strcmp(argv[1], "check") == 0)
        return by_hand(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "settings") == 0)
        return by_hand_settings(argc - 1, argv + 1);
    int code = parse(argc, argv, &all);
    if (code >= 0)
        return code;
    if (options->runner_kind != NULL)
        return run_as_runner(options);
    return run(options);
}
