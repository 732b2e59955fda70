/* A cluster in a person's hands: nothing is done to its nodes by itself. */
#ifndef HOLDFAST_SERVER_SERVICE_PAUSE_H
#define HOLDFAST_SERVER_SERVICE_PAUSE_H

#include "server/service/service.h"

/* Nothing new is begun in the cluster by itself from the commit on; what is at work goes on to its end. Once more takes another
 * person's place, or says another reason. CONFLICT for one that is being deleted. */
int service_cluster_pause(struct service *s, const struct actor *actor, const char *cluster, const char *reason,
                          struct cluster *ret_cluster, struct problem *ret_problem);
/* What is still open is decided anew. Nothing is done where it was not paused. */
int service_cluster_resume(struct service *s, const struct actor *actor, const char *cluster, const char *reason,
                           struct cluster *ret_cluster, struct problem *ret_problem);

#endif
