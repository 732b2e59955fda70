/* What the policy and the loop go by, for people: each setting with its value, where that is from and what it may be. */
#ifndef HOLDFAST_SERVER_SERVICE_SETTING_H
#define HOLDFAST_SERVER_SERVICE_SETTING_H

#include "base/enum.h"
#include "model/health.h"
#include "policy/policy.h"

#define SERVICE_SETTINGS_MAX 512
#define SETTING_SOURCE_LIST(X)                                     \
    X(DEFAULT, "default")                                          \
    X(FILE, "configuration-file")                                  \
    X(DOCUMENT, "policy-document")                                 \
    X(CLUSTER, "cluster") /* of this one, and it can be changed */ \
    X(FIXED, "built-in")  /* no file says it */
enum setting_source {
#define X(SYMBOL, text) SETTING_SOURCE_##SYMBOL,
    SETTING_SOURCE_LIST(X)
#undef X
};
ENUM_DECLARE(setting_source);
enum setting_kind {
    SETTING_KIND_NUMBER,
    SETTING_KIND_DURATION, /* ms */
    SETTING_KIND_WINDOWS,  /* windows; none is the default of all */
    SETTING_KIND_MODE,     /* enum repair_mode; this and what follows is said by words */
    SETTING_KIND_JOBS,     /* enum jobs_rule */
    SETTING_KIND_SIGNAL,   /* enum job_signal */
    SETTING_KIND_SAME,     /* enum policy_recurring */
    SETTING_KIND_WITHOUT,  /* enum policy_without */
    SETTING_KIND_YES_NO,
    SETTING_KIND_LEMON, /* enum policy_lemon_action */
};
/* The word for a value of this kind; NULL: it has none. */
const char *setting_word(enum setting_kind kind, int64_t value);
struct service_setting {
    const char *section; /* of the configuration file; "": none */
    const char *name, *help;
    enum setting_kind kind;
    int64_t value, standard;
    struct policy_windows windows;
    int64_t min, max;       /* both 0: it cannot be changed, or is a word */
    enum fault_class fault; /* what the document says of this class; FAULT_CLASS_COUNT: of all */
    enum setting_source source;
};
/* Which group settings are asked for. */
struct policy_place {
    const char *cluster, *group, *instance_type;
};
struct service_policy {
    struct service_setting settings[SERVICE_SETTINGS_MAX];
    size_t count;
};

#endif
