/*
 * hp-agent: options, signals, and the loop around agents/node/agent.c.
 */
#include "agents/checks/kmsg.h"
#include "agents/node/agent.h"
#include "agents/node/by_hand.h"
#include "agents/node/runner.h"
#include "base/address.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"
#include "base/version.h"
#include "model/limits.h"
#include "policy/faults/faults.h"

#include <getopt.h>
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

/* X(long name, letter, argument or NULL, help) */
#define OPTION_LIST(X)                                                                                     \
    X("server", 's', "URL", "the control plane: https://host:port, or http:// on the loopback")            \
    X("state-dir", 'd', "DIR", "where credential, spool and progress are stored")                          \
    X("node", 'n', "NAME", "the node's name; not needed if the token has it")                              \
    X("instance-id", 'i', "ID", "i-... of this machine; generated and stored if not given")                \
    X("token-file", 't', "FILE", "an enrolment token, for the first contact")                              \
    X("fingerprint", 'f', "sha256:...", "the server's public key (default: the system's CAs)")             \
    X("address", 'a', "IP", "address of this machine (default: of the connection)")                        \
    X("kernel-log", 'k', "WHERE", "/dev/kmsg, journal, journal:DIR or a file (default: what can be read)") \
    X("kmsg", 'k', "PATH", "same as --kernel-log")                                                         \
    X("journal", 'J', NULL, "same as --kernel-log journal")                                                \
    X("boot-id-file", 'b', "PATH", "file with the boot id (default: the kernel's)")                        \
    X("checks", 'C', "NAMES", "all (default), none, or some: disk,... (hp-agent check)")                   \
    X("checks-dir", 'D', "DIR", "a site's own checks (default /etc/holdfast/checks.d)")                    \
    X("settings", 'S', "FILE", "settings of the checks (default /etc/holdfast/agent.yaml)")                \
    X("metrics", 'M', "ADDRESS", "127.0.0.1:PORT for Prometheus: measurements of the checks")              \
    X("instance-type", 'T', "TYPE", "instance type, for checks that depend on it")                         \
    X("heartbeat-interval", 'H', "TIME", "until the server sets it (default 5s)")                          \
    X("allow-inject", 'j', NULL, "accept test lines in the kernel log, also from the server")              \
    X("no-lifecycle", 'L', NULL, "run no lifecycle scripts, and report that")                              \
    X("lifecycle-log", 'o', "FILE", "their output (default: lifecycle.log in the state directory)")        \
    X("ca-file", 'c', "FILE", "CAs for https sources of lifecycle scripts (default: the system's)")        \
    X("lifecycle", 'w', "KEY", "internal: run the scripts of this order")                                  \
    X("deep-check", 'E', "KEY", "internal: run the tests of this order")                                   \
    X("reset", 'R', "KEY", "internal: reset the device of this order")                                     \
    X("log-level", 'l', "LEVEL", "debug, info (default), warn, error")                                     \
    X("version", 'V', NULL, "print the version")                                                           \
    X("help", 'h', NULL, "print this")

static const struct option long_options[] = {
#define X(name, letter, argument, help) {name, (argument) != NULL ? required_argument : no_argument, NULL, letter},
    OPTION_LIST(X)
#undef X
        {NULL, 0, NULL, 0}};

static void print_help(FILE *out)
{
    fprintf(out, "hp-agent --server URL --state-dir DIR [options]\nhp-agent check [NAME...] [--json]\n"
                 "hp-agent settings [--json]\n\n"
                 "Watches this node and reports to Holdfast. It measures; it decides nothing.\n\n");
#define X(name, letter, argument, help)                                                            \
    {                                                                                              \
        const char *argument_text = (argument);                                                    \
        char left[64];                                                                             \
        snprintf(left, sizeof(left), "--%s %s", name, argument_text != NULL ? argument_text : ""); \
        fprintf(out, "  %-28s %s\n", left, help);                                                  \
    }
    OPTION_LIST(X)
#undef X
}

static int usage(const char *why, const char *what)
{
    fprintf(stderr, "hp-agent: %s%s%s\nTry hp-agent --help.\n", why, what[0] != '\0' ? ": " : "", what);
    return EXIT_USAGE;
}

static int set_level(const char *text)
{
    enum log_level level;
    if (log_level_parse(text, &level) != 0)
        return STATUS_INVALID;
    log_set_level(level);
    return 0;
}

static int set_interval(struct agent_options *options, const char *text)
{
    int64_t interval;
    if (clock_parse_duration(text, &interval) != 0 || interval < INTERVAL_MIN_MS || interval > 10 * MS_PER_MIN)
        return STATUS_INVALID;
    options->heartbeat_interval_ms = interval;
    return 0;
}

/* Where the value of an option goes that may be any text; NULL: it is not one of these. */
static const char **text_of(struct agent_options *options, int letter)
{
    switch (letter) {
    case 's':
        return &options->url;
    case 'd':
        return &options->state_dir;
    case 't':
        return &options->token_file;
    case 'k':
        return &options->kmsg;
    case 'b':
        return &options->boot_id_file;
    case 'C':
        return &options->checks;
    case 'D':
        return &options->checks_dir;
    case 'S':
        return &options->settings;
    case 'M':
        return &options->metrics;
    case 'T':
        return &options->instance_type;
    case 'o':
        return &options->lifecycle_log;
    case 'c':
        return &options->ca_file;
    default:
        return NULL;
    }
}

static int set_runner(struct agent_options *options, enum runner_id id, const char *key)
{
    options->runner_kind = runner_kind(id);
    options->runner_key = key;
    return key[0] != '\0' && strlen(key) < KEY_MAX_BYTES ? 0 : STATUS_INVALID;
}

static int set_option(struct agent_options *options, int letter, const char *value)
{
    static char address[ADDRESS_TEXT_MAX]; /* as long as the options */
    const char **text = text_of(options, letter);
    if (text != NULL) {
        *text = value;
        return 0;
    }
    switch (letter) {
    case 'w':
        return set_runner(options, RUNNER_LIFECYCLE, value);
    case 'E':
        return set_runner(options, RUNNER_DEEP_CHECK, value);
    case 'R':
        return set_runner(options, RUNNER_RESET, value);
    case 'n':
        options->node = value;
        return value[0] != '\0' && strlen(value) < NODE_NAME_MAX_BYTES ? 0 : STATUS_INVALID;
    case 'i':
        options->instance_id = value;
        return text_starts_with(value, "i-") ? 0 : STATUS_INVALID;
    case 'f':
        options->fingerprint = value[0] != '\0' ? value : NULL;
        return 0;
    case 'a':
        options->address = address;
        return address_parse(value, address);
    case 'J':
        options->kmsg = KMSG_JOURNAL;
        return 0;
    case 'H':
        return set_interval(options, value);
    case 'j':
        options->allow_inject = true;
        return 0;
    case 'L':
        options->no_lifecycle = true;
        return 0;
    case 'l':
        options->log_level_given = true;
        return set_level(value);
    default:
        return STATUS_INVALID;
    }
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, struct agent_options *options)
{
    int letter, index = 0;
    opterr = 0; /* it is said once, by us */
    agent_options_init(options);
    while ((letter = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (letter == 'h') {
            print_help(stdout);
            return 0;
        }
        if (letter == 'V') {
            printf("hp-agent %s, fault table %s\n", HOLDFAST_VERSION, fault_table_version());
            return 0;
        }
        if (letter == '?')
            return usage("unknown or incomplete option", argv[optind - 1]);
        if (set_option(options, letter, optarg) != 0)
            return usage("not a valid value", argv[optind - 1]);
    }
    if (optind < argc)
        return usage("unexpected argument", argv[optind]);
    if (options->url == NULL || options->state_dir == NULL)
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
                                          .refused = options->no_lifecycle};
    if (options->instance_id == NULL)
        return usage("--instance-id is needed with", options->runner_kind->option);
    return runner_main(options->runner_kind, runner, options->runner_key);
}

int main(int argc, char **argv)
{
    struct agent_options options;
    struct agent *agent = NULL;
    char error[AGENT_ERROR_MAX];
    if (argc > 1 && strcmp(argv[1], "check") == 0)
        return by_hand(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "settings") == 0)
        return by_hand_settings(argc - 1, argv + 1);
    int code = parse(argc, argv, &options);
    if (code >= 0)
        return code;
    if (options.runner_kind != NULL)
        return run_as_runner(&options);
    int stop_fd = open_stop_fd();
    if (stop_fd < 0 || agent_new(&options, &agent, error) != 0) {
        log_error("hp-agent cannot start: %s", stop_fd < 0 ? "no signalfd" : error);
        return EXIT_FAILURE;
    }
    log_info("hp-agent %s started server=%s kernelLog=%s faultTable=%s", HOLDFAST_VERSION, options.url,
             options.kmsg != NULL ? options.kmsg : KMSG_DEVICE, fault_table_version());
    while (agent_turn(agent, stop_fd, TURN_MS_MAX))
        ;
    struct agent_figures figures = agent_figures(agent);
    agent_free(agent);
    log_info("hp-agent ends spooled=%zu dropped=%" PRId64, figures.spooled, figures.dropped);
    return EXIT_SUCCESS;
}
