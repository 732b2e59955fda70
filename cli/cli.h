/*
 * hpctl: one table of verbs, one list of options, one way to ask the server, and three ways to print.
 *
 * A verb asks, then prints: people get tables, scripts get the server's own JSON (or the same as YAML). What
 * fails prints one sentence on stderr that says what to do, and ends with an exit code of the list below.
 */
#ifndef HOLDFAST_CLI_CLI_H
#define HOLDFAST_CLI_CLI_H

#include "base/http.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "model/job_log.h"

#include <stdbool.h>
#include <stdio.h>

#define CLI_EXIT_LIST(X)                                                                   \
    X(OK, 0, "done")                                                                       \
    X(REFUSED, 1, "the server said no, or the operation failed")                           \
    X(USAGE, 2, "the command line or a file given to it is wrong")                         \
    X(UNREACHABLE, 3, "the server cannot be reached, or is not the one it claims to be")   \
    X(AUTH, 4, "not authenticated, or the token's role is too small")                      \
    X(NOT_FOUND, 5, "no such cluster, group, node, operation, check, fault code or token") \
    X(TIMEOUT, 6, "gave up waiting; what was asked for goes on")                           \
    X(CONFLICT, 7, "the present state forbids it")
enum cli_exit {
#define X(SYMBOL, code, meaning) CLI_EXIT_##SYMBOL = (code),
    CLI_EXIT_LIST(X)
#undef X
};

/* A number as a text, for help. */
#define CLI_TEXT(number) CLI_TEXT_(number)
#define CLI_TEXT_(number) #number

/* Every option of every verb, once: symbol, long name, letter (0: none), placeholder (NULL: a flag), help. */
#define CLI_OPTION_LIST(X)                                                                                       \
    X(SERVER, "server", 0, "URL", "where hpd listens (HPCTL_URL)")                                               \
    X(TOKEN, "token", 0, "TEXT", "API token; better: HPCTL_TOKEN or the configuration file")                     \
    X(FINGERPRINT, "fingerprint", 0, "sha256:...", "public key of a server with its own certificate")            \
    X(CA_FILE, "ca-file", 0, "FILE", "PEM file that verifies the server instead of the system's")                \
    X(CONTEXT, "context", 0, "NAME", "the server and token of this context (HPCTL_CONTEXT)")                     \
    X(OUTPUT, "output", 'o', "FORMAT", "table, wide, json, yaml, name, hosts, jsonpath=… or custom-columns=…")   \
    X(HELP, "help", 'h', NULL, "this text")                                                                      \
    X(VERSION, "version", 0, NULL, "the version")                                                                \
    X(CLUSTER, "cluster", 'c', "NAME", "the cluster; may be left out when there is only one")                    \
    X(FILE, "file", 'f', "FILE", "what is wanted, in YAML or JSON (agent settings: lines); - is standard input") \
    X(YES, "yes", 'y', NULL, "do not ask")                                                                       \
    X(DRY_RUN, "dry-run", 0, NULL, "only say what would change")                                                 \
    X(IMAGE, "image", 0, "ID", "the image to run, such as ami-0123456789abcdef0")                                \
    X(RELEASE, "release", 0, "VERSION", "the release of the image to run")                                       \
    X(BATCH, "batch", 0, "N|N%", "so many nodes at a time, or percent of the group (all)")                       \
    X(PAUSE, "pause", 0, "DURATION", "between batches")                                                          \
    X(CHECK, "check", 0, "stress|connectivity", "only this deep health check (both)")                            \
    X(DEEP, "deep", 0, NULL, "the whole of it, as HyperPod does: up to hours")                                   \
    X(QUICK, "quick", 0, NULL, "minutes (the default)")                                                          \
    X(FORCE, "force", 0, NULL, "requeue running jobs, instead of leaving out a node that stays busy")            \
    X(NODES, "nodes", 0, "NODES", "these nodes, such as gpu-[1-4],gpu-7")                                        \
    X(COUNT, "count", 0, "N", "how many nodes (1)")                                                              \
    X(PODS, "pods", 0, NULL, "on Kubernetes: make its pods anew, and not only its workers")                      \
    X(RANK, "rank", 0, "N", "of this rank's pod (0)")                                                            \
    X(LINES, "lines", 0, "N", "so many of the last lines (" CLI_TEXT(JOB_LOG_LINES) ")")                         \
    X(PREVIOUS, "previous", 0, NULL, "of the container that was there before the present one")                   \
    X(NODE_RECOVERY, "node-recovery", 0, "Automatic|None", "whether faults lead to repairs or only to a mark")   \
    X(GROUP, "group", 'g', "NAME", "only this instance group")                                                   \
    X(STATE, "state", 0, "STATE", "only those in this state")                                                    \
    X(KIND, "kind", 0, "KIND", "only of this kind: of operations such as replace, of events such as decision")   \
    X(HEALTH, "health", 0, "HEALTH", "only nodes of this health")                                                \
    X(REASON, "reason", 0, "TEXT", "why; shown in events and explanations")                                      \
    X(DEVICE, "device", 0, "DEVICE", "the part that it is about, such as 0000:4e:00")                            \
    X(USER, "user", 0, "USER", "whose job it was")                                                               \
    X(JOB, "job", 0, "JOB", "the job that was slowed down")                                                      \
    X(HOURS, "hours", 0, "N", "it counts for so long; else until it is answered")                                \
    X(NOW, "now", 0, NULL, "do not let running jobs finish first")                                               \
    X(WAIT, "wait", 'w', NULL, "wait until the operation has ended")                                             \
    X(TIMEOUT, "timeout", 0, "DURATION", "how long it waits at most (with --wait: 1h)")                          \
    X(KEY, "idempotency-key", 0, "TEXT", "repeating the command with the same key does nothing new")             \
    X(FOLLOW, "follow", 'F', NULL, "go on printing what happens")                                                \
    X(NODE, "node", 'n', "NAME", "the node")                                                                     \
    X(LIMIT, "limit", 0, "N", "at most so many; 0: all")                                                         \
    X(AFTER, "after", 0, "ID", "only events after this one")                                                     \
    X(ROLE, "role", 0, "reporter|job|viewer|operator|admin", "what an API token may do")                         \
    X(NAME, "name", 0, "NAME", "what the token or access key is called")                                         \
    X(ENROLLMENT, "enrollment", 0, NULL, "a token that lets a node's agent enrol")                               \
    X(MACHINES, "machines", 0, NULL, "a token that lets agents of an inventory's machines enrol")                \
    X(LAUNCH, "launch", 0, NULL, "launch a machine for the test, and end it")                                    \
    X(TTL, "ttl", 0, "DURATION", "how long a token lives")                                                       \
    X(ACTOR, "actor", 0, "NAME", "only what this token or key asked for (token:ci, key:sdk)")                    \
    X(OUTCOME, "outcome", 0, "OUTCOME", "only what succeeded, was refused or failed")                            \
    X(RESOURCE, "resource", 0, "NAME", "only what this name was part of: a node, a token, an id")                \
    X(SINCE, "since", 0, "TIME", "only later than this time, or than so long ago (2h)")                          \
    X(UNTIL, "until", 0, "TIME", "only earlier than this time, or than so long ago")                             \
    X(AT_VERSION, "at-version", 0, "N", "this version; for update: only while it is the newest")                 \
    X(SCHEDULER_CONFIG, "scheduler-config", 0, NULL, "the tags of the cluster's scheduler configuration")        \
    X(QUOTA, "quota", 0, "NAME", "the tags of this compute quota")                                               \
    X(TABLE, "table", 0, "NAME", "only this fault table: xid, sxid, kernel, nvidia, dcgm, …")                    \
    X(PCI, "pci", 0, "ADDRESS", "PCI address of the GPU in the injected line (0000:b9:00)")                      \
    X(PROFILE, "profile", 0, "NAME", "a published fleet: llama3, rsc-1, rsc-2 (rsc-1)")                          \
    X(LIST_PROFILES, "list-profiles", 0, NULL, "the published fleets with their sources, and every number")      \
    X(SWEEP, "sweep", 0, "NAME=A..B[:STEP]", "one run for each value, as in spares=0..64:4")                     \
    X(LOSE, "lose", 0, "LEVEL=N@WHEN[+SPAN]",                                                                    \
      "what goes dark: rack, switch, chassis, powerDomain, …; more with commas")                                 \
    X(POLICY, "policy", 0, "FILE", "a policy document that decides, as hpctl policy apply takes it")             \
    X(PLOT, "plot", 0, "FILE.svg", "write the plot there, too")                                                  \
    X(METRIC, "metric", 0, "MEASURE", "only this measure, as check describe shows it: \"EFA MB/s\"")             \
    X(RUN, "run", 0, NULL, "start the quick profile on them first, and wait for it")                             \
    X(WRITE, "write", 0, "FILE.yaml", "write the proposed limits there, as hpd's configuration takes them")      \
    X(PARTITION, "partition", 0, "NAME", "only nodes of this partition")                                         \
    X(FEATURE, "feature", 0, "NAME", "only nodes with this feature")                                             \
    X(UNASSIGNED, "unassigned", 0, NULL, "only nodes that are in no group")                                      \
    X(SCHEDULER, "scheduler", 0, "NAME", "the scheduler; may be left out when there is only one")                \
    X(BY, "by", 0, "partition|feature", "what the groups are made of (partition)")                               \
    X(WATCH, "watch", 'W', NULL, "print it again whenever it has changed")                                       \
    X(NO_HEADERS, "no-headers", 0, NULL, "tables without their titles")                                          \
    X(SORT_BY, "sort-by", 0, "PATH", "in the order of this member, such as stateSince or live.silent")           \
    X(LEVEL, "level", 0, "LEVEL", "only events of this level or above: info, warn, error")                       \
    X(ASCII, "ascii", 0, NULL, "plots without characters beyond ASCII")
enum cli_option {
#define X(SYMBOL, name, letter, placeholder, help) CLI_OPTION_##SYMBOL,
    CLI_OPTION_LIST(X)
#undef X
        CLI_OPTIONS
};
/* A set of options: there are more than 64. */
__extension__ typedef unsigned __int128 cli_option_set;
#define CLI_BIT_OF(option) ((cli_option_set)1 << (option))
#define CLI_BIT(SYMBOL) CLI_BIT_OF(CLI_OPTION_##SYMBOL)
_Static_assert(CLI_OPTIONS <= 128, "a set of options has no bit for the last one");

#define CLI_POSITIONAL_MAX 8
#define CLI_NODES_MAX 100000  /* of one group */
#define CLI_LIMIT_DEFAULT 100 /* of what grows for ever: events, operations, verdicts */
#define CLI_REPLY_BYTES_MAX (64 * 1024 * 1024)
#define CLI_FILE_BYTES_MAX (1024 * 1024)

enum cli_format {
    CLI_FORMAT_TABLE,
    CLI_FORMAT_JSON,
    CLI_FORMAT_YAML,
    CLI_FORMAT_NAME,
    CLI_FORMAT_HOSTS,
    CLI_FORMAT_JSONPATH,
    CLI_FORMAT_COLUMNS
};

struct cli {
    const char *option[CLI_OPTIONS]; /* the value; "" for a given flag; NULL: not given */
    const char *argument[CLI_POSITIONAL_MAX];
    int argument_count;
    enum cli_format format;
    const char *expression; /* of jsonpath=… and custom-columns=… */
    json_t *profile;        /* the configuration file's object; may be NULL */
    struct http_client *client;
    FILE *out, *err;
};

struct cli_verb {
    const char *noun, *verb;
    const char *arguments; /* "NODE", "[NAME]" as the help shows them */
    int arguments_min, arguments_max;
    cli_option_set options; /* CLI_BIT()s beside the common ones */
    int (*run)(struct cli *cli);
    const char *help;
};
extern const struct cli_verb cli_verbs[];
extern const size_t cli_verb_count;

/* The whole program, so that a test can call it. Returns an exit code. */
int cli_main(int argc, char **argv, FILE *out, FILE *err);

/* --- options ------------------------------------------------------------------------------------ */
/* Takes argv apart. ret_verb is NULL when help was asked for. USAGE with a sentence printed. */
int cli_parse(struct cli *cli, int argc, char **argv, const struct cli_verb **ret_verb);
void cli_print_help(FILE *f);
void cli_print_verb_help(FILE *f, const struct cli_verb *verb);
const char *cli_option_name(enum cli_option option);
char cli_option_letter(enum cli_option option);
bool cli_option_takes_value(enum cli_option option);
bool cli_verb_takes(const struct cli_verb *verb, enum cli_option option);
/* NULL: there is none. */
const struct cli_verb *cli_find_verb(const char *noun, const char *name);
/* What the option may be for this verb, ended with NULL; NULL: anything. */
const char *const *cli_words(const struct cli_verb *verb, enum cli_option option);
int cli_check_words(struct cli *cli, const struct cli_verb *verb);
int cli_usage(struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- the server --------------------------------------------------------------------------------- */
int cli_profile_load(struct cli *cli);
/* Where it is. Caller frees. */
char *cli_profile_path(void);
/* Connects by flags, environment, configuration file, in this order. */
int cli_connect(struct cli *cli);
/* One request; body may be NULL (its ownership stays with the caller). A problem is printed and becomes an exit code. ret_json may
 * be NULL; it is NULL for an empty reply. */
int cli_ask(struct cli *cli, const char *method, const char *path, const json_t *body, const char *const *headers,
            json_t **ret_json);
/* GET, again and again while nobody answers and until_ms of the monotonic clock is not over: hpd may be starting. */
int cli_ask_again(struct cli *cli, const char *path, int64_t until_ms, json_t **ret_json);
/* Follows cursors until limit items (0: all) are there. path has no cursor or limit yet. */
int cli_ask_list(struct cli *cli, const char *path, int64_t limit, json_t **ret_items);
/* Percent-encodes one path segment or query value; caller frees. */
char *cli_encode(const char *text);
/* --cluster, the profile's cluster, or the only one there is. Caller frees. */
int cli_cluster_name(struct cli *cli, char **ret_name);
/* Adds "?name=value" or "&name=value" when value is there. */
void cli_add_query(struct text *path, const char *name, const char *value);
int cli_http_exit(int http_status);
/* A reply that is no success: its problem is printed. */
int cli_refused(struct cli *cli, int http_status, const char *body, size_t len);
/* The whole of a file, or of standard input for "-". */
int cli_read_input(struct cli *cli, const char *path, char **ret_data, size_t *ret_len);
/* A new file, or the old one's content replaced. */
int cli_write_file(struct cli *cli, const char *path, const struct text *text);
/* The document of -f, a mapping. what and members are for the messages. */
int cli_read_file(struct cli *cli, const char *verb, const char *what, const char *members, json_t **ret_json);
/* Polls an operation until it has ended, and prints it; people see meanwhile what it does. OK, REFUSED (failed, cancelled),
 * TIMEOUT. */
int cli_wait_operation(struct cli *cli, const char *id, int64_t timeout_ms);
/* After the reply to a change of a whole cluster: waits for its operation with --wait; else prints the reply, or for people what
 * was said and how to follow it. */
int cli_follow_change(struct cli *cli, json_t *reply, const char *said, int64_t timeout_ms);
/* "3 of 4 nodes in service, 1 to go" of the operation of a change of a whole cluster; "" of any other. */
const char *cli_progress(const json_t *operation, char *ret_text, size_t size);

/* --- printing ------------------------------------------------------------------------------------ */
struct cli_column {
    const char *title;
    const char *
        path; /* member, or "a.b"; with "~" before it an age is printed ("3m12s") of that time; "+": only with -o wide */
};
/* Of every table that is printed. */
struct cli_table_options {
    bool wide, no_headers;
};
extern struct cli_table_options cli_table_options;
/* People's table of an array of objects; says empty_text when there is nothing. */
void cli_print_table(FILE *f, const json_t *items, const struct cli_column *columns, size_t count,
                     const char *empty_text);
/* What the format asks for, unless that is a table: true when it did. A list is put into the order of --sort-by first, for tables, too. */
bool cli_print_data(const struct cli *cli, const json_t *reply);
/* The same of -o name, hosts, jsonpath and custom-columns. */
bool cli_print_expression(const struct cli *cli, json_t *json);
void cli_sort(const struct cli *cli, json_t *items);
/* The id that a beginning of it stands for; NULL: it is asked for as it was given. Caller frees. */
int cli_full_id(struct cli *cli, const struct cli_verb *verb, const char *given, char **ret_id);
/* --since or --until: a time as it was given, or so long ago. Adds it to the path as that parameter. */
int cli_add_time(struct cli *cli, struct text *path, enum cli_option option, const char *parameter);
/* Text of a value at a path; "" when absent. ret_buffer is used for numbers. */
const char *cli_value(const json_t *object, const char *path, char *ret_buffer, size_t size);
/* "ready 3, held 1" of a {"ready":3,…} object. */
void cli_counts(const json_t *counts, struct text *ret_text);
/* "3m12s" since an RFC 3339 time; "" when there is none. */
/* Adds "_what" to an event: its message, with the group that it is about and why something failed, on one line. */
void cli_event_words(json_t *event);
const char *cli_age(const json_t *object, const char *path, char *ret_buffer, size_t size);
/* Several lines of text, control characters but line feeds as '?'. */
void cli_print_harmless(FILE *f, const char *text);
/* The same of a line with words of the server's in it. */
void cli_say(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *cli_labels(const json_t *config);                             /* kubernetesConfig in one line; caller frees */
void cli_print_field(FILE *f, const char *name, const char *value); /* left out when value is "" */

/* --- verbs, one file a noun ---------------------------------------------------------------------- */
int cli_cluster_create(struct cli *cli);
int cli_cluster_list(struct cli *cli);
int cli_cluster_describe(struct cli *cli);
/* The page for 3 a.m. of a cluster, whose description is at hand. */
int cli_cluster_page(struct cli *cli, const char *name, json_t *view);
/* Its headline alone, and what goes on there. */
int cli_cluster_short(struct cli *cli, const char *name, json_t *view);
int cli_cluster_update(struct cli *cli);
int cli_cluster_delete(struct cli *cli);
int cli_cluster_export(struct cli *cli);
int cli_cluster_update_software(struct cli *cli);
int cli_cluster_check(struct cli *cli);
int cli_check_start(struct cli *cli);
int cli_check_list(struct cli *cli);
int cli_check_describe(struct cli *cli);
int cli_check_watch(struct cli *cli);
int cli_check_logs(struct cli *cli);
int cli_check_baseline(struct cli *cli);
int cli_apply(struct cli *cli);
/* The keys of a cluster file and of its groups; they end with NULL. */
extern const char *const cli_cluster_keys[], *const cli_group_keys[];
int cli_node_list(struct cli *cli);
int cli_node_add(struct cli *cli);
int cli_node_remove(struct cli *cli);
int cli_node_describe(struct cli *cli);
int cli_node_reboot(struct cli *cli);
int cli_node_replace(struct cli *cli);
int cli_node_release(struct cli *cli);
int cli_node_report(struct cli *cli);
int cli_provider_list(struct cli *cli);
int cli_provider_describe(struct cli *cli);
int cli_provider_test(struct cli *cli);
int cli_machine_list(struct cli *cli);
int cli_machine_add(struct cli *cli);
int cli_machine_describe(struct cli *cli);
int cli_machine_evidence(struct cli *cli);
int cli_machine_update(struct cli *cli);
int cli_machine_retire(struct cli *cli);
int cli_machine_bench(struct cli *cli);
int cli_machine_return(struct cli *cli);
int cli_machine_release(struct cli *cli);
int cli_lemon_list(struct cli *cli);
int cli_node_hardware(struct cli *cli);
int cli_node_known_hosts(struct cli *cli);
int cli_node_ssh(struct cli *cli);
int cli_node_exec(struct cli *cli);
int cli_node_logs(struct cli *cli);
int cli_node_ssh_config(struct cli *cli);
/* "/v1/clusters/C/nodes/N" and what follows, of a node's name or of HyperPod's target. */
int cli_node_path(struct cli *cli, const char *node, const char *suffix, char **ret_path);
/* HyperPod's sagemaker-cluster:<id>_<group>-<instance>: NOT_FOUND when it is none, INVALID when it lacks a part. Caller frees both. */
int cli_node_target(const char *node, char **ret_cluster, char **ret_node);
int cli_node_explain(struct cli *cli);
int cli_node_verdicts(struct cli *cli);
int cli_node_opt_out(struct cli *cli);
int cli_node_opt_in(struct cli *cli);
int cli_node_place(struct cli *cli);
int cli_scheduler_list(struct cli *cli);
int cli_scheduler_describe(struct cli *cli);
/* The path of a scheduler and what is below it; NULL: of the only one. Caller frees. */
char *cli_scheduler_path(const char *name, const char *below);
int cli_scheduler_nodes(struct cli *cli);
int cli_scheduler_discover(struct cli *cli);
int cli_job_list(struct cli *cli);
int cli_job_describe(struct cli *cli);
int cli_job_restart(struct cli *cli);
int cli_job_suspend(struct cli *cli);
int cli_job_resume(struct cli *cli);
int cli_job_scale(struct cli *cli);
int cli_job_logs(struct cli *cli);
int cli_cluster_pause(struct cli *cli);
int cli_cluster_resume(struct cli *cli);
int cli_webhook_list(struct cli *cli);
int cli_webhook_test(struct cli *cli);
int cli_webhook_failed(struct cli *cli);
int cli_webhook_resend(struct cli *cli);
int cli_webhook_new_secret(struct cli *cli);
int cli_incident_list(struct cli *cli);
int cli_incident_describe(struct cli *cli);
int cli_group_resume(struct cli *cli);
int cli_incident_end(struct cli *cli);
int cli_event_list(struct cli *cli);
int cli_operation_list(struct cli *cli);
int cli_operation_describe(struct cli *cli);
int cli_operation_cancel(struct cli *cli);
int cli_operation_wait(struct cli *cli);
int cli_operation_approve(struct cli *cli);
int cli_operation_reject(struct cli *cli);
int cli_operation_approvals(struct cli *cli);
int cli_token_create(struct cli *cli);
int cli_token_list(struct cli *cli);
int cli_token_delete(struct cli *cli);
int cli_access_key_create(struct cli *cli);
int cli_access_key_list(struct cli *cli);
int cli_access_key_delete(struct cli *cli);
int cli_audit_list(struct cli *cli);
int cli_scheduler_config_create(struct cli *cli);
int cli_scheduler_config_describe(struct cli *cli);
int cli_scheduler_config_update(struct cli *cli);
int cli_scheduler_config_delete(struct cli *cli);
int cli_quota_create(struct cli *cli);
int cli_quota_list(struct cli *cli);
int cli_quota_describe(struct cli *cli);
int cli_quota_update(struct cli *cli);
int cli_quota_delete(struct cli *cli);
int cli_tag_add(struct cli *cli);
int cli_tag_list(struct cli *cli);
int cli_tag_delete(struct cli *cli);
int cli_fault_list(struct cli *cli);
int cli_fault_describe(struct cli *cli);
int cli_inject_xid(struct cli *cli);
int cli_policy_show(struct cli *cli);
int cli_simulate(struct cli *cli);
int cli_policy_export(struct cli *cli);
int cli_policy_validate(struct cli *cli);
int cli_policy_apply(struct cli *cli);
int cli_policy_diff(struct cli *cli);
int cli_policy_history(struct cli *cli);
int cli_policy_rollback(struct cli *cli);
int cli_agent_settings_show(struct cli *cli);
int cli_agent_settings_apply(struct cli *cli);
int cli_agent_settings_list(struct cli *cli);
int cli_backup(struct cli *cli);
int cli_ca(struct cli *cli);
int cli_version(struct cli *cli);
int cli_doctor(struct cli *cli);
int cli_support_bundle(struct cli *cli);
int cli_top(struct cli *cli);
int cli_login(struct cli *cli);
int cli_context_list(struct cli *cli);
int cli_context_use(struct cli *cli);
int cli_context_delete(struct cli *cli);
int cli_completion_bash(struct cli *cli);
int cli_completion_zsh(struct cli *cli);
int cli_completion_fish(struct cli *cli);
int cli_completion_words(struct cli *cli);
/* The cluster of --file. */
int cli_read_cluster_file(struct cli *cli, const char *verb, json_t **ret_spec);
/* True when a person typed what was expected. */
bool cli_confirm(struct cli *cli, const char *question, const char *expected);
/* --limit, or what is meant without it; 0: all. */
int cli_parse_limit(struct cli *cli, int64_t without, int64_t *ret_limit);
int cli_parse_lines(struct cli *cli, int64_t max, int64_t *ret_lines); /* --lines of a log */
/* --timeout. For verbs that wait: called before anything is asked for, as a usage error must leave nothing behind. */
int cli_parse_timeout(struct cli *cli, int64_t *ret_timeout_ms);
void cli_print_operation(FILE *f, const json_t *operation);

#endif
