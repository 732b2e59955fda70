/*
 * A reboot by Redfish: the system is found and read first, so what fails there has done nothing; then one POST asks for the reset. Whatever
 * is answered to that, or not answered, it may have been done: only a refusal by its status says that it was not.
 *
 * The password goes to the address that the configuration or the inventory names and nowhere else: redirects are not followed, and paths
 * are checked. Who may change the inventory must not get the password of all BMCs by it: for an address of the inventory the entry
 * "default" counts only where the BMC is verified by bmc.caFile or a fingerprint.
 */
#include "server/reboot/bmc.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/http.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/url.h"
#include "server/reboot/redfish.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AUTHORIZATION_MAX_BYTES 600

struct reboot_device {
    char *address, *credentials, *ca_file, *system;
    int64_t timeout_ms;
};

struct talk {
    struct http_client *client;
    char address[BMC_ADDRESS_MAX_BYTES];
    char path[BMC_ADDRESS_MAX_BYTES]; /* of the system, where the inventory says it; "" */
    char authorization[AUTHORIZATION_MAX_BYTES];
    char *ret_error;
};

static int fail(const struct talk *talk, int status, const char *why)
{
    snprintf(talk->ret_error, REBOOT_ERROR_MAX, "%.100s: %.150s", talk->address, why);
    return status;
}

/* --- whom we talk to ------------------------------------------------------------------------------------------- */
static int read_credentials(const struct reboot_device *device, const struct talk *talk, struct bmc_credentials *ret)
{
    struct stat st;
    autofree char *text = NULL;
    size_t len;
    int status = file_read(device->credentials, BMC_CREDENTIALS_BYTES_MAX, &text, &len);
    if (status != 0) {
        snprintf(talk->ret_error, REBOOT_ERROR_MAX, "bmc.credentialsFile %.150s: %s", device->credentials,
                 status_meaning(status));
        return STATUS_IO;
    }
    if (stat(device->credentials, &st) != 0 || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        snprintf(talk->ret_error, REBOOT_ERROR_MAX, "bmc.credentialsFile %.100s: others may read it: chmod 600",
                 device->credentials);
        return STATUS_DENIED;
    }
    status = bmc_credentials_read(text, len, talk->address, ret, talk->ret_error);
    explicit_bzero(text, len);
    return status;
}

static void write_authorization(struct talk *talk, const struct bmc_credentials *credentials)
{
    char both[sizeof(credentials->user) + sizeof(credentials->password)], encoded[BASE64_TEXT_MAX(sizeof(both))];
    int len = snprintf(both, sizeof(both), "%s:%s", credentials->user, credentials->password);
    base64_encode(both, (size_t)len, encoded);
    snprintf(talk->authorization, sizeof(talk->authorization), "Authorization: Basic %s", encoded);
    explicit_bzero(both, sizeof(both));
    explicit_bzero(encoded, sizeof(encoded));
}

int bmc_locate(const char *bmc, char ret_address[BMC_ADDRESS_MAX_BYTES], char ret_path[BMC_ADDRESS_MAX_BYTES])
{
    const char *scheme = strstr(bmc, "://") != NULL ? "" : "https://";
    const char *host = scheme[0] != '\0' ? bmc : strstr(bmc, "://") + strlen("://");
    const char *path = strchr(host, '/');
    int len = (int)(path != NULL ? path - bmc : (ptrdiff_t)strlen(bmc));
    struct url url;
    const char *why;
    int written = snprintf(ret_address, BMC_ADDRESS_MAX_BYTES, "%s%.*s", scheme, len, bmc);
    ret_path[0] = '\0';
    if (written >= BMC_ADDRESS_MAX_BYTES || url_parse(ret_address, &url, &why) != 0)
        return STATUS_INVALID;
    if (path == NULL || path[1] == '\0' || text_equal(path, REDFISH_ROOT))
        return 0;
    return redfish_is_path(path) ? text_copy(ret_path, BMC_ADDRESS_MAX_BYTES, path) : STATUS_INVALID;
}

static int find_address(const struct reboot_device *device, const struct reboot_target *target, struct talk *talk)
{
    if (target->bmc[0] != '\0') {
        if (bmc_locate(target->bmc, talk->address, talk->path) == 0)
            return 0;
        snprintf(talk->ret_error, REBOOT_ERROR_MAX, "the inventory has no usable address of the BMC: %.100s",
                 target->bmc);
        return STATUS_INVALID;
    }
    if (device->address[0] == '\0') {
        snprintf(talk->ret_error, REBOOT_ERROR_MAX, "neither bmc.address nor an inventory says where its BMC is");
        return STATUS_INVALID;
    }
    int status = reboot_expand(device->address, target, talk->address, sizeof(talk->address));
    if (status == 0)
        return 0;
    snprintf(talk->ret_error, REBOOT_ERROR_MAX, "bmc.address %.100s: %s", device->address,
             status == STATUS_NOT_FOUND ? "it is not known of this machine" : status_meaning(status));
    return STATUS_INVALID;
}

static int open_talk(const struct reboot_device *device, const struct reboot_target *target, struct talk *talk)
{
    struct bmc_credentials credentials = {.user = ""};
    int status = find_address(device, target, talk);
    if (status != 0)
        return status;
    if ((status = read_credentials(device, talk, &credentials)) != 0)
        return status;
    bool pinned = credentials.fingerprint[0] != '\0';
    if (target->bmc[0] != '\0' && credentials.for_all && !pinned && device->ca_file[0] == '\0') {
        explicit_bzero(&credentials, sizeof(credentials));
        return fail(talk, STATUS_DENIED,
                    "the inventory names this BMC: bmc.credentialsFile has to name it, or bmc.caFile to verify it");
    }
    const struct http_options options = {.url = talk->address,
                                         .fingerprint = pinned ? credentials.fingerprint : NULL,
                                         .ca_file = device->ca_file[0] != '\0' ? device->ca_file : NULL,
                                         .proxy = "",
                                         .timeout_ms = device->timeout_ms};
    status = http_client_new(&options, &talk->client, talk->ret_error);
    if (status == 0)
        write_authorization(talk, &credentials);
    explicit_bzero(&credentials, sizeof(credentials));
    return status;
}

static void close_talk(struct talk *talk)
{
    http_client_free(talk->client);
    explicit_bzero(talk->authorization, sizeof(talk->authorization));
}

/* --- what is asked --------------------------------------------------------------------------------------------- */
/* An answer that is none of success, as what it means for a call that has done nothing. */
static int refused(const struct talk *talk, const char *what, const struct http_reply *reply)
{
    char said[REDFISH_SAID_MAX_BYTES], why[REBOOT_ERROR_MAX];
    redfish_read_error(reply->body, reply->len, said);
    snprintf(why, sizeof(why), "%s answered %d%s%.120s", what, reply->status, said[0] != '\0' ? ": " : "", said);
    bool later = reply->status == 429 || reply->status == 502 || reply->status == 503 || reply->status == 504;
    return fail(talk,
                later                                          ? STATUS_UNAVAILABLE
                : reply->status == 401 || reply->status == 403 ? STATUS_DENIED
                                                               : STATUS_BACKEND,
                why);
}

/* The caller frees the reply. UNAVAILABLE: nothing was done. */
static int get(struct talk *talk, const char *path, struct http_reply *ret_reply)
{
    const char *const headers[] = {talk->authorization, "Accept: application/json", NULL};
    int status =
        http_request(talk->client, "GET", path, NULL, NULL, 0, headers, REDFISH_BYTES_MAX, ret_reply, talk->ret_error);
    if (status != 0)
        return status == STATUS_TIMEOUT ? STATUS_UNAVAILABLE : status;
    if (ret_reply->status == 200)
        return 0;
    status = refused(talk, path, ret_reply);
    http_reply_free(ret_reply);
    return status;
}

static int find_system(const struct reboot_device *device, const struct reboot_target *target, struct talk *talk,
                       char ret_path[REDFISH_PATH_MAX_BYTES])
{
    char why[REDFISH_SAID_MAX_BYTES] = "", id[128];
    struct http_reply reply;
    if (talk->path[0] != '\0')
        return text_copy(ret_path, REDFISH_PATH_MAX_BYTES, talk->path);
    if (device->system[0] != '\0') {
        if (reboot_expand(device->system, target, id, sizeof(id)) != 0)
            return fail(talk, STATUS_INVALID, "bmc.system is not known of this machine");
        snprintf(ret_path, REDFISH_PATH_MAX_BYTES, REDFISH_ROOT "Systems/%s", id);
        return redfish_is_path(ret_path) ? 0 : fail(talk, STATUS_INVALID, "bmc.system is no system's id");
    }
    int status = get(talk, REDFISH_ROOT "Systems", &reply);
    if (status != 0)
        return status;
    status = redfish_read_systems(reply.body, reply.len, ret_path, why);
    http_reply_free(&reply);
    return status == 0 ? 0 : fail(talk, STATUS_BACKEND, why);
}

static int read_system(struct talk *talk, const char *path, struct redfish_system *ret_system)
{
    char why[REDFISH_SAID_MAX_BYTES] = "";
    struct http_reply reply;
    int status = get(talk, path, &reply);
    if (status != 0)
        return status;
    status = redfish_read_system(reply.body, reply.len, ret_system, why);
    http_reply_free(&reply);
    return status == 0 ? 0 : fail(talk, STATUS_BACKEND, why);
}

/* A machine that is off is switched on, whichever reset is asked for. */
static enum redfish_reset reset_of(const struct redfish_system *system, enum reboot_method method)
{
    if (system->is_off)
        return REDFISH_RESET_ON;
    return method == REBOOT_METHOD_BMC_GRACEFUL ? REDFISH_RESET_GRACEFUL_RESTART
           : method == REBOOT_METHOD_BMC_FORCE  ? REDFISH_RESET_FORCE_RESTART
                                                : REDFISH_RESET_POWER_CYCLE;
}

/* TIMEOUT: it may have been done. */
static int ask_reset(struct talk *talk, const struct redfish_system *system, enum redfish_reset kind)
{
    const char *const headers[] = {talk->authorization, "Accept: application/json", NULL};
    char body[64];
    struct http_reply reply;
    int len = snprintf(body, sizeof(body), "{\"ResetType\":\"%s\"}", redfish_reset_text(kind));
    int status = http_request(talk->client, "POST", system->reset_path, "application/json", body, (size_t)len, headers,
                              REDFISH_BYTES_MAX, &reply, talk->ret_error);
    if (status != 0)
        return STATUS_TIMEOUT;
    bool done = reply.status == 200 || reply.status == 202 || reply.status == 204;
    status = done ? 0 : refused(talk, redfish_reset_text(kind), &reply);
    http_reply_free(&reply);
    return status;
}

static int by_bmc(struct reboot_device *device, const struct reboot_target *target, enum reboot_method method,
                  char ret_error[REBOOT_ERROR_MAX])
{
    struct talk talk = {.ret_error = ret_error};
    struct redfish_system system = {.is_off = false};
    char path[REDFISH_PATH_MAX_BYTES];
    int status = open_talk(device, target, &talk);
    if (status == 0)
        status = find_system(device, target, &talk, path);
    if (status == 0)
        status = read_system(&talk, path, &system);
    if (status == 0) {
        enum redfish_reset kind = reset_of(&system, method);
        autofree char *lacks = own_printf("it does not offer %s", redfish_reset_text(kind));
        status = system.resets_known && (system.resets >> kind & 1) == 0 ? fail(&talk, STATUS_UNSUPPORTED, lacks)
                                                                         : ask_reset(&talk, &system, kind);
        if (status == 0)
            snprintf(ret_error, REBOOT_ERROR_MAX, "%s", system.is_off ? "the machine was off, and is switched on" : "");
    }
    close_talk(&talk);
    return status;
}

static void device_free(struct reboot_device *device)
{
    free(device->address);
    free(device->credentials);
    free(device->ca_file);
    free(device->system);
    free(device);
}

struct reboot_driver reboot_bmc_new(const struct reboot_bmc_options *options)
{
    static const struct reboot_ops ops = {.reboot = by_bmc, .free = device_free};
    struct reboot_device *device = own_calloc(1, sizeof(*device));
    device->address = own_strdup(text_or_empty(options->address));
    device->credentials = own_strdup(options->credentials);
    device->ca_file = own_strdup(text_or_empty(options->ca_file));
    device->system = own_strdup(text_or_empty(options->system));
    device->timeout_ms = options->timeout_ms;
    return (struct reboot_driver){.ops = &ops, .self = device};
}
