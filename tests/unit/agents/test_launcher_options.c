/* hprun's arguments and a worker's environment: what torchrun takes is taken, and means the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/launcher/options.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static char *no_env[] = {NULL};

/* words are parted by blanks. */
static int read_words(const char *words, char *const env[], struct options *options, char error[OPTION_ERROR_MAX])
{
    static char copy[1024];
    char *argv[64], *save = NULL;
    int argc = 0;
    snprintf(copy, sizeof(copy), "%s", words);
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    argv[argc] = NULL;
    return options_read(argc, argv, env, options, error);
}

static struct options good(const char *words, char *const env[])
{
    struct options options = {0};
    char error[OPTION_ERROR_MAX] = "";
    if (read_words(words, env, &options, error) != 0)
        fail_msg("%s: %s", words, error);
    return options;
}

static void expect_command(const struct options *options, const char *wanted)
{
    char text[512] = "";
    for (size_t i = 0; options->command[i] != NULL; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i > 0 ? " " : "", options->command[i]);
    assert_string_equal(text, wanted);
}

static void test_commands(void **state)
{
    (void)state;
    static char exec[] = "PYTHON_EXEC=/opt/python", *python[] = {exec, NULL};
    static const struct {
        const char *words, *command;
        char *const *env;
    } table[] = {
        {"hprun train.py --nnodes 7 -m", "python3 -u train.py --nnodes 7 -m", no_env},
        {"hprun -m a.b c", "python3 -u -m a.b c", no_env},
        {"hprun --module a", "/opt/python -u -m a", python},
        {"hprun --no_python ./x -- y", "./x -- y", no_env},
        {"hprun -- --odd.py", "python3 -u --odd.py", no_env},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct options options = good(table[i].words, table[i].env);
        expect_command(&options, table[i].command);
        options_free(&options);
    }
}

static void test_torchrun_and_hyperpodrun(void **state)
{
    (void)state;
    struct options o =
        good("/usr/bin/hprun --nnodes=2 --nproc_per_node 4 --node-rank 1 --master_addr h --master-port 77 -r3 --tee "
             "0:1,2:3 --log_dir=/l --max_restarts 3 --rdzv-id j --role r x.py",
             no_env);
    assert_int_equal(o.backend, BACKEND_STATIC);
    assert_int_equal(o.nodes_max, 2);
    assert_int_equal(o.ranks, 4);
    assert_int_equal(o.node_rank, 1);
    assert_string_equal(o.master_addr, "h");
    assert_int_equal(std_of_rank(&o.redirects, 3), 3);
    assert_int_equal(std_of_rank(&o.tee, 0), STD_OUT);
    assert_int_equal(std_of_rank(&o.tee, 1), 0);
    assert_int_equal(std_of_rank(&o.tee, 2), STD_OUT | STD_ERR);
    assert_int_equal(o.shutdown_signal, SIGTERM);
    options_free(&o);
    static char sixteen[] = "NNODES=16", eight[] = "PET_NPROC_PER_NODE=8", *nodes[] = {sixteen, eight, NULL};
    o = good("/bin/hyperpodrun --rdzv_backend=c10d --server-port 9000 --shutdown-timeout=30 --pre-train-args a x.py",
             nodes);
    assert_int_equal(o.backend, BACKEND_HYPERPOD);
    assert_int_equal(o.nodes_max, 16);
    assert_int_equal(o.ranks, 8);
    assert_int_equal(o.server_port, 9000);
    assert_int_equal(o.shutdown_s, 30);
    assert_int_equal(o.shutdown_signal, SIGKILL);
    options_free(&o);
    o = good("hprun --nnodes 2:5 --rdzv-backend hyperpod --rdzv-end h:1 --max-r 2 x.py",
             no_env); /* beginnings of names */
    assert_int_equal(o.nodes_min, 2);
    assert_int_equal(o.nodes_max, 5);
    assert_string_equal(o.endpoint, "h:1");
    options_free(&o);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *words, *message;
    } table[] = {
        {"hprun", "the script is missing"},
        {"hprun --nope x", "unknown option --nope"},
        {"hprun -z x", "unknown option -z"},
        {"hprun --rdzv x y", "--rdzv may be --rdzv-backend or --rdzv-endpoint"},
        {"hprun --nproc-per-node", "--nproc-per-node needs a value: TEXT"},
        {"hprun --nproc-per-node 0 x",
         "--nproc-per-node has to be 1 to 1024, gpu (there is none here), cpu or auto, not \"0\""},
        {"hprun --nnodes 3:2 --rdzv-backend c10d x", "--nnodes has to be a number or MIN:MAX, not \"3:2\""},
        {"hprun --nnodes 1:2 x", "--nnodes 1:2 needs --rdzv-backend c10d"},
        {"hprun --nnodes 2 --node-rank 2 x", "--node-rank 2 is not below --nnodes 2"},
        {"hprun --standalone --nnodes 2 x", "--standalone is for one node, and --nnodes is 2"},
        {"hprun --rdzv-backend etcd x", "--rdzv-backend has to be static, c10d or hyperpod, not \"etcd\""},
        {"hprun --max-restarts -1 x", "--max-restarts has to be a number from 0 to 1000000, not \"-1\""},
        {"hprun --tee 4 x", "--tee has to be 0 to 3, or RANK:N,…, not \"4\""},
        {"hprun --redirects 0-1 x", "--redirects has to be 0 to 3, or RANK:N,…, not \"0-1\""},
        {"hprun --standalone=1 x", "--standalone takes no value"},
        {"hprun -m --no-python x", "--module and --no-python exclude each other"},
        {"hprun --shutdown-signal SIGINT x", "--shutdown-signal has to be SIGTERM or SIGKILL, not \"SIGINT\""},
        {"hprun --inprocess-restart x", "--inprocess-restart is not supported: processes are restarted"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct options options = {0};
        char error[OPTION_ERROR_MAX] = "";
        assert_int_equal(read_words(table[i].words, no_env, &options, error), STATUS_INVALID);
        assert_string_equal(error, table[i].message);
    }
}

static char *help_text(void)
{
    static char *text; /* gcc takes one of ours for what is returned */
    static size_t len;
    FILE *out = open_memstream(&text, &len);
    options_help(out);
    fclose(out);
    return text;
}

static void test_help_has_every_option(void **state)
{
    (void)state;
    struct options o = good("hprun --help --nnodes x", no_env);
    assert_true(o.help);
    options_free(&o);
    autofree char *help = help_text();
    assert_non_null(strstr(help, "--log-rules TEXT"));
    assert_non_null(strstr(help, "-t, --tee TEXT"));
}

static void test_the_manual_page_has_every_option(void **state)
{
    (void)state;
    autofree char *help = help_text(), *page = NULL;
    size_t len;
    assert_int_equal(file_read("docs/man/hprun.1", 1 << 20, &page, &len), 0);
    int count = 0;
    for (const char *at = strstr(help, " --"); at != NULL; at = strstr(at + 3, " --"), count++) {
        autofree char *words =
            own_printf("Fl -%.*s", (int)strspn(at + 3, "abcdefghijklmnopqrstuvwxyz0123456789-"), at + 3);
        if (strstr(page, words) == NULL)
            fail_msg("docs/man/hprun.1 does not name \"%s\"", words);
    }
    assert_true(count > 30);
}

static const char *value(char **env, const char *name)
{
    for (; *env != NULL; env++)
        if (strncmp(*env, name, strlen(name)) == 0 && (*env)[strlen(name)] == '=')
            return *env + strlen(name) + 1;
    return NULL;
}

static void test_environment(void **state)
{
    (void)state;
    static char path[] = "PATH=/bin", rank[] = "RANK=99", threads[] = "OMP_NUM_THREADS=4";
    static char *env[] = {path, rank, threads, NULL};
    const struct place place = {.rank = 2,
                                .nodes = 4,
                                .ranks = 8,
                                .master_addr = "10.0.0.1",
                                .master_port = 29500,
                                .restart_count = 1,
                                .max_restarts = 3,
                                .role = "default",
                                .run_id = "j"};
    const struct place_extra extra = {.default_threads = true, .error_file = "/e", .socket_path = "/s"};
    char **got = place_env(&place, 3, &extra, env);
    static const char *const wanted[][2] = {
        {"RANK", "19"},
        {"LOCAL_RANK", "3"},
        {"GROUP_RANK", "2"},
        {"ROLE_RANK", "19"},
        {"WORLD_SIZE", "32"},
        {"LOCAL_WORLD_SIZE", "8"},
        {"GROUP_WORLD_SIZE", "4"},
        {"ROLE_WORLD_SIZE", "32"},
        {"MASTER_ADDR", "10.0.0.1"},
        {"MASTER_PORT", "29500"},
        {"OMP_NUM_THREADS", "4"},
        {"TORCHELASTIC_RESTART_COUNT", "1"},
        {"TORCHELASTIC_MAX_RESTARTS", "3"},
        {"TORCHELASTIC_RUN_ID", "j"},
        {"PATH", "/bin"},
        {"TORCHELASTIC_ERROR_FILE", "/e"},
        {"HYPERPOD_ELASTICAGENT_SOCKET_SERVER_PATH", "/s"},
    };
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        assert_string_equal(value(got, wanted[i][0]), wanted[i][1]);
    size_t ranks = 0;
    for (char **at = got; *at != NULL; at++)
        ranks += strncmp(*at, "RANK=", 5) == 0 ? 1 : 0;
    assert_int_equal(ranks, 1); /* ours takes the place of what was there */
    place_env_free(got);
}

static void test_prefixes(void **state)
{
    (void)state;
    const struct place place = {.rank = 1, .nodes = 2, .ranks = 4, .restart_count = 5, .role = "trainer"};
    autofree char *plain = place_prefix(&place, 2, NULL);
    assert_string_equal(plain, "[trainer2]:");
    autofree char *own = place_prefix(&place, 2, "[rank$rank-${group_rank}-a${restart_count} $other ${x $]");
    assert_string_equal(own, "[rank6-1-a5 $other ${x $]");
}

static void test_how_many(void **state)
{
    (void)state;
    int ranks = 0;
    assert_int_equal(place_ranks("auto", 8, 96, &ranks), 0);
    assert_int_equal(ranks, 8);
    assert_int_equal(place_ranks("auto", 0, 96, &ranks), 0);
    assert_int_equal(ranks, 96);
    assert_int_equal(place_ranks("cpu", 8, 96, &ranks), 0);
    assert_int_equal(ranks, 96);
    assert_int_equal(place_ranks("gpu", 0, 96, &ranks), STATUS_INVALID);
    assert_int_equal(place_ranks("x", 8, 96, &ranks), STATUS_INVALID);
    assert_int_equal(place_gpus(NULL, "/does/not/exist"), 0);
    assert_int_equal(place_gpus("0,1", "/does/not/exist"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_torchrun_and_hyperpodrun),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_help_has_every_option),
        cmocka_unit_test(test_the_manual_page_has_every_option),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_how_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
