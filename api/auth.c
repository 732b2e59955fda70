/*
 * Who asks, and whether they may. Agents are known to the fleet in memory, so that is settled before their body is
 * read; people's tokens may need the store, so there only the token's kind is looked at first.
 */
#include "api/audit.h"
#include "api/intern.h"
#include "server/service/access/access.h"
#include "server/service/agent/agent.h"

#include <string.h>
#include <strings.h>

static const char *const kinds[] = {
    [ACCESS_ENROLL] = "hfe_",   [ACCESS_AGENT] = "hfn_",  [ACCESS_LOCAL] = "hfa_",    [ACCESS_JOB] = "hfa_",
    [ACCESS_REPORTER] = "hfa_", [ACCESS_VIEWER] = "hfa_", [ACCESS_OPERATOR] = "hfa_", [ACCESS_ADMIN] = "hfa_",
};

const char *auth_bearer(const struct http_request *http)
{
    const char *header = http_header(http, "Authorization");
    if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
        return NULL;
    header += 7;
    while (*header == ' ')
        header++;
    return header;
}

static bool refuse(struct api_call *call, const char *why)
{
    api_problem_printf(call, PROBLEM_UNAUTHENTICATED, "%s", why);
    return false;
}

static bool needs_token(const struct api_call *call)
{
    enum api_access access = call->route->access;
    return access != ACCESS_OPEN && access != ACCESS_SIGNED &&
           !(access == ACCESS_LOCAL && http_peer_is_loopback(call->http));
}

bool auth_begin(struct api_call *call)
{
    if (!needs_token(call))
        return true;
    const char *bearer = auth_bearer(call->http);
    const char *kind = kinds[call->route->access];
    if (bearer == NULL)
        return refuse(call, "Send a token in the header \"Authorization: Bearer <token>\".");
    if (call->route->access == ACCESS_ENROLL && strncmp(bearer, "hfm_", 4) == 0)
        kind = "hfm_"; /* of a machine: the handler says whether it is good there */
    if (strncmp(bearer, kind, strlen(kind)) != 0 || strlen(bearer) >= SERVICE_TOKEN_TEXT_MAX) {
        api_problem_printf(call, PROBLEM_UNAUTHENTICATED, "This path takes tokens that begin with \"%s\".", kind);
        return false;
    }
    if (call->route->access == ACCESS_AGENT &&
        service_agent_authenticate(call->service, bearer, strlen(bearer), &call->node_id) != 0)
        return refuse(call, "This credential is not, or no longer, the one of a node. Enrol again.");
    return true;
}

bool auth_user(struct api_call *call)
{
    static const enum role needed[] = {
        [ACCESS_LOCAL] = ROLE_VIEWER,  [ACCESS_JOB] = ROLE_JOB,           [ACCESS_REPORTER] = ROLE_OPERATOR,
        [ACCESS_VIEWER] = ROLE_VIEWER, [ACCESS_OPERATOR] = ROLE_OPERATOR, [ACCESS_ADMIN] = ROLE_ADMIN};
    enum api_access access = call->route->access;
    if (access == ACCESS_ENROLL || access == ACCESS_AGENT || !needs_token(call))
        return true;
    int rc = service_authenticate(call->service, auth_bearer(call->http), &call->actor);
    if (rc == STATUS_UNAUTHENTICATED)
        return refuse(call, "The token is unknown, has expired or was deleted.");
    if (rc != 0) {
        api_problem_printf(call, rc == STATUS_FULL ? PROBLEM_STORE_FULL : PROBLEM_UNAVAILABLE,
                           "The token cannot be checked now: %s.", status_meaning(rc));
        return false;
    }
    audit_who(call, &call->actor);
    if (call->actor.role >= needed[access] || (access == ACCESS_REPORTER && call->actor.role == ROLE_REPORTER))
        return true;
    if (access == ACCESS_REPORTER)
        api_problem_printf(call, PROBLEM_FORBIDDEN,
                           "This needs the role \"reporter\" or \"operator\"; the token has the role \"%s\".",
                           role_text(call->actor.role));
    else
        api_problem_printf(call, PROBLEM_FORBIDDEN, "This needs the role \"%s\"; the token has the role \"%s\".",
                           role_text(needed[access]), role_text(call->actor.role));
    return false;
}
