/* Texts of the enums of governance.h, which are what is stored. */
#include "model/governance.h"

ENUM_DEFINE(governance_kind, GOVERNANCE_KIND_LIST)
ENUM_DEFINE(governance_status, GOVERNANCE_STATUS_LIST)
ENUM_DEFINE(governance_object, GOVERNANCE_OBJECT_LIST)
