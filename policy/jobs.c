/*
 * What the jobs of a node may do before it is repaired: the fault's row says whether the device is lost to them, and the policy
 * says by class of fault whether that is gone by. The wait is always finite. Where the provider names a date the jobs give way a while before it.
 * A machine that has nothing but dates is sound until then, so jobs that are waited for have until that time, however far it is.
 */
#include "policy/evaluate.h"

struct policy_jobs policy_jobs(const struct policy_settings *settings, enum fault_class fault, enum urgency urgency)
{
    enum jobs_rule rule = settings->jobs[fault];
    if (rule == JOBS_RULE_TABLE)
        rule = urgency == URGENCY_NOW ? JOBS_RULE_NOW : JOBS_RULE_WAIT;
    int64_t wait_ms = rule == JOBS_RULE_WAIT     ? settings->drain_deadline_ms[fault]
                      : rule == JOBS_RULE_SIGNAL ? settings->signal_deadline_ms[fault]
                                                 : 0;
    if (wait_ms == 0)
        return (struct policy_jobs){.urgency = URGENCY_NOW};
    return (struct policy_jobs){.urgency = URGENCY_AFTER_JOBS,
                                .signal = rule == JOBS_RULE_SIGNAL ? settings->job_signal[fault] : JOB_SIGNAL_NONE,
                                .wait_ms = wait_ms};
}

struct policy_jobs policy_jobs_until(const struct policy_settings *settings, struct policy_jobs jobs, int64_t due_at,
                                     bool sound, int64_t now_ms)
{
    int64_t left = due_at - settings->notice_lead_ms - now_ms;
    if (due_at == 0 || jobs.urgency == URGENCY_NOW)
        return jobs;
    if (left <= 0)
        return (struct policy_jobs){.urgency = URGENCY_NOW};
    if (left < jobs.wait_ms || (sound && jobs.signal == JOB_SIGNAL_NONE))
        jobs.wait_ms = left;
    return jobs;
}

bool policy_jobs_are_shorter(const struct policy_jobs *a, const struct policy_jobs *b)
{
    return a->wait_ms != b->wait_ms ? a->wait_ms < b->wait_ms : a->signal > b->signal;
}

void policy_jobs_put(const struct policy_jobs *jobs, struct decision *decision)
{
    decision->urgency = jobs->urgency;
    decision->job_signal = jobs->signal;
    decision->job_wait_ms = jobs->wait_ms;
}
