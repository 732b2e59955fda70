/*
 * Events as HyperPod puts them on EventBridge: "detail-type" and "detail". There are three: what happened, the health of a node, and the
 * state of a cluster with its whole configuration.
 */
#ifndef HOLDFAST_API_AWS_EVENTBRIDGE_H
#define HOLDFAST_API_AWS_EVENTBRIDGE_H

#include "base/json.h"
#include "server/service/service.h"

/* NULL for an event that is of no cluster, or of one that is gone. Any thread. */
json_t *aws_eventbridge(struct service *service, const struct event *event);

#endif
