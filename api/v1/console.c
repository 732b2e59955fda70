/*
 * The console at /console: files of web/, carried in the binary. They are no secret; what they show they ask for at /v1, with the token
 * of whoever looks. The page may load and ask nothing but this server, and inline script is refused.
 */
#include "api/call.h"
#include "api/v1/v1.h"
#include "base/embed.h"
#include "base/own.h"

EMBED(console_page, "web/index.html");
EMBED(console_style, "web/style.css");
EMBED(console_app, "web/app.js");
EMBED(console_access, "web/access.js");
EMBED(console_actions, "web/actions.js");
EMBED(console_answer, "web/answer.js");
EMBED(console_api, "web/api.js");
EMBED(console_approvals, "web/approvals.js");
EMBED(console_cluster, "web/cluster.js");
EMBED(console_connections, "web/connections.js");
EMBED(console_details, "web/details.js");
EMBED(console_dialog, "web/dialog.js");
EMBED(console_diff, "web/diff.js");
EMBED(console_dom, "web/dom.js");
EMBED(console_edit, "web/edit.js");
EMBED(console_fleet, "web/fleet.js");
EMBED(console_format, "web/format.js");
EMBED(console_history, "web/history.js");
EMBED(console_hosts, "web/hosts.js");
EMBED(console_job, "web/job.js");
EMBED(console_keys, "web/keys.js");
EMBED(console_list, "web/list.js");
EMBED(console_lists, "web/lists.js");
EMBED(console_live, "web/live.js");
EMBED(console_looks, "web/looks.js");
EMBED(console_machines, "web/machines.js");
EMBED(console_map, "web/map.js");
EMBED(console_node, "web/node.js");
EMBED(console_overview, "web/overview.js");
EMBED(console_pages, "web/pages.js");
EMBED(console_policy, "web/policy.js");
EMBED(console_standing, "web/standing.js");
EMBED(console_timeline, "web/timeline.js");

#define SCRIPT "text/javascript; charset=utf-8"

static const struct api_file files[] = {
    {"index.html", "text/html; charset=utf-8", console_page_data, console_page_end, API_PAGE_POLICY},
    {"style.css", "text/css; charset=utf-8", console_style_data, console_style_end, NULL},
    {"app.js", SCRIPT, console_app_data, console_app_end, NULL},
    {"access.js", SCRIPT, console_access_data, console_access_end, NULL},
    {"actions.js", SCRIPT, console_actions_data, console_actions_end, NULL},
    {"answer.js", SCRIPT, console_answer_data, console_answer_end, NULL},
    {"api.js", SCRIPT, console_api_data, console_api_end, NULL},
    {"approvals.js", SCRIPT, console_approvals_data, console_approvals_end, NULL},
    {"cluster.js", SCRIPT, console_cluster_data, console_cluster_end, NULL},
    {"connections.js", SCRIPT, console_connections_data, console_connections_end, NULL},
    {"details.js", SCRIPT, console_details_data, console_details_end, NULL},
    {"dialog.js", SCRIPT, console_dialog_data, console_dialog_end, NULL},
    {"diff.js", SCRIPT, console_diff_data, console_diff_end, NULL},
    {"dom.js", SCRIPT, console_dom_data, console_dom_end, NULL},
    {"edit.js", SCRIPT, console_edit_data, console_edit_end, NULL},
    {"fleet.js", SCRIPT, console_fleet_data, console_fleet_end, NULL},
    {"format.js", SCRIPT, console_format_data, console_format_end, NULL},
    {"history.js", SCRIPT, console_history_data, console_history_end, NULL},
    {"hosts.js", SCRIPT, console_hosts_data, console_hosts_end, NULL},
    {"job.js", SCRIPT, console_job_data, console_job_end, NULL},
    {"keys.js", SCRIPT, console_keys_data, console_keys_end, NULL},
    {"list.js", SCRIPT, console_list_data, console_list_end, NULL},
    {"lists.js", SCRIPT, console_lists_data, console_lists_end, NULL},
    {"live.js", SCRIPT, console_live_data, console_live_end, NULL},
    {"looks.js", SCRIPT, console_looks_data, console_looks_end, NULL},
    {"machines.js", SCRIPT, console_machines_data, console_machines_end, NULL},
    {"map.js", SCRIPT, console_map_data, console_map_end, NULL},
    {"node.js", SCRIPT, console_node_data, console_node_end, NULL},
    {"overview.js", SCRIPT, console_overview_data, console_overview_end, NULL},
    {"pages.js", SCRIPT, console_pages_data, console_pages_end, NULL},
    {"policy.js", SCRIPT, console_policy_data, console_policy_end, NULL},
    {"standing.js", SCRIPT, console_standing_data, console_standing_end, NULL},
    {"timeline.js", SCRIPT, console_timeline_data, console_timeline_end, NULL},
};

/* Relative, so that it holds behind a proxy that puts a path before ours. */
void api_console_open_root(struct api_call *call)
{
    api_reply_redirect(call, "console/");
}

void api_console_read(struct api_call *call)
{
    api_reply_file_of(call, files, ARRAY_LEN(files), "/console");
}
