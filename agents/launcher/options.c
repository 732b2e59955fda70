/*
 * One table of options. torchrun's parser is Python's argparse, so what that accepts is accepted: --name value, --name=value, -r3, a
 * beginning of a name that is unique, and everything behind the first word that is no option is left to the script.
 */
#include "agents/launcher/options.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/version.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_BYTES 64
#define RESTARTS_MAX 1000000
#define PORT_MAX 65535

#define TEXT(NAME, member, FALLBACK, HELP) LETTER_TEXT(NAME, 0, member, FALLBACK, HELP)
#define LETTER_TEXT(NAME, LETTER, member, FALLBACK, HELP)                                                    \
    {                                                                                                        \
        .name = (NAME), .letter = (LETTER), .kind = OPTION_TEXT, .offset = offsetof(struct options, member), \
        .placeholder = "TEXT", .fallback = (FALLBACK), .help = (HELP)                                        \
    }
#define NUMBER(NAME, member, FALLBACK, MAX, HELP)                                                              \
    {                                                                                                          \
        .name = (NAME), .kind = OPTION_NUMBER, .offset = offsetof(struct options, member), .placeholder = "N", \
        .fallback = (FALLBACK), .max = (MAX), .help = (HELP)                                                   \
    }
#define FLAG(NAME, LETTER, member, HELP)                                                                     \
    {                                                                                                        \
        .name = (NAME), .letter = (LETTER), .kind = OPTION_FLAG, .offset = offsetof(struct options, member), \
        .help = (HELP)                                                                                       \
    }
#define PART(TITLE)                           \
    {                                         \
        .kind = OPTION_TITLE, .help = (TITLE) \
    }

/* clang-format off */
static const struct option_row rows[] = {
    PART("Nodes and workers"),
    TEXT("nnodes", nnodes, NULL, "number of nodes, or MIN:MAX"),
    TEXT("nproc-per-node", nproc, "1", "workers on this node: a number, gpu, cpu, or auto (gpu where there are some)"),
    NUMBER("node-rank", node_rank, "0", NODES_MAX, "number of this node, for static"),
    TEXT("master-addr", master_addr, "127.0.0.1", "where rank 0 runs, for static"),
    NUMBER("master-port", master_port, "29500", PORT_MAX, "port of rank 0, for static"),
    TEXT("local-addr", local_addr, NULL, "accepted and not used"),
    PART("How nodes find each other"),
    TEXT("rdzv-backend", backend_name, NULL, "static, c10d, or hyperpod (hyperpodrun: always hyperpod)"),
    TEXT("rdzv-endpoint", endpoint, "", "HOST:PORT: where c10d gathers; for static in place of --master-addr and --master-port"),
    TEXT("rdzv-id", run_id, "none", "name of the job"),
    TEXT("rdzv-conf", rdzv_conf, "", "KEY=VALUE,…: last_call_timeout and is_host (c10d), agent_port"),
    FLAG("standalone", 0, standalone, "one node, a free port"),
    PART("Workers"),
    NUMBER("max-restarts", max_restarts, "0", RESTARTS_MAX, "how often all workers are started anew after one failed"),
    TEXT("monitor-interval", monitor_text, "0.1", "accepted; the end of a worker is seen at once"),
    TEXT("start-method", start_method, "spawn", "accepted; workers are always programs of their own"),
    TEXT("event-log-handler", event_handler, "null", "accepted and not used"),
    TEXT("signals-to-handle", signals, "", "accepted; all signals are handled"),
    TEXT("role", role, "default", "name of the workers, as in [default0]:"),
    FLAG("module", 'm', module, "the script is a Python module, as python -m"),
    FLAG("no-python", 0, no_python, "the script is a program"),
    FLAG("run-path", 0, run_path, "accepted; the script is run by python"),
    PART("Output"),
    TEXT("log-dir", log_dir, NULL, "where logs of workers are kept"),
    LETTER_TEXT("redirects", 'r', redirects_text, "0", "1 stdout, 2 stderr, 3 both into log files; or RANK:N,…"),
    LETTER_TEXT("tee", 't', tee_text, "0", "as --redirects, and on the console, too"),
    TEXT("local-ranks-filter", filter_text, "", "ranks that are shown on the console: 0,2"),
    TEXT("duplicate-stdout-filters", duplicate, NULL, "accepted and not used"),
    TEXT("logs-specs", logs_specs, NULL, "accepted and not used"),
    TEXT("log-rules", rules_file, NULL, "file of rules that the output is watched by (hyperpod: /start has them)"),
    PART("Stopping"),
    TEXT("shutdown-signal", shutdown_signal_text, NULL, "SIGTERM or SIGKILL: how workers are stopped (hyperpod: SIGKILL, else SIGTERM)"),
    NUMBER("shutdown-timeout", shutdown_s, "15", 86400, "seconds from SIGTERM to SIGKILL"),
    TEXT("pre-train-script", pre_script, NULL, "program that runs once on the node before each start of the workers"),
    TEXT("pre-train-args", pre_args, NULL, "its one argument"),
    TEXT("post-train-script", post_script, NULL, "program that runs once on the node after the workers have succeeded"),
    TEXT("post-train-args", post_args, NULL, "its one argument"),
    FLAG("inprocess-restart", 0, inprocess_restart, "refused: processes are restarted"),
    NUMBER("inprocess-timeout", inprocess_s, "0", 86400, "accepted and not used"),
    PART("Commands over HTTP, for hyperpod"),
    TEXT("server-host", server_host, "0.0.0.0", "address to listen on"),
    NUMBER("server-port", server_port, "8080", PORT_MAX, "port to listen on; 0: any"),
    TEXT("server-token-file", token_file, NULL, "file with the bearer token that every request needs"),
    TEXT("server-log-level", server_log_level, "info", "debug, info, warn or error"),
    NUMBER("server-shutdown-timeout", server_shutdown_s, "300", 86400, "accepted and not used"),
    TEXT("resource-config-dir", config_dir, "/opt/ml/input/config", "where pod_resourceconfig.json is written"),
    PART("Other"),
    FLAG("help", 'h', help, "this"),
    FLAG("version", 0, version, "the version"),
};
/* clang-format on */
static const struct option_table table = {
    .rows = rows, .count = ARRAY_LEN(rows), .abbreviated = true, .underscores = true, .ends_at_a_word = true};

struct reader {
    const char *program;
    const char **words; /* the script and its arguments */
    struct options *options;
    char *error;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reader *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->error, OPTION_ERROR_MAX, format, ap);
    va_end(ap);
    return STATUS_INVALID;
}

/* --- defaults ----------------------------------------------------------------------------------------- */

static const char *variable(char *const env[], const char *name)
{
    size_t len = strlen(name);
    for (; *env != NULL; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static const char *default_of(const struct option_row *row, char *const env[])
{
    char name[NAME_MAX_BYTES + 4] = "PET_";
    for (size_t i = 0; row->name[i] != '\0'; i++)
        name[4 + i] = row->name[i] == '-' ? '_' : (char)toupper((unsigned char)row->name[i]);
    const char *said = variable(env, name);
    return said != NULL ? said : row->fallback;
}

static int set_defaults(struct reader *r, char *const env[])
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *value = rows[i].name != NULL ? default_of(&rows[i], env) : NULL;
        if (value == NULL || (rows[i].kind == OPTION_FLAG && strcmp(value, "1") != 0))
            continue;
        int rc = option_set(&rows[i], r->options, value, r->error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* --- meaning ------------------------------------------------------------------------------------------ */

unsigned std_of_rank(const struct std_choice *choice, int rank)
{
    return choice->by_rank ? choice->of_rank[rank] : choice->all;
}

static int parse_std_of_ranks(const char *text, struct std_choice *choice)
{
    choice->by_rank = true;
    while (*text != '\0') {
        size_t len = strcspn(text, ","), colon = strcspn(text, ":");
        int64_t rank, bits;
        if (colon >= len)
            return STATUS_INVALID;
        autofree char *left = own_printf("%.*s", (int)colon, text);
        autofree char *right = own_printf("%.*s", (int)(len - colon - 1), text + colon + 1);
        if (text_parse_i64(left, 0, LOCAL_RANKS_MAX - 1, &rank) != 0 || text_parse_i64(right, 0, 3, &bits) != 0)
            return STATUS_INVALID;
        choice->of_rank[rank] = (unsigned char)bits;
        text += len + (text[len] == ',' ? 1 : 0);
    }
    return 0;
}

int std_parse(const char *text, struct std_choice *ret_choice)
{
    int64_t bits;
    *ret_choice = (struct std_choice){0};
    if (strchr(text, ':') != NULL)
        return parse_std_of_ranks(text, ret_choice);
    int rc = text_parse_i64(text, 0, 3, &bits);
    ret_choice->all = rc == 0 ? (unsigned char)bits : 0;
    return rc;
}

static int parse_shown(const char *text, struct std_choice *ret_choice)
{
    *ret_choice = (struct std_choice){.all = STD_OUT | STD_ERR};
    ret_choice->by_rank = *text != '\0';
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        int64_t rank;
        autofree char *word = own_printf("%.*s", (int)len, text);
        if (text_parse_i64(word, 0, LOCAL_RANKS_MAX - 1, &rank) != 0)
            return STATUS_INVALID;
        ret_choice->of_rank[rank] = STD_OUT | STD_ERR;
        text += len + (text[len] == ',' ? 1 : 0);
    }
    return 0;
}

static int parse_nodes(struct options *o)
{
    int64_t min, max;
    size_t colon = strcspn(o->nnodes, ":");
    autofree char *left = own_printf("%.*s", (int)colon, o->nnodes);
    const char *right = o->nnodes[colon] == ':' ? o->nnodes + colon + 1 : left;
    if (text_parse_i64(left, 1, NODES_MAX, &min) != 0 || text_parse_i64(right, min, NODES_MAX, &max) != 0)
        return STATUS_INVALID;
    o->nodes_min = (int)min;
    o->nodes_max = (int)max;
    return 0;
}

static int parse_backend(struct reader *r, bool hyperpodrun)
{
    struct options *o = r->options;
    static const char *const names[] = {"static", "c10d", "hyperpod"};
    if (hyperpodrun || o->backend_name == NULL)
        o->backend_name = hyperpodrun ? "hyperpod" : o->standalone ? "c10d" : "static";
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], o->backend_name) == 0) {
            o->backend = (enum backend)i;
            return 0;
        }
    return refuse(r, "--rdzv-backend has to be static, c10d or hyperpod, not \"%.80s\"", o->backend_name);
}

static int parse_signal(struct reader *r)
{
    struct options *o = r->options;
    const char *text = o->shutdown_signal_text;
    if (text == NULL)
        o->shutdown_signal = o->backend == BACKEND_HYPERPOD ? SIGKILL : SIGTERM;
    else if (strcmp(text, "SIGKILL") == 0)
        o->shutdown_signal = SIGKILL;
    else if (strcmp(text, "SIGTERM") == 0)
        o->shutdown_signal = SIGTERM;
    else
        return refuse(r, "--shutdown-signal has to be SIGTERM or SIGKILL, not \"%.80s\"", text);
    return 0;
}

static int find_meaning(struct reader *r, char *const env[])
{
    struct options *o = r->options;
    const char *slash = strrchr(r->program, '/'), *name = slash != NULL ? slash + 1 : r->program;
    int rc = parse_backend(r, strcmp(name, "hyperpodrun") == 0);
    if (rc != 0)
        return rc;
    if (o->nnodes == NULL) /* HyperPod's operator says it in the environment */
        o->nnodes = o->backend == BACKEND_HYPERPOD && variable(env, "NNODES") != NULL ? variable(env, "NNODES") : "1";
    if (parse_nodes(o) != 0)
        return refuse(r, "--nnodes has to be a number or MIN:MAX, not \"%.80s\"", o->nnodes);
    if (o->standalone && o->nodes_max != 1)
        return refuse(r, "--standalone is for one node, and --nnodes is %.80s", o->nnodes);
    if (o->backend == BACKEND_STATIC && o->nodes_min != o->nodes_max)
        return refuse(r, "--nnodes %.80s needs --rdzv-backend c10d", o->nnodes);
    if (o->backend == BACKEND_STATIC && o->node_rank >= o->nodes_max)
        return refuse(r, "--node-rank %lld is not below --nnodes %d", (long long)o->node_rank, o->nodes_max);
    if (place_ranks(o->nproc, place_gpus(variable(env, "CUDA_VISIBLE_DEVICES"), "/dev"),
                    (int)sysconf(_SC_NPROCESSORS_ONLN), &o->ranks) != 0)
        return refuse(r, "--nproc-per-node has to be 1 to %d, gpu (there is none here), cpu or auto, not \"%.80s\"",
                      LOCAL_RANKS_MAX, o->nproc);
    if (std_parse(o->redirects_text, &o->redirects) != 0)
        return refuse(r, "--redirects has to be 0 to 3, or RANK:N,…, not \"%.80s\"", o->redirects_text);
    if (std_parse(o->tee_text, &o->tee) != 0)
        return refuse(r, "--tee has to be 0 to 3, or RANK:N,…, not \"%.80s\"", o->tee_text);
    if (parse_shown(o->filter_text, &o->shown) != 0)
        return refuse(r, "--local-ranks-filter has to be numbers, as 0,2, not \"%.80s\"", o->filter_text);
    if (o->inprocess_restart)
        return refuse(r, "--inprocess-restart is not supported: processes are restarted");
    return parse_signal(r);
}

static const char *python(char *const env[])
{
    const char *said = variable(env, "PYTHON_EXEC");
    return said != NULL ? said : "python3";
}

static int make_command(struct reader *r, char *const env[])
{
    struct options *o = r->options;
    size_t count = 0, word_count = 0;
    if (r->words[0] == NULL)
        return refuse(r, "the script is missing");
    while (r->words[word_count] != NULL)
        word_count++;
    if (o->module && o->no_python)
        return refuse(r, "--module and --no-python exclude each other");
    o->command = own_calloc(word_count + 4, sizeof(*o->command));
    if (!o->no_python) {
        o->command[count++] = python(env);
        o->command[count++] = "-u";
    }
    if (o->module)
        o->command[count++] = "-m";
    memcpy(o->command + count, r->words, word_count * sizeof(*r->words));
    return 0;
}

int options_read(int argc, char *const argv[], char *const env[], struct options *ret_options,
                 char ret_error[OPTION_ERROR_MAX])
{
    struct options options = {0};
    autofree const char **words = own_calloc((size_t)argc + 1, sizeof(*words));
    struct reader r = {argv[0], words, &options, ret_error};
    int rc = set_defaults(&r, env);
    rc = rc != 0 ? rc : option_read(&table, argc, argv, &options, words, ret_error);
    bool only_says = options.help || options.version;
    rc = rc != 0 || only_says ? rc : find_meaning(&r, env);
    rc = rc != 0 || only_says ? rc : make_command(&r, env);
    if (rc != 0) {
        options_free(&options);
        return rc;
    }
    *ret_options = options;
    return 0;
}

void options_free(struct options *options)
{
    free(options->command);
    *options = (struct options){0};
}

void options_help(FILE *out)
{
    fputs("usage: hprun [option …] SCRIPT [argument …]\n"
          "       hprun rules test LOG -f RULES\n"
          "\nStarts and watches the workers of a training job on this node, as torchrun and hyperpodrun do.\n",
          out);
    option_print_all(&table, out);
}
