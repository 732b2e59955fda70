/* What deep health checks judge by on a site: checks.limits of the configuration, for each type of instance. */
#ifndef HOLDFAST_SERVER_CHECK_LIMITS_H
#define HOLDFAST_SERVER_CHECK_LIMITS_H

#include "base/json.h"
#include "model/deep.h"

#define CHECK_LIMITS_MAX 256 /* of all types together */

/* {"p5.48xlarge": ["EFA MB/s >= 9000", …], …}. INVALID with the rule in ret_error; what was read before it stays to be freed. */
int check_limits_read(json_t *object, struct deep_site *site, char *ret_error, size_t size);
void check_limits_free(struct deep_site *site);

#endif
