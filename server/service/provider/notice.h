/* What providers say of their machines, as evidence of the nodes that they are. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_PROVIDER_NOTICE_H
#define HOLDFAST_SERVER_SERVICE_PROVIDER_NOTICE_H

#include "model/notice.h"
#include "server/service/service.h"

/* All that the provider says now. What is new becomes a verdict; what it announces no longer is over, and a repair for it that has touched nothing is
 * cancelled. Repeats change nothing. */
int service_provider_notices(struct service *s, const char *provider, const struct provider_notice *notices,
                             size_t count, struct problem *ret_problem);

#endif
