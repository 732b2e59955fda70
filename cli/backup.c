/*
 * hpctl backup: the server's copy of its store into a file. The file has its name only once it is whole and on the disk.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/http.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IDLE_MS (10 * MS_PER_MIN) /* the server copies and looks through the copy before it sends the first byte */

static const char FILE_MAGIC[] = "SQLite format 3";

static int failed(struct cli *cli, const char *path)
{
    fprintf(cli->err, "hpctl: %s: %s\n", path, strerror(errno));
    return CLI_EXIT_REFUSED;
}

/* The server's words instead of a copy. */
static int refused(struct cli *cli, const char *partial, int status)
{
    autofree char *body = NULL;
    size_t len = 0;
    if (file_read(partial, CLI_FILE_BYTES_MAX, &body, &len) != 0)
        body = own_strdup("");
    return cli_refused(cli, status, body, len);
}

static bool is_store(const char *path)
{
    char bytes[sizeof(FILE_MAGIC)] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good =
        fd >= 0 && read(fd, bytes, sizeof(bytes)) == sizeof(bytes) && memcmp(bytes, FILE_MAGIC, sizeof(bytes)) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

static int print(struct cli *cli, const char *path, const char *key)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return failed(cli, path);
    auto_json json_t *json =
        json_pack("{s:s, s:I, s:s}", "file", path, "bytes", (json_int_t)info.st_size, "keyFingerprint", key);
    if (!cli_print_data(cli, json))
        fprintf(cli->out,
                "%s: %.1f MB, checked. Its secrets are sealed with the key %s: keep secret.key apart from it.\n", path,
                (double)info.st_size / 1e6, key);
    return CLI_EXIT_OK;
}

static int fetch(struct cli *cli, const char *path, const char *partial, int fd)
{
    char key[HTTP_HEADER_VALUE_MAX] = "", error[HTTP_ERROR_MAX] = "";
    int status = 0;
    const struct http_download download = {.method = "POST",
                                           .path_and_query = "/v1/backup",
                                           .header = "X-Key-Fingerprint:",
                                           .fd = fd,
                                           .idle_timeout_ms = IDLE_MS};
    int rc = http_download(cli->client, &download, &status, key, error);
    if (rc != 0) {
        fprintf(cli->err, "hpctl: %s\n", *error ? error : status_meaning(rc));
        return rc == STATUS_TIMEOUT ? CLI_EXIT_TIMEOUT : CLI_EXIT_UNREACHABLE;
    }
    if (status != 200)
        return refused(cli, partial, status);
    if (!is_store(partial)) {
        fprintf(cli->err, "hpctl: the server's answer is no backup; is this really hpd?\n");
        return CLI_EXIT_REFUSED;
    }
    if (fsync(fd) != 0 || rename(partial, path) != 0)
        return failed(cli, path);
    return print(cli, path, key);
}

int cli_backup(struct cli *cli)
{
    const char *path = cli->argument[0];
    if (file_exists(path))
        return cli_usage(cli, "%s is there already; name a new file", path);
    autofree char *partial = own_printf("%s.partial", path);
    unlink(partial);
    int fd = open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failed(cli, partial);
    int rc = fetch(cli, path, partial, fd);
    close(fd);
    unlink(partial);
    return rc;
}
