/*
 * Reads each rule by one table of members, so that what is known, what is unknown and what a member may be stand at one place.
 */
#include "agents/launcher/rule_read.h"

#include "base/duration.h"
#include "base/pattern.h"
#include "base/status.h"
#include "base/text.h"
#include "base/yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RULE_FILE_BYTES_MAX (1 << 20)
#define SECONDS_MAX 31536000.0 /* a year */
#define POINTS_MAX 1000000.0

struct reading {
    struct rule *rule;
    size_t at;
    char *error;
};

typedef int (*read_member)(struct reading *r, const char *name, const json_t *value);

__attribute__((format(printf, 2, 3))) static int refuse(struct reading *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *why = own_vprintf(format, ap);
    va_end(ap);
    const char *rule = r->rule->name != NULL ? r->rule->name : "";
    snprintf(r->error, RULE_ERROR_MAX, "logMonitoringConfiguration[%zu]%s%s: %s", r->at, *rule != '\0' ? " " : "", rule,
             why);
    return STATUS_INVALID;
}

static bool number_of(const json_t *value, double *ret_number)
{
    if (json_is_number(value)) {
        *ret_number = json_number_value(value);
        return true;
    }
    return json_is_string(value) && rule_value(json_string_value(value), json_string_length(value), ret_number);
}

static int read_text(struct reading *r, const char *name, const json_t *value, size_t max, char **ret_text)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (text == NULL || len == 0 || len > max || strlen(text) != len)
        return refuse(r, "%s has to be a text of 1 to %zu bytes", name, max);
    *ret_text = own_strdup(text);
    return 0;
}

static int read_name(struct reading *r, const char *name, const json_t *value)
{
    int rc = read_text(r, name, value, RULE_NAME_MAX, &r->rule->name);
    return rc == 0 && !text_is_clean(r->rule->name) ? refuse(r, "%s has control characters", name) : rc;
}

static int read_pattern(struct reading *r, const char *name, const json_t *value, char **ret_pattern)
{
    char why[PATTERN_ERROR_MAX];
    int rc = read_text(r, name, value, RULE_PATTERN_MAX, ret_pattern);
    if (rc != 0)
        return rc;
    AUTO(pattern) struct pattern *pattern = pattern_new_line(*ret_pattern, why);
    return pattern != NULL ? 0 : refuse(r, "%s is no regular expression: %s", name, why);
}

static int read_log_pattern(struct reading *r, const char *name, const json_t *value)
{
    return read_pattern(r, name, value, &r->rule->pattern);
}

static int read_stop_pattern(struct reading *r, const char *name, const json_t *value)
{
    return read_pattern(r, name, value, &r->rule->stop_pattern);
}

static int read_seconds(struct reading *r, const char *name, const json_t *value, int64_t *ret_ms)
{
    double seconds;
    if (!number_of(value, &seconds) || !(seconds > 0) || seconds > SECONDS_MAX)
        return refuse(r, "%s has to be a number of seconds above 0", name);
    *ret_ms = (int64_t)ceil(seconds * (double)MS_PER_S);
    return 0;
}

static int read_start(struct reading *r, const char *name, const json_t *value)
{
    return read_seconds(r, name, value, &r->rule->start_ms);
}

static int read_recurring(struct reading *r, const char *name, const json_t *value)
{
    return read_seconds(r, name, value, &r->rule->recurring_ms);
}

static int read_threshold(struct reading *r, const char *name, const json_t *value)
{
    if (!number_of(value, &r->rule->threshold) || !isfinite(r->rule->threshold))
        return refuse(r, "%s has to be a number", name);
    r->rule->has_threshold = true;
    return 0;
}

static int read_operator(struct reading *r, const char *name, const json_t *value)
{
    if (rule_operator_parse(json_string_value(value), &r->rule->operator) != 0)
        return refuse(r, "%s has to be gt, gteq, lt, lteq or eq", name);
    return 0;
}

static int read_points(struct reading *r, const char *name, const json_t *value)
{
    double points;
    if (!number_of(value, &points) || !(points >= 1) || points > POINTS_MAX || points > floor(points))
        return refuse(r, "%s has to be a whole number, 1 or more", name);
    r->rule->points = (int64_t)points;
    return 0;
}

static int read_fault(struct reading *r, const char *name, const json_t *value)
{
    if (!json_is_boolean(value))
        return refuse(r, "%s has to be true or false", name);
    r->rule->fault_on_match = json_is_true(value);
    return 0;
}

static const struct member {
    const char *name;
    read_member read;
} members[] = {
    {"name", read_name},
    {"logPattern", read_log_pattern},
    {"stopPattern", read_stop_pattern},
    {"expectedStartCutOffInSeconds", read_start},
    {"expectedRecurringFrequencyInSeconds", read_recurring},
    {"metricThreshold", read_threshold},
    {"operator", read_operator},
    {"metricEvaluationDataPoints", read_points},
    {"faultOnMatch", read_fault},
};

static bool is_known(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (strcmp(members[i].name, name) == 0)
            return true;
    return false;
}

static int read_rule(struct reading *r, json_t *object)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return refuse(r, "a rule has to be an object");
    for (size_t i = 0; i < ARRAY_LEN(members); i++) { /* in this order, so that later messages have the name */
        value = json_object_get(object, members[i].name);
        int rc = value == NULL || json_is_null(value) ? 0 : members[i].read(r, members[i].name, value);
        if (rc != 0)
            return rc;
    }
    json_object_foreach(object, name, value) if (!is_known(name)) return refuse(r, "unknown member %.60s", name);
    if (r->rule->name == NULL || r->rule->pattern == NULL)
        return refuse(r, "%s is missing", r->rule->name == NULL ? "name" : "logPattern");
    bool has_operator = json_is_string(json_object_get(object, "operator"));
    if (r->rule->has_threshold != has_operator)
        return refuse(r, "metricThreshold and operator belong together");
    return 0;
}

static bool is_name_taken(const struct rule_list *list, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(list->rules[i].name, list->rules[at].name) == 0)
            return true;
    return false;
}

int rule_read(json_t *rules, struct rule_list *ret_list, char ret_error[RULE_ERROR_MAX])
{
    __attribute__((cleanup(auto_rule_list_cleanup))) struct rule_list list = {0};
    size_t count = json_array_size(rules);
    if (!json_is_array(rules) || count > RULES_MAX) {
        snprintf(ret_error, RULE_ERROR_MAX, "logMonitoringConfiguration has to be a list of at most %d rules",
                 RULES_MAX);
        return json_is_array(rules) ? STATUS_TOO_LARGE : STATUS_INVALID;
    }
    list.rules = own_calloc(count + 1, sizeof(*list.rules));
    for (size_t i = 0; i < count; i++) {
        list.rules[i].points = 1;
        list.count = i + 1;
        struct reading reading = {&list.rules[i], i, ret_error};
        int rc = read_rule(&reading, json_array_get(rules, i));
        if (rc == 0 && is_name_taken(&list, i))
            rc = refuse(&reading, "another rule has this name");
        if (rc != 0)
            return rc;
    }
    *ret_list = list;
    list = (struct rule_list){0};
    return 0;
}

/* --- files -------------------------------------------------------------------------------------------- */

static json_t *rules_of(json_t *document)
{
    json_t *spec = json_object_get(document, "spec");
    json_t *policy = json_object_get(spec != NULL ? spec : document, "runPolicy");
    return json_is_array(document) ? document
                                   : json_object_get(policy != NULL ? policy : document, "logMonitoringConfiguration");
}

int rule_read_text(const char *text, size_t len, struct rule_list *ret_list, char ret_error[RULE_ERROR_MAX])
{
    char why[JSON_ERROR_MAX];
    AUTO(json) json_t *document = NULL;
    int rc = yaml_parse(text, len, RULE_FILE_BYTES_MAX, &document, why);
    if (rc != 0) {
        snprintf(ret_error, RULE_ERROR_MAX, "%s", why);
        return rc;
    }
    json_t *rules = rules_of(document);
    if (rules == NULL) {
        snprintf(ret_error, RULE_ERROR_MAX,
                 "no list of rules, no logMonitoringConfiguration and no HyperPodPyTorchJob with one");
        return STATUS_INVALID;
    }
    return rule_read(rules, ret_list, ret_error);
}
