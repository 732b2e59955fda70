/*
 * Orchestrator of HyperPod's clusters, which has Slurm and Eks. Eks names a cluster of somebody else's and is refused (cluster_check.c);
 * a cluster of a kind that HyperPod has no word for is shown without the member.
 */
#include "api/aws/orchestrator.h"
#include "base/text.h"
#include "server/service/scheduler/scheduler.h"

enum orchestrator aws_orchestrator(const struct service *s, bool names_slurm)
{
    if (names_slurm)
        return ORCHESTRATOR_SLURM;
    return s->backends != NULL && s->backends->kind_count == 0 ? ORCHESTRATOR_NONE
                                                               : service_cluster_orchestrator(s, "");
}

bool aws_orchestrator_is_slurm(enum orchestrator orchestrator)
{
    return orchestrator == ORCHESTRATOR_SLURM;
}

const char *aws_orchestrator_scheduler(const struct service *s, enum orchestrator orchestrator)
{
    for (size_t i = 0; i < s->scheduler_count; i++)
        if (text_equal(service_scheduler_kind(s->schedulers[i]), orchestrator_text(orchestrator)))
            return service_scheduler_name(s->schedulers[i]);
    return "";
}

void aws_orchestrator_put(json_t *json, enum orchestrator orchestrator)
{
    if (!aws_orchestrator_is_slurm(orchestrator))
        (void)json_object_del(json, "Orchestrator");
    else if (json_object_get(json, "Orchestrator") == NULL)
        json_put(json, "Orchestrator", json_pack("{s:{}}", "Slurm"));
}
