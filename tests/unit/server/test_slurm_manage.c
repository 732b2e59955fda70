/*
 * A managed Slurm whose slurmctld does not answer after a change, over scripted programs: one whose process is gone has refused the
 * change, one that runs is waited for. The real thing is in tests/e2e/slurm/manage*.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/conf.h"
#include "server/scheduler/slurm/slurm.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ANSWER_MS 300
#define CONFIGURE_MS 7000 /* one look has to fit */
#define FILE_BYTES_MAX (1024 * 1024)

static char dir[] = "/tmp/holdfast-manage-XXXXXX";
static char error[SCHEDULER_ERROR_MAX];
static struct scheduler_driver driver;
static pid_t slurmctld; /* 0: it has ended */

static char *path_of(const char *name)
{
    return own_printf("%s/%s", dir, name);
}

static void put(const char *name, const char *text, mode_t mode)
{
    autofree char *path = path_of(name);
    assert_int_equal(file_write(path, text, strlen(text), mode), 0);
}

static char *note(const char *name)
{
    char *data = NULL;
    size_t len;
    autofree char *path = path_of(name);
    return file_read(path, FILE_BYTES_MAX, &data, &len) == 0 ? data : own_strdup("");
}

static bool is_there(const char *name)
{
    autofree char *path = path_of(name);
    return access(path, F_OK) == 0;
}

static void forget(const char *name)
{
    autofree char *path = path_of(name);
    unlink(path);
}

/* A process of that name, which its PidFile names. */
static void begin_slurmctld(void)
{
    slurmctld = fork();
    assert_true(slurmctld >= 0);
    if (slurmctld == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "slurmctld");
        for (;;)
            pause();
    }
    autofree char *pid = own_printf("%d\n", (int)slurmctld);
    put("slurmctld.pid", pid, 0600);
}

static void end_slurmctld(void)
{
    if (slurmctld > 0) {
        kill(slurmctld, SIGKILL);
        waitpid(slurmctld, NULL, 0);
    }
    slurmctld = 0;
}

/* $D/silent: it answers nobody. $D/loaded: what it has read, at its start and by a reconfigure. */
static const char scontrol[] =
    "case \"$*\" in *hostnames*) echo x; exit 0;; esac\n"
    "if [ -e $D/silent ]; then echo 'slurm_load_node error: Unable to contact slurm controller "
    "(connect failure)' >&2; exit 1; fi\n"
    "case \"$*\" in\n"
    "*'show node') grep -o 'NodeName=[^ ]*' $D/loaded;;\n"
    "*'show partition') grep -o 'PartitionName=[^ ]*' $D/loaded;;\n"
    "reconfigure) cp $D/nodes.conf $D/loaded;;\n"
    "esac\nexit 0\n";

static int open_world(void **state)
{
    static const char *const restart[] = {
        "sh", "-c", "echo restarted >>\"$0/restarts\"; cp \"$0/nodes.conf\" \"$0/loaded\"", dir, NULL};
    static const struct slurm_conf_site site;
    (void)state;
    if (mkdtemp(dir) == NULL)
        return -1;
    autofree char *conf = path_of("slurm.conf"), *nodes = path_of("nodes.conf");
    autofree char *text =
        own_printf("ClusterName=x\nSlurmctldPidFile = %s/slurmctld.pid # ours\nInclude %s\n", dir, nodes);
    autofree char *program = own_printf("#!/bin/sh\nD=%s\n%s", dir, scontrol);
    put("slurm.conf", text, 0600);
    put("scontrol", program, 0700);
    put("loaded", "", 0600);
    const struct slurm_manage_options manage = {
        .file = nodes, .restart = restart, .site = &site, .answer_ms = ANSWER_MS, .configure_ms = CONFIGURE_MS};
    const struct slurm_options options = {.bin_dir = dir, .conf = conf, .timeout_ms = 5000, .manage = &manage};
    return slurm_new(&options, &driver);
}

static int close_world(void **state)
{
    (void)state;
    end_slurmctld();
    driver.ops->free(driver.self);
    return file_remove_tree(dir);
}

static int apply(const char *name, const char *address)
{
    struct desired_node *node = own_calloc(1, sizeof(*node));
    struct scheduler_desired *desired = own_calloc(1, sizeof(*desired));
    desired->nodes = node;
    desired->count = 1;
    text_copy_cut(node->name, sizeof(node->name), name);
    text_copy_cut(node->address, sizeof(node->address), address);
    text_copy_cut(node->partition, sizeof(node->partition), "train");
    error[0] = '\0';
    int status = driver.ops->configuration->apply(driver.self, desired, error);
    scheduler_desired_free(desired);
    return status;
}

static void assert_file_has(const char *name, const char *word)
{
    autofree char *text = note(name);
    if (strstr(text, word) == NULL)
        fail_msg("no \"%s\" in %s:\n%s", word, name, text);
}

static size_t restarts(void)
{
    autofree char *text = note("restarts");
    return strlen(text) / strlen("restarted\n");
}

static void one_that_is_busy_is_waited_for(void **state)
{
    (void)state;
    begin_slurmctld();
    put("silent", "", 0600);
    assert_int_equal(apply("a-1", "10.0.0.1"), STATUS_TIMEOUT);
    assert_non_null(strstr(error, "runs and does not answer"));
    assert_file_has("nodes.conf", "NodeName=a-1");
    assert_true(is_there("nodes.conf.before"));
    assert_int_equal(restarts(), 0); /* it would begin from the beginning */
    forget("silent");
    assert_int_equal(apply("a-1", "10.0.0.1"), 0); /* and at once: nothing was refused */
    assert_file_has("loaded", "NodeName=a-1");
    assert_false(is_there("nodes.conf.before"));
}

/* It was restarted for the change, and takes longer than it is given. */
static void one_that_starts_slowly_is_not_restarted_again(void **state)
{
    (void)state;
    autofree char *program =
        own_printf("#!/bin/sh\nD=%s\n[ ! -s $D/restarts ] || [ -e $D/heard ] || touch $D/silent\n%s", dir, scontrol);
    forget("restarts");
    put("scontrol", program, 0700);
    assert_int_equal(apply("b-1", "10.0.0.2"), STATUS_TIMEOUT);
    assert_int_equal(restarts(), 1);
    assert_int_equal(apply("b-1", "10.0.0.2"), STATUS_TIMEOUT);
    assert_int_equal(restarts(), 1);
    put("heard", "", 0600);
    forget("silent");
    assert_int_equal(apply("b-1", "10.0.0.2"), 0);
    assert_int_equal(restarts(), 1);
    assert_file_has("loaded", "NodeName=b-1");
    assert_false(is_there("nodes.conf.before"));
}

static void one_that_has_ended_has_refused(void **state)
{
    (void)state;
    autofree char *program =
        own_printf("#!/bin/sh\nD=%s\n! grep -q NodeName=c-1 $D/nodes.conf && rm -f $D/silent || touch $D/silent\n%s",
                   dir, scontrol);
    put("scontrol", program, 0700);
    end_slurmctld();
    assert_int_equal(apply("c-1", "10.0.0.3"), STATUS_BACKEND);
    assert_non_null(strstr(error, "Slurm refused the new configuration"));
    assert_non_null(strstr(error, "has the old one again"));
    assert_file_has("nodes.conf", "NodeName=b-1");
    assert_int_equal(apply("c-1", "10.0.0.3"), STATUS_INVALID); /* and is not put to it again for a while */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_busy_is_waited_for),
        cmocka_unit_test(one_that_starts_slowly_is_not_restarted_again),
        cmocka_unit_test(one_that_has_ended_has_refused),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}
