/*
 * A method that was refused, or that brought no new boot, is not tried again. One that nobody answered gets three tries and one whose
 * answer was lost two, but only after all others had their turn: the machine may be down for good by this method and not by the next.
 */
#include "policy/reboot.h"

#define UNANSWERED_TRIES_MAX 3
#define LOST_TRIES_MAX 2
#define AGAIN_PAUSE_MS 30000

struct tried {
    int count;
    bool over; /* it is not tried again */
    int64_t ended_at;
};

static struct tried look_up(enum reboot_method method, const struct reboot_try *tries, int count)
{
    struct tried tried = {0};
    int unanswered = 0, lost = 0;
    for (int i = 0; i < count; i++) {
        if (tries[i].method != method)
            continue;
        tried.count++;
        tried.ended_at = tries[i].ended_at;
        lost += tries[i].outcome == REBOOT_OUTCOME_LOST;
        unanswered += tries[i].outcome == REBOOT_OUTCOME_LOST || tries[i].outcome == REBOOT_OUTCOME_UNREACHABLE;
    }
    tried.over = unanswered < tried.count || unanswered >= UNANSWERED_TRIES_MAX || lost >= LOST_TRIES_MAX;
    return tried;
}

struct policy_reboot policy_reboot_next(const struct reboot_order *order, const struct reboot_try *tries, int count)
{
    struct policy_reboot next = {.found = false};
    int fewest = 0;
    if (count >= REBOOT_TRIES_MAX)
        return next;
    for (int i = 0; i < order->count; i++) {
        struct tried tried = look_up(order->list[i], tries, count);
        if (tried.count > 0 && tried.over)
            continue;
        if (next.found && tried.count >= fewest)
            continue;
        fewest = tried.count;
        next = (struct policy_reboot){
            .found = true, .method = order->list[i], .at = tried.count == 0 ? 0 : tried.ended_at + AGAIN_PAUSE_MS};
    }
    return next;
}

enum reboot_outcome policy_reboot_judge(const struct reboot_try *one, int64_t now_ms, int64_t last_heard_at,
                                        int64_t stuck_ms)
{
    bool stuck = one->accepted_at > 0 && last_heard_at >= one->accepted_at + stuck_ms;
    if (stuck || (now_ms >= one->deadline_at && one->accepted_at > 0))
        return REBOOT_OUTCOME_NO_BOOT;
    return now_ms >= one->deadline_at ? REBOOT_OUTCOME_LOST : REBOOT_OUTCOME_RUNNING;
}
