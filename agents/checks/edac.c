/*
 * Memory errors, as the kernel's EDAC drivers count them for each memory controller.
 *
 * Corrected ones are the reason for ECC: a hundred within an hour are a finding, and each further hundred is another.
 * One that could not be corrected is one too many. Which module it was its own counters say, where it has any.
 */
#include "agents/checks/check.h"
#include "agents/checks/lines.h"
#include "agents/checks/recall.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EDAC_DIR "/sys/devices/system/edac/mc"
#define FILE_BYTES_MAX 4096
/* Judgement: mcelog's default triggers are 10 corrected errors of a module in 24 h; servers with thousands a day go on for
 * years, and gpud and others tell rates only. (A hundred, unless the settings say otherwise.) */
#define CORRECTED_WINDOW_MS MS_PER_HOUR

static bool read_count(const struct check_context *context, const char *dir, const char *file, int64_t *ret_count)
{
    autofree char *name = own_printf("%s/%s", dir, file), *data = NULL;
    size_t len;
    return check_read(context, name, FILE_BYTES_MAX, &data, &len) == 0 &&
           word_i64((struct word){data, strcspn(data, "\n")}, ret_count);
}

/* The module with the most of them: " (most of CPU0_DIMM_A1)". */
static void name_module(const struct check_context *context, const char *dir, const char *file, char *ret_text,
                        size_t size)
{
    autofree char *path = check_path(context, dir);
    DIR *modules = opendir(path);
    int64_t most = 0, count;
    ret_text[0] = '\0';
    for (struct dirent *entry; modules != NULL && (entry = readdir(modules)) != NULL;) {
        autofree char *module = own_printf("%s/%s", dir, entry->d_name), *label = NULL;
        autofree char *label_file = own_printf("%s/dimm_label", module);
        size_t len;
        if (!text_starts_with(entry->d_name, "dimm") || !read_count(context, module, file, &count) || count <= most)
            continue;
        most = count;
        bool named = check_read(context, label_file, FILE_BYTES_MAX, &label, &len) == 0 && label[0] > ' ';
        if (named)
            label[strcspn(label, "\n")] = '\0';
        snprintf(ret_text, size, " (most of %.60s)", named ? label : entry->d_name);
    }
    if (modules != NULL)
        closedir(modules);
}

/* All of them are new at the first look, and when the counter was set back. */
static int64_t new_since(struct recall *recall, const char *key, int64_t count)
{
    int64_t before = recall_get(recall, key, 0);
    recall_set(recall, key, count);
    return count < before ? count : count - before;
}

static void look_at(const struct check_context *context, struct check_out *out, struct recall *recall,
                    const char *controller)
{
    autofree char *dir = own_printf(EDAC_DIR "/%s", controller);
    char name[RECALL_KEY_MAX_BYTES], module[96], labels[CHECK_LABELS_MAX_BYTES] = "";
    int64_t count, over;
    bool any = false;
    check_label(labels, "controller", controller);
    if (read_count(context, dir, "ce_count", &count)) {
        any = true;
        check_value(out, "holdfast_edac_corrected_total", labels, (double)count);
        snprintf(name, sizeof(name), "%.32s.ce", controller);
        int64_t most = agent_settings_limit(context->settings, AGENT_LIMIT_EDAC_CORRECTED);
        over = recall_growth(recall, name, count, most - 1, CORRECTED_WINDOW_MS);
        name_module(context, dir, "dimm_ce_count", module, sizeof(module));
        if (over > 0)
            check_event(out, "node.edac.corrected", controller, over,
                        "%" PRId64 " memory errors were corrected within an hour%s", over, module);
    }
    if (read_count(context, dir, "ue_count", &count)) {
        any = true;
        check_value(out, "holdfast_edac_uncorrected_total", labels, (double)count);
        snprintf(name, sizeof(name), "%.32s.ue", controller);
        over = new_since(recall, name, count);
        name_module(context, dir, "dimm_ue_count", module, sizeof(module));
        if (over > 0)
            check_event(out, "node.edac.uncorrected", controller, over,
                        "%" PRId64 " memory errors could not be corrected%s", over, module);
    }
    if (!any)
        check_unknown(out, "the counters of %s cannot be read", controller);
}

static void run(const struct check_context *context, struct check_out *out)
{
    autofree char *path = check_path(context, EDAC_DIR);
    DIR *dir = opendir(path);
    bool any = false;
    AUTO(recall) struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (!text_starts_with(entry->d_name, "mc") || entry->d_name[2] < '0' || entry->d_name[2] > '9')
            continue;
        any = true;
        look_at(context, out, recall, entry->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    recall_keep(recall, out);
    if (!any)
        check_not_applicable(out, "the kernel counts no memory errors (virtual machine, or no EDAC driver)");
}

const struct check check_edac = {
    .name = "edac", .about = "memory errors, by their rate", CHECK_TIMES(edac), .run = run};
