/* The store as a whole: which key its secrets are sealed with, and a copy of it. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_ACCESS_STORE_H
#define HOLDFAST_SERVER_SERVICE_ACCESS_STORE_H

#include "server/service/service.h"

#define SERVICE_KEY_ERROR_MAX 400
/* Reads, or at the first start makes, the key of the file and keeps its fingerprint in the store. CONFLICT, with what to do, when the
 * file is gone or is another one than the store's secrets are sealed with. anew: makes another key in any case. */
int service_seal_key_open(struct service *s, const char *path, bool anew, char ret_error[SERVICE_KEY_ERROR_MAX]);

struct service_backup {
    int fd; /* the caller's */
    int64_t bytes;
    int schema;
    char key[SEAL_FINGERPRINT_MAX];
};
/* A checked copy of the store as it is now. CONFLICT while another one is made. */
int service_backup_create(struct service *s, const struct actor *actor, struct service_backup *ret_backup,
                          struct problem *ret_problem);

#endif
