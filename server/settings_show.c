/* The settings as the doors show them. Beside settings.c, so that who only reads documents needs no configuration of hpd. */
#include "server/settings.h"

#include "base/own.h"

static enum setting_kind kind_of(const struct setting *setting)
{
    static const enum setting_kind kinds[] = {
        [SETTING_DURATION] = SETTING_KIND_DURATION, [SETTING_NUMBER] = SETTING_KIND_NUMBER,
        [SETTING_MODE] = SETTING_KIND_MODE,         [SETTING_JOBS] = SETTING_KIND_JOBS,
        [SETTING_SIGNAL] = SETTING_KIND_SIGNAL,     [SETTING_WINDOWS] = SETTING_KIND_WINDOWS};
    return kinds[setting->type];
}

void settings_show(const struct config *config, struct service_policy *ret_policy)
{
    autofree struct config *standard = own_calloc(1, sizeof(*standard));
    config_default(standard);
    *ret_policy = (struct service_policy){.count = setting_count};
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &settings[i];
        ret_policy->settings[i] = (struct service_setting){
            .section = setting->section,
            .name = setting->name,
            .help = setting->help,
            .kind = kind_of(setting),
            .value = setting_get(config, setting).number,
            .standard = setting_get(standard, setting).number,
            .windows = setting_get(config, setting).windows,
            .min = setting->min,
            .max = setting->max,
            .fault = FAULT_CLASS_COUNT,
            .source = setting->section[0] == '\0' ? SETTING_SOURCE_FIXED
                      : config->configured[i]     ? SETTING_SOURCE_FILE
                                                  : SETTING_SOURCE_DEFAULT,
        };
    }
}
