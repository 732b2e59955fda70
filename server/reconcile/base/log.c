/*
 * What of the timeline goes to the log as well: decisions that act, operations that begin and end, nodes that go out of
 * service, breakers, and the scheduler. A line is written after its event is on disk, never before.
 *
 * When very much happens at once only so many lines a second are written, and how many were not; the timeline has all.
 */
#include "base/text.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/record.h"

#include <inttypes.h>

#define LINES_A_SECOND 50

struct log_part {
    int64_t second_at, lines, left_out;
};

static void start(struct reconcile *r)
{
    r->log = own_calloc(1, sizeof(*r->log));
}

static void end(struct reconcile *r)
{
    free(TAKE(r->log));
}

static bool is_logged(const struct event *event)
{
    switch (event->kind) {
    case EVENT_KIND_OPERATION_STARTED:
    case EVENT_KIND_OPERATION_SUCCEEDED:
    case EVENT_KIND_OPERATION_FAILED:
    case EVENT_KIND_OPERATION_CANCELLED:
    case EVENT_KIND_OPERATOR_REQUEST:
    case EVENT_KIND_BREAKER_OPENED:
    case EVENT_KIND_BREAKER_CLOSED:
    case EVENT_KIND_CAPACITY_SHORT:
    case EVENT_KIND_CAPACITY_BACK:
    case EVENT_KIND_GROUP_PROTECTED:
    case EVENT_KIND_GROUP_UNPROTECTED:
    case EVENT_KIND_SCHEDULER_DOWN:
    case EVENT_KIND_SCHEDULER_BACK:
        return true;
    case EVENT_KIND_DECISION: /* of the others nothing follows */
    case EVENT_KIND_NODE_STATE:
        return event->level >= EVENT_LEVEL_WARN;
    default:
        return false;
    }
}

static enum log_level level_of(const struct event *event)
{
    return event->level == EVENT_LEVEL_ERROR  ? LOG_LEVEL_ERROR
           : event->level == EVENT_LEVEL_WARN ? LOG_LEVEL_WARN
                                              : LOG_LEVEL_INFO;
}

static void add_pair(struct text *line, const char *name, const char *value)
{
    if (value[0] != '\0')
        text_printf(line, " %s=%s", name, value);
}

void turn_log(struct turn *turn, const struct event *event)
{
    if (!is_logged(event))
        return;
    if (turn->line_count == TURN_LINES_MAX) {
        turn->lines_left_out++;
        return;
    }
    struct text line = {0};
    text_add(&line, event->message);
    add_pair(&line, "event", event_kind_text(event->kind));
    add_pair(&line, "cluster", event->cluster);
    add_pair(&line, "group", event->group);
    add_pair(&line, "node", event->node);
    add_pair(&line, "operation", event->operation);
    turn->lines[turn->line_count].level = level_of(event);
    turn->lines[turn->line_count++].text = text_take(&line);
}

void turn_log_forget(struct turn *turn)
{
    for (size_t i = 0; i < turn->line_count; i++)
        free(TAKE(turn->lines[i].text));
    turn->line_count = 0;
    turn->lines_left_out = 0;
}

/* Another second begins: says what the last one left out. */
static bool begin_second(struct reconcile *r, int64_t now)
{
    if (now >= r->log->second_at && now < r->log->second_at + MS_PER_S)
        return false;
    r->log->second_at = now;
    r->log->lines = 0;
    if (r->log->left_out > 0)
        log_warn("much happens at once; %" PRId64 " lines are not in this log, but in the timeline", r->log->left_out);
    r->log->left_out = 0;
    return false;
}

void turn_log_write(struct turn *turn)
{
    struct reconcile *r = turn->r;
    (void)begin_second(r, turn->now);
    for (size_t i = 0; i < turn->line_count; i++) {
        if (r->log->lines++ < LINES_A_SECOND)
            log_line(turn->lines[i].level, "%s", turn->lines[i].text);
        else
            r->log->left_out++;
    }
    r->log->left_out += turn->lines_left_out;
    turn_log_forget(turn);
}

const struct part part_log = {.start = start, .end = end, .run = begin_second, .every_ms = MS_PER_S};
