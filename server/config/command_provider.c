/* Reads providers of the kinds "command" and "inventory"; those of "ec2" are read by ec2_provider.c. */
#include "server/config/command_provider.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "server/config/config.h"
#include "server/config/section.h"

#include <stdio.h>
#include <string.h>

#define VARIABLE_BYTES_MAX 4096

static int say(char *ret_error, const char *name, const char *rule)
{
    snprintf(ret_error, CONFIG_ERROR_MAX, "providers.%s%s", name, rule);
    return STATUS_INVALID;
}

static bool is_variable_name(const char *name)
{
    return name[0] != '\0' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == strlen(name) &&
           strchr("0123456789", name[0]) == NULL;
}

static int read_environment(struct config_command *command, json_t *environment, char *ret_error)
{
    const char *name;
    json_t *value;
    size_t count = 0;
    if (!json_is_object(environment) || json_object_size(environment) > COMMAND_VARIABLES_MAX)
        return say(ret_error, command->name, ".environment must be a mapping of at most 32 variables");
    json_object_foreach(environment, name, value)
    {
        const char *text = json_string_value(value);
        if (!is_variable_name(name) || text == NULL || strlen(name) + strlen(text) > VARIABLE_BYTES_MAX)
            return say(ret_error, command->name,
                       ".environment must have names of variables with texts; put numbers in quotes");
        command->variables[count++] = own_printf("%s=%s", name, text);
    }
    return 0;
}

static int read_command(struct config_command *command, json_t *object, char *ret_error)
{
    static const char *const skip[] = {"environment", NULL};
    char kind[NAME_MAX_BYTES] = "";
    autofree char *section = own_printf("providers.%s", command->name);
    const struct key keys[] = {
        {"kind", KEY_TEXT, kind, sizeof(kind), 0, 0},
        {"directory", KEY_TEXT, command->directory, sizeof(command->directory), 0, 0},
        {"endOrphans", KEY_BOOL, &command->end_orphans, 0, 0, 0},
        {"timeout", KEY_DURATION, &command->timeout_ms, 0, MS_PER_S, MS_PER_HOUR},
    };
    int rc = section_read(object, section, keys, ARRAY_LEN(keys), skip, ret_error);
    if (rc != 0)
        return rc;
    if (!text_equal(kind, "command"))
        return say(ret_error, command->name, ".kind must be command, ec2 or inventory");
    if (command->directory[0] != '/')
        return say(ret_error, command->name, ".directory must be an absolute path");
    json_t *environment = json_object_get(object, "environment");
    return environment == NULL ? 0 : read_environment(command, environment, ret_error);
}

static bool is_kind(const json_t *object, const char *wanted)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    return kind != NULL && text_equal(kind, wanted);
}

/* Its machines are in the store. */
static int read_inventory(struct config_commands *commands, const char *name, json_t *object, char *ret_error)
{
    char kind[NAME_MAX_BYTES] = "";
    autofree char *section = own_printf("providers.%s", name);
    int64_t *burn_in_ms = &commands->burn_in_ms[commands->inventory_count];
    const struct key keys[] = {{"kind", KEY_TEXT, kind, sizeof(kind), 0, 0},
                               {"burnIn", KEY_DURATION, burn_in_ms, 0, 0, 30 * MS_PER_DAY}};
    *burn_in_ms = BURN_IN_MS;
    text_copy_cut(commands->inventories[commands->inventory_count++], NAME_MAX_BYTES, name);
    return section_read(object, section, keys, ARRAY_LEN(keys), NULL, ret_error);
}

static int read_ec2(struct config_commands *commands, const char *name, json_t *object, char *ret_error)
{
    commands->ec2 = own_realloc(commands->ec2, commands->ec2_count + 1, sizeof(*commands->ec2));
    struct config_ec2 *ec2 = &commands->ec2[commands->ec2_count++];
    memset(ec2, 0, sizeof(*ec2));
    text_copy_cut(ec2->name, sizeof(ec2->name), name);
    return config_ec2_read(ec2, object, ret_error);
}

static int read_one(struct config_commands *commands, const char *name, json_t *object, char *ret_error)
{
    if (is_kind(object, "inventory"))
        return read_inventory(commands, name, object, ret_error);
    if (is_kind(object, "ec2"))
        return read_ec2(commands, name, object, ret_error);
    struct config_command *command = &commands->list[commands->count++];
    command->timeout_ms = COMMAND_TIMEOUT_MS;
    text_copy_cut(command->name, sizeof(command->name), name);
    return read_command(command, object, ret_error);
}

int config_commands_read(struct config_commands *commands, json_t *providers, char *ret_error)
{
    const char *name;
    json_t *object;
    if (!json_is_object(providers))
        return section_read(providers, "providers", NULL, 0, NULL, ret_error); /* which says so */
    json_object_foreach(providers, name, object)
    {
        if (text_equal(name, "local"))
            continue;
        if (text_equal(name, "manual") || !text_is_name(name))
            return say(ret_error, name, ": take another name, of letters, digits and hyphens; manual is people");
        if (commands->count + commands->inventory_count + commands->ec2_count == CONFIG_COMMANDS_MAX)
            return say(ret_error, name, ": there are too many providers; at most 6 beside local");
        if (!json_is_object(object) || json_object_get(object, "kind") == NULL) {
            const char *const known[] = {"local", NULL}; /* a misspelt one */
            json_t *alone = json_pack("{s:O}", name, object);
            int rc = section_read(alone, "providers", NULL, 0, known, ret_error);
            json_decref(alone);
            return rc;
        }
        int rc = read_one(commands, name, object, ret_error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

void config_commands_free(struct config_commands *commands)
{
    free(TAKE(commands->ec2));
    for (size_t i = 0; i < commands->count; i++)
        for (size_t k = 0; k < COMMAND_VARIABLES_MAX; k++)
            free(TAKE(commands->list[i].variables[k]));
}
