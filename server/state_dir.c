/*
 * Modes that are too open are corrected with a warning, because a key that others could read may have been read. Who may write into the
 * directory may put another store there; reading its list of names does no harm.
 */
#include "server/state_dir.h"

#include "base/log.h"
#include "base/own.h"
#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct kept {
    const char *name;
    mode_t forbidden;
    const char *advice; /* where closing it does not undo what may have happened */
};

static int close_to_others(const char *dir, const struct kept *kept, char ret_error[STATE_DIR_ERROR_MAX])
{
    struct stat info;
    autofree char *path = own_printf("%s/%s", dir, kept->name);
    if (lstat(path, &info) != 0 || S_ISLNK(info.st_mode) || (info.st_mode & kept->forbidden) == 0)
        return 0; /* what is not there is made closed */
    mode_t was = info.st_mode & 07777, now = was & ~kept->forbidden;
    if (chmod(path, now) != 0) {
        snprintf(ret_error, STATE_DIR_ERROR_MAX, "%.200s is open to others (mode %04o) and cannot be closed: %s", path,
                 (unsigned)was, strerror(errno));
        return STATUS_IO;
    }
    log_warn("%s was open to others (mode %04o) and is closed now (%04o)%s", path, (unsigned)was, (unsigned)now,
             kept->advice);
    return 0;
}

int state_dir_close_to_others(const char *dir, char ret_error[STATE_DIR_ERROR_MAX])
{
    static const struct kept all[] = {
        {".", 022, ""},
        {"holdfast.db", 077, ""},
        {"holdfast.db-wal", 077, ""},
        {"admin.token", 077, "; if others use this machine, make it anew: hpd --new-admin-token"},
        {"secret.key", 077, "; if others use this machine, start once with --new-secret-key and make access keys anew"},
        {"tls.key", 077, "; if others use this machine, remove tls.key and tls.crt: new ones are made"},
    };
    int status = 0;
    for (size_t i = 0; status == 0 && i < ARRAY_LEN(all); i++)
        status = close_to_others(dir, &all[i], ret_error);
    return status;
}
