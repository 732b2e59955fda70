/*
 * An instance on disk: what it is, which of its reboots are done, and whether its end has begun.
 *
 * Both sides read and write here: hpd, which requests, and the supervisor, which acts. Each file has one writer:
 *
 *   instance.json    hpd          what it is; never changed
 *   token            hpd          the enrolment token, 0600
 *   reboot           hpd          the key of the reboot that is requested
 *   terminating      hpd          its end has begun: nobody may start it any more
 *   terminated.json  hpd          it is gone
 *   rebooted         supervisor   the keys of the last reboots that were done
 *   trouble          supervisor   the service that ended last in this boot, and its last words
 *   boot_id, kmsg, machine.pid, processes                supervisor
 */
#ifndef HOLDFAST_SERVER_PROVIDER_LOCAL_INSTANCE_H
#define HOLDFAST_SERVER_PROVIDER_LOCAL_INSTANCE_H

#include "base/own.h"
#include "model/limits.h"
#include "server/provider/lab/local.h"

#include <stdbool.h>

struct instance_service {
    char name[NAME_MAX_BYTES];
    char **argv; /* expanded */
};

struct instance_spec {
    char id[ID_INSTANCE_MAX], key[KEY_MAX_BYTES];
    char cluster[NAME_MAX_BYTES], group[NAME_MAX_BYTES], node[NODE_NAME_MAX_BYTES], type[NAME_MAX_BYTES];
    int64_t boot_delay_ms;
    struct instance_service services[LOCAL_SERVICES_MAX];
    size_t service_count;
};

/* "i-" and 17 hex digits: the only names that ever become paths. */
bool instance_id_is_valid(const char *id);
/* Printable, without blanks, 1..KEY_MAX_BYTES - 1. */
bool instance_key_is_valid(const char *key);
/* dir/name, fresh. */
char *instance_path(const char *dir, const char *name);

/* Durable. */
int instance_spec_write(const char *dir, const struct instance_spec *spec);
/* NOT_FOUND, INVALID with a sentence in ret_error (PROVIDER_ERROR_MAX bytes), IO. */
int instance_spec_read(const char *dir, struct instance_spec *ret_spec, char *ret_error);
void instance_spec_free(struct instance_spec *spec); /* the contents */

int instance_token_write(const char *dir, const char *token);

/* Requested, done, and what is still to do: NOT_FOUND when nothing is. */
int instance_reboot_ask(const char *dir, const char *key);
bool instance_reboot_is_done(const char *dir, const char *key);
int instance_reboot_pending(const char *dir, char ret_key[KEY_MAX_BYTES]);
int instance_reboot_done(const char *dir, const char *key);

/* One line, whatever the service wrote. */
int instance_trouble_write(const char *dir, const char *what, const char *last_words);
void instance_trouble_clear(const char *dir);
/* "" when there is none. */
void instance_trouble_read(const char *dir, char *ret_trouble, size_t size);

bool instance_is_ending(const char *dir); /* or has ended */
bool instance_is_terminated(const char *dir);
int instance_end_begin(const char *dir, const char *key);
/* Takes away what was secret or only of use to the living; keeps the logs. */
int instance_end_finish(const char *dir, const char *key);

#endif
