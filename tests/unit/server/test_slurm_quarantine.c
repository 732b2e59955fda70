/* Lists of nodes and features as scontrol prints them, in the shape that 22.05 gives them, and hostile twins; and a reservation whose removal
 * Slurm does not answer, by a scripted scontrol. */
#include "server/scheduler/slurm/quarantine.h"

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* --- reading -------------------------------------------------------------------------------------------------- */

static void lists_of_nodes(void **state)
{
    static const struct {
        const char *line;
        int status;
        size_t count;
        const char *last;
    } cases[] = {
        {"PartitionName=p AllocNodes=ALL MaxNodes=UNLIMITED MinNodes=1 Nodes=gpu-[1-2],login State=UP\n", 0, 3,
         "login"},
        {"ReservationName=r Duration=01:00:00 Nodes=gpu-1 NodeCnt=1\n", 0, 1, "gpu-1"},
        {"PartitionName=p Nodes=(null) State=UP", 0, 0, NULL},
        {"PartitionName=p Nodes= State=UP", 0, 0, NULL},
        {"PartitionName=p Nodes=gpu-[1-", STATUS_BACKEND, 0, NULL},
        {"PartitionName=p Nodes=gpu-[1-99999]", STATUS_BACKEND, 0, NULL},
        {"PartitionName=p Nodes=--all", STATUS_BACKEND, 0, NULL},
        {"PartitionName=p AllocNodes=ALL", STATUS_BACKEND, 0, NULL},
        {"", STATUS_BACKEND, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char **names = NULL;
        size_t count = 0;
        int status = slurm_parse_members(cases[i].line, &names, &count);
        if (status != cases[i].status || count != cases[i].count)
            fail_msg("%s: %d, %zu", cases[i].line, status, count);
        if (count > 0)
            assert_string_equal(names[count - 1], cases[i].last);
        text_list_free(names, count);
    }
}

static void features_of_nodes(void **state)
{
    struct slurm_features features;
    (void)state;
    assert_int_equal(
        slurm_parse_features("NodeName=gpu-1 Arch=x86_64 AvailableFeatures=a,b ActiveFeatures=a Gres=(null) "
                             "Reason=x AvailableFeatures=c [root@now]",
                             &features),
        0);
    assert_string_equal(features.name, "gpu-1");
    assert_string_equal(features.available, "a,b");
    assert_string_equal(features.active, "a");
    assert_int_equal(slurm_parse_features("NodeName=n AvailableFeatures=(null) ActiveFeatures= Gres=", &features), 0);
    assert_string_equal(features.available, "");
    assert_string_equal(features.active, "");
    static const char *const refused[] = {
        "",
        "PartitionName=n AvailableFeatures=a ActiveFeatures=a",
        "NodeName=-n AvailableFeatures=a ActiveFeatures=a",
        "NodeName=n AvailableFeatures=a",
        "NodeName=n AvailableFeatures=a\"b ActiveFeatures=a",
        "NodeName=n AvailableFeatures=a=b ActiveFeatures=a",
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        assert_int_equal(slurm_parse_features(refused[i], &features), STATUS_BACKEND);
}

static void words_of_lists(void **state)
{
    static const char *const cases[][3] = {
        {"a,b,c", "b", "a,c"},   {"b", "b", ""},   {"ab,b", "b", "ab"}, {"", "b", ""},
        {"a,b:c", "b", "a,b:c"}, {"b,b", "b", ""}, {"a,b,", "b", "a"},  {",a,,b,,", "b", "a"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *rest = slurm_list_without(cases[i][0], cases[i][1]);
        assert_string_equal(rest, cases[i][2]);
    }
}

/* --- a removal that is not answered ------------------------------------------------------------------------------ */

static char dir[] = "/tmp/holdfast-quarantine-XXXXXX";

static char *path(const char *name)
{
    return own_printf("%s/%s", dir, name);
}

static bool is_there(const char *name)
{
    autofree char *file = path(name);
    return access(file, F_OK) == 0;
}

static void put(const char *name, const char *text)
{
    autofree char *file = path(name);
    assert_int_equal(file_write(file, text, strlen(text), 0700), 0);
}

static void take_away(const char *name)
{
    autofree char *file = path(name);
    (void)unlink(file);
}

/* The file "reserved" is the reservation. With "away" a removal takes effect, and from then on nothing is answered. */
static void write_scontrol(void)
{
    autofree char *script = own_printf(
        "#!/bin/sh\n"
        "away() { echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1; }\n"
        "cd %s; [ ! -e gone ] || away\n"
        "case \"$*\" in\n"
        "*'show reservation'*) [ -e reserved ] || { echo 'Reservation not found' >&2; exit 1; }\n"
        "  echo 'ReservationName=" SLURM_QUARANTINE_RESERVATION
        " StartTime=2026-11-28T10:00:00 Nodes=gpu-1 NodeCnt=1' ;;\n"
        "*'show partition'*) echo 'Partition not found' >&2; exit 1 ;;\n"
        "*'show node'*) echo 'NodeName=gpu-1 AvailableFeatures=(null) ActiveFeatures=(null) Gres=(null)' ;;\n"
        "'delete ReservationName'*) rm reserved; [ ! -e away ] || { : >gone; away; } ;;\n"
        "esac\n",
        dir);
    put("scontrol", script);
}

static int quarantine(struct scheduler_quarantine *request)
{
    char error[SCHEDULER_ERROR_MAX];
    struct slurm_options options = {.bin_dir = dir, .conf = "/nowhere/slurm.conf", .timeout_ms = 20000};
    struct scheduler_driver driver;
    assert_int_equal(slurm_new(&options, &driver), 0);
    int status = driver.ops->quarantine->set(driver.self, request, error);
    driver.ops->free(driver.self);
    return status;
}

/* It did take effect, and slurmctld had not saved that when it ended: it is known as ours all the same when it is back. */
static void a_removal_without_an_answer(void **state)
{
    struct scheduler_quarantine_node node = {.row = {.node_id = 1, .name = "gpu-1", .state = QUARANTINE_STATE_HELD}};
    struct scheduler_quarantine request = {.nodes = &node, .count = 1};
    (void)state;
    assert_non_null(mkdtemp(dir));
    write_scontrol();
    put("reserved", "");
    put("away", "");
    assert_int_equal(quarantine(&request), STATUS_UNAVAILABLE);
    assert_false(is_there("reserved"));
    assert_string_equal(request.mark, "2026-11-28T10:00:00");
    take_away("away");
    take_away("gone");
    put("reserved", "");
    node.released = true;
    assert_int_equal(quarantine(&request), 0);
    assert_false(is_there("reserved"));
    assert_true(node.gone);
    take_away("scontrol");
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_nodes),
        cmocka_unit_test(features_of_nodes),
        cmocka_unit_test(words_of_lists),
        cmocka_unit_test(a_removal_without_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
