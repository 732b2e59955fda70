/* The tests of a deep health check, each with tools of our own making: what passes, what fails, and what says nothing. */
#include "tests/unit/agents/deep_world.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void put_dcgmi(const struct world *world, const char *sample, int exit_code)
{
    char here[512];
    assert_non_null(getcwd(here, sizeof(here)));
    autofree char *text =
        own_printf("#!/bin/sh\ntest \"$*\" = \"diag -r 2 -j\" || exit 99\n/bin/cat %s/tests/data/dcgm/%s\n"
                   "exit %d\n",
                   here, sample, exit_code);
    write_text(world->tools, "dcgmi", text, 0755);
}

static void test_dcgm(void **state)
{
    struct world *world = *state;
    run_one(world, "DCGM", "k1");
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "no NVIDIA GPU here");
    autofree char *gpu = own_printf("%s/proc/driver/nvidia/gpus/0000:b9:00.0", world->dir);
    assert_int_equal(file_make_dirs(gpu, 0700), 0);
    run_one(world, "DCGM", "k2");
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "dcgmi is not installed here");
    put_dcgmi(world, "diag-4.json", 226);
    run_one(world, "DCGM", "k3");
    assert_said(world, "running failed !");
    assert_non_null(strstr(world->detail, "row remapping failed")); /* not that persistence mode is off */
    assert_non_null(strstr(world->log, "error DCGM diagnostic health summary: dcgmCheckLevel: 2 dcgmVersion: "));
    assert_non_null(strstr(world->log, "replacementRequired: true"));
    put_dcgmi(world, "health-well.json", 0); /* no diagnosis */
    run_one(world, "DCGM", "k4");
    assert_said(world, "running skipped !");
    assert_non_null(strstr(world->detail, "made no diagnosis"));
}

/* What nvidia-smi says with so many GPUs, of which each has so many links. */
static void put_gpus(const struct world *world, int gpus, int links)
{
    AUTO(text) struct text script = {0};
    text_add(&script, "#!/bin/sh\nif [ $1 = -q ]; then\necho '<?xml version=\"1.0\"?><nvidia_smi_log>");
    text_printf(&script, "<attached_gpus>%d</attached_gpus>'\n", gpus);
    for (int i = 0; i < gpus; i++)
        text_printf(&script, "echo '<gpu id=\"00000000:%02X:00.0\"><uuid>GPU-%d</uuid></gpu>'\n", i + 1, i);
    text_add(&script, "echo '</nvidia_smi_log>'\nelse\n");
    for (int i = 0; i < gpus; i++) {
        text_printf(&script, "echo 'GPU %d: NVIDIA A100-SXM4-80GB (UUID: GPU-%d)'\n", i, i);
        for (int k = 0; k < links; k++)
            text_printf(&script, "echo '\t Link %d: 25 GB/s'\n", k);
    }
    text_add(&script, "fi\n");
    write_text(world->tools, "nvidia-smi", text_get(&script), 0755);
}

static void put_pci(const struct world *world, int number)
{
    autofree char *device = own_printf("%s/sys/bus/pci/devices/0000:%02x:00.0", world->dir, number);
    assert_int_equal(file_make_dirs(device, 0700), 0);
    write_text(device, "vendor", "0x10de\n", 0600);
    write_text(device, "class", "0x030200\n", 0600);
}

static void test_devices_are_counted(void **state)
{
    struct world *world = *state;
    run_one(world, "DEVICE_COUNT", "k1");
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "what should be here is not known: the type of this instance is not");
    world->more = ",\"instanceType\":\"x9.huge\"";
    put_gpus(world, 2, 4);
    run_one(world, "DEVICE_COUNT", "k2");
    assert_said(world, "running skipped !"); /* counted all the same */
    assert_non_null(strstr(world->detail, "what should be in a x9.huge is not known"));
    assert_string_equal(text_get(&world->marks), "GPUs 2; NVLinks 8; ");

    world->more = ",\"instanceType\":\"ml.g5.12xlarge\"";
    put_gpus(world, 4, 0);
    for (int i = 1; i <= 3; i++)
        put_pci(world, i);
    run_one(world, "DEVICE_COUNT", "k3");
    assert_true(text_ends_with(text_get(&world->said), "running failed !")); /* it looked some times */
    assert_non_null(strstr(world->detail, "3 GPUs on PCI, and there should be >= 4"));
    assert_non_null(strstr(text_get(&world->marks), "GPUs 4 >= 4 ok; GPUs on PCI 3 >= 4 failed; "));
    assert_non_null(strstr(world->log, "error GpuPci Count check failed: 3 GPUs on PCI"));

    put_pci(world, 4);
    world->more = ",\"instanceType\":\"ml.g5.12xlarge\",\"limits\":[\"EFA adapters >= 0\"]"; /* the site knows better */
    run_one(world, "DEVICE_COUNT", "k4");
    assert_said(world, "running passed !");
    assert_non_null(strstr(world->log, "info GpuPci Count check success"));

    world->more = ",\"instanceType\":\"p4d.24xlarge\",\"limits\":[\"EFA adapters >= 0\",\"GPUs on PCI >= 4\"]";
    put_gpus(world, 8, 11); /* a link of each is down */
    run_one(world, "DEVICE_COUNT", "k5");
    assert_true(text_ends_with(text_get(&world->said), "running failed !"));
    assert_string_equal(world->detail, "88 NVLinks, and there should be >= 96");
}

static void put_adapter(const struct world *world)
{
    autofree char *device = own_printf("%s/sys/class/infiniband/rdmap0s6/device", world->dir);
    autofree char *port = own_printf("%s/sys/class/infiniband/rdmap0s6/ports/1", world->dir);
    assert_int_equal(file_make_dirs(device, 0700) + file_make_dirs(port, 0700), 0);
    write_text(device, "vendor", "0x1d0f\n", 0600);
    write_text(device, "device", "0xefa1\n", 0600);
}

static void test_efa(void **state)
{
    struct world *world = *state;
    run_one(world, "EFA", "k1");
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "no Elastic Fabric Adapter here");
    put_adapter(world);
    write_text(world->tools, "fi_pingpong", "#!/bin/sh\necho no provider >&2; exit 61\n", 0755);
    run_one(world, "EFA", "k2"); /* a libfabric that was built without it */
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "libfabric does not know the adapters here");
    write_text(world->tools, "fi_pingpong", "#!/bin/sh\necho broken >&2; exit 5\n", 0755);
    run_one(world, "EFA", "k3");
    assert_said(world, "running failed !");
    assert_non_null(strstr(world->detail, "1 adapters failed, last rdmap0s6: "));
}

/* Not the adapter's fault, which would cost the node. */
static void test_efa_without_locked_memory(void **state)
{
    struct world *world = *state;
    put_adapter(world);
    write_text(world->tools, "fi_pingpong", "#!/bin/sh\necho cannot register memory >&2; exit 12\n", 0755);
    put_stress(world, "true");
    world->test = "EFA";
    set_posts(world, POSTS_MAX, 409);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit none = {.rlim_cur = 65536, .rlim_max = 65536};
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {{0}};
        if (syscall(SYS_capget, &header, caps) != 0)
            _exit(2);
        for (size_t i = 0; i < ARRAY_LEN(caps); i++)
            caps[i].effective = i == 0 ? caps[i].effective & ~(1u << CAP_IPC_LOCK) : caps[i].effective;
        if (setrlimit(RLIMIT_MEMLOCK, &none) != 0 || syscall(SYS_capset, &header, caps) != 0)
            _exit(3);
        _exit(deep(world, world->tools, "k1", PATIENCE_MS) == 0 ? 0 : 1);
    }
    int ended;
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
    pthread_mutex_lock(&world->lock);
    assert_said(world, "running skipped !");
    assert_non_null(strstr(world->detail, "may not lock the memory that libfabric needs"));
    pthread_mutex_unlock(&world->lock);
}

/* --- Neuron --------------------------------------------------------------------------------------------------- */

#define NEURON_TREE "sys/devices/virtual/neuron_device"

static void put_neuron(const struct world *world, int devices)
{
    for (int i = 0; i < devices; i++) {
        autofree char *device = own_printf("%s/" NEURON_TREE "/neuron%d", world->dir, i);
        autofree char *stats = own_printf("%s/stats/hardware", device);
        assert_int_equal(file_make_dirs(stats, 0700), 0);
        write_text(device, "core_count", "2\n", 0600);
        write_text(stats, "mem_ecc_uncorrected", "3\n", 0600); /* of long ago */
        write_text(stats, "sram_ecc_uncorrected", "0\n", 0600);
    }
}

/* A nccom-test that leaves its words in "ran", prints the sample and does more. */
static void put_nccom(const struct world *world, const char *sample, const char *more)
{
    char here[512];
    assert_non_null(getcwd(here, sizeof(here)));
    autofree char *text = own_printf("#!/bin/sh\necho \"$*\" >>%s/nccom\n/bin/cat %s/tests/data/neuron/%s\n%s\n",
                                     world->dir, here, sample, more);
    write_text(world->tools, "nccom-test", text, 0755);
}

static void expect_words(const struct world *world, const char *words)
{
    autofree char *path = own_printf("%s/nccom", world->dir), *ran = NULL;
    assert_int_equal(file_read(path, 4096, &ran, NULL), 0);
    assert_non_null(strstr(ran, words));
}

static void test_neuron_where_there_is_none(void **state)
{
    static const char *const tests[] = {"NEURON", "NCCOM_LOCAL"};
    struct world *world = *state;
    for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
        autofree char *before = own_printf("a%zu", i), *after = own_printf("b%zu", i);
        autofree char *tree = own_printf("%s/" NEURON_TREE, world->dir);
        assert_int_equal(file_remove_tree(tree), 0);
        run_one(world, tests[i], before);
        assert_said(world, "running skipped !");
        assert_string_equal(world->detail, "no Neuron device here");
        put_neuron(world, 1);
        run_one(world, tests[i], after);
        assert_said(world, "running skipped !");
        assert_string_equal(world->detail, "nccom-test is not installed here");
    }
}

static void test_neuron_hardware(void **state)
{
    struct world *world = *state;
    put_neuron(world, 2);
    put_nccom(world, "nccom-checked.txt", "");
    run_one(world, "NEURON", "k1");
    assert_said(world, "running passed !");
    assert_string_equal(text_get(&world->marks), "Neuron errors 0 <= 0 ok; ");
    expect_words(world, "-r 4 -b 1M -e 64M -f 4 -d fp32 --check allr\n");
    assert_non_null(strstr(world->log, "98.84\n")); /* its table */
    assert_non_null(strstr(world->log, "info Neuron hardware check success. Devices: 2, cores: 4, new errors: 0"));

    put_nccom(world, "../nccl/local-failed.txt", "exit 1");
    run_one(world, "NEURON", "k2");
    assert_said(world, "running failed !");
    assert_string_equal(world->detail, "nccom-test found errors");

    put_nccom(world, "nccom-checked.txt", "exit 1"); /* it broke off */
    run_one(world, "NEURON", "k3");
    assert_said(world, "running failed !");

    put_nccom(world, "nccom-no-driver.txt", "exit 1");
    run_one(world, "NEURON", "k4");
    assert_said(world, "running skipped !");
    assert_non_null(strstr(world->detail, "nccom-test came to nothing: Neuron DKMS Driver is not running!"));

    /* The sums were right, and yet a device has counted. */
    autofree char *counts =
        own_printf("echo 5 >%s/" NEURON_TREE "/neuron1/stats/hardware/mem_ecc_uncorrected", world->dir);
    put_nccom(world, "nccom-checked.txt", counts);
    run_one(world, "NEURON", "k5");
    assert_said(world, "running failed !");
    assert_string_equal(world->detail, "2 errors were not corrected meanwhile, most of them of neuron1");
    assert_string_equal(text_get(&world->marks), "Neuron errors 2 <= 0 failed; ");

    autofree char *gone = own_printf("/bin/rm -r %s/" NEURON_TREE "/neuron0", world->dir);
    put_nccom(world, "nccom-checked.txt", gone);
    run_one(world, "NEURON", "k6");
    assert_said(world, "running failed !");
    assert_string_equal(world->detail, "1 of 2 Neuron devices are left");
}

static void test_nccom_local(void **state)
{
    struct world *world = *state;
    char here[512];
    assert_non_null(getcwd(here, sizeof(here)));
    put_neuron(world, 16);
    autofree char *ls = own_printf("#!/bin/sh\nexec /bin/cat %s/tests/data/neuron/ls-trn2.48xlarge.json\n", here);
    write_text(world->tools, "neuron-ls", ls, 0755);
    put_nccom(world, "nccom-checked.txt", "");
    run_one(world, "NCCOM_LOCAL", "k1");
    assert_said(world, "running passed !");
    assert_string_equal(text_get(&world->marks), "NCCOM local busbw GB/s 98.84; "); /* nobody knows a limit: told */
    expect_words(world, "-r 64 -b 8 -e 1G -f 2 -d fp32 allr\n"); /* two cores of eight are used as one */
    assert_non_null(strstr(world->log, "info Nccom local test successful. Summary: MaxAlgoBw: 53.910000, MaxBusBw: "
                                       "98.840000, ThresholdBusBw: none, TotalCores: 64"));

    world->more = ",\"limits\":[\"NCCOM local busbw GB/s >= 98.84\"]";
    run_one(world, "NCCOM_LOCAL", "k2");
    assert_said(world, "running passed !");
    world->more = ",\"limits\":[\"NCCOM local busbw GB/s >= 98.85\"]";
    run_one(world, "NCCOM_LOCAL", "k3");
    assert_said(world, "running failed !");
    assert_string_equal(world->detail, "98.84 GB/s of bus bandwidth, and there should be >= 98.85");
    assert_string_equal(text_get(&world->marks), "NCCOM local busbw GB/s 98.84 >= 98.85 failed; ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEEP_TEST(test_devices_are_counted),
        DEEP_TEST(test_dcgm),
        DEEP_TEST(test_efa),
        DEEP_TEST(test_efa_without_locked_memory),
        DEEP_TEST(test_neuron_where_there_is_none),
        DEEP_TEST(test_neuron_hardware),
        DEEP_TEST(test_nccom_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
