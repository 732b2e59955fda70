/* Specifications of groups and clusters by the words of the store; they live until the program ends. */
#ifndef HOLDFAST_TESTS_SUPPORT_SPECS_H
#define HOLDFAST_TESTS_SUPPORT_SPECS_H

#include "model/group_spec.h"

#include <stdlib.h>

#define SPECS_MAX 4096
#define SPECS_FN static __attribute__((unused))

static struct group_spec *group_specs[SPECS_MAX];
static struct cluster_spec *cluster_specs[SPECS_MAX];
static size_t group_spec_count, cluster_spec_count;

static __attribute__((destructor)) void specs_free(void)
{
    while (group_spec_count > 0) {
        group_spec_free(group_specs[--group_spec_count]);
        free(group_specs[group_spec_count]);
    }
    while (cluster_spec_count > 0) {
        cluster_spec_free(cluster_specs[--cluster_spec_count]);
        free(cluster_specs[cluster_spec_count]);
    }
}

/* NULL: nothing was asked for. */
SPECS_FN const struct group_spec *group_spec_of(const char *text)
{
    struct group_spec *spec = own_calloc(1, sizeof(*spec));
    if (text == NULL || group_spec_count == SPECS_MAX || group_spec_read(text, spec) != 0) {
        free(spec);
        if (text != NULL)
            abort();
        return NULL;
    }
    return group_specs[group_spec_count++] = spec;
}

SPECS_FN const struct cluster_spec *cluster_spec_of(const char *text)
{
    struct cluster_spec *spec = own_calloc(1, sizeof(*spec));
    if (cluster_spec_count == SPECS_MAX || cluster_spec_read(text, spec) != 0)
        abort();
    return cluster_specs[cluster_spec_count++] = spec;
}

#endif
