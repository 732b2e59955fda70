/*
 * The page behind a link that approves: GET says what the question is and changes nothing, as mail scanners and chats look at every
 * link that they carry; only its button, a POST, says yes. No script, no cookie, nothing from elsewhere.
 */
#include "api/audit.h"
#include "api/call.h"
#include "api/v1/v1.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "server/service/node/approval.h"

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

static void add_state(struct text *page, const struct approval *approval, bool open)
{
    char until[CLOCK_TEXT_MAX];
    if (open) {
        text_printf(page, "<p>It waits for an approval until %s.</p>\n", clock_format(approval->expires_at, until));
        text_add(page, "<form method=\"post\"><button>Approve it</button></form>\n");
        return;
    }
    bool late = approval->state == APPROVAL_STATE_EXPIRED;
    text_printf(page, "<p>%s %s", late ? "Too late: it has" : "It is",
                late ? "run out" : approval_state_text(approval->state));
    if (approval->answered_by[0] != '\0') {
        text_add(page, late ? ", after the approval of " : " by ");
        add_escaped(page, approval->answered_by);
    }
    text_add(page, ".</p>\n");
}

static void reply_page(struct api_call *call, const struct approval *approval)
{
    struct service_names names = {0};
    struct text page = {0};
    (void)service_names(call->service, 0, approval->node_id, 0, &names);
    bool open = approval->state == APPROVAL_STATE_ASKED;
    text_add(&page, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                    "content=\"width=device-width\">\n<title>Holdfast</title>\n<h1>");
    text_add(&page, approval->action == ACTION_REPLACE ? "Replace " : "Reboot ");
    add_escaped(&page, names.node);
    text_add(&page, open ? "?</h1>\n<p>" : "</h1>\n<p>");
    add_escaped(&page, approval->sentence);
    text_add(&page, "</p>\n");
    add_state(&page, approval, open);
    size_t len = page.len;
    api_reply_page(call, text_take(&page), len);
}

void api_approval_link_show(struct api_call *call)
{
    struct problem problem;
    autofree struct approval *approval = own_calloc(1, sizeof *approval);
    if (service_approval_by_link(call->service, call->params[0], call->params[1], approval, &problem) != 0)
        api_problem(call, &problem);
    else
        reply_page(call, approval);
}

void api_approval_link_approve(struct api_call *call)
{
    struct problem problem;
    static const struct actor whoever = {.name = "approval-link", .role = ROLE_OPERATOR};
    autofree struct approval *approval = own_calloc(1, sizeof *approval);
    audit_who(call, &whoever);
    if (service_approval_answer_by_link(call->service, &whoever, call->params[0], call->params[1], approval,
                                        &problem) != 0)
        api_problem(call, &problem);
    else
        reply_page(call, approval);
}
