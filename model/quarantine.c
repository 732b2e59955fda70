/* The texts of the enum of apart.h. */
#include "model/quarantine.h"

ENUM_DEFINE(quarantine_state, QUARANTINE_STATE_LIST)
