/*
 * A node that was left to a person: the decision that did so stands beside it until that person releases it, the machine is another
 * one, or its agent says that what was seen is over. No boot ends it.
 */
#include "server/reconcile/decide/person_hold.h"
#include "base/text.h"
#include "db/verdict.h"
#include "policy/policy.h"
#include "server/reconcile/decide/decide.h"

/* A reset of the device answers what it was for, and not what somebody has to see to. */
static bool is_answered_by_reset(const struct decide_item *item, const struct verdict *verdict)
{
    const struct policy_node node = {.repairs = item->repairs,
                                     .repair_count = item->repair_count,
                                     .hardware = item->hardware,
                                     .hardware_count = item->hardware_count};
    return policy_cleared_by_reset_by(&node, verdict) != NULL;
}

/* What its agent said is over, in the boot in which it was seen, needs nobody. */
static int is_over(struct db_tx *tx, const struct decide_item *item, bool *ret_over)
{
    const struct decision *hold = &item->hold;
    *ret_over = hold->evidence_count > 0;
    for (int i = 0; *ret_over && i < hold->evidence_count && i < DECISION_EVIDENCE_MAX; i++) {
        struct verdict verdict;
        int status = db_verdict_get_row(tx, hold->evidence[i], &verdict);
        if (status < 0 && status != STATUS_NOT_FOUND)
            return status;
        *ret_over = status == 0 && verdict.state == VERDICT_STATE_RESOLVED &&
                    text_equal(verdict.boot_id, item->instance.boot_id) && !is_answered_by_reset(item, &verdict);
    }
    return 0;
}

/* A person's turn ends by that person's word or by another machine. */
int reconcile_read_person_hold(struct db_tx *tx, struct decide_item *item)
{
    const struct node *row = &item->row;
    bool over = false;
    if (row->person_hold == 0 || row->person_hold_row != row->instance_row)
        return 0;
    int status = db_decision_get_row(tx, row->person_hold, &item->hold);
    if (status == 0)
        status = is_over(tx, item, &over);
    if (over || status == STATUS_NOT_FOUND)
        item->hold.id = 0;
    return status == STATUS_NOT_FOUND ? 0 : status;
}
