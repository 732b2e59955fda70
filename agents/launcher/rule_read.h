/*
 * Rules out of JSON or YAML: logMonitoringConfiguration as HyperPod has it, and nothing that it does not have.
 *
 * Numbers may be texts of numbers, as HyperPod's agent takes them. Patterns are compiled once here, so that a bad one is refused where it
 * is said.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_RULE_READ_H
#define HOLDFAST_AGENTS_LAUNCHER_RULE_READ_H

#include "base/json.h"
#include "policy/job/rules.h"

#define RULE_ERROR_MAX 320

/* rules is an array of objects. INVALID or TOO_LARGE with a message that names the rule, the member and what is allowed. */
int rule_read(json_t *rules, struct rule_list *ret_list, char ret_error[RULE_ERROR_MAX]);

/* Of a file in YAML or JSON: a list; an object with logMonitoringConfiguration; or a HyperPodPyTorchJob. */
int rule_read_text(const char *text, size_t len, struct rule_list *ret_list, char ret_error[RULE_ERROR_MAX]);

#endif
