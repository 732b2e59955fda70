/* The texts of the enums of deep.h, and of checks as bits. */
#include "model/deep.h"

#include "base/sm.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

ENUM_DEFINE(deep_check, DEEP_CHECK_LIST)
ENUM_DEFINE(deep_profile, DEEP_PROFILE_LIST)
ENUM_DEFINE(deep_state, DEEP_STATE_LIST)
ENUM_DEFINE(deep_mark, DEEP_MARK_LIST)

void deep_checks_text(int64_t checks, char ret_text[DEEP_CHECKS_MAX_BYTES])
{
    size_t len = 0;
    ret_text[0] = '\0';
    for (int i = 0; i < DEEP_CHECK_COUNT; i++)
        if ((checks & SM_BIT(i)) != 0)
            len += (size_t)snprintf(ret_text + len, DEEP_CHECKS_MAX_BYTES - len, "%s%s", len > 0 ? "+" : "",
                                    deep_check_text((enum deep_check)i));
}

int64_t deep_checks_parse(const char *text)
{
    int64_t checks = 0;
    for (int i = 0; i < DEEP_CHECK_COUNT; i++)
        if (strstr(text, deep_check_text((enum deep_check)i)) != NULL)
            checks |= SM_BIT(i);
    return checks;
}

const char *deep_plain_type(const char *instance_type)
{
    return text_starts_with(instance_type, "ml.") ? instance_type + 3 : instance_type;
}

void deep_site_fill(const struct deep_site *site, struct deep_job *job)
{
    for (size_t i = 0; i < site->count && job->limit_count < DEEP_LIMITS_MAX; i++)
        if (text_equal(site->rows[i].instance_type, deep_plain_type(job->instance_type)))
            job->limits[job->limit_count++] = site->rows[i].limit;
}
