/*
 * Elastic Fabric Adapters: all there, taken by their driver, seen by libfabric, and what their counters say.
 *
 * An adapter that was there is one that is lost, and stays lost over a reboot: while a machine runs nobody can take one away
 * [R: EC2 detaches them from stopped instances only]. How many a type of instance should have is known too, but who started
 * the machine may have attached fewer, or none: that is told as a thing of its own, and only where there is at least one.
 * libfabric is asked every ten minutes, for it opens every device.
 */
#include "agents/checks/fabric.h"
#include "agents/checks/rdma.h"
#include "agents/checks/sysfs.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define GONE "gone" /* remembered: how many adapters there were before one was lost; 0: none was */
#define INFO_EVERY_MS (10 * MS_PER_MIN)
#define INFO_TIMEOUT_MS (20 * MS_PER_S)
#define INFO_BYTES_MAX (256 * 1024)
#define INFO_NO_DATA 61 /* fi_info's exit code when nothing is found: ENODATA */

static const struct rdma_codes codes = {.down = "efa.port.down",
                                        .flapping = "efa.port.flapping",
                                        .limits = efa_limits,
                                        .limit_count = EFA_LIMITS,
                                        .metrics = "node_amazonefa_"}; /* as HyperPod's exporter calls them */

static void judge_count(const struct check_context *context, int taken, int on_bus, struct recall *recall,
                        struct check_out *out)
{
    int here = on_bus > taken ? on_bus : taken;
    int64_t most = recall_most(recall, "adapters", here);
    int wanted = efa_count_of_type(context->instance_type);
    bool settled = context->uptime_ms >= NETWORK_BOOT_GRACE_MS;
    bool lost = recall_lasts(recall, "lost", here < most, NETWORK_GONE_FOR_MS) && settled;
    bool idle = recall_lasts(recall, "idle", taken < on_bus, NETWORK_GONE_FOR_MS);
    recall_set(recall, GONE, lost ? most : here < most ? recall_get(recall, GONE, 0) : 0);
    if (lost)
        check_found(out, "efa.device.gone", "", most - here, "%d adapters are there, and %d were", here, (int)most);
    if (idle && settled)
        check_found(out, "efa.driver.missing", "", on_bus - taken,
                    "%d adapters are on the bus, and the driver has taken %d", on_bus, taken);
    if (here == most && here < wanted && settled)
        check_found(out, "efa.device.fewer", "", wanted - here, "%d adapters are there; machines of type %.60s have %d",
                    here, context->instance_type, wanted);
    check_value(out, "holdfast_efa_adapters", "", here);
}

/* The adapters among what libfabric can use: each once, whatever its endpoint types ("rdmap0s29-rdm", "-dgrm"). */
static int count_domains(const struct fabric_info *infos, size_t count)
{
    int domains = 0;
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(infos[i].domain, "-");
        bool known = strcmp(infos[i].provider, "efa") != 0;
        for (size_t k = 0; k < i && !known; k++)
            known = strcmp(infos[k].provider, "efa") == 0 && strncmp(infos[i].domain, infos[k].domain, len) == 0 &&
                    strcspn(infos[k].domain, "-") == len;
        domains += !known;
    }
    return domains;
}

/* NOT_FOUND: no such tool. *ret_domains 0: the provider is not there. */
static int ask_libfabric(const struct check_context *context, int *ret_domains)
{
    static const char *const argv[] = {"fi_info", "-p", "efa", NULL};
    autofree char *path = fabric_path(context->path);
    autofree struct fabric_info *infos = own_calloc(FABRIC_INFOS_MAX, sizeof(*infos));
    struct check_context with_path = *context;
    struct child_result result;
    with_path.path = path;
    int status = check_tool(&with_path, argv, INFO_TIMEOUT_MS, INFO_BYTES_MAX, &result);
    if (status != 0)
        return status;
    if (result.out_cut || (result.exit_code != 0 && result.exit_code != INFO_NO_DATA))
        status = STATUS_BACKEND;
    else
        *ret_domains = count_domains(infos, fabric_parse_info(result.out, infos, FABRIC_INFOS_MAX));
    if (status == 0 && *ret_domains == 0 && result.exit_code == 0) /* that there is nothing it says by its code */
        status = STATUS_BACKEND;
    child_result_free(&result);
    return status;
}

static void judge_libfabric(const struct check_context *context, int taken, struct recall *recall,
                            struct check_out *out)
{
    int domains = (int)recall_get(recall, "domains", taken);
    if (taken > 0 && (domains < taken || recall_age_ms(recall, "domains") >= INFO_EVERY_MS)) {
        int status = ask_libfabric(context, &domains);
        if (status == STATUS_NOT_FOUND)
            return;
        if (status != 0) {
            check_unknown(out, "fi_info: %s", status_meaning(status));
            return;
        }
        recall_set(recall, "domains", domains);
    }
    if (domains < taken)
        check_found(out, "efa.provider.missing", "", taken - domains, "libfabric sees %d of %d adapters", domains,
                    taken);
}

/* Of another boot only this counts: how many there were before one was lost. That there are fewer than in that boot may
 * be what somebody wanted who had the machine stopped. */
static struct recall *recall_of_boot(const struct check_context *context)
{
    char key[RECALL_KEY_MAX_BYTES];
    struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    autofree char *boot_id = sysfs_read(context, "/proc/sys/kernel/random/boot_id");
    snprintf(key, sizeof(key), "boot/%.*s", boot_id != NULL ? (int)strcspn(boot_id, " \n") : 0,
             boot_id != NULL ? boot_id : "");
    if (recall_get(recall, key, 0) == 0) {
        int64_t before = recall_get(recall, GONE, 0);
        recall_free(recall);
        recall = recall_new("", 0, context->uptime_ms);
        recall_most(recall, "adapters", before);
        recall_set(recall, GONE, before);
    }
    recall_set(recall, key, 1);
    return recall;
}

static void run(const struct check_context *context, struct check_out *out)
{
    AUTO(recall) struct recall *recall = recall_of_boot(context);
    autofree struct rdma_port *ports = NULL;
    size_t count = 0;
    int status = rdma_read_ports(context, true, &ports, &count);
    if (status != 0 && status != STATUS_NOT_FOUND) {
        check_unknown(out, "the devices cannot be listed: %s", status_meaning(status));
        return;
    }
    int taken = rdma_count_devices(ports, count), on_bus = rdma_count_on_bus(context, true);
    if (taken == 0 && on_bus == 0 && recall_get(recall, "adapters", 0) == 0) {
        check_not_applicable(out, "there is no Elastic Fabric Adapter");
        return;
    }
    judge_count(context, taken, on_bus, recall, out);
    for (size_t i = 0; i < count; i++)
        rdma_look_at(context, &ports[i], &codes, recall, out);
    judge_libfabric(context, taken, recall, out);
    recall_keep(recall, out);
}

const struct check check_efa = {.name = "efa",
                                .about = "Elastic Fabric Adapters: how many, their driver, libfabric, their counters",
                                CHECK_TIMES(efa),
                                .spans_boots = true,
                                .run = run};
