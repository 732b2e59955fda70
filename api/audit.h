/*
 * The audit log, seen from the APIs: each says here, in one place, which request is a change, who asked and what about,
 * and how it was answered. What is recorded, and when, is the service's (server/service/access/audit.c).
 *
 * Names go into the log, and bodies do not: of a body only what the members with names of things hold.
 */
#ifndef HOLDFAST_API_AUDIT_H
#define HOLDFAST_API_AUDIT_H

#include "api/call.h"
#include "server/service/access/access.h"

/* On a request thread, before anything else. A change has call->audit from here on; service_audit_end after the reply. */
void audit_begin(struct api_call *call, struct service_audit *audit);
/* Who it is, once that is proven; before that at most the credential that was used. */
void audit_who(struct api_call *call, const struct actor *actor);
void audit_credential(struct api_call *call, const char *credential);
/* What it is about: of the REST API's body and of the AWS API's input. */
void audit_body(struct api_call *call, const json_t *body);
void audit_input(struct api_call *call, const json_t *input);

/* Before the reply. */
void audit_granted(struct api_call *call);
/* On any thread. failed: it was not the request's fault. */
void audit_refused(struct api_call *call, const char *code, const char *request_id, bool failed);
/* The items of a batch that were refused, while others may not have been: the reply's list of them, NULL for none. */
void audit_failures(struct api_call *call, const json_t *failed);

#endif
