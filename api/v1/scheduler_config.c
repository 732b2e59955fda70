/* A cluster's scheduler configuration: there is one, so its path needs no name. */
#include "api/v1/governance.h"
#include "api/v1/v1.h"

static struct service_governance_ref ref_of(const struct api_call *call)
{
    return (struct service_governance_ref){.kind = GOVERNANCE_KIND_SCHEDULER_CONFIG, .cluster = call->params[0]};
}

void api_scheduler_config_create(struct api_call *call)
{
    governance_create(call, GOVERNANCE_KIND_SCHEDULER_CONFIG);
}

void api_scheduler_config_describe(struct api_call *call)
{
    const struct service_governance_ref ref = ref_of(call);
    governance_describe(call, &ref);
}

void api_scheduler_config_update(struct api_call *call)
{
    const struct service_governance_ref ref = ref_of(call);
    governance_update(call, &ref);
}

void api_scheduler_config_delete(struct api_call *call)
{
    const struct service_governance_ref ref = ref_of(call);
    governance_delete(call, &ref);
}
