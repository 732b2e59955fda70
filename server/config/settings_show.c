/* The settings as the APIs show them. Beside settings.c, so that who only reads documents needs no configuration of hpd. */
#include "server/config/settings.h"

#include "base/own.h"

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
            .kind = setting->kind,
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
