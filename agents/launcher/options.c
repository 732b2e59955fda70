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

enum kind { TEXT, NUMBER, FLAG };

struct row {
    const char *name;
    char letter;
    enum kind kind;
    size_t offset;
    const char *fallback; /* what it is when nobody says it */
    int64_t max;          /* of a number, from 0 */
    const char *help;
};

#define AT(member) offsetof(struct options, member)
#define PART(title)                      \
    {                                    \
        NULL, 0, FLAG, 0, NULL, 0, title \
    }

/* clang-format off */
static const struct row rows[] = {
    PART("Nodes and workers"),
    {"nnodes", 0, TEXT, AT(nnodes), NULL, 0, "number of nodes, or MIN:MAX"},
    {"nproc-per-node", 0, TEXT, AT(nproc), "1", 0, "workers on this node: a number, gpu, cpu, or auto (gpu where there are some)"},
    {"node-rank", 0, NUMBER, AT(node_rank), "0", NODES_MAX, "number of this node, for static"},
    {"master-addr", 0, TEXT, AT(master_addr), "127.0.0.1", 0, "where rank 0 runs, for static"},
    {"master-port", 0, NUMBER, AT(master_port), "29500", PORT_MAX, "port of rank 0, for static"},
    {"local-addr", 0, TEXT, AT(local_addr), NULL, 0, "accepted and not used"},
    PART("How nodes find each other"),
    {"rdzv-backend", 0, TEXT, AT(backend_name), NULL, 0, "static, c10d, or hyperpod (hyperpodrun: always hyperpod)"},
    {"rdzv-endpoint", 0, TEXT, AT(endpoint), "", 0, "HOST:PORT: where c10d gathers; for static in place of --master-addr and --master-port"},
    {"rdzv-id", 0, TEXT, AT(run_id), "none", 0, "name of the job"},
    {"rdzv-conf", 0, TEXT, AT(rdzv_conf), "", 0, "KEY=VALUE,…: last_call_timeout and is_host (c10d), agent_port"},
    {"standalone", 0, FLAG, AT(standalone), NULL, 0, "one node, a free port"},
    PART("Workers"),
    {"max-restarts", 0, NUMBER, AT(max_restarts), "0", RESTARTS_MAX, "how often all workers are started anew after one failed"},
    {"monitor-interval", 0, TEXT, AT(monitor_text), "0.1", 0, "accepted; the end of a worker is seen at once"},
    {"start-method", 0, TEXT, AT(start_method), "spawn", 0, "accepted; workers are always programs of their own"},
    {"event-log-handler", 0, TEXT, AT(event_handler), "null", 0, "accepted and not used"},
    {"signals-to-handle", 0, TEXT, AT(signals), "", 0, "accepted; all signals are handled"},
    {"role", 0, TEXT, AT(role), "default", 0, "name of the workers, as in [default0]:"},
    {"module", 'm', FLAG, AT(module), NULL, 0, "the script is a Python module, as python -m"},
    {"no-python", 0, FLAG, AT(no_python), NULL, 0, "the script is a program"},
    {"run-path", 0, FLAG, AT(run_path), NULL, 0, "accepted; the script is run by python"},
    PART("Output"),
    {"log-dir", 0, TEXT, AT(log_dir), NULL, 0, "where logs of workers are kept"},
    {"redirects", 'r', TEXT, AT(redirects_text), "0", 0, "1 stdout, 2 stderr, 3 both into log files; or RANK:N,…"},
    {"tee", 't', TEXT, AT(tee_text), "0", 0, "as --redirects, and on the console, too"},
    {"local-ranks-filter", 0, TEXT, AT(filter_text), "", 0, "ranks that are shown on the console: 0,2"},
    {"duplicate-stdout-filters", 0, TEXT, AT(duplicate), NULL, 0, "accepted and not used"},
    {"logs-specs", 0, TEXT, AT(logs_specs), NULL, 0, "accepted and not used"},
    {"log-rules", 0, TEXT, AT(rules_file), NULL, 0, "file of rules that the output is watched by (hyperpod: /start has them)"},
    PART("Stopping"),
    {"shutdown-signal", 0, TEXT, AT(shutdown_signal_text), NULL, 0, "SIGTERM or SIGKILL: how workers are stopped (hyperpod: SIGKILL, else SIGTERM)"},
    {"shutdown-timeout", 0, NUMBER, AT(shutdown_s), "15", 86400, "seconds from SIGTERM to SIGKILL"},
    {"pre-train-script", 0, TEXT, AT(pre_script), NULL, 0, "program that runs once on the node before each start of the workers"},
    {"pre-train-args", 0, TEXT, AT(pre_args), NULL, 0, "its one argument"},
    {"post-train-script", 0, TEXT, AT(post_script), NULL, 0, "program that runs once on the node after the workers have succeeded"},
    {"post-train-args", 0, TEXT, AT(post_args), NULL, 0, "its one argument"},
    {"inprocess-restart", 0, FLAG, AT(inprocess_restart), NULL, 0, "refused: processes are restarted"},
    {"inprocess-timeout", 0, NUMBER, AT(inprocess_s), "0", 86400, "accepted and not used"},
    PART("Commands over HTTP, for hyperpod"),
    {"server-host", 0, TEXT, AT(server_host), "0.0.0.0", 0, "address to listen on"},
    {"server-port", 0, NUMBER, AT(server_port), "8080", PORT_MAX, "port to listen on; 0: any"},
    {"server-token-file", 0, TEXT, AT(token_file), NULL, 0, "file with the bearer token that every request needs"},
    {"server-log-level", 0, TEXT, AT(server_log_level), "info", 0, "debug, info, warn or error"},
    {"server-shutdown-timeout", 0, NUMBER, AT(server_shutdown_s), "300", 86400, "accepted and not used"},
    {"resource-config-dir", 0, TEXT, AT(config_dir), "/opt/ml/input/config", 0, "where pod_resourceconfig.json is written"},
    PART("Other"),
    {"help", 'h', FLAG, AT(help), NULL, 0, "this"},
    {"version", 0, FLAG, AT(version), NULL, 0, "the version"},
};
/* clang-format on */

struct reader {
    int argc, at;
    char *const *argv;
    struct options *options;
    char *error;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reader *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->error, OPTIONS_ERROR_MAX, format, ap);
    va_end(ap);
    return STATUS_INVALID;
}

static char **text_at(struct options *options, const struct row *row)
{
    return (char **)(void *)((char *)options + row->offset);
}

static int set(struct reader *r, const struct row *row, const char *value)
{
    char *at = (char *)r->options + row->offset;
    if (row->kind == FLAG) {
        *(bool *)(void *)at = true;
    } else if (row->kind == TEXT) {
        free(*text_at(r->options, row));
        *text_at(r->options, row) = own_strdup(value);
    } else if (text_parse_i64(value, 0, row->max, (int64_t *)(void *)at) != 0) {
        return refuse(r, "--%s has to be a number from 0 to %lld, not \"%.80s\"", row->name, (long long)row->max,
                      value);
    }
    return 0;
}

/* --- names -------------------------------------------------------------------------------------------- */

static const struct row *find_by_letter(char letter)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].name != NULL && rows[i].letter == letter)
            return &rows[i];
    return NULL;
}

/* The row of a name, or of a beginning that only one name has. */
static int find_by_name(struct reader *r, const char *word, size_t len, const struct row **ret_row)
{
    char name[NAME_MAX_BYTES];
    const struct row *found = NULL;
    if (text_copy_bytes(name, sizeof(name), word, len) != 0)
        return refuse(r, "unknown option --%.*s", NAME_MAX_BYTES, word);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].name == NULL || strncmp(rows[i].name, name, len) != 0)
            continue;
        if (rows[i].name[len] == '\0') {
            *ret_row = &rows[i];
            return 0;
        }
        if (found != NULL)
            return refuse(r, "--%s may be --%s or --%s", name, found->name, rows[i].name);
        found = &rows[i];
    }
    *ret_row = found;
    return found != NULL && len > 0 ? 0 : refuse(r, "unknown option --%s", name);
}

/* --- words -------------------------------------------------------------------------------------------- */

static int take_value(struct reader *r, const struct row *row, const char *attached)
{
    if (row->kind == FLAG)
        return attached == NULL ? set(r, row, "") : refuse(r, "--%s has no value", row->name);
    if (attached != NULL)
        return set(r, row, attached);
    if (r->at >= r->argc)
        return refuse(r, "--%s needs a value", row->name);
    return set(r, row, r->argv[r->at++]);
}

static int read_long(struct reader *r, const char *word)
{
    const struct row *row = NULL;
    size_t len = strcspn(word, "=");
    int rc = find_by_name(r, word, len, &row);
    return rc != 0 ? rc : take_value(r, row, word[len] == '=' ? word + len + 1 : NULL);
}

static int read_short(struct reader *r, const char *word)
{
    const struct row *row = find_by_letter(word[1]);
    if (row == NULL)
        return refuse(r, "unknown option -%c", isprint((unsigned char)word[1]) ? word[1] : '?');
    const char *rest = word + 2;
    return take_value(r, row, *rest == '\0' ? NULL : *rest == '=' ? rest + 1 : rest);
}

static int read_words(struct reader *r)
{
    for (r->at = 1; r->at < r->argc;) {
        const char *word = r->argv[r->at];
        if (word[0] != '-' || word[1] == '\0')
            break;
        r->at++;
        if (strcmp(word, "--") == 0)
            break;
        int rc = word[1] == '-' ? read_long(r, word + 2) : read_short(r, word);
        if (rc != 0)
            return rc;
    }
    return 0;
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

static const char *default_of(const struct row *row, char *const env[])
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
        if (value == NULL || (rows[i].kind == FLAG && strcmp(value, "1") != 0))
            continue;
        int rc = set(r, &rows[i], value);
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
    if (hyperpodrun || o->backend_name == NULL) {
        free(o->backend_name);
        o->backend_name = own_strdup(hyperpodrun ? "hyperpod" : o->standalone ? "c10d" : "static");
    }
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
    const char *name = strrchr(r->argv[0], '/') != NULL ? strrchr(r->argv[0], '/') + 1 : r->argv[0];
    int rc = parse_backend(r, strcmp(name, "hyperpodrun") == 0);
    if (rc != 0)
        return rc;
    if (o->nnodes == NULL) /* HyperPod's operator says it in the environment */
        o->nnodes = own_strdup(
            o->backend == BACKEND_HYPERPOD && variable(env, "NNODES") != NULL ? variable(env, "NNODES") : "1");
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
    size_t count = 0;
    if (r->at >= r->argc)
        return refuse(r, "the script is missing");
    if (o->module && o->no_python)
        return refuse(r, "--module and --no-python exclude each other");
    o->command = own_calloc((size_t)(r->argc - r->at) + 4, sizeof(*o->command));
    if (!o->no_python) {
        o->command[count++] = python(env);
        o->command[count++] = "-u";
    }
    if (o->module)
        o->command[count++] = "-m";
    for (int i = r->at; i < r->argc; i++)
        o->command[count++] = r->argv[i];
    return 0;
}

int options_read(int argc, char *const argv[], char *const env[], struct options *ret_options,
                 char ret_error[OPTIONS_ERROR_MAX])
{
    struct options options = {0};
    struct reader r = {argc, 1, argv, &options, ret_error};
    int rc = set_defaults(&r, env);
    rc = rc != 0 ? rc : read_words(&r);
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
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].name != NULL && rows[i].kind == TEXT)
            free(*text_at(options, &rows[i]));
    free(options->command);
    *options = (struct options){0};
}

char *options_help(void)
{
    struct text text = {0};
    text_add(&text,
             "usage: hprun [option …] SCRIPT [argument …]\n"
             "       hprun rules test LOG -f RULES\n"
             "\nStarts and watches the workers of a training job on this node, as torchrun and hyperpodrun do.\n");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        if (row->name == NULL) {
            text_printf(&text, "\n%s:\n", row->help);
            continue;
        }
        autofree char *letter = row->letter != 0 ? own_printf("-%c, ", row->letter) : own_strdup("");
        autofree char *name = own_printf("%s--%s%s", letter, row->name,
                                         row->kind == FLAG   ? ""
                                         : row->kind == TEXT ? " TEXT"
                                                             : " N");
        text_printf(&text, "  %-30s %s", name, row->help);
        if (row->fallback != NULL && *row->fallback != '\0')
            text_printf(&text, " (%s)", row->fallback);
        text_add_char(&text, '\n');
    }
    return text_take(&text);
}
