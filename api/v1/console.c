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
EMBED(console_api, "web/api.js");
EMBED(console_approvals, "web/approvals.js");
EMBED(console_cluster, "web/cluster.js");
EMBED(console_dom, "web/dom.js");
EMBED(console_events, "web/events.js");
EMBED(console_node, "web/node.js");

#define SCRIPT "text/javascript; charset=utf-8"

static const struct api_file files[] = {
    {"index.html", "text/html; charset=utf-8", console_page_data, console_page_end, API_PAGE_POLICY},
    {"style.css", "text/css; charset=utf-8", console_style_data, console_style_end, NULL},
    {"app.js", SCRIPT, console_app_data, console_app_end, NULL},
    {"api.js", SCRIPT, console_api_data, console_api_end, NULL},
    {"approvals.js", SCRIPT, console_approvals_data, console_approvals_end, NULL},
    {"cluster.js", SCRIPT, console_cluster_data, console_cluster_end, NULL},
    {"dom.js", SCRIPT, console_dom_data, console_dom_end, NULL},
    {"events.js", SCRIPT, console_events_data, console_events_end, NULL},
    {"node.js", SCRIPT, console_node_data, console_node_end, NULL},
};

/* Relative, so that it holds behind a proxy that puts a path before ours. */
void api_console_open(struct api_call *call)
{
    api_reply_redirect(call, "console/");
}

void api_console_read(struct api_call *call)
{
    api_reply_file_of(call, files, ARRAY_LEN(files), "/console");
}
