/*
 * Clusters made and changed through the AWS API: CreateCluster, UpdateCluster. What the input means is read and checked in
 * cluster_document.h's functions; here it is decided on what is left out.
 *
 *      Orchestrator            as the first scheduler of this server is, else none (orchestrator.h)
 *      NodeRecovery            Automatic
 *      NodeProvisioningMode    all or nothing, as HyperPod has it: only Continuous can be named
 *
 * CreateCluster has no client token. SDKs repeat a request whose answer was lost under the same invocation id, which is kept
 * with the cluster, so that the repeat answers the cluster that the first try made instead of calling its name taken.
 */
#include "api/aws/cluster_document.h"
#include "api/aws/operation.h"
#include "api/aws/orchestrator.h"
#include "api/aws/spec.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/service/cluster/cluster.h"

#include <string.h>

static enum node_recovery recovery_of(const struct aws_call *call)
{
    enum node_recovery recovery = NODE_RECOVERY_AUTOMATIC;

    (void)node_recovery_parse(aws_text(call, "NodeRecovery"), &recovery); /* absent: stays */
    return recovery;
}

static bool is_continuous(const struct aws_call *call)
{
    return strcmp(aws_text(call, "NodeProvisioningMode"), "Continuous") == 0;
}

static int check_slurm(struct aws_call *call, const struct cluster_input *input, enum orchestrator orchestrator)
{
    bool wants = input->names_slurm;

    if (aws_orchestrator_is_slurm(orchestrator) || (!wants && input->slurm_group == NULL))
        return 0;
    return aws_refuse(call, AWS_ERROR_VALIDATION, "%s%s%s: the cluster has no Slurm, and this cannot give it one",
                      wants ? "Orchestrator" : "SlurmConfig of the group \"", wants ? "" : input->slurm_group,
                      wants ? "" : "\"");
}

/* Which scheduler the cluster gets. */
static int choose_orchestrator(struct aws_call *call, const struct cluster_input *input,
                               struct service_cluster_spec *spec)
{
    struct problem problem;
    const char *scheduler = "";

    if (input->eks_arn != NULL) {
        if (aws_orchestrator_of_eks(call->service, input->eks_arn, &spec->orchestrator, &scheduler, &problem) < 0)
            return aws_refuse_problem(call, &problem);
    } else {
        spec->orchestrator = aws_orchestrator(call->service, input->names_slurm);
        scheduler = aws_orchestrator_scheduler(call->service, spec->orchestrator);
    }
    text_copy_cut(spec->scheduler, sizeof spec->scheduler, scheduler);
    return check_slurm(call, input, spec->orchestrator);
}

/* --- create --------------------------------------------------------------------------------------------------------- */

/* True when the cluster that has the name was made by an earlier try of this request. */
static bool was_made_before(struct aws_call *call, const char *key, struct cluster *ret_cluster)
{
    struct problem problem;
    struct service_cluster_view view;

    if (key[0] == '\0' || service_cluster_describe(call->service, aws_text(call, "ClusterName"), &view, &problem) < 0)
        return false;
    bool same = text_equal(view.spec.made_by, key);
    *ret_cluster = view.cluster;
    service_cluster_view_free(&view);
    return same;
}

static int create(struct aws_call *call, struct cluster_input *input, struct cluster *ret_cluster)
{
    struct problem problem;
    char key[ID_SHA256_HEX_MAX];
    struct service_cluster_spec spec = {.recovery = recovery_of(call),
                                        .provisioning =
                                            is_continuous(call) ? PROVISIONING_CONTINUOUS : PROVISIONING_ALL_OR_NOTHING,
                                        .groups = input->groups,
                                        .group_count = input->group_count,
                                        .tags = input->tags,
                                        .tag_count = input->tag_count,
                                        .notice = input->notice};

    int status = choose_orchestrator(call, input, &spec);
    if (status < 0)
        return status;
    aws_repeat_key(call, "", key);
    if (key[0] != '\0')
        input->spec.made_by = own_strdup(key);
    spec.spec = cluster_spec_is_empty(&input->spec) ? NULL : &input->spec;
    text_copy_cut(spec.name, sizeof spec.name, aws_text(call, "ClusterName"));
    if (service_cluster_create(call->service, &call->actor, &spec, ret_cluster, &problem) == 0)
        return 0;
    if (problem.code == PROBLEM_NAME_TAKEN && was_made_before(call, key, ret_cluster))
        return 0;
    return aws_refuse_problem(call, &problem);
}

int aws_create_cluster(struct aws_call *call, json_t **ret_output)
{
    AUTO(cluster_input) struct cluster_input input = {.groups = NULL};
    struct problem problem;
    struct cluster cluster;

    if (cluster_input_read(call->operation, call->input, &input, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    int status = create(call, &input, &cluster);
    if (status < 0)
        return status;
    *ret_output = json_object();
    aws_put_cluster_arn(call, *ret_output, &cluster);
    return 0;
}

/* --- update --------------------------------------------------------------------------------------------------------- */

/* A cluster has a scheduler or has none for as long as it is there. */
static int check_update(struct aws_call *call, const char *ref, const struct cluster_input *input)
{
    struct problem problem;
    struct service_cluster_view view;

    if (service_cluster_describe(call->service, ref, &view, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    const enum orchestrator orchestrator = view.cluster.orchestrator;
    bool is_other_eks =
        input->eks_arn != NULL && !aws_orchestrator_is_eks(call->service, &view.cluster, input->eks_arn);
    service_cluster_view_free(&view);
    if (is_other_eks)
        return aws_refuse(
            call, AWS_ERROR_VALIDATION,
            "Orchestrator.Eks.ClusterArn: the cluster's scheduler is another one, and this cannot change it");
    return check_slurm(call, input, orchestrator);
}

static int update(struct aws_call *call, const char *ref, const struct cluster_input *input,
                  struct cluster *ret_cluster)
{
    struct problem problem;
    const struct service_cluster_change change = {.has_recovery = aws_text(call, "NodeRecovery")[0] != '\0',
                                                  .recovery = recovery_of(call),
                                                  .has_provisioning = is_continuous(call),
                                                  .provisioning = PROVISIONING_CONTINUOUS,
                                                  .groups = input->groups,
                                                  .group_count = input->group_count,
                                                  .groups_to_delete = input->groups_to_delete,
                                                  .delete_count = input->delete_count,
                                                  .spec = cluster_spec_is_empty(&input->spec) ? NULL : &input->spec,
                                                  .forget = aws_group_spec_forget,
                                                  .notice = input->notice};

    if (service_cluster_update(call->service, &call->actor, ref, &change, ret_cluster, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    return 0;
}

int aws_update_cluster(struct aws_call *call, json_t **ret_output)
{
    AUTO(cluster_input) struct cluster_input input = {.groups = NULL};
    char ref[AWS_CLUSTER_REF_MAX];
    struct problem problem;
    struct cluster cluster;

    int status = aws_cluster_ref(call, ref);
    if (status < 0)
        return status;
    if (cluster_input_read(call->operation, call->input, &input, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    status = check_update(call, ref, &input);
    if (status == 0)
        status = update(call, ref, &input, &cluster);
    if (status < 0)
        return status;
    *ret_output = json_object();
    aws_put_cluster_arn(call, *ret_output, &cluster);
    return 0;
}
