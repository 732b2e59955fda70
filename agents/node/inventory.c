/* An incomplete run says nothing about devices that it did not name. They stay known. */
#include "agents/node/inventory.h"

#include "base/text.h"

#include <string.h>

/* The checks that report hardware (check_hardware). Absence is known only after a complete run of each. */
static const char *const reporters[INVENTORY_REPORTERS] = {"machine", "nvidia"};

void inventory_init(struct inventory *inventory, const char *instance_id, const char *boot_id)
{
    memset(inventory, 0, sizeof(*inventory));
    text_copy_cut(inventory->report.instance_id, sizeof(inventory->report.instance_id), instance_id);
    text_copy_cut(inventory->report.boot_id, sizeof(inventory->report.boot_id), boot_id);
    inventory->changed = true;
}

static struct check_state *state_of(struct inventory *inventory, const char *name)
{
    struct machine_report *report = &inventory->report;
    for (size_t i = 0; i < report->check_count; i++)
        if (text_equal(report->checks[i].name, name))
            return &report->checks[i];
    return NULL;
}

void inventory_expect(struct inventory *inventory, const char *name)
{
    struct machine_report *report = &inventory->report;
    if (report->check_count == CHECK_STATES_MAX || state_of(inventory, name) != NULL)
        return;
    struct check_state *state = &report->checks[report->check_count++];
    memset(state, 0, sizeof(*state));
    text_copy_cut(state->name, sizeof(state->name), name);
    inventory->changed = true;
}

void inventory_renew(struct inventory *inventory)
{
    for (size_t i = 0; i < inventory->report.check_count; i++)
        inventory->report.checks[i].has_run = false;
    inventory->changed = true;
}

void inventory_forget(struct inventory *inventory, bool (*is_run)(const char *name, void *arg), void *arg)
{
    struct machine_report *report = &inventory->report;
    size_t kept = 0;
    for (size_t i = 0; i < report->check_count; i++)
        if (is_run(report->checks[i].name, arg))
            report->checks[kept++] = report->checks[i];
    inventory->changed |= kept != report->check_count;
    report->check_count = kept;
}

static void take_result(struct inventory *inventory, const char *name, const struct check_report *said)
{
    struct check_state *state = state_of(inventory, name);
    if (state == NULL)
        return;
    inventory->changed |= !state->has_run || state->result != said->result;
    state->has_run = true;
    state->result = said->result;
    text_copy_cut(state->why, sizeof(state->why), said->why);
}

void inventory_note(struct inventory *inventory, const char *name, bool is_covered)
{
    const struct check_report said = {.result = is_covered ? CHECK_RESULT_OK : CHECK_RESULT_UNKNOWN};
    take_result(inventory, name, &said);
}

static bool is_equal(const struct hardware *a, const struct hardware *b)
{
    return a->kind == b->kind && text_equal(a->identity, b->identity) && text_equal(a->serial, b->serial) &&
           text_equal(a->location, b->location) && text_equal(a->detail, b->detail);
}

static bool reports_the_same(const struct inventory *inventory, const char *name, const struct check_report *said)
{
    size_t found = 0;
    for (size_t i = 0; i < inventory->report.hardware_count; i++) {
        if (!text_equal(inventory->reporters[i], name))
            continue;
        if (found >= said->hardware_count || !is_equal(&inventory->report.hardware[i], &said->hardware[found]))
            return false;
        found++;
    }
    return found == said->hardware_count;
}

static void drop(struct inventory *inventory, const char *name)
{
    struct machine_report *report = &inventory->report;
    size_t kept = 0;
    for (size_t i = 0; i < report->hardware_count; i++) {
        if (text_equal(inventory->reporters[i], name))
            continue;
        report->hardware[kept] = report->hardware[i];
        inventory->reporters[kept++] = inventory->reporters[i];
    }
    report->hardware_count = kept;
}

static void take_hardware(struct inventory *inventory, const char *name, const struct check_report *said)
{
    struct machine_report *report = &inventory->report;
    if (reports_the_same(inventory, name, said))
        return;
    inventory->changed = true;
    drop(inventory, name);
    for (size_t i = 0; i < said->hardware_count && report->hardware_count < HARDWARE_MAX; i++) {
        inventory->reporters[report->hardware_count] = name;
        report->hardware[report->hardware_count++] = said->hardware[i];
    }
}

static bool is_of(const struct inventory *inventory, size_t i, const char *name, const struct hardware *piece)
{
    const struct hardware *known = &inventory->report.hardware[i];
    bool same = piece->identity[0] != '\0' && text_equal(known->identity, piece->identity);
    return text_equal(inventory->reporters[i], name) && known->kind == piece->kind &&
           (same || text_equal(known->location, piece->location));
}

/* Replaces the known device with this identity, or at this location. */
static void merge_piece(struct inventory *inventory, const char *name, const struct hardware *piece)
{
    struct machine_report *report = &inventory->report;
    size_t kept = 0, matches = 0;
    bool same = false;
    for (size_t i = 0; i < report->hardware_count; i++) {
        bool match = is_of(inventory, i, name, piece);
        matches += match;
        same |= match && is_equal(&report->hardware[i], piece);
        if (match && matches > 1)
            continue;
        inventory->reporters[kept] = inventory->reporters[i];
        report->hardware[kept++] = match ? *piece : report->hardware[i];
    }
    report->hardware_count = kept;
    bool is_new = matches == 0 && kept < HARDWARE_MAX;
    if (is_new) {
        inventory->reporters[kept] = name;
        report->hardware[report->hardware_count++] = *piece;
    }
    inventory->changed |= is_new || matches > 1 || (matches == 1 && !same);
}

/* Whether every reporter had a complete run, or found that it does not apply. */
static bool note_reporter(struct inventory *inventory, const char *name, const struct check_report *said)
{
    bool all = true;
    for (size_t i = 0; i < ARRAY_LEN(reporters); i++) {
        bool looked = said->whole || said->result == CHECK_RESULT_NOT_APPLICABLE;
        inventory->looked[i] |= looked && text_equal(reporters[i], name);
        all &= inventory->looked[i];
    }
    return all;
}

void inventory_take(struct inventory *inventory, const char *name, const struct check_report *said)
{
    take_result(inventory, name, said);
    if (said->whole)
        take_hardware(inventory, name, said);
    for (size_t i = 0; !said->whole && i < said->hardware_count; i++)
        merge_piece(inventory, name, &said->hardware[i]);
    if (note_reporter(inventory, name, said))
        inventory->report.hardware_known = true;
}
