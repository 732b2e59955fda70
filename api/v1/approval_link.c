/*
 * The page behind a link that answers: GET says what the question is and changes nothing, as mail scanners and chats look at every
 * link that they carry; only its buttons, which POST, answer. It shows what an answer needs at 3 a.m. on a phone: which node, why, on
 * what evidence, and which jobs it hits. No script, no cookie, nothing from elsewhere; the style is the console's.
 */
#include "api/audit.h"
#include "api/call.h"
#include "api/v1/v1.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "model/limits.h"
#include "server/service/job/job.h"
#include "server/service/node/approval.h"
#include "server/service/node/node.h"

#include <string.h>

#define EVIDENCE_SHOWN 5
#define JOBS_SHOWN 20
#define HOSTS_MAX 20000

static void add_escaped(struct text *page, const char *words)
{
    for (const char *at = words; *at != '\0'; at++) {
        if (*at == '&')
            text_add(page, "&amp;");
        else if (*at == '<')
            text_add(page, "&lt;");
        else if (*at == '>')
            text_add(page, "&gt;");
        else
            text_add_char(page, *at);
    }
}

/* Relative, so that it holds behind a proxy: below is how many parts of the path stand behind /approve/. */
static void add_head(struct text *page, int below)
{
    text_add(page, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                   "content=\"width=device-width, initial-scale=1\">\n<title>Holdfast</title>\n"
                   "<link rel=\"stylesheet\" href=\"");
    for (int i = 0; i < below; i++)
        text_add(page, "../");
    text_add(page, "console/style.css\">\n<main>\n<article class=\"card approval\">\n<h1>");
}

static void add_until(struct text *page, int64_t at)
{
    char text[CLOCK_TEXT_MAX];
    text_add(page, clock_format(at, text));
}

/* --- on what it rests, and what it hits --------------------------------------------------------------- */

static void add_evidence(struct api_call *call, struct text *page, const struct service_names *names)
{
    struct problem problem;
    struct service_explanation said;
    if (service_node_explain(call->service, names->cluster, names->node, &said, &problem) != 0)
        return;
    if (said.evidence_count > 0)
        text_add(page, "<h3>Evidence</h3>\n");
    for (size_t i = 0; i < said.evidence_count && i < EVIDENCE_SHOWN; i++) {
        const struct verdict *verdict = &said.evidence[i];
        text_add(page, "<p class=\"evidence\"><strong>");
        add_escaped(page, verdict->code);
        text_add(page, "</strong> ");
        add_escaped(page, verdict->device);
        text_printf(page, " (%s) <code>", severity_text(verdict->severity));
        add_escaped(page, verdict->raw_line);
        text_add(page, "</code></p>\n");
    }
    service_explanation_free(&said);
}

struct jobs {
    const char *node;
    struct text lines;
    size_t count;
};

static bool runs_on(const struct cluster_job *job, const char *node)
{
    char **names = NULL;
    size_t count = 0;
    bool found = false;
    if (cluster_job_place(job->state) != CLUSTER_JOB_PLACE_NODES ||
        text_hostlist_expand(job->nodes, HOSTS_MAX, &names, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        found = found || strcmp(names[i], node) == 0;
        free(names[i]);
    }
    free(names);
    return found;
}

static int job_row(const void *row, void *arg)
{
    const struct cluster_job *job = ((const struct service_job *)row)->job;
    struct jobs *jobs = arg;
    if (!runs_on(job, jobs->node) || jobs->count++ >= JOBS_SHOWN)
        return 0;
    text_add(&jobs->lines, "<li>Job ");
    add_escaped(&jobs->lines, job->id);
    text_add_char(&jobs->lines, ' ');
    add_escaped(&jobs->lines, job->name);
    text_add(&jobs->lines, " of ");
    add_escaped(&jobs->lines, job->user);
    text_printf(&jobs->lines, ": %lld node%s, running since ", (long long)job->node_count,
                job->node_count == 1 ? "" : "s");
    add_until(&jobs->lines, job->started_at);
    text_add(&jobs->lines, "</li>\n");
    return 0;
}

static void add_jobs(struct api_call *call, struct text *page, const struct service_names *names)
{
    struct problem problem;
    struct jobs jobs = {.node = names->node};
    text_add(page, "<h3>Jobs hit</h3>\n<div class=\"jobs\">");
    if (service_job_list(call->service, names->cluster, "", PAGE_SIZE_MAX, job_row, &jobs, &problem) != 0) {
        text_add(page, "Running jobs are not known: ");
        add_escaped(page, problem.detail);
    } else if (jobs.count == 0) {
        text_add(page, "No job runs on it now.");
    } else {
        text_printf(page, "%zu job%s on it now:<ul>\n%s</ul>", jobs.count, jobs.count == 1 ? "" : "s",
                    text_get(&jobs.lines));
    }
    text_add(page, "</div>\n");
    text_free(&jobs.lines);
}

/* --- the page ------------------------------------------------------------------------------------------- */

static void add_question(struct api_call *call, struct text *page, const struct approval *approval,
                         const struct service_names *names)
{
    add_jobs(call, page, names);
    add_evidence(call, page, names);
    text_add(page, "<p class=\"quiet\">It waits for an answer until ");
    add_until(page, approval->expires_at);
    text_add(page, ".</p>\n<div class=\"answer links\">\n<form method=\"post\"><button class=\"primary big\">Approve"
                   "</button></form>\n<form method=\"post\" action=\"");
    add_escaped(page, call->params[1]); /* it was found to be the signature: hexadecimal digits */
    text_add(page, "/reject\"><button class=\"big\">Reject</button></form>\n</div>\n");
}

static void add_answer(struct text *page, const struct approval *approval)
{
    bool late = approval->state == APPROVAL_STATE_EXPIRED;
    text_printf(page, "<p>%s %s", late ? "Too late: it has" : "It is",
                late ? "run out" : approval_state_text(approval->state));
    if (approval->answered_by[0] != '\0') {
        text_add(page, late ? ", after the approval of " : " by ");
        add_escaped(page, approval->answered_by);
    }
    text_add(page, ".</p>\n");
}

static void reply_page(struct api_call *call, const struct approval *approval, int below)
{
    struct service_names names = {0};
    struct text page = {0};
    (void)service_names(call->service, 0, approval->node_id, 0, &names);
    bool open = approval->state == APPROVAL_STATE_ASKED;
    add_head(&page, below);
    text_add(&page, approval->action == ACTION_REPLACE ? "Replace "
                    : approval->action == ACTION_RESET ? "Reset "
                                                       : "Reboot ");
    add_escaped(&page, names.node);
    text_add(&page, open ? "?</h1>\n<p class=\"quiet\">Cluster " : "</h1>\n<p class=\"quiet\">Cluster ");
    add_escaped(&page, names.cluster);
    text_add(&page, "</p>\n<p class=\"why\">");
    add_escaped(&page, approval->sentence);
    text_add(&page, "</p>\n");
    if (open)
        add_question(call, &page, approval, &names);
    else
        add_answer(&page, approval);
    text_add(&page, "<p><a href=\"");
    for (int i = 0; i < below; i++)
        text_add(&page, "../");
    text_printf(&page, "console/#/approvals/%s\">Open it in the console</a></p>\n</article>\n</main>\n", approval->uid);
    size_t len = page.len;
    api_reply_page(call, text_take(&page), len);
}

/* A person gets a page that says what to do, a program the problem as JSON. */
static void reply_problem(struct api_call *call, const struct problem *problem, int below)
{
    struct text page = {0};
    if (!api_wants_page(call)) {
        api_problem(call, problem);
        return;
    }
    add_head(&page, below);
    text_add(&page, problem_code_title(problem->code));
    text_add(&page, "</h1>\n<p class=\"why\">");
    add_escaped(&page, problem->detail);
    text_add(&page, "</p>\n<p><a href=\"");
    for (int i = 0; i < below; i++)
        text_add(&page, "../");
    text_add(&page, "console/#/approvals\">See what waits in the console</a></p>\n</article>\n</main>\n");
    size_t len = page.len;
    api_problem_page(call, problem->code, text_take(&page), len);
}

#define BELOW 2 /* /approve/ID/SIGNATURE */

void api_approval_link_show(struct api_call *call)
{
    struct problem problem;
    autofree struct approval *approval = own_calloc(1, sizeof *approval);
    if (service_approval_by_link(call->service, call->params[0], call->params[1], approval, &problem) != 0)
        reply_problem(call, &problem, BELOW);
    else
        reply_page(call, approval, BELOW);
}

static void answer(struct api_call *call, bool yes, int below)
{
    struct problem problem;
    static const struct actor whoever = {.name = "approval-link", .role = ROLE_OPERATOR};
    autofree struct approval *approval = own_calloc(1, sizeof *approval);
    audit_who(call, &whoever);
    if (service_approval_answer_by_link(call->service, &whoever, call->params[0], call->params[1], yes, approval,
                                        &problem) != 0)
        reply_problem(call, &problem, below);
    else
        reply_page(call, approval, below);
}

void api_approval_link_approve(struct api_call *call)
{
    answer(call, true, BELOW);
}

void api_approval_link_reject(struct api_call *call)
{
    answer(call, false, BELOW + 1);
}
