/* Reads the answers of a BMC as redfish.h says: whatever is not as expected is refused with a sentence for people. */
#include "server/reboot/redfish.h"

#include "base/json.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

ENUM_DEFINE(redfish_reset, REDFISH_RESET_LIST)

bool redfish_is_path(const char *path)
{
    if (!text_starts_with(path, REDFISH_ROOT) || strlen(path) >= REDFISH_PATH_MAX_BYTES || strstr(path, "..") != NULL)
        return false;
    for (const char *c = path; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("/-._~:()=,@+", *c) == NULL)
            return false;
    return true;
}

static int refuse(char *ret_why, const char *why)
{
    snprintf(ret_why, REDFISH_SAID_MAX_BYTES, "%s", why);
    return STATUS_INVALID;
}

/* NULL: it is no object. */
static json_t *parse(const char *body, size_t len)
{
    char error[JSON_ERROR_MAX];
    json_t *root = NULL;
    if (json_parse(body, len, REDFISH_BYTES_MAX, &root, error) != 0)
        return NULL;
    if (json_is_object(root))
        return root;
    json_decref(root);
    return NULL;
}

int redfish_read_systems(const char *body, size_t len, char ret_path[REDFISH_PATH_MAX_BYTES], char *ret_why)
{
    auto_json json_t *root = parse(body, len);
    const json_t *members = json_object_get(root, "Members");
    if (json_array_size(members) > 1) {
        snprintf(ret_why, REDFISH_SAID_MAX_BYTES, "it has %zu systems: name one with bmc.system",
                 json_array_size(members));
        return STATUS_CONFLICT;
    }
    const char *path = json_string_value(json_object_get(json_array_get(members, 0), "@odata.id"));
    if (path == NULL)
        return refuse(ret_why, "its list of systems names none");
    if (!redfish_is_path(path))
        return refuse(ret_why, "the path of its system is none of Redfish's");
    return text_copy(ret_path, REDFISH_PATH_MAX_BYTES, path);
}

static void read_resets(const json_t *reset, struct redfish_system *system)
{
    const json_t *values = json_object_get(reset, "ResetType@Redfish.AllowableValues");
    enum redfish_reset kind;
    system->resets_known = json_is_array(values);
    for (size_t i = 0; i < json_array_size(values); i++)
        if (redfish_reset_parse(json_string_value(json_array_get(values, i)), &kind) == 0)
            system->resets |= 1u << kind;
}

int redfish_read_system(const char *body, size_t len, struct redfish_system *ret_system, char *ret_why)
{
    struct redfish_system system = {.is_off = false};
    auto_json json_t *root = parse(body, len);
    const json_t *reset = json_object_get(json_object_get(root, "Actions"), "#ComputerSystem.Reset");
    const char *target = json_string_value(json_object_get(reset, "target"));
    if (root == NULL)
        return refuse(ret_why, "its answer about the system is no JSON object");
    if (target == NULL)
        return refuse(ret_why, "its system has no action ComputerSystem.Reset");
    if (!redfish_is_path(target))
        return refuse(ret_why, "the path of ComputerSystem.Reset is none of Redfish's");
    text_copy_cut(system.reset_path, sizeof(system.reset_path), target);
    system.is_off = text_equal(json_string_value(json_object_get(root, "PowerState")), "Off");
    read_resets(reset, &system);
    *ret_system = system;
    return 0;
}

static void clean(const char *text, char *ret_said)
{
    size_t used = 0;
    for (; *text != '\0' && used + 1 < REDFISH_SAID_MAX_BYTES; text++)
        ret_said[used++] = (unsigned char)*text >= ' ' && (unsigned char)*text < 0x7f ? *text : '?';
    ret_said[used] = '\0';
}

void redfish_read_error(const char *body, size_t len, char ret_said[REDFISH_SAID_MAX_BYTES])
{
    auto_json json_t *root = parse(body, len);
    const json_t *error = json_object_get(root, "error");
    const json_t *first = json_array_get(json_object_get(error, "@Message.ExtendedInfo"), 0);
    const char *said = json_string_value(json_object_get(first, "Message"));
    if (said == NULL)
        said = json_string_value(json_object_get(error, "message"));
    clean(said != NULL ? said : "", ret_said);
}
