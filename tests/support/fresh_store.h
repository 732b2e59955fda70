/*
 * A store for a test. The first one of a program is migrated; each further one begins with the file that came of it, as migrations would take
 * most of a short test's time. A store that is there already is opened as it is.
 */
#ifndef HOLDFAST_TESTS_SUPPORT_FRESH_STORE_H
#define HOLDFAST_TESTS_SUPPORT_FRESH_STORE_H

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "db/db.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define FRESH_STORE_FILE "holdfast.db"
#define FRESH_STORE_BYTES_MAX (16 << 20)

/* What the file of a migrated store holds, for as long as the program runs. 0, or why there is none. */
static inline int fresh_store_bytes(const struct clock *clock, const char **ret_data, size_t *ret_len,
                                    char ret_error[DB_ERROR_MAX])
{
    static char *data;
    static size_t len;
    char dir[] = "/tmp/holdfast-fresh-XXXXXX";
    struct db *db = NULL;
    int status = 0;
    if (data == NULL) {
        if (mkdtemp(dir) == NULL)
            return STATUS_IO;
        autofree char *path = own_printf("%s/" FRESH_STORE_FILE, dir);
        status = db_open(dir, clock, DB_INLINE, &db, ret_error);
        db_close(db);
        if (status == 0)
            status = file_read(path, FRESH_STORE_BYTES_MAX, &data, &len);
        (void)file_remove_tree(dir);
    }
    *ret_data = data;
    *ret_len = len;
    return status;
}

/* As db_open. */
static inline int fresh_store_open(const char *dir, const struct clock *clock, unsigned flags, struct db **ret_db,
                                   char ret_error[DB_ERROR_MAX])
{
    autofree char *path = own_printf("%s/" FRESH_STORE_FILE, dir);
    const char *data = NULL;
    size_t len = 0;
    int status = file_exists(path) ? 0 : fresh_store_bytes(clock, &data, &len, ret_error);
    if (status == 0 && data != NULL) {
        FILE *out = fopen(path, "wxe"); /* not file_write: nothing here has to survive a loss of power */
        bool written = out != NULL && fchmod(fileno(out), 0600) == 0 && fwrite(data, 1, len, out) == len;
        if ((out != NULL && fclose(out) != 0) || !written)
            status = STATUS_IO;
    }
    return status < 0 ? status : db_open(dir, clock, flags, ret_db, ret_error);
}

#endif
