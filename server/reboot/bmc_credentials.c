/*
 * The file of credentials of BMCs: a mapping of addresses, and "default" for all others. It is read anew for each reboot, so that a
 * password can be changed at any time.
 */
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "base/yaml.h"
#include "server/reboot/bmc.h"

#include <stdio.h>
#include <string.h>

static int read_text(const json_t *entry, const char *name, char *ret_text, size_t size)
{
    const json_t *value = json_object_get(entry, name);
    ret_text[0] = '\0';
    if (value == NULL)
        return 0;
    return json_is_string(value) ? text_copy(ret_text, size, json_string_value(value)) : STATUS_INVALID;
}

/* What has a line break could become another header. */
static bool is_plain(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return true;
}

static int refuse(char *ret_error, const char *what)
{
    snprintf(ret_error, REBOOT_ERROR_MAX, "bmc.credentialsFile: %.200s", what);
    return STATUS_INVALID;
}

int bmc_credentials_read(const char *text, size_t len, const char *address, struct bmc_credentials *ret_credentials,
                         char ret_error[REBOOT_ERROR_MAX])
{
    char why[JSON_ERROR_MAX];
    auto_json json_t *root = NULL;
    struct bmc_credentials read = {.user = ""};
    if (yaml_parse(text, len, BMC_CREDENTIALS_BYTES_MAX, &root, why) != 0)
        return refuse(ret_error, why);
    const json_t *entry = json_object_get(root, address);
    read.for_all = entry == NULL;
    if (entry == NULL)
        entry = json_object_get(root, "default");
    if (entry == NULL) {
        snprintf(ret_error, REBOOT_ERROR_MAX, "bmc.credentialsFile has neither %.100s nor default", address);
        return STATUS_NOT_FOUND;
    }
    if (read_text(entry, "user", read.user, sizeof(read.user)) != 0 ||
        read_text(entry, "password", read.password, sizeof(read.password)) != 0 ||
        read_text(entry, "fingerprint", read.fingerprint, sizeof(read.fingerprint)) != 0 || read.user[0] == '\0' ||
        strchr(read.user, ':') != NULL || !is_plain(read.user) || !is_plain(read.password))
        return refuse(ret_error, "an entry has user, password and fingerprint, each a text");
    *ret_credentials = read;
    return 0;
}
