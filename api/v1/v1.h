/* The handlers of the REST API, one file a noun; their names are in the route table and nowhere else. */
#ifndef HOLDFAST_API_V1_V1_H
#define HOLDFAST_API_V1_V1_H

#include "model/hardware.h"

#include <stdbool.h>

struct api_call;

/* A query parameter that is a time; "": none, and *ret_ms stays. False: it has answered. */
bool api_v1_time(struct api_call *call, const char *name, const char *text, int64_t *ret_ms);

void api_cluster_list(struct api_call *call);
void api_cluster_create(struct api_call *call);
void api_cluster_describe(struct api_call *call);
void api_cluster_update(struct api_call *call);
void api_cluster_delete(struct api_call *call);
void api_cluster_update_software(struct api_call *call);
void api_cluster_check(struct api_call *call);
void api_check_start(struct api_call *call);
void api_check_list(struct api_call *call);
void api_check_describe(struct api_call *call);
void api_check_read_logs(struct api_call *call);

void api_node_list(struct api_call *call);
void api_node_add(struct api_call *call);
void api_node_remove(struct api_call *call);
void api_node_describe(struct api_call *call);
void api_node_update(struct api_call *call);
void api_node_reboot(struct api_call *call);
void api_node_replace(struct api_call *call);
void api_node_release(struct api_call *call);
void api_node_report(struct api_call *call);
void api_report_receive(struct api_call *call);
void api_alert_receive(struct api_call *call);
void api_node_command_run(struct api_call *call);
void api_node_command_describe(struct api_call *call);
void api_node_describe_hardware(struct api_call *call);
void api_host_key_list(struct api_call *call);
void api_agent_settings_describe(struct api_call *call);
void api_agent_settings_apply(struct api_call *call);
/* A piece of a machine. */
json_t *render_piece(const struct hardware *hardware);
/* How a check stands, of an instance whose boot is this. */
json_t *render_check_state(const struct check_state *state, const char *boot_id);
void api_node_explain(struct api_call *call);
void api_node_inject_xid(struct api_call *call);

void api_group_resume(struct api_call *call);

void api_verdict_list(struct api_call *call);

void api_scheduler_list(struct api_call *call);
void api_scheduler_describe(struct api_call *call);
void api_scheduler_node_list(struct api_call *call);

void api_job_list(struct api_call *call);
void api_job_describe(struct api_call *call);
void api_job_command(struct api_call *call);
void api_job_read_logs(struct api_call *call);
void api_job_diagnose(struct api_call *call);

void api_provider_list(struct api_call *call);
void api_provider_describe(struct api_call *call);
void api_provider_test(struct api_call *call);
void api_machine_list(struct api_call *call);
void api_machine_add(struct api_call *call);
void api_machine_describe(struct api_call *call);
void api_machine_describe_evidence(struct api_call *call);
void api_machine_update(struct api_call *call);
void api_machine_retire(struct api_call *call);
void api_machine_bench(struct api_call *call);
void api_machine_return(struct api_call *call);
void api_machine_release(struct api_call *call);

void api_lemon_list(struct api_call *call);
void api_webhook_list(struct api_call *call);
void api_webhook_test(struct api_call *call);
void api_webhook_list_failed_messages(struct api_call *call);
void api_webhook_resend_messages(struct api_call *call);
void api_cluster_pause(struct api_call *call);
void api_cluster_resume(struct api_call *call);
void api_console_open_root(struct api_call *call);
void api_console_read(struct api_call *call);
void api_incident_list(struct api_call *call);
void api_incident_describe(struct api_call *call);
void api_incident_end(struct api_call *call);

void api_operation_list(struct api_call *call);
void api_operation_describe(struct api_call *call);
void api_operation_cancel(struct api_call *call);

void api_event_list(struct api_call *call);
void api_event_stream(struct api_call *call);

void api_token_list(struct api_call *call);
void api_token_create(struct api_call *call);
void api_token_delete(struct api_call *call);

void api_access_key_list(struct api_call *call);
void api_access_key_create(struct api_call *call);
void api_access_key_delete(struct api_call *call);

void api_audit_list(struct api_call *call);

void api_scheduler_config_create(struct api_call *call);
void api_scheduler_config_describe(struct api_call *call);
void api_scheduler_config_update(struct api_call *call);
void api_scheduler_config_delete(struct api_call *call);

void api_quota_list(struct api_call *call);
void api_quota_create(struct api_call *call);
void api_quota_describe(struct api_call *call);
void api_quota_update(struct api_call *call);
void api_quota_delete(struct api_call *call);

void api_tag_list_of_cluster(struct api_call *call);
void api_tag_add_to_cluster(struct api_call *call);
void api_tag_delete_from_cluster(struct api_call *call);
void api_tag_list_of_scheduler_config(struct api_call *call);
void api_tag_add_to_scheduler_config(struct api_call *call);
void api_tag_delete_from_scheduler_config(struct api_call *call);
void api_tag_list_of_quota(struct api_call *call);
void api_tag_add_to_quota(struct api_call *call);
void api_tag_delete_from_quota(struct api_call *call);

void api_policy_list(struct api_call *call);
void api_policy_list_of_cluster(struct api_call *call);
void api_approval_list(struct api_call *call);
void api_approval_link_show(struct api_call *call);
void api_approval_link_approve(struct api_call *call);
void api_approval_link_reject(struct api_call *call);
void api_approval_approve_operation(struct api_call *call);
void api_approval_reject_operation(struct api_call *call);
void api_policy_list_of_group(struct api_call *call);
void api_policy_diff(struct api_call *call);
void api_policy_document_describe(struct api_call *call);
void api_policy_document_apply(struct api_call *call);
void api_policy_document_validate(struct api_call *call);
void api_policy_document_list_versions(struct api_call *call);
void api_policy_document_describe_version(struct api_call *call);
void api_policy_document_rollback(struct api_call *call);

void api_version_describe(struct api_call *call);
void api_backup_create(struct api_call *call);
void api_certificate_describe(struct api_call *call);
void api_discovery_list_prometheus_targets(struct api_call *call);

void api_system_check_health(struct api_call *call);
void api_system_check_readiness(struct api_call *call);
void api_system_read_metrics(struct api_call *call);
void api_system_read_openapi(struct api_call *call);

void api_docs_open(struct api_call *call);
void api_docs_read(struct api_call *call);

#endif
