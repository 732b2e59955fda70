/* The words of attempts at steps of jobs. */
#include "model/attempt.h"

ENUM_DEFINE(attempt_state, ATTEMPT_STATE_LIST)
ENUM_DEFINE(resume_action, RESUME_ACTION_LIST)
