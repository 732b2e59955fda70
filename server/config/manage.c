/*
 * manage of a Slurm: where Holdfast writes nodes and partitions, what instance types are made of, and how slurmctld is restarted.
 */
#include "server/config/manage.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

static int refuse(const char *path, char *ret_error, const char *what)
{
    snprintf(ret_error, CONFIG_ERROR_MAX, "%s%s", path, what);
    return STATUS_INVALID;
}

static int read_restart(struct config_manage *manage, const char *path, const json_t *restart, char *ret_error)
{
    static const char *const usual[] = {"systemctl", "restart", "slurmctld"};
    size_t count = restart == NULL ? ARRAY_LEN(usual) : json_array_size(restart);
    if (count == 0 || count > CONFIG_MANAGE_ARGS_MAX)
        return refuse(path, ret_error, ".restart must be a list of arguments: the command that restarts slurmctld");
    for (size_t i = 0; i < count; i++) {
        const char *word = restart == NULL ? usual[i] : json_string_value(json_array_get(restart, i));
        if (word == NULL || word[0] == '\0')
            return refuse(path, ret_error, ".restart must be a list of texts; put numbers in quotes");
        free(manage->restart[i]);
        manage->restart[i] = own_strdup(word);
    }
    return 0;
}

static int read_hardware(struct slurm_conf_site *site, const char *path, json_t *hardware, char *ret_error)
{
    const char *name;
    json_t *value;
    json_object_foreach(hardware, name, value)
    {
        struct slurm_conf_type *type = &site->types[site->type_count];
        const char *text = json_string_value(value);
        if (site->type_count == SLURM_CONF_TYPES_MAX)
            return refuse(path, ret_error, ".hardware has more than 64 instance types");
        if (text == NULL || text_copy(type->name, sizeof(type->name), name) != 0 ||
            text_copy(type->hardware, sizeof(type->hardware), text) != 0 || !slurm_conf_is_hardware(text))
            return refuse(path, ret_error,
                          ".hardware says of each instance type what slurm.conf shall say of its nodes, such "
                          "as \"CPUs=192 RealMemory=2000000 Gres=gpu:8\"");
        site->type_count++;
    }
    return 0;
}

int config_manage_read(struct config_manage *manage, const char *path, json_t *json, char *ret_error)
{
    json_t *restart = NULL, *hardware = NULL;
    char strategy[NAME_MAX_BYTES] = "Merge", error[JSON_ERROR_MAX];
    int64_t port_base = 0;
    const struct json_field fields[] = {
        {.name = "file",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = manage->file,
         .size = sizeof(manage->file),
         .min = 1},
        {.name = "gres", .type = JSON_FIELD_TEXT, .target = manage->gres, .size = sizeof(manage->gres), .min = 1},
        {.name = "topology",
         .type = JSON_FIELD_TEXT,
         .target = manage->topology,
         .size = sizeof(manage->topology),
         .min = 1},
        {.name = "gpuDevice",
         .type = JSON_FIELD_TEXT,
         .target = manage->site.gpu_device,
         .size = sizeof(manage->site.gpu_device)},
        {.name = "strategy", .type = JSON_FIELD_TEXT, .target = strategy, .size = sizeof(strategy), .min = 1},
        {.name = "portBase", .type = JSON_FIELD_I64, .target = &port_base, .min = 0, .max = 65535},
        {.name = "restart", .type = JSON_FIELD_ARRAY, .target = &restart, .min = 1, .max = CONFIG_MANAGE_ARGS_MAX},
        {.name = "hardware", .type = JSON_FIELD_OBJECT, .target = &hardware},
    };
    text_copy_cut(manage->site.gpu_device, sizeof(manage->site.gpu_device), "/dev/nvidia");
    if (json_read(json, fields, ARRAY_LEN(fields), error) != 0) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "%s: %s", path, error);
        return STATUS_INVALID;
    }
    if (manage->file[0] != '/' || (manage->gres[0] != '\0' && manage->gres[0] != '/') ||
        (manage->topology[0] != '\0' && manage->topology[0] != '/'))
        return refuse(path, ret_error, ": file, gres and topology must be absolute paths on the machine of slurmctld");
    if (!slurm_conf_is_device(manage->site.gpu_device))
        return refuse(path, ret_error, ".gpuDevice is what the number of a GPU stands behind, such as /dev/nvidia");
    if (desired_strategy_parse(strategy, &manage->strategy) != 0)
        return refuse(path, ret_error, ".strategy must be Merge, Managed or Overwrite");
    manage->site.port_base = (int)port_base;
    int status = read_restart(manage, path, restart, ret_error);
    return status == 0 ? read_hardware(&manage->site, path, hardware, ret_error) : status;
}

void config_manage_free(struct config_manage *manage)
{
    for (size_t i = 0; i < ARRAY_LEN(manage->restart); i++)
        free(TAKE(manage->restart[i]));
}
