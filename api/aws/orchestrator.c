/*
 * Orchestrator of HyperPod's clusters, which has Slurm and Eks. Eks names an EKS cluster by its ARN, and hpd's configuration says which
 * scheduler that is (eksClusterArn). A cluster whose scheduler has no ARN, and is no Slurm, is shown without the member.
 */
#include "api/aws/orchestrator.h"
#include "api/aws/cluster_document.h"
#include "base/status.h"
#include "base/text.h"
#include "server/service/scheduler/scheduler.h"

enum orchestrator aws_orchestrator(const struct service *s, bool names_slurm)
{
    if (names_slurm)
        return ORCHESTRATOR_SLURM;
    return s->backends != NULL && s->backends->kind_count == 0 ? ORCHESTRATOR_NONE
                                                               : service_cluster_orchestrator(s, "");
}

int aws_orchestrator_of_eks(const struct service *s, const char *arn, enum orchestrator *ret_orchestrator,
                            const char **ret_scheduler, struct problem *ret_problem)
{
    const struct service_scheduler *scheduler = service_scheduler_by_arn(s, arn);
    AUTO(text) struct text known = {0};
    if (scheduler != NULL) {
        *ret_scheduler = service_scheduler_name(scheduler);
        *ret_orchestrator = service_cluster_orchestrator(s, *ret_scheduler);
        return 0;
    }
    for (size_t i = 0; i < s->scheduler_count; i++)
        if (service_scheduler_arn(s->schedulers[i])[0] != '\0')
            text_printf(&known, "%s%s", known.len > 0 ? ", " : "", service_scheduler_arn(s->schedulers[i]));
    return input_invalid(ret_problem,
                         "Orchestrator.Eks.ClusterArn: no scheduler in hpd's configuration has the eksClusterArn %s. "
                         "Those that it has: %s.",
                         arn, known.len > 0 ? text_get(&known) : "none");
}

bool aws_orchestrator_is_eks(const struct service *s, const struct cluster *cluster, const char *arn)
{
    return text_equal(service_scheduler_arn(service_scheduler_of(s, cluster)), arn);
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

void aws_orchestrator_put(json_t *json, const struct service *s, const struct cluster *cluster)
{
    const char *arn = service_scheduler_arn(service_scheduler_of(s, cluster));
    if (arn[0] != '\0')
        json_put(json, "Orchestrator", json_pack("{s:{s:s}}", "Eks", "ClusterArn", arn));
    else if (!aws_orchestrator_is_slurm(cluster->orchestrator))
        (void)json_object_del(json, "Orchestrator");
    else if (json_object_get(json, "Orchestrator") == NULL)
        json_put(json, "Orchestrator", json_pack("{s:{}}", "Slurm"));
}
