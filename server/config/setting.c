/* The words of settings, for the readers of files and for the APIs. */
#include "server/config/setting.h"

ENUM_DEFINE(setting_source, SETTING_SOURCE_LIST)

const char *setting_word(enum setting_kind kind, int64_t value)
{
    switch (kind) {
    case SETTING_KIND_MODE:
        return repair_mode_text((enum repair_mode)value);
    case SETTING_KIND_JOBS:
        return jobs_rule_text((enum jobs_rule)value);
    case SETTING_KIND_SIGNAL:
        return job_signal_text((enum job_signal)value);
    case SETTING_KIND_SAME:
        return policy_recurring_text((enum policy_recurring)value);
    case SETTING_KIND_WITHOUT:
        return policy_without_text((enum policy_without)value);
    case SETTING_KIND_YES_NO:
        return value != 0 ? "yes" : "no";
    case SETTING_KIND_LEMON:
        return policy_lemon_action_text((enum policy_lemon_action)value);
    case SETTING_KIND_NUMBER:
    case SETTING_KIND_DURATION:
    case SETTING_KIND_WINDOWS:
        break;
    }
    return NULL;
}
