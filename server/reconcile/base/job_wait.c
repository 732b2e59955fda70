/* How long an operation waits for jobs: as it was decided; what people and the control plane itself ask for waits as the policy says of no class. */
#include "server/reconcile/base/job_wait.h"
#include "server/config/loop_settings.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"

bool reconcile_spares_jobs(const struct operation *op)
{
    return op->kind == OPERATION_KIND_CHECK && op->urgency != URGENCY_NOW;
}

int64_t reconcile_job_wait_ms(const struct operation *op, const struct loop_settings *settings)
{
    if (op->urgency == URGENCY_NOW)
        return 0;
    if (reconcile_spares_jobs(op))
        return settings->check_wait_ms;
    return op->job_wait_ms > 0 ? op->job_wait_ms : settings->policy.drain_deadline_ms[FAULT_CLASS_NONE];
}

bool reconcile_waits_for_jobs(const struct rnode *node)
{
    const struct rop *op = node->op;
    return op != NULL && !op->past_return && (op->step == STEP_KIND_MARK || op->step == STEP_KIND_DRAIN) &&
           op->scratch.evicted_at == 0;
}
