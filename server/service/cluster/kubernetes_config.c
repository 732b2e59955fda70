/*
 * KubernetesConfig of a group: labels and taints that people want on its nodes. Keys by which Holdfast and Kubernetes themselves say
 * something are refused, as a label of these would make two write the same thing for ever.
 */
#include "server/service/private.h"

#include "base/text.h"
#include "server/service/scheduler/scheduler.h"

#include <string.h>

static const char *const reserved[] = {"sagemaker.amazonaws.com/", "holdfast/", "node.kubernetes.io/",
                                       "topology.k8s.aws/"};

static int check_key(const char *group, const char *what, const char *key, struct problem *problem)
{
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
        if (text_starts_with(key, reserved[i]))
            return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                               "The group \"%s\" has the %s \"%s\"; keys that begin with %s are not a group's to set.",
                               group, what, key, reserved[i]);
    return 0;
}

/* The API server takes each key once for each effect. */
static int check_taints(const char *group, const struct kubernetes_spec *spec, struct problem *problem)
{
    const struct taint_spec *taints = spec->taints.items;
    int status = 0;
    for (size_t i = 0; i < spec->taints.count && status == 0; i++) {
        status = check_key(group, "taint", taints[i].key, problem);
        for (size_t k = 0; k < i && status == 0; k++)
            if (text_equal(taints[i].key, taints[k].key) && taints[i].effect.value == taints[k].effect.value)
                return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                                   "The group \"%s\" has the taint \"%s\" twice with the effect %s.", group,
                                   taints[i].key, taint_effect_text((enum taint_effect)taints[i].effect.value));
    }
    return status;
}

int kubernetes_config_check(const struct service *s, const char *scheduler, const char *group,
                            const struct group_spec *spec, struct problem *problem)
{
    if (spec == NULL || (spec->kubernetes.labels.count == 0 && spec->kubernetes.taints.count == 0))
        return 0;
    for (size_t i = 0; i < s->scheduler_count; i++)
        if (text_equal(service_scheduler_name(s->schedulers[i]), scheduler) &&
            !service_scheduler_has_labels(s->schedulers[i]))
            return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                               "The group \"%s\" has labels or taints, and nodes of the scheduler \"%s\" carry none: "
                               "leave KubernetesConfig out.",
                               group, scheduler);
    if (scheduler[0] == '\0')
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "The group \"%s\" has labels or taints, and its cluster has no scheduler: leave "
                           "KubernetesConfig out.",
                           group);
    const struct record_pair *labels = spec->kubernetes.labels.items;
    int status = 0;
    for (size_t i = 0; i < spec->kubernetes.labels.count && status == 0; i++)
        status = check_key(group, "label", labels[i].key, problem);
    return status != 0 ? status : check_taints(group, &spec->kubernetes, problem);
}
