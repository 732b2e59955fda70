/*
 * Command templates. A placeholder is letters in braces; other braces stay as they are, so that a small shell script can be
 * an argument. An unknown name is refused: a service that starts with "{nodename}" on its command line would fail later
 * and say less.
 */
#include "server/provider/lab/template.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/lab/local.h"

#include <stdio.h>
#include <string.h>

#define FINGERPRINT "{fingerprint}"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static const char *value_of(const struct template_value *values, size_t count, const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(values[i].name) == len && memcmp(values[i].name, name, len) == 0)
            return values[i].value;
    return NULL;
}

static int expand_one(const char *arg, const struct template_value *values, size_t count, char **ret_arg,
                      char *ret_error)
{
    AUTO(text) struct text out = {0};
    for (const char *at = arg; *at != '\0';) {
        size_t len = *at == '{' ? strspn(at + 1, LETTERS) : 0;
        if (len == 0 || at[1 + len] != '}') {
            text_add_char(&out, *at++);
            continue;
        }
        const char *value = value_of(values, count, at + 1, len);
        if (value == NULL) {
            snprintf(ret_error, PROVIDER_ERROR_MAX, "a service's command has {%.*s}, which stands for nothing",
                     (int)(len > NAME_MAX_BYTES ? NAME_MAX_BYTES : len), at + 1);
            return STATUS_INVALID;
        }
        text_add(&out, value);
        at += len + 2;
    }
    if (out.len >= TEMPLATE_ARG_BYTES_MAX) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "an argument of a service's command has more than %d bytes",
                 TEMPLATE_ARG_BYTES_MAX - 1);
        return STATUS_TOO_LARGE;
    }
    if (out.len > 0 && !text_is_utf8(out.data, out.len)) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "an argument of a service's command is not UTF-8");
        return STATUS_INVALID;
    }
    *ret_arg = text_take(&out);
    return 0;
}

static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1] != '\0';
}

int template_expand(char *const argv[], const struct template_value *values, size_t value_count, char ***ret_argv,
                    char *ret_error)
{
    const char *fingerprint = value_of(values, value_count, "fingerprint", strlen("fingerprint"));
    bool unpinned = fingerprint != NULL && fingerprint[0] == '\0';
    char **out = own_calloc(LOCAL_ARGS_MAX + 1, sizeof(*out));
    size_t count = 0;
    for (size_t i = 0; i < LOCAL_ARGS_MAX && argv[i] != NULL; i++) {
        if (unpinned && is_option(argv[i]) && text_ends_with(argv[i], "=" FINGERPRINT))
            continue;
        if (unpinned && text_equal(argv[i], FINGERPRINT)) {
            if (i > 0 && count > 0 && is_option(argv[i - 1])) {
                count--;
                free(TAKE(out[count]));
            }
            continue;
        }
        int status = expand_one(argv[i], values, value_count, &out[count], ret_error);
        if (status != 0) {
            template_free(out);
            return status;
        }
        count++;
    }
    *ret_argv = out;
    return 0;
}

void template_free(char **argv)
{
    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
        free(argv[i]);
    free(argv);
}
