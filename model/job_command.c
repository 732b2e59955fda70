/* The words for what people ask of training jobs. */
#include "model/job_command.h"

ENUM_DEFINE(job_command_kind, JOB_COMMAND_LIST)
