/*
 * THE table: every operation of both APIs, once. Start reading here: the handler's name says the file
 * (api_node_describe is in v1/node.c, agent_heartbeat in agent/heartbeat.c), openapi.yaml has the same operationIds,
 * and a test compares the two in both directions.
 *
 * The agents' rows stand first because a fleet asks for them thousands of times a second.
 */
#include "api/routes.h"
#include "api/agent/agent.h"
#include "api/aws/api.h"
#include "api/call.h"
#include "api/v1/v1.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <string.h>

#define SMALL (16 * 1024)
#define DOCUMENT (128 * 1024) /* a quota with every resource, and 50 tags of the longest */
#define QUERY READS_QUERY
#define KEYED READS_KEY
#define PLAIN 0
#define CLUSTER "/v1/clusters/{cluster}"
#define NODE CLUSTER "/nodes/{node}"
#define SCHEDULER_CONFIG CLUSTER "/scheduler-config"
#define QUOTA CLUSTER "/quotas/{quota}"

const struct api_route api_routes[] = {
    {"POST", "/v1/agent/heartbeat", "heartbeatAgent", ACCESS_AGENT, LANE_DIRECT, PLAIN, AGENT_BODY_BYTES_MAX,
     agent_heartbeat},
    {"POST", "/v1/agent/verdicts", "reportVerdicts", ACCESS_AGENT, LANE_DIRECT, PLAIN, AGENT_BODY_BYTES_MAX,
     agent_report_verdicts},
    {"POST", "/v1/agent/machine", "reportMachine", ACCESS_AGENT, LANE_POOL, PLAIN, AGENT_BODY_BYTES_MAX,
     agent_report_machine},
    {"GET", "/v1/agent/settings", "describeAgentOwnSettings", ACCESS_AGENT, LANE_POOL, PLAIN, 0,
     agent_describe_settings},
    {"POST", "/v1/agent/settings", "reportAgentSettings", ACCESS_AGENT, LANE_POOL, PLAIN, AGENT_BODY_BYTES_MAX,
     agent_report_settings},
    {"GET", "/v1/agent/work", "describeAgentWork", ACCESS_AGENT, LANE_POOL, PLAIN, 0, agent_describe_work},
    {"POST", "/v1/agent/work", "reportAgentWork", ACCESS_AGENT, LANE_POOL, PLAIN, AGENT_BODY_BYTES_MAX,
     agent_report_work},
    {"GET", "/v1/agent/check", "describeAgentCheck", ACCESS_AGENT, LANE_POOL, PLAIN, 0, agent_describe_check},
    {"POST", "/v1/agent/check", "reportAgentCheck", ACCESS_AGENT, LANE_POOL, PLAIN, AGENT_BODY_BYTES_MAX,
     agent_report_check},
    {"POST", "/v1/agent/pair", "pairAgent", ACCESS_AGENT, LANE_POOL, PLAIN, AGENT_BODY_BYTES_MAX, agent_pair},
    {"POST", "/v1/agent/enroll", "enrollAgent", ACCESS_ENROLL, LANE_POOL, PLAIN, SMALL, agent_enroll},
    {"POST", "/v1/agent/spare", "reportSpare", ACCESS_ENROLL, LANE_POOL, PLAIN, SMALL, agent_report_spare},

    {"GET", "/v1/clusters", "listClusters", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_cluster_list},
    {"POST", "/v1/clusters", "createCluster", ACCESS_ADMIN, LANE_POOL, QUERY, REQUEST_BODY_BYTES_MAX,
     api_cluster_create},
    {"GET", CLUSTER, "describeCluster", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_cluster_describe},
    {"PATCH", CLUSTER, "updateCluster", ACCESS_OPERATOR, LANE_POOL, QUERY, REQUEST_BODY_BYTES_MAX, api_cluster_update},
    {"DELETE", CLUSTER, "deleteCluster", ACCESS_ADMIN, LANE_POOL, PLAIN, 0, api_cluster_delete},
    {"POST", CLUSTER "/software-update", "updateClusterSoftware", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_cluster_update_software},
    {"POST", CLUSTER "/health-check", "checkCluster", ACCESS_OPERATOR, LANE_POOL, PLAIN, REQUEST_BODY_BYTES_MAX,
     api_cluster_check},

    {"GET", CLUSTER "/lemons", "listLemons", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_lemon_list},
    {"GET", CLUSTER "/nodes", "listNodes", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_node_list},
    {"POST", CLUSTER "/nodes", "addNodes", ACCESS_OPERATOR, LANE_POOL, KEYED, SMALL, api_node_add},
    {"DELETE", NODE, "removeNode", ACCESS_OPERATOR, LANE_POOL, QUERY, 0, api_node_remove},
    {"GET", NODE, "describeNode", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_node_describe},
    {"PATCH", NODE, "updateNode", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL, api_node_update},
    {"POST", NODE "/reboot", "rebootNode", ACCESS_OPERATOR, LANE_POOL, KEYED, SMALL, api_node_reboot},
    {"POST", NODE "/replace", "replaceNode", ACCESS_OPERATOR, LANE_POOL, KEYED, SMALL, api_node_replace},
    {"POST", NODE "/reports", "reportNode", ACCESS_REPORTER, LANE_POOL, PLAIN, SMALL, api_node_report},
    {"POST", CLUSTER "/reports", "receiveReports", ACCESS_REPORTER, LANE_POOL, PLAIN, REQUEST_BODY_BYTES_MAX,
     api_report_receive},
    {"POST", CLUSTER "/alerts", "receiveAlerts", ACCESS_REPORTER, LANE_POOL, PLAIN, REQUEST_BODY_BYTES_MAX,
     api_alert_receive},
    {"POST", NODE "/commands", "runNodeCommand", ACCESS_ADMIN, LANE_POOL, PLAIN, SMALL, api_node_command_run},
    {"GET", "/v1/node-commands/{command}", "describeNodeCommand", ACCESS_ADMIN, LANE_POOL, PLAIN, 0,
     api_node_command_describe},
    {"POST", NODE "/release", "releaseNode", ACCESS_OPERATOR, LANE_POOL, KEYED, SMALL, api_node_release},
    {"GET", NODE "/explanation", "explainNode", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_node_explain},
    {"GET", NODE "/hardware", "describeNodeHardware", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_node_describe_hardware},
    {"GET", CLUSTER "/host-keys", "listHostKeys", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_host_key_list},
    {"GET", NODE "/verdicts", "listVerdicts", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_verdict_list},
    {"POST", NODE "/inject", "injectXid", ACCESS_ADMIN, LANE_POOL, PLAIN, SMALL, api_node_inject_xid},

    {"GET", SCHEDULER_CONFIG, "describeSchedulerConfig", ACCESS_VIEWER, LANE_POOL, QUERY, 0,
     api_scheduler_config_describe},
    {"POST", SCHEDULER_CONFIG, "createSchedulerConfig", ACCESS_ADMIN, LANE_POOL, PLAIN, DOCUMENT,
     api_scheduler_config_create},
    {"PATCH", SCHEDULER_CONFIG, "updateSchedulerConfig", ACCESS_OPERATOR, LANE_POOL, PLAIN, DOCUMENT,
     api_scheduler_config_update},
    {"DELETE", SCHEDULER_CONFIG, "deleteSchedulerConfig", ACCESS_ADMIN, LANE_POOL, PLAIN, 0,
     api_scheduler_config_delete},
    {"GET", CLUSTER "/quotas", "listQuotas", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_quota_list},
    {"POST", CLUSTER "/quotas", "createQuota", ACCESS_ADMIN, LANE_POOL, PLAIN, DOCUMENT, api_quota_create},
    {"GET", QUOTA, "describeQuota", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_quota_describe},
    {"PATCH", QUOTA, "updateQuota", ACCESS_OPERATOR, LANE_POOL, PLAIN, DOCUMENT, api_quota_update},
    {"DELETE", QUOTA, "deleteQuota", ACCESS_ADMIN, LANE_POOL, PLAIN, 0, api_quota_delete},

    {"GET", CLUSTER "/tags", "listClusterTags", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_tag_list_of_cluster},
    {"POST", CLUSTER "/tags", "addClusterTags", ACCESS_OPERATOR, LANE_POOL, PLAIN, DOCUMENT, api_tag_add_to_cluster},
    {"DELETE", CLUSTER "/tags", "deleteClusterTag", ACCESS_ADMIN, LANE_POOL, QUERY, 0, api_tag_delete_from_cluster},
    {"GET", SCHEDULER_CONFIG "/tags", "listSchedulerConfigTags", ACCESS_VIEWER, LANE_POOL, PLAIN, 0,
     api_tag_list_of_scheduler_config},
    {"POST", SCHEDULER_CONFIG "/tags", "addSchedulerConfigTags", ACCESS_OPERATOR, LANE_POOL, PLAIN, DOCUMENT,
     api_tag_add_to_scheduler_config},
    {"DELETE", SCHEDULER_CONFIG "/tags", "deleteSchedulerConfigTag", ACCESS_ADMIN, LANE_POOL, QUERY, 0,
     api_tag_delete_from_scheduler_config},
    {"GET", QUOTA "/tags", "listQuotaTags", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_tag_list_of_quota},
    {"POST", QUOTA "/tags", "addQuotaTags", ACCESS_OPERATOR, LANE_POOL, PLAIN, DOCUMENT, api_tag_add_to_quota},
    {"DELETE", QUOTA "/tags", "deleteQuotaTag", ACCESS_ADMIN, LANE_POOL, QUERY, 0, api_tag_delete_from_quota},

    {"POST", CLUSTER "/checks", "startChecks", ACCESS_OPERATOR, LANE_POOL, PLAIN, REQUEST_BODY_BYTES_MAX,
     api_check_start},
    {"GET", "/v1/checks", "listChecks", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_check_list},
    {"GET", "/v1/checks/{check}", "describeCheck", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_check_describe},
    {"GET", "/v1/checks/{check}/logs", "readCheckLogs", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_check_read_logs},

    {"GET", "/v1/schedulers", "listSchedulers", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_scheduler_list},
    {"GET", "/v1/schedulers/{scheduler}", "describeScheduler", ACCESS_VIEWER, LANE_POOL, PLAIN, 0,
     api_scheduler_describe},
    {"GET", "/v1/schedulers/{scheduler}/nodes", "listSchedulerNodes", ACCESS_VIEWER, LANE_POOL, QUERY, 0,
     api_scheduler_node_list},
    {"GET", "/v1/scheduler", "describeOnlyScheduler", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_scheduler_describe},
    {"GET", "/v1/scheduler/nodes", "listOnlySchedulerNodes", ACCESS_VIEWER, LANE_POOL, QUERY, 0,
     api_scheduler_node_list},
    {"GET", CLUSTER "/jobs", "listJobs", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_job_list},
    {"GET", CLUSTER "/jobs/{job}", "describeJob", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_job_describe},
    {"GET", CLUSTER "/jobs/{job}/logs", "readJobLogs", ACCESS_OPERATOR, LANE_POOL, QUERY, 0, api_job_read_logs},
    {"POST", CLUSTER "/jobs/{job}/command", "commandJob", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL, api_job_command},
    {"POST", CLUSTER "/jobs/{job}/diagnosis", "diagnoseJob", ACCESS_JOB, LANE_POOL, PLAIN, SMALL, api_job_diagnose},
    {"GET", "/v1/incidents", "listIncidents", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_incident_list},
    {"GET", "/v1/incidents/{incident}", "describeIncident", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_incident_describe},
    {"POST", "/v1/incidents/{incident}/end", "endIncident", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL, api_incident_end},

    {"GET", "/v1/providers", "listProviders", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_provider_list},
    {"GET", "/v1/providers/{provider}", "describeProvider", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_provider_describe},
    {"POST", "/v1/providers/{provider}/test", "testProvider", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_provider_test},
    {"GET", "/v1/machines", "listMachines", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_machine_list},
    {"POST", "/v1/machines", "addMachine", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL, api_machine_add},
    {"GET", "/v1/machines/{machine}", "describeMachine", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_machine_describe},
    {"PUT", "/v1/machines/{machine}", "updateMachine", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL, api_machine_update},
    {"GET", "/v1/machines/{machine}/evidence", "describeMachineEvidence", ACCESS_VIEWER, LANE_POOL, PLAIN, 0,
     api_machine_describe_evidence},
    {"POST", "/v1/machines/{machine}/retire", "retireMachine", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_machine_retire},
    {"POST", "/v1/machines/{machine}/bench", "benchMachine", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_machine_bench},
    {"POST", "/v1/machines/{machine}/return", "returnMachine", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_machine_return},
    {"POST", "/v1/machines/{machine}/release", "releaseMachine", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_machine_release},

    {"GET", "/v1/webhooks", "listWebhooks", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_webhook_list},
    {"GET", "/v1/webhooks/failed", "listFailedMessages", ACCESS_VIEWER, LANE_POOL, PLAIN, 0,
     api_webhook_list_failed_messages},
    {"POST", "/v1/webhooks/resend", "resendMessages", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_webhook_resend_messages},
    {"POST", "/v1/webhooks/test", "testWebhooks", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL, api_webhook_test},

    {"GET", "/v1/operations", "listOperations", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_operation_list},
    {"GET", "/v1/operations/{operation}", "describeOperation", ACCESS_VIEWER, LANE_POOL, PLAIN, 0,
     api_operation_describe},
    {"POST", "/v1/operations/{operation}/cancel", "cancelOperation", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_operation_cancel},

    {"POST", "/v1/operations/{operation}/approve", "approveOperation", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_approval_approve_operation},
    {"POST", "/v1/operations/{operation}/reject", "rejectOperation", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_approval_reject_operation},
    {"GET", "/v1/approvals", "listApprovals", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_approval_list},

    {"GET", "/v1/events", "listEvents", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_event_list},
    {"GET", "/v1/events/stream", "streamEvents", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_event_stream},

    {"GET", "/v1/tokens", "listTokens", ACCESS_ADMIN, LANE_POOL, PLAIN, 0, api_token_list},
    {"POST", "/v1/tokens", "createToken", ACCESS_ADMIN, LANE_POOL, PLAIN, SMALL, api_token_create},
    {"DELETE", "/v1/tokens/{token}", "deleteToken", ACCESS_ADMIN, LANE_POOL, PLAIN, 0, api_token_delete},

    {"GET", "/v1/access-keys", "listAccessKeys", ACCESS_ADMIN, LANE_POOL, PLAIN, 0, api_access_key_list},
    {"POST", "/v1/access-keys", "createAccessKey", ACCESS_ADMIN, LANE_POOL, PLAIN, SMALL, api_access_key_create},
    {"DELETE", "/v1/access-keys/{accessKey}", "deleteAccessKey", ACCESS_ADMIN, LANE_POOL, PLAIN, 0,
     api_access_key_delete},

    {"GET", "/v1/policies", "listPolicies", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_policy_list},
    {"GET", CLUSTER "/policies", "listClusterPolicies", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_policy_list_of_cluster},
    {"GET", CLUSTER "/groups/{group}/policies", "listGroupPolicies", ACCESS_VIEWER, LANE_POOL, PLAIN, 0,
     api_policy_list_of_group},
    {"GET", CLUSTER "/groups/{group}/agent-settings", "describeAgentSettings", ACCESS_VIEWER, LANE_POOL, PLAIN, 0,
     api_agent_settings_describe},
    {"PUT", CLUSTER "/groups/{group}/agent-settings", "applyAgentSettings", ACCESS_OPERATOR, LANE_POOL, PLAIN, DOCUMENT,
     api_agent_settings_apply},
    {"POST", CLUSTER "/pause", "pauseCluster", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL, api_cluster_pause},
    {"POST", CLUSTER "/resume", "resumeCluster", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL, api_cluster_resume},
    {"POST", CLUSTER "/groups/{group}/resume", "resumeGroup", ACCESS_OPERATOR, LANE_POOL, PLAIN, SMALL,
     api_group_resume},
    {"POST", CLUSTER "/policies/diff", "diffPolicy", ACCESS_VIEWER, LANE_POOL, PLAIN, DOCUMENT, api_policy_diff},
    {"GET", "/v1/policy", "describePolicy", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_policy_document_describe},
    {"PUT", "/v1/policy", "applyPolicy", ACCESS_ADMIN, LANE_POOL, PLAIN, DOCUMENT, api_policy_document_apply},
    {"POST", "/v1/policy/validate", "validatePolicy", ACCESS_VIEWER, LANE_POOL, PLAIN, DOCUMENT,
     api_policy_document_validate},
    {"POST", "/v1/policy/rollback", "rollbackPolicy", ACCESS_ADMIN, LANE_POOL, PLAIN, SMALL,
     api_policy_document_rollback},
    {"GET", "/v1/policy/versions", "listPolicyVersions", ACCESS_VIEWER, LANE_POOL, QUERY, 0,
     api_policy_document_list_versions},
    {"GET", "/v1/policy/versions/{version}", "describePolicyVersion", ACCESS_VIEWER, LANE_POOL, PLAIN, 0,
     api_policy_document_describe_version},

    {"GET", "/v1/audit", "listAudit", ACCESS_OPERATOR, LANE_POOL, QUERY, 0, api_audit_list},

    {"POST", "/", "callAws", ACCESS_SIGNED, LANE_POOL, PLAIN, AWS_BODY_BYTES_MAX, aws_api_call},

    {"GET", "/", "openRoot", ACCESS_OPEN, LANE_DIRECT, PLAIN, 0, api_console_open_root},

    {"POST", "/v1/backup", "createBackup", ACCESS_ADMIN, LANE_POOL, PLAIN, 0, api_backup_create},
    {"GET", "/v1/sd/prometheus", "listPrometheusTargets", ACCESS_VIEWER, LANE_POOL, QUERY, 0,
     api_discovery_list_prometheus_targets},
    {"GET", "/v1/certificate", "describeCertificate", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_certificate_describe},
    {"GET", "/v1/version", "describeVersion", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_version_describe},

    {"GET", "/approve/{operation}/{signature}", "showApprovalLink", ACCESS_OPEN, LANE_POOL, PLAIN, 0,
     api_approval_link_show},
    {"POST", "/approve/{operation}/{signature}", "approveByLink", ACCESS_OPEN, LANE_POOL, PLAIN, 0,
     api_approval_link_approve},
    {"POST", "/approve/{operation}/{signature}/reject", "rejectByLink", ACCESS_OPEN, LANE_POOL, PLAIN, 0,
     api_approval_link_reject},
    {"GET", "/healthz", "checkHealth", ACCESS_OPEN, LANE_DIRECT, PLAIN, 0, api_system_check_health},
    {"GET", "/readyz", "checkReadiness", ACCESS_OPEN, LANE_POOL, PLAIN, 0, api_system_check_readiness},
    {"GET", "/metrics", "readMetrics", ACCESS_LOCAL, LANE_POOL, PLAIN, 0, api_system_read_metrics},
    {"GET", "/openapi.yaml", "readOpenapi", ACCESS_OPEN, LANE_POOL, PLAIN, 0, api_system_read_openapi},
    {"GET", "/docs", "openDocs", ACCESS_OPEN, LANE_DIRECT, PLAIN, 0, api_docs_open},
    {"GET", "/console", "openConsole", ACCESS_OPEN, LANE_DIRECT, PLAIN, 0, api_console_open_root},
    {"GET", "/console/{file}", "readConsole", ACCESS_OPEN, LANE_POOL, PLAIN, 0, api_console_read},
    {"GET", "/docs/{file}", "readDocs", ACCESS_OPEN, LANE_POOL, PLAIN, 0, api_docs_read},
};
const size_t api_route_count = ARRAY_LEN(api_routes);
_Static_assert(ARRAY_LEN(api_routes) <= ROUTES_MAX, "counters have no place for it");

/* True when path is of the pattern; the parts under {…} go to ret_params. Both are walked once. */
static bool path_matches(const char *pattern, const char *path, struct route_param *ret_params, size_t *ret_count)
{
    size_t count = 0;
    while (*pattern != '\0') {
        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        size_t len = strcspn(path, "/");
        if (len == 0 && strcmp(pattern, "{file}") != 0) /* a folder itself is the file without a name */
            return false;
        ret_params[count++] = (struct route_param){.at = path, .len = len};
        path += len;
        pattern = strchr(pattern, '}') + 1;
    }
    *ret_count = count;
    return *path == '\0';
}

static bool method_matches(const struct api_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 || (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

const struct api_route *route_aws(void)
{
    size_t i = 0;
    while (api_routes[i].access != ACCESS_SIGNED)
        i++;
    return &api_routes[i];
}

bool route_may_be_aws(const char *method, const char *path)
{
    return strcmp(method, "POST") == 0 && text_ends_with(path, "/");
}

static void allow_add(char allow[ROUTE_ALLOW_MAX], const char *method)
{
    size_t len = strlen(allow);
    snprintf(allow + len, ROUTE_ALLOW_MAX - len, "%s%s%s", len > 0 ? ", " : "", method,
             strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

enum route_match route_find(const char *method, const char *path, const struct api_route **ret_route,
                            struct route_param *ret_params, size_t *ret_param_count, char ret_allow[ROUTE_ALLOW_MAX])
{
    enum route_match match = ROUTE_NO_PATH;
    ret_allow[0] = '\0';
    for (size_t i = 0; i < api_route_count; i++) {
        const struct api_route *route = &api_routes[i];
        if (!path_matches(route->pattern, path, ret_params, ret_param_count))
            continue;
        if (method_matches(route, method)) {
            *ret_route = route;
            return ROUTE_FOUND;
        }
        match = ROUTE_NO_METHOD;
        allow_add(ret_allow, route->method);
    }
    return match;
}
