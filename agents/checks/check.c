/* What checks have in common: files below their root, and tools. */
#include "agents/checks/check.h"

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <string.h>
#include <unistd.h>

void check_label(char labels[CHECK_LABELS_MAX_BYTES], const char *name, const char *value)
{
    AUTO(text) struct text text = {0};
    text_printf(&text, "%s%s=\"", labels[0] != '\0' ? "," : "", name);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            text_add_char(&text, '\\');
        text_add_char(&text, (unsigned char)*value < ' ' || *value == 0x7f ? '_' : *value);
    }
    text_add_char(&text, '"');
    size_t len = strlen(labels);
    (void)text_copy(labels + len, CHECK_LABELS_MAX_BYTES - len, text.data);
}

char *check_path(const struct check_context *context, const char *name)
{
    return own_printf("%s%s", context->root, name);
}

int check_read(const struct check_context *context, const char *name, size_t bytes_max, char **ret_data,
               size_t *ret_len)
{
    autofree char *path = check_path(context, name);
    return file_read(path, bytes_max, ret_data, ret_len);
}

char *check_find_tool(const char *path, const char *name)
{
    path = path != NULL ? path : getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");
        autofree char *full = own_printf("%.*s/%s", (int)len, path, name);
        if (len > 0 && access(full, X_OK) == 0)
            return TAKE(full);
        path += len + (path[len] == ':');
    }
    return NULL;
}

int check_tool(const struct check_context *context, const char *const argv[], int64_t timeout_ms, size_t out_bytes_max,
               struct child_result *ret_result)
{
    const char *full_argv[32];
    size_t count = 0;
    autofree char *tool = check_find_tool(context->path, argv[0]);
    if (tool == NULL)
        return STATUS_NOT_FOUND;
    while (argv[count] != NULL && count + 1 < ARRAY_LEN(full_argv)) {
        full_argv[count] = count == 0 ? tool : argv[count];
        count++;
    }
    if (argv[count] != NULL)
        return STATUS_TOO_LARGE;
    full_argv[count] = NULL;
    const struct child_options options = {
        .timeout_ms = timeout_ms, .out_bytes_max = out_bytes_max, .in_our_group = true};
    return child_run(full_argv, &options, ret_result);
}
