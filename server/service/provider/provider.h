/* Where machines come from, for people: how each provider stands, and a test of its contract. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_PROVIDER_PROVIDER_H
#define HOLDFAST_SERVER_SERVICE_PROVIDER_PROVIDER_H

#include "server/live/provider_registry.h"
#include "server/service/service.h"

struct service_provider {
    struct provider_status status;
    int64_t machines; /* that fill a slot now */
};

/* fn gets each, in the configuration's order. */
int service_provider_list(struct service *s, int (*fn)(const struct service_provider *provider, void *arg), void *arg,
                          struct problem *ret_problem);
/* NOT_FOUND. */
int service_provider_get(struct service *s, const char *name, struct service_provider *ret_provider,
                         struct problem *ret_problem);
/* Begins; the result is in the provider's status. launches: a machine is launched and ended for it. CONFLICT while one goes on, or where
 * the provider has no contract of its own to test. */
int service_provider_test(struct service *s, const struct actor *actor, const char *name, bool launches,
                          struct service_provider *ret_provider, struct problem *ret_problem);

#endif
