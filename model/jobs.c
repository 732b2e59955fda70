/* The texts of the enums of jobs.h. */
#include "model/jobs.h"

ENUM_DEFINE(jobs_rule, JOBS_RULE_LIST)
ENUM_DEFINE(job_signal, JOB_SIGNAL_LIST)
ENUM_DEFINE(job_asked, JOB_ASKED_LIST)
