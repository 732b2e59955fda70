/*
 * hpd's configuration: command line first, then the file, then the defaults of this list.
 *
 * Everything is read and checked before anything is started; an unknown key is an error, because a misspelt limit that is
 * silently ignored is worse than a server that does not start.
 */
#ifndef HOLDFAST_SERVER_CONFIG_H
#define HOLDFAST_SERVER_CONFIG_H

#include "base/log.h"
#include "server/config/command_provider.h"
#include "server/config/loop_settings.h"
#include "server/config/node_commands.h"
#include "server/config/reboot.h"
#include "server/config/scheduler.h"
#include "server/config/setting.h"
#include "server/config/webhook.h"
#include "server/provider/lab/local.h"

#include <limits.h>

#define CONFIG_FILE_BYTES_MAX (256 * 1024)
#define CONFIG_ERROR_MAX 512
#define CONFIG_WORKERS_MAX 64
#define CONFIG_SUBNETS_MAX 64
#define CONFIG_SETTINGS_MAX SERVICE_SETTINGS_MAX

struct config {
    char state_dir[PATH_MAX];
    char listen_host[NAME_MAX_BYTES];
    int listen_port;
    char public_url[ADDRESS_MAX_BYTES];      /* "" : made from the address it listens on */
    char aws_path_prefix[ADDRESS_MAX_BYTES]; /* "": no proxy cuts the path */
    char tls_certificate[PATH_MAX], tls_key[PATH_MAX];
    enum log_level log_level;
    int64_t workers;
    int64_t heartbeat_interval_ms;
    int64_t diagnosis_settle_ms; /* for evidence of a node's fault, once a step has failed */

    struct config_schedulers schedulers;

    struct {
        char id[NAME_MAX_BYTES], zone[ZONE_MAX_BYTES];
    } subnets[CONFIG_SUBNETS_MAX];
    size_t subnet_count;
    char fault_tables[PATH_MAX];                   /* overrides of the fault tables; "": none */
    char dns_domain[NAME_MAX_BYTES];               /* of the names of machines at the AWS API; "": not said */
    char image_release[RELEASE_VERSION_MAX_BYTES]; /* of the image that new instances get; "": not said */

    struct config_commands commands;
    bool local_enabled;
    char local_dir[PATH_MAX];
    int64_t local_boot_delay_ms;
    struct local_service local_services[LOCAL_SERVICES_MAX]; /* argv texts are owned */
    size_t local_service_count;

    struct config_reboot reboot;
    struct config_node_commands node_commands;
    struct config_webhooks webhooks;
    struct loop_settings reconcile;
    bool configured[CONFIG_SETTINGS_MAX]; /* by settings[] of settings.h: the file says it */
};

void config_default(struct config *ret_config);
/* Reads a YAML file over *config. INVALID with file, key and rule in ret_error; NOT_FOUND; TOO_LARGE. */
int config_read_file(struct config *config, const char *path, char ret_error[CONFIG_ERROR_MAX]);
/* "127.0.0.1:8700", "[::1]:8700", ":8700"? no: a host is required, so that nobody listens on the world by accident. */
int config_parse_listen(struct config *config, const char *text);
/* True when the host is a loopback address: plain HTTP is allowed there and nowhere else. */
bool config_is_loopback(const struct config *config);
void config_free(struct config *config); /* the contents */

#endif
