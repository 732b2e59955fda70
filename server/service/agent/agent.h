/* What agents say and ask: enrolment, heartbeats, verdicts, lifecycle scripts and resets. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_AGENT_AGENT_H
#define HOLDFAST_SERVER_SERVICE_AGENT_AGENT_H

#include "db/verdict.h"
#include "model/hardware.h"
#include "model/lifecycle.h"
#include "server/live/fleet.h"
#include "server/service/access/access.h"
#include "server/service/service.h"

struct service_enrollment {
    char node[NODE_NAME_MAX_BYTES]; /* the slot's name; may be "" when the token names the node */
    char instance_id[ID_INSTANCE_MAX];
    char boot_id[BOOT_ID_MAX_BYTES];
};
/* ret_credential is "hfn_<row>.<secret>". Safe to repeat while the token lives: a new credential replaces the earlier. */
int service_agent_enroll(struct service *s, const char *bearer, const struct service_enrollment *enrollment,
                         int64_t *ret_node_id, char ret_credential[SERVICE_TOKEN_TEXT_MAX],
                         struct problem *ret_problem);
/* "hfn_…" to the node's row. No store access. */
int service_agent_authenticate(struct service *s, const char *bearer, size_t len, int64_t *ret_node_id);
/* The hot path: in memory unless the store has to be told first (another boot), for which it waits. */
int service_agent_heartbeat(struct service *s, int64_t node_id, const struct fleet_heartbeat *beat,
                            struct problem *ret_problem);
/* The same without ever waiting. *ret_waits: nothing was done, because it would have. */
int service_agent_heartbeat_now(struct service *s, int64_t node_id, const struct fleet_heartbeat *beat, bool *ret_waits,
                                struct problem *ret_problem);
/* Stores and calls done after the commit, on the writer's thread; the verdicts are copied. status 0: durable.
 * sent_at: the agent's clock when it sent, to set its times right (a clock an hour off must not matter). */
int service_agent_verdicts(struct service *s, int64_t node_id, const struct verdict *verdicts, size_t count,
                           int64_t sent_at, void (*done)(int status, const struct problem *problem, void *arg),
                           void *arg, struct problem *ret_problem);

/* --- lifecycle scripts ------------------------------------------------------------------------- */
/* Why these cannot be run, in words, and which part is wrong; NULL when they can. Static. */
enum lifecycle_part { LIFECYCLE_SOURCE, LIFECYCLE_ON_CREATE, LIFECYCLE_ON_INIT_COMPLETE };
const char *service_lifecycle_refusal(const struct lifecycle_job *job, enum lifecycle_part *ret_part);
/* STALE, CONFLICT (another boot than the one that is known), INVALID. */
int service_agent_machine(struct service *s, int64_t node_id, const struct machine_report *report,
                          struct problem *ret_problem);
/* What the node's instance is asked to do, and the resource_config.json it may read; caller frees that. peer: where the agent
 * asks from. NOT_FOUND when nothing is asked for. UNAVAILABLE while too much of it is under way to others; so whoever got it says
 * when it was sent. */
int service_agent_work(struct service *s, int64_t node_id, const char *peer, struct lifecycle_job *ret_job,
                       char **ret_resources, struct problem *ret_problem);
/* The device that it is asked to reset. NOT_FOUND: none. */
int service_agent_reset(struct service *s, int64_t node_id, struct reset_job *ret_job);
int service_agent_reboot(struct service *s, int64_t node_id, struct reboot_job *ret_job);
void service_agent_work_sent(struct service *s, size_t resources_bytes);
/* Durable in the timeline when it returns; a repeat adds nothing. log: the end of what the script wrote. STALE when this is no
 * longer asked for. */
int service_agent_report_work(struct service *s, int64_t node_id, const struct lifecycle_report *report,
                              const char *log, struct problem *ret_problem);

#endif
