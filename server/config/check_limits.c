/* Rows are few and looked through one by one. */
#include "server/config/check_limits.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

static int read_type(const char *type, const json_t *list, struct deep_site *site, char *ret_error, size_t size)
{
    size_t i;
    const json_t *item;
    struct deep_site_limit row;
    if (!json_is_array(list) || json_array_size(list) > DEEP_LIMITS_MAX ||
        text_copy(row.instance_type, sizeof(row.instance_type), deep_plain_type(type)) != 0) {
        snprintf(ret_error, size,
                 "checks.limits: \"%.40s\" must be a type of instance with a list of at most %d limits", type,
                 DEEP_LIMITS_MAX);
        return STATUS_INVALID;
    }
    json_array_foreach(list, i, item)
    {
        const char *text = json_string_value(item);
        if (text == NULL || deep_limit_parse(text, &row.limit) != 0 || site->count == CHECK_LIMITS_MAX) {
            snprintf(
                ret_error, size,
                "checks.limits of %.40s: limit %zu must be such as \"EFA MB/s >= 9000\" or \"EFA latency us <= 40\", "
                "and there are at most %d in all",
                type, i + 1, CHECK_LIMITS_MAX);
            return STATUS_INVALID;
        }
        site->rows = own_realloc(site->rows, site->count + 1, sizeof(*site->rows));
        site->rows[site->count++] = row;
    }
    return 0;
}

int check_limits_read(json_t *object, struct deep_site *site, char *ret_error, size_t size)
{
    const char *type;
    json_t *list;
    if (!json_is_object(object)) {
        snprintf(ret_error, size, "checks.limits must be a mapping of types of instance to lists of limits");
        return STATUS_INVALID;
    }
    json_object_foreach(object, type, list)
    {
        int status = read_type(type, list, site, ret_error, size);
        if (status != 0)
            return status;
    }
    return 0;
}

void check_limits_free(struct deep_site *site)
{
    free(TAKE(site->rows));
    site->count = 0;
}
