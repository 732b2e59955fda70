/* One failure, one answer: limits first, then what Slurm lets be done to the job. */
#include "agents/slurm/decide.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static void say(char ret_why[RESUME_WHY_MAX], const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(ret_why, RESUME_WHY_MAX, format, ap);
    va_end(ap);
}

static enum resume_next decide_crash(const struct resume_facts *facts, char ret_why[RESUME_WHY_MAX])
{
    if (facts->stopped) {
        say(ret_why, "the repair that the step made way for was taken back");
        return RESUME_AGAIN;
    }
    if (facts->crash_max == 0)
        say(ret_why, "no node is at fault, and --auto-resume=crash:N was not asked for");
    else if (facts->crashes > facts->crash_max)
        say(ret_why, "no node is at fault, and it crashed %" PRId64 " times", facts->crashes);
    else {
        say(ret_why, "no node is at fault; crash %" PRId64 " of %" PRId64 " that may be", facts->crashes,
            facts->crash_max);
        return RESUME_AGAIN;
    }
    return RESUME_END;
}

enum resume_next resume_decide_otherwise(const struct resume_facts *facts, const char *because,
                                         char ret_why[RESUME_WHY_MAX])
{
    bool may = facts->batch && facts->requeueable;
    say(ret_why, "%s%s", because,
        may            ? ": the job is requeued"
        : facts->batch ? ", and requeueing is forbidden"
                       : ", and only batch jobs can be requeued");
    return may ? RESUME_REQUEUE : RESUME_END;
}

enum resume_next resume_decide(const struct resume_facts *facts, char ret_why[RESUME_WHY_MAX])
{
    if (!facts->running) {
        say(ret_why, "the job itself has ended");
        return RESUME_END;
    }
    if (facts->futile >= RESUME_FUTILE_MAX) {
        say(ret_why, "no progress over %d attempts", RESUME_FUTILE_MAX);
        return RESUME_END;
    }
    if (facts->attempts >= facts->attempts_max) {
        say(ret_why, "it was run %" PRId64 " times, and may be no more", facts->attempts);
        return RESUME_END;
    }
    if (!facts->fault)
        return decide_crash(facts, ret_why);
    if (facts->gres)
        return resume_decide_otherwise(facts, "Slurm cannot change which GPUs (GRES) a job has", ret_why);
    if (facts->merge_barred)
        return resume_decide_otherwise(facts, "Slurm merges no jobs with whole nodes where GresTypes is set", ret_why);
    if (facts->newcomers_barred)
        return resume_decide_otherwise(facts, "Slurm starts no step on a node that comes later (PrologFlags)", ret_why);
    if (facts->batch_host_lost)
        return resume_decide_otherwise(facts, "the node of the batch script is lost", ret_why);
    if (facts->good_nodes == 0)
        return resume_decide_otherwise(facts, "no node of the job is left", ret_why);
    say(ret_why, "a node is at fault");
    return RESUME_REPLACE;
}
