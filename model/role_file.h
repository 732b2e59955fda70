/*
 * A file beside the lifecycle scripts that says what the groups of a cluster are to its scheduler. Which schedulers have one, how it is
 * called and how it is read comes with their driver.
 */
#ifndef HOLDFAST_MODEL_ROLE_FILE_H
#define HOLDFAST_MODEL_ROLE_FILE_H

#include "model/limits.h"

#include <stddef.h>

#define ROLE_FILE_BYTES_MAX 65536
#define ROLE_FILE_WORKERS_MAX 100 /* as many groups as a cluster may have */
#define ROLE_FILE_ERROR_MAX 384
#define ROLE_FILE_IGNORED_MAX 384

struct role_file_worker {
    char group[NAME_MAX_BYTES], partition[NAME_MAX_BYTES];
};
struct role_file {
    char controller[NAME_MAX_BYTES], login[NAME_MAX_BYTES]; /* groups; login "": none */
    struct role_file_worker workers[ROLE_FILE_WORKERS_MAX];
    size_t count;
    char ignored[ROLE_FILE_IGNORED_MAX]; /* members without effect here, "fsx_dns_name, fsx_mountname"; "": none */
};

/* All static. */
struct role_file_format {
    const char *name;   /* of the file */
    const char *both;   /* the refusal where the request says the same, too */
    const char *absent; /* completes a sentence: what groups are without it */
    const char *other;  /* completes a sentence: what says the same where it cannot be read */
    /* INVALID or TOO_LARGE, and a sentence that names the line or the member. */
    int (*parse)(const char *data, size_t len, struct role_file *ret_file, char ret_error[ROLE_FILE_ERROR_MAX]);
};

#endif
