/* The texts of the enum of apart.h. */
#include "model/apart.h"

ENUM_DEFINE(apart_state, APART_STATE_LIST)
