/*
 * The numbers that the policy and the loop go by, once: where each stands in the configuration file, what it may be, and what it
 * is for. The file's reader (config.c), the doors (GET /v1/policies) and hpctl policy show have them from here; a test compares
 * the man page.
 */
#ifndef HOLDFAST_SERVER_SETTINGS_H
#define HOLDFAST_SERVER_SETTINGS_H

#include "server/config.h"

enum setting_type { SETTING_DURATION, SETTING_NUMBER };

struct setting {
    const char *section; /* of the file; "" for what no file can change */
    const char *name, *help;
    enum setting_type type;
    size_t offset, size; /* in struct config: an int or an int64_t; durations in milliseconds */
    int64_t min, max;
};
extern const struct setting settings[];
extern const size_t setting_count;

int64_t setting_get(const struct config *config, const struct setting *setting);

/* What a door shows of them, but for the version of the fault tables; the texts are static. */
void settings_show(const struct config *config, struct service_policy *ret_policy);

#endif
