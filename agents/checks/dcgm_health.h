/* What `dcgmi health -c` says, as JSON or as its table. Pure. */
#ifndef HOLDFAST_AGENTS_CHECKS_DCGM_HEALTH_H
#define HOLDFAST_AGENTS_CHECKS_DCGM_HEALTH_H

#include "agents/checks/dcgm_words.h"

#include <stdbool.h>

#define DCGM_INCIDENTS_MAX 128

struct dcgm_incident {
    char group[DCGM_TEXT_BYTES_MAX]; /* "GPU", "Switch" */
    int entity;
    char system[DCGM_TEXT_BYTES_MAX]; /* "Memory system" */
    bool is_failure;                  /* and not a warning */
    char message[DCGM_MESSAGE_BYTES_MAX];
};

#define DCGM_HEALTH_ANSWER_LIST(X)                                  \
    X(REPORT, "a report")                                           \
    X(NOT_WATCHED, "health watches are not enabled")                \
    X(NO_SERVICE, "DCGM's service (nv-hostengine) does not answer") \
    X(BROKEN, "not a report")
enum dcgm_health_answer {
#define X(SYMBOL, text) DCGM_HEALTH_##SYMBOL,
    DCGM_HEALTH_ANSWER_LIST(X)
#undef X
};
const char *dcgm_health_answer_text(enum dcgm_health_answer answer);

struct dcgm_health {
    enum dcgm_health_answer answer;
    char overall[DCGM_TEXT_BYTES_MAX]; /* "Healthy", "Warning", "Failure" */
    size_t incident_count;             /* what is beyond the limit is left out */
    struct dcgm_incident incidents[DCGM_INCIDENTS_MAX];
};

/* Always fills *ret_health. len bytes, no zero needed. */
void dcgm_health_parse(const char *data, size_t len, struct dcgm_health *ret_health);

/* The row of the fault table for an incident. */
void dcgm_incident_code(const struct dcgm_incident *incident, char code[CODE_MAX_BYTES]);

#endif
