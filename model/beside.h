/* What else was open on a node when a decision was made (decision.beside). */
#ifndef HOLDFAST_MODEL_BESIDE_H
#define HOLDFAST_MODEL_BESIDE_H

#include "model/model.h"

struct decision_beside {
    enum decision_rule rule; /* that it would be decided by, were it alone */
    char code[CODE_MAX_BYTES], device[DEVICE_MAX_BYTES];
};
/* The next of the lines at *at, which it moves on; false: there is no more, or none that is understood. */
bool decision_beside_next(const char **at, struct decision_beside *ret_beside);
/* Whether the first has a line that the second has not. */
bool decision_beside_is_new(const char *lines, const char *before);

#endif
