/* Documents that a verb is given with -f: YAML or JSON, from a file or from standard input. */
#include "cli/cli.h"

#include "base/file.h"
#include "base/yaml.h"

#include <errno.h>
#include <string.h>

/* The whole of a file, or of standard input for "-". */
int cli_read_input(struct cli *cli, const char *path, char **ret_data, size_t *ret_len)
{
    if (!text_equal(path, "-")) {
        errno = 0;
        int rc = file_read(path, CLI_FILE_BYTES_MAX, ret_data, ret_len);
        if (rc == STATUS_TOO_LARGE)
            return cli_usage(cli, "%s holds more than %d bytes", path, CLI_FILE_BYTES_MAX);
        return rc == 0 ? CLI_EXIT_OK
                       : cli_usage(cli, "cannot read %s: %s", path, errno != 0 ? strerror(errno) : status_meaning(rc));
    }
    struct text data = {0};
    char chunk[4096];
    size_t got;
    while ((got = fread(chunk, 1, sizeof(chunk), stdin)) > 0) {
        if (data.len + got > CLI_FILE_BYTES_MAX) {
            text_free(&data);
            return cli_usage(cli, "standard input holds more than %d bytes", CLI_FILE_BYTES_MAX);
        }
        text_add_bytes(&data, chunk, got);
    }
    *ret_len = data.len;
    *ret_data = text_take(&data);
    return CLI_EXIT_OK;
}

int cli_write_file(struct cli *cli, const char *path, const struct text *text)
{
    FILE *f = fopen(path, "we");
    bool written = f != NULL && fwrite(text_get(text), 1, text->len, f) == text->len;
    int error = errno;
    if (f != NULL && fclose(f) != 0)
        written = false;
    return written ? CLI_EXIT_OK : cli_usage(cli, "cannot write %s: %s", path, strerror(error));
}

int cli_read_file(struct cli *cli, const char *verb, const char *what, const char *members, json_t **ret_json)
{
    const char *path = cli->option[CLI_OPTION_FILE];
    if (path == NULL)
        return cli_usage(cli, "%s needs -f FILE: %s in YAML or JSON", verb, what);
    autofree char *data = NULL;
    size_t len = 0;
    int rc = cli_read_input(cli, path, &data, &len);
    if (rc != CLI_EXIT_OK)
        return rc;
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    if (yaml_parse(data, len, CLI_FILE_BYTES_MAX, &json, error) != 0)
        return cli_usage(cli, "%s: %s", path, error);
    if (!json_is_object(json))
        return cli_usage(cli, "%s must be a mapping with %s", path, members);
    *ret_json = TAKE(json);
    return CLI_EXIT_OK;
}
