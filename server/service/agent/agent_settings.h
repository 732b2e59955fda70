/* What a site says otherwise to the agents of a group. Revision 0: nothing is said of the group. Settings are large, as are reports. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_AGENT_AGENT_SETTINGS_H
#define HOLDFAST_SERVER_SERVICE_AGENT_AGENT_SETTINGS_H

#include "db/agent_settings.h"
#include "server/service/service.h"

int service_agent_settings_get(struct service *s, const char *cluster, const char *group,
                               struct group_agent_settings *ret_settings, struct problem *ret_problem);
/* Of the node's group, and what its agent tells that counts there; at 0: it has told of nothing. */
int service_agent_settings_of_node(struct service *s, const char *cluster, const char *node,
                                   struct group_agent_settings *ret_settings, struct agent_settings_report *ret_told,
                                   struct problem *ret_problem);
int service_agent_settings_validate(const char *text, struct problem *ret_problem);
struct service_agent_settings_change {
    const char *cluster, *group, *text, *comment;
    int64_t expected; /* the revision that it follows; -1: any */
};
int service_agent_settings_apply(struct service *s, const struct actor *actor,
                                 const struct service_agent_settings_change *wanted,
                                 struct group_agent_settings *ret_settings, struct problem *ret_problem);
int service_agent_settings_fetch(struct service *s, int64_t node_id, struct group_agent_settings *ret_settings,
                                 struct problem *ret_problem);
int service_agent_settings_report(struct service *s, int64_t node_id, const struct agent_settings_report *report,
                                  struct problem *ret_problem);
/* Before the first agent is answered. */
int service_agent_settings_load(struct service *s, struct problem *ret_problem);

#endif
