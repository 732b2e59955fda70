/*
 * Command templates of services: {node} and its like in each argument, and nothing more than that.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_LOCAL_TEMPLATE_H
#define HOLDFAST_SERVER_PROVIDER_LOCAL_TEMPLATE_H

#include <stddef.h>

#define TEMPLATE_ARG_BYTES_MAX 4096 /* of one argument, once expanded */

struct template_value {
    const char *name; /* without braces */
    const char *value;
};

/* Expands argv (NULL-terminated, at most LOCAL_ARGS_MAX) into fresh memory, freed with template_free. An option whose value
 * is {fingerprint} vanishes when there is none, because over plain HTTP there is nothing to pin. INVALID, with a sentence
 * in ret_error (PROVIDER_ERROR_MAX bytes), for a {name} that nobody knows; TOO_LARGE. */
int template_expand(char *const argv[], const struct template_value *values, size_t value_count, char ***ret_argv,
                    char *ret_error);
void template_free(char **argv);

#endif
