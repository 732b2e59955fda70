/*
 * The numbers that the policy and the loop go by, once: where each stands in the configuration file, what it may be, and what it
 * is for. The file's reader (config.c), the APIs (GET /v1/policies) and hpctl policy show have them from here; a test compares
 * the man page.
 */
#ifndef HOLDFAST_SERVER_SETTINGS_H
#define HOLDFAST_SERVER_SETTINGS_H

#include "base/json.h"
#include "base/nearest.h"
#include "server/config/config.h"
#include "server/config/setting.h"

struct setting {
    const char *section; /* of the file; "" for what no file can change */
    const char *name, *help;
    enum setting_kind kind;
    size_t offset, size; /* in struct config: an int, an int64_t (durations in milliseconds) or struct policy_windows */
    int64_t min, max;
    bool server_only; /* the policy document cannot say it: it is one for all groups */
    bool classed;     /* there is an array of it, by fault class */
};
extern const struct setting settings[];
extern const size_t setting_count;

/* NULL: there is none of this name in this section. */
const struct setting *setting_find(const char *section, const char *name);
/* Shows the names of the section. */
void setting_near(const char *section, struct nearest *nearest);
/* The policy document may say it, for all groups or for some. */
bool setting_is_grouped(const struct setting *setting);

#define SETTING_RULE_MAX 160
/* Of WINDOWS the hours, of all others the number. */
struct setting_value {
    int64_t number;
    struct policy_windows windows;
};
/* What a file has for it; of a mode, its number. INVALID with words that complete "recovery.rebootsMax must be …". */
int setting_read(const struct setting *setting, const json_t *value, struct setting_value *ret_value,
                 char ret_rule[SETTING_RULE_MAX]);

struct setting_value setting_get(const struct config *config, const struct setting *setting);
/* Of a setting with classes for all of them. */
void setting_put(struct config *config, const struct setting *setting, const struct setting_value *value);
/* The same where only these are kept, for one class or, with FAULT_CLASS_COUNT, for all; the setting is grouped. */
void setting_put_in(struct loop_settings *in, const struct setting *setting, enum fault_class fault,
                    const struct setting_value *value);
struct setting_value setting_get_in(const struct loop_settings *in, const struct setting *setting,
                                    enum fault_class fault);

/* What an API shows of them, but for the version of the fault tables; the texts are static. */
void settings_show(const struct config *config, struct service_policy *ret_policy);

#endif
