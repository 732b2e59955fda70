/* The files that a managed Slurm gets: what is written is read back as it was meant, edits show, and Merge keeps what is not ours. */
#include "server/scheduler/slurm/conf.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct slurm_conf_site SITE = {
    .types = {{"ml.p5.48xlarge", "CPUs=192 RealMemory=2000000 Gres=gpu:h100:8"}, {"ml.g5.xlarge", "CPUs=4 Gres=gpu:1"}},
    .type_count = 2,
    .gpu_device = "/dev/nvidia",
};

/* Three nodes, of which two have a partition of their own. */
static struct desired_node nodes[] = {
    {.name = "gpu-2", .address = "10.0.0.2", .instance_type = "ml.p5.48xlarge", .partition = "train", .leaf = "leaf-b"},
    {.name = "cpu-1", .address = "10.0.1.1:7011", .instance_type = "other", .leaf = "leaf-a"},
    {.name = "gpu-1", .instance_type = "ml.p5.48xlarge", .partition = "train", .leaf = "leaf-b"},
};
static struct scheduler_desired desired = {.nodes = nodes, .count = 3};

static char *merged(const struct scheduler_desired *wanted, const char *text)
{
    struct slurm_conf conf;
    char error[SLURM_CONF_ERROR_MAX];
    assert_int_equal(slurm_conf_parse(text, strlen(text), &conf, error), 0);
    char *made = slurm_conf_text(wanted, &SITE, &conf);
    slurm_conf_free(&conf);
    return made;
}

static void assert_has(const char *text, const char *line)
{
    autofree char *whole = own_printf("\n%s\n", line);
    if (strstr(text, whole) == NULL)
        fail_msg("no line \"%s\" in:\n%s", line, text);
}

static void what_is_written(void **state)
{
    (void)state;
    autofree char *text = slurm_conf_text(&desired, &SITE, NULL);
    assert_has(text, "NodeName=cpu-1 NodeAddr=10.0.1.1 State=UNKNOWN");
    assert_has(text, "NodeName=gpu-1 CPUs=192 RealMemory=2000000 Gres=gpu:h100:8 State=UNKNOWN");
    assert_has(text, "NodeName=gpu-2 NodeAddr=10.0.0.2 CPUs=192 RealMemory=2000000 Gres=gpu:h100:8 State=UNKNOWN");
    assert_has(text, "PartitionName=dev Nodes=cpu-1,gpu-[1-2] Default=YES MaxTime=INFINITE State=UP");
    assert_has(text, "PartitionName=train Nodes=gpu-[1-2] MaxTime=INFINITE State=UP");

    struct scheduler_desired empty = {0};
    autofree char *nothing = slurm_conf_text(&empty, &SITE, NULL);
    assert_has(nothing, "PartitionName=dev Default=YES MaxTime=INFINITE State=UP");

    struct slurm_conf_site ports = {.port_base = 7000};
    autofree char *ported = slurm_conf_text(&desired, &ports, NULL);
    assert_has(ported, "NodeName=gpu-2 NodeAddr=10.0.0.2 Port=7002 State=UNKNOWN");
}

static void the_order_of_nodes_says_nothing(void **state)
{
    struct desired_node turned[] = {nodes[2], nodes[0], nodes[1]};
    struct scheduler_desired other = {.nodes = turned, .count = 3};
    (void)state;
    autofree char *a = slurm_conf_text(&desired, &SITE, NULL);
    autofree char *b = slurm_conf_text(&other, &SITE, NULL);
    assert_string_equal(a, b);
    autofree char *again = merged(&desired, a);
    struct slurm_conf conf;
    char error[SLURM_CONF_ERROR_MAX];
    assert_int_equal(slurm_conf_parse(again, strlen(again), &conf, error), 0);
    assert_true(conf.signed_by_us);
    assert_int_equal(conf.node_count, 3);
    assert_int_equal(conf.partition_count, 2);
    slurm_conf_free(&conf);
    autofree char *third = merged(&desired, again);
    assert_string_equal(again, third);
}

static void edits_show(void **state)
{
    static const struct {
        const char *from, *to, *said; /* said: NULL for no drift of nodes and partitions */
    } cases[] = {
        {"PartitionName=train", "PartitionName=mine Nodes=gpu-1\nPartitionName=train",
         "Partition configuration drift detected. No group's SlurmConfig has the partition mine"},
        {"PartitionName=train Nodes=gpu-[1-2]", "PartitionName=train Nodes=gpu-[1-2],cpu-1",
         "Partition configuration mismatch detected. The node cpu-1 is in the partition train and belongs in dev"},
        {"NodeName=cpu-1 ", "NodeName=cpu-9 ", "Configuration drift detected. The node cpu-9 is none of Holdfast's"},
        {"NodeName=cpu-1 ", "#", "Configuration drift detected. The node cpu-1 is missing"},
        {"CPUs=192", "CPUs=96", NULL},
    };
    (void)state;
    autofree char *text = slurm_conf_text(&desired, &SITE, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slurm_conf conf;
        char error[SLURM_CONF_ERROR_MAX], said[DESIRED_SAID_MAX] = "";
        char *at = strstr(text, cases[i].from);
        assert_non_null(at);
        autofree char *edited = own_printf("%.*s%s%s", (int)(at - text), text, cases[i].to, at + strlen(cases[i].from));
        assert_int_equal(slurm_conf_parse(edited, strlen(edited), &conf, error), 0);
        assert_false(conf.signed_by_us);
        assert_int_equal(slurm_conf_drift(&desired, &conf, said), cases[i].said != NULL);
        assert_string_equal(said, cases[i].said == NULL ? "" : cases[i].said);
        slurm_conf_free(&conf);
    }
}

static void edited_words_are_named(void **state)
{
    static const struct {
        const char *from, *to, *said; /* said: NULL for none */
    } cases[] = {
        {"NodeName=gpu-2 NodeAddr=10.0.0.2 CPUs=192", "NodeName=gpu-2 NodeAddr=10.0.0.2 CPUs=96",
         "the node gpu-2 has CPUs=96 and was written with CPUs=192"},
        {"NodeName=cpu-1 ", "NodeName=cpu-1 Weight=7 ", "the node cpu-1 has Weight=7, which was not written"},
        {"NodeName=cpu-1 NodeAddr=10.0.1.1 State=UNKNOWN", "NodeName=cpu-1 NodeAddr=10.0.1.1",
         "the node cpu-1 was written with State=UNKNOWN and has it no more"},
        {"PartitionName=train Nodes=gpu-[1-2] MaxTime=INFINITE", "PartitionName=train Nodes=gpu-[1-2] MaxTime=60",
         "the partition train has MaxTime=60 and was written with MaxTime=INFINITE"},
        {"NodeName=cpu-1 ", "# a comment\nNodeName=cpu-1 ", NULL},
    };
    (void)state;
    autofree char *text = slurm_conf_text(&desired, &SITE, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slurm_conf was, now;
        char error[SLURM_CONF_ERROR_MAX], said[DESIRED_SAID_MAX] = "";
        char *at = strstr(text, cases[i].from);
        assert_non_null(at);
        autofree char *edited = own_printf("%.*s%s%s", (int)(at - text), text, cases[i].to, at + strlen(cases[i].from));
        assert_int_equal(slurm_conf_parse(text, strlen(text), &was, error), 0);
        assert_int_equal(slurm_conf_parse(edited, strlen(edited), &now, error), 0);
        assert_int_equal(slurm_conf_edited(&was, &now, said), cases[i].said != NULL);
        assert_string_equal(said, cases[i].said == NULL ? "" : cases[i].said);
        slurm_conf_free(&was);
        slurm_conf_free(&now);
    }
}

static void merge_keeps_what_is_not_ours(void **state)
{
    static const char by_hand[] = "NodeName=DEFAULT Sockets=2  # ours to keep\n"
                                  "NodeName=gpu-1 CPUs=96 Weight=7 State=DRAIN\n"
                                  "nodename=old-[1-2] \\\n  CPUs=8\n"
                                  "PartitionName=mine Nodes=gpu-1,old-1,never-1 AllowGroups=\"a b\"\n"
                                  "PartitionName=train Nodes=cpu-1,old-2 MaxTime=60\n"
                                  "PartitionName=all Nodes=ALL\n";
    (void)state;
    autofree char *text = merged(&desired, by_hand);
    assert_has(text, "NodeName=DEFAULT Sockets=2");
    assert_has(text, "NodeName=gpu-1 CPUs=96 Weight=7 State=DRAIN RealMemory=2000000 Gres=gpu:h100:8");
    assert_has(text, "nodename=old-[1-2]   CPUs=8");
    assert_has(text, "PartitionName=mine Nodes=gpu-1,old-1 AllowGroups=\"a b\"");
    assert_has(text, "PartitionName=train Nodes=gpu-[1-2],old-2 MaxTime=60");
    assert_has(text, "PartitionName=all Nodes=ALL");
    autofree char *again = merged(&desired, text);
    assert_string_equal(text, again);

    /* What was ours goes with its group, what was not stays. */
    struct scheduler_desired less = {.nodes = nodes + 1, .count = 1};
    autofree char *after = merged(&less, text);
    assert_null(strstr(after, "gpu-"));
    assert_null(strstr(after, "PartitionName=train"));
    assert_has(after, "PartitionName=mine Nodes=old-1 AllowGroups=\"a b\"");
    assert_has(after, "NodeName=cpu-1 NodeAddr=10.0.1.1 State=UNKNOWN");
}

static void what_cannot_be_read(void **state)
{
    static const char *const texts[] = {
        "NodeName=gpu-[1-\n",
        "NodeName=gpu-[1-999999999]\n",
        "NodeName=\n",
        "NodeName=-x\n",
        "PartitionName=a;b Nodes=gpu-1\n",
        "PartitionName=p Nodes=gpu-[1-99999],b-[1-99999]\n",
        "NodeName=a\xff\n",
        "PartitionName=\n",
        "NodeName=gpu-1 Features=\"a b\nNodeName=gpu-2\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct slurm_conf conf;
        char error[SLURM_CONF_ERROR_MAX] = "";
        if (slurm_conf_parse(texts[i], strlen(texts[i]), &conf, error) != STATUS_INVALID)
            fail_msg("was read: %s", texts[i]);
        assert_string_not_equal(error, "");
    }
    struct slurm_conf conf;
    char error[SLURM_CONF_ERROR_MAX];
    assert_int_equal(slurm_conf_parse("a\0b", 3, &conf, error), STATUS_INVALID);
}

static void devices_and_switches(void **state)
{
    (void)state;
    autofree char *gres = slurm_conf_gres(&desired, &SITE);
    assert_has(gres, "NodeName=gpu-[1-2] Name=gpu Type=h100 File=/dev/nvidia[0-7]");
    struct slurm_conf_site amd = SITE;
    text_copy_cut(amd.gpu_device, sizeof(amd.gpu_device), "/dev/dri/renderD");
    autofree char *others = slurm_conf_gres(&desired, &amd);
    assert_has(others, "NodeName=gpu-[1-2] Name=gpu Type=h100 File=/dev/dri/renderD[0-7]");
    assert_true(slurm_conf_is_device("/dev/dri/renderD"));
    assert_false(slurm_conf_is_device("dev"));
    assert_false(slurm_conf_is_device("/dev/x Count=9"));
    autofree char *topology = slurm_conf_topology(&desired, NULL);
    assert_has(topology, "SwitchName=leaf-a Nodes=cpu-1");
    assert_has(topology, "SwitchName=leaf-b Nodes=gpu-[1-2]");
    assert_has(topology, "SwitchName=holdfast-root Switches=leaf-a,leaf-b");

    struct desired_node lost = {.name = "gpu-9"};
    struct scheduler_desired flat = {.nodes = &lost, .count = 1};
    autofree char *none = slurm_conf_topology(&flat, NULL);
    assert_string_equal(none, "");
    autofree char *no_gpus = slurm_conf_gres(&flat, &SITE);
    assert_string_equal(no_gpus, "");
}

static void hardware_is_of_one_line(void **state)
{
    (void)state;
    assert_true(slurm_conf_is_hardware("CPUs=4 RealMemory=1024 Gres=gpu:h100:8"));
    assert_true(slurm_conf_is_hardware(""));
    assert_false(slurm_conf_is_hardware("CPUs=4\nNodeName=x"));
    assert_false(slurm_conf_is_hardware("CPUs=4 # all"));
    assert_false(slurm_conf_is_hardware("CPUs=4 \\"));
    assert_false(slurm_conf_is_hardware("CPUs"));
    assert_false(slurm_conf_is_hardware("nodename=x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written),
        cmocka_unit_test(the_order_of_nodes_says_nothing),
        cmocka_unit_test(edits_show),
        cmocka_unit_test(merge_keeps_what_is_not_ours),
        cmocka_unit_test(what_cannot_be_read),
        cmocka_unit_test(devices_and_switches),
        cmocka_unit_test(hardware_is_of_one_line),
        cmocka_unit_test(edited_words_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
