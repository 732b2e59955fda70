/*
 * What scheduler configurations and compute quotas have in common in the REST API. governance_words.h has their words; what the path or
 * a header says is not in the body.
 */
#ifndef HOLDFAST_API_V1_GOVERNANCE_H
#define HOLDFAST_API_V1_GOVERNANCE_H

#include "api/call.h"
#include "server/service/scheduler/governance.h"

void governance_create(struct api_call *call, enum governance_kind kind);
void governance_describe(struct api_call *call, const struct service_governance_ref *ref);
void governance_update(struct api_call *call, const struct service_governance_ref *ref);
void governance_delete(struct api_call *call, const struct service_governance_ref *ref);
/* A new document as it is shown. */
json_t *governance_render(const struct governance *governance);

#endif
