/* The site's limits, the table of limits.def, and the counts that the continuous checks know, in this order. */
#include "agents/deep/limits.h"

#include "agents/checks/accelerators.h"
#include "agents/checks/network_limits.h"
#include "base/own.h"
#include "base/text.h"

#include <string.h>

static const struct {
    const char *type, *limit;
} table[] = {
#define LIMIT(type, limit, source) {type, limit},
#include "agents/deep/limits.def"
#undef LIMIT
};

static bool find_in_table(const char *type, const char *measure, struct deep_limit *ret_limit)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct deep_limit limit;
        if (strcmp(table[i].type, type) == 0 && deep_limit_parse(table[i].limit, &limit) == 0 &&
            strcmp(limit.measure, measure) == 0) {
            *ret_limit = limit;
            return true;
        }
    }
    return false;
}

/* How many of them there are; 0: none, or nobody knows. */
static int count_of(const char *type, const char *measure)
{
    const struct accelerators *known = accelerators_find(type);
    if (text_equal(measure, MEASURE_EFA))
        return efa_count_of_type(type);
    if (known == NULL)
        return 0;
    if (text_equal(measure, MEASURE_GPUS) || text_equal(measure, MEASURE_GPUS_ON_BUS))
        return known->gpus;
    return text_equal(measure, MEASURE_NEURON) ? known->neuron_devices : 0;
}

bool limits_find(const struct deep_job *job, const char *measure, struct deep_limit *ret_limit)
{
    const struct deep_limit *own = deep_limit_find(job->limits, job->limit_count, measure);
    const char *type = deep_plain_type(job->instance_type);
    if (own != NULL) {
        *ret_limit = *own;
        return true;
    }
    if (find_in_table(type, measure, ret_limit))
        return true;
    int count = count_of(type, measure);
    if (count <= 0)
        return false;
    *ret_limit = (struct deep_limit){.value = count};
    text_copy_cut(ret_limit->measure, sizeof(ret_limit->measure), measure);
    return true;
}
