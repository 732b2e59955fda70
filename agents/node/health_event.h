/* What was found, as HyperPod's health monitoring agent logs it: for alarms that search logs for its words. */
#ifndef HOLDFAST_AGENTS_NODE_HEALTH_EVENT_H
#define HOLDFAST_AGENTS_NODE_HEALTH_EVENT_H

#include "model/model.h"

/* One line of JSON, without its end; NULL for what asks for no repair of the node. Caller frees. */
char *health_event_line(const struct verdict *verdict, int64_t now_ms);

#endif
