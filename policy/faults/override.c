/*
 * What a site says otherwise about some codes: rows of its own that stand before those of the tables, for one type of
 * instance or for all. A row for the type comes before one for all.
 *
 * The driver's own word (Xid 154, the recovery action) cannot be overridden: it is nearer to the device than any table.
 */
#include "policy/faults/decode.h"

#include "base/own.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct override {
    char *code, *instance_type, *sources; /* instance_type "": all */
    struct fault_row row;
};

struct fault_overrides {
    char version[TABLE_VERSION_MAX_BYTES];
    struct override *rows;
    size_t count;
};

struct fault_overrides *fault_overrides_new(const char *tag)
{
    struct fault_overrides *overrides = own_calloc(1, sizeof(*overrides));
    snprintf(overrides->version, sizeof(overrides->version), "%.16s+%.6s", fault_table_version(), tag);
    return overrides;
}

void fault_overrides_free(struct fault_overrides *overrides)
{
    if (overrides == NULL)
        return;
    for (size_t i = 0; i < overrides->count; i++) {
        free(overrides->rows[i].code);
        free(overrides->rows[i].instance_type);
        free(overrides->rows[i].sources);
    }
    free(overrides->rows);
    free(overrides);
}

size_t fault_overrides_count(const struct fault_overrides *overrides)
{
    return overrides->count;
}

static const struct override *find(const struct fault_overrides *overrides, const char *code, const char *type)
{
    for (size_t i = 0; i < overrides->count; i++)
        if (strcmp(overrides->rows[i].code, code) == 0 && strcmp(overrides->rows[i].instance_type, type) == 0)
            return &overrides->rows[i];
    return NULL;
}

static bool is_repair(enum action_class action)
{
    return action == ACTION_CLASS_RESET || action == ACTION_CLASS_REBOOT || action == ACTION_CLASS_REPLACE;
}

/* NULL: it may stand. */
static const char *what_is_wrong(const struct fault_overrides *overrides, const struct fault_override *wanted)
{
    int number = 0;
    const struct fault_row *row = fault_find(wanted->code);
    bool vendors =
        fault_code_number(wanted->code, "xid.", &number) || fault_code_number(wanted->code, "sxid.", &number);
    if (row == NULL && !vendors)
        return "is in no table";
    if (row != NULL && row->driver_word)
        return "is the driver's own word, which stands above every table";
    if (find(overrides, wanted->code, wanted->instance_type) != NULL)
        return "is there twice";
    if (overrides->count >= FAULT_OVERRIDES_MAX)
        return "is one too many";
    if (wanted->urgency == URGENCY_NOW && !is_repair(wanted->action))
        return "is urgent without a repair";
    if (wanted->rate_count > 0 && wanted->action != ACTION_CLASS_WATCH && wanted->action != ACTION_CLASS_APP)
        return "has a rate, which is for what is watched";
    if (wanted->rate_count > 0 && wanted->rate_action <= wanted->action)
        return "asks for no more when it comes often";
    return NULL;
}

static enum severity severity_of(enum action_class action)
{
    return is_repair(action) ? SEVERITY_CRITICAL : action == ACTION_CLASS_IGNORE ? SEVERITY_OK : SEVERITY_WARN;
}

int fault_overrides_add(struct fault_overrides *overrides, const struct fault_override *wanted, const char **ret_wrong)
{
    const char *wrong = what_is_wrong(overrides, wanted);
    if (wrong != NULL) {
        *ret_wrong = wrong;
        return STATUS_INVALID;
    }
    const struct fault_row *known = fault_find(wanted->code);
    overrides->rows = own_realloc(overrides->rows, overrides->count + 1, sizeof(*overrides->rows));
    struct override *override = &overrides->rows[overrides->count++];
    *override = (struct override){.code = own_strdup(wanted->code), .instance_type = own_strdup(wanted->instance_type)};
    override->sources = own_printf("[site] %s%s%s", wanted->why, known != NULL ? "; without it: " : "",
                                   known != NULL ? known->sources : "");
    struct fault_row *row = &override->row;
    static const struct fault_row none = {
        .mnemonic = "", .meaning = "in no table of ours", .nvidia = "", .cancels = "", .ends = ""};
    *row = known != NULL ? *known : none;
    row->code = override->code;
    row->sources = override->sources;
    row->action = wanted->action;
    row->again = wanted->again;
    row->urgency = wanted->urgency;
    row->severity = severity_of(wanted->action);
    row->rate_count = wanted->rate_count;
    row->rate_window_ms = wanted->rate_window_ms;
    row->rate_action = wanted->rate_action;
    return 0;
}

const struct fault_row *fault_override_find(const struct fault_scope *scope, const char *code)
{
    if (scope == NULL || scope->overrides == NULL)
        return NULL;
    const struct override *override = NULL;
    if (scope->instance_type != NULL && scope->instance_type[0] != '\0')
        override = find(scope->overrides, code, scope->instance_type);
    if (override == NULL)
        override = find(scope->overrides, code, "");
    return override != NULL ? &override->row : NULL;
}

bool fault_is_overridden(const struct fault_overrides *overrides, const char *code)
{
    for (size_t i = 0; overrides != NULL && i < overrides->count; i++)
        if (strcmp(overrides->rows[i].code, code) == 0)
            return true;
    return false;
}

const char *fault_version_in(const struct fault_scope *scope)
{
    return scope != NULL && scope->overrides != NULL ? scope->overrides->version : fault_table_version();
}
