/* Which texts are an identity. The placeholders are those that firmwares are shipped with (dmidecode's users know them all). */
#include "model/hardware.h"

#include "base/own.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define IDENTITY_MIN 4 /* characters that are no separators: fewer cannot tell many pieces apart */

ENUM_DEFINE(hardware_kind, HARDWARE_KIND_LIST)
ENUM_DEFINE(check_result, CHECK_RESULT_LIST)

static const char *const placeholders[] = {
    "none",
    "n/a",
    "[n/a]",
    "null",
    "not specified",
    "not available",
    "not applicable",
    "not provided",
    "not set",
    "unknown",
    "unknown error",
    "undefined",
    "unspecified",
    "empty",
    "invalid",
    "default",
    "default string",
    "default_string",
    "to be filled by o.e.m.",
    "to be filled by o.e.m",
    "o.e.m.",
    "oem",
    "serial number",
    "serial",
    "system serial number",
    "system serial#",
    "system_serial_number",
    "chassis serial number",
    "chassis serial#",
    "board serial number",
    "base board serial number",
    "mb-1234567890",
    "0123456789",
    "123456789",
    "1234567890",
    "12345678",
    "01234567",
    "012345678",
    "01234567890123456789ab",
    "03000200-0400-0500-0006-000700080009",
    "[unknown error]",
    "[insufficient permissions]",
    "insufficient permissions",
    "requested functionality has been deprecated",
};

/* What begins so was made up by a hypervisor or a cloud for an instance, and goes with it. */
static const char *const made_up[] = {"ec2", "vmware-", "googlecloud-", "i-", "parallels-", "azure", "qemu"};

static bool is_separator(char c)
{
    return c == '-' || c == ':' || c == ' ' || c == '.' || c == '_' || c == '/' || c == '*';
}

bool hardware_identifies(const char *text)
{
    char first = '\0';
    bool differs = false;
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(placeholders); i++)
        if (strcasecmp(text, placeholders[i]) == 0)
            return false;
    for (size_t i = 0; i < ARRAY_LEN(made_up); i++)
        if (strncasecmp(text, made_up[i], strlen(made_up[i])) == 0)
            return false;
    bool is_hex_number = strncasecmp(text, "0x", 2) == 0;
    for (const char *at = is_hex_number ? text + 2 : text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
            return false;
        if (is_separator(*at))
            continue;
        differs |= count > 0 && tolower((unsigned char)*at) != first;
        first = (char)tolower((unsigned char)*at);
        count++;
    }
    return differs && count >= IDENTITY_MIN;
}

bool hardware_is_host_key(const struct hardware *hardware)
{
    /* the length and text "ssh-ed25519", then the length 32 and the key: 51 bytes */
    static const char begin[] = "AAAAC3NzaC1lZDI1NTE5AAAAI";
    enum { KEY_CHARACTERS = 68 };
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return hardware->kind == HARDWARE_KIND_HOST_KEY && text_equal(hardware->location, "ssh-ed25519") &&
           strncmp(hardware->detail, begin, sizeof(begin) - 1) == 0 && strlen(hardware->detail) == KEY_CHARACTERS &&
           strspn(hardware->detail, base64) == KEY_CHARACTERS;
}

/* As hostname(1) -s has it, RFC 1123. */
bool hardware_is_host_name(const struct hardware *hardware)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    const char *name = hardware->detail;
    size_t len = strlen(name);
    return hardware->kind == HARDWARE_KIND_HOST_NAME && len > 0 && len <= 63 && strspn(name, letters) == len &&
           name[0] != '-' && name[len - 1] != '-' && strcasecmp(name, "localhost") != 0;
}

bool hardware_is_of_host(enum hardware_kind kind)
{
    return kind == HARDWARE_KIND_HOST_KEY || kind == HARDWARE_KIND_HOST_NAME;
}

static bool same_text(const char *a, const char *b)
{
    return a[0] != '\0' && strcasecmp(a, b) == 0;
}

const struct hardware *hardware_find(const struct hardware *hardware, size_t count, const char *device)
{
    int index[HARDWARE_KIND_HOST_NAME + 1] = {0};
    char name[32];
    for (size_t i = 0; i < count; i++) {
        const struct hardware *piece = &hardware[i];
        bool is_chassis = piece->kind == HARDWARE_KIND_CHASSIS;
        if (hardware_is_of_host(piece->kind))
            continue;
        snprintf(name, sizeof(name), "%s%d", hardware_kind_text(piece->kind), index[piece->kind]++);
        if (device[0] == '\0' ? is_chassis
                              : same_text(device, piece->location) || same_text(device, piece->identity) ||
                                    (!is_chassis && same_text(device, name)))
            return piece;
    }
    return NULL;
}
