/*
 * What scheduler configurations and compute quotas have in common at the REST door. Their documents are those of the AWS door
 * in the other spelling, by the same tables; what the path or a header says is not in the body.
 */
#ifndef HOLDFAST_API_V1_GOVERNANCE_H
#define HOLDFAST_API_V1_GOVERNANCE_H

#include "api/aws/governance_document.h"
#include "api/call.h"

void governance_create(struct api_call *call, enum governance_kind kind);
void governance_describe(struct api_call *call, const struct service_governance_ref *ref);
void governance_update(struct api_call *call, const struct service_governance_ref *ref);
void governance_delete(struct api_call *call, const struct service_governance_ref *ref);
/* A new document as this door shows it. */
json_t *governance_render(const struct governance *governance);

#endif
