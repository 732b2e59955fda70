/* The words of what providers announce. */
#include "model/notice.h"

ENUM_DEFINE(provider_notice_kind, PROVIDER_NOTICE_LIST)
