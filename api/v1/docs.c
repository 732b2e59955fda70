/*
 * Swagger UI at /docs: a page over this server's own openapi.yaml. Its files are carried in the binary, except in a build
 * that could not fetch them (scripts/swagger-ui), where they are empty and the answer says so.
 *
 * The page may load and ask nothing but this server: its policy names no other place, and inline script is refused.
 */
#include "api/call.h"
#include "api/v1/v1.h"
#include "base/embed.h"
#include "base/own.h"

EMBED(docs_page, "api/docs/index.html");
EMBED(docs_script, "api/docs/page.js");
EMBED(swagger_script, DOCS_DIR "/swagger-ui-bundle.js");
EMBED(swagger_style, DOCS_DIR "/swagger-ui.css");
EMBED(swagger_licenses, DOCS_DIR "/swagger-ui-licenses.txt");

#define SCRIPT "text/javascript; charset=utf-8"

static const struct api_file files[] = {
    {"index.html", "text/html; charset=utf-8", docs_page_data, docs_page_end, API_PAGE_POLICY},
    {"page.js", SCRIPT, docs_script_data, docs_script_end, NULL},
    {"swagger-ui-bundle.js", SCRIPT, swagger_script_data, swagger_script_end, NULL},
    {"swagger-ui.css", "text/css; charset=utf-8", swagger_style_data, swagger_style_end, NULL},
    {"swagger-ui-bundle.js.LICENSE.txt", "text/plain; charset=utf-8", swagger_licenses_data, swagger_licenses_end,
     NULL},
};

/* False: it has answered. */
static bool carried(struct api_call *call)
{
    if (&swagger_script_end[0] > &swagger_script_data[0])
        return true;
    api_problem_printf(call, PROBLEM_NOT_FOUND,
                       "This hpd was built without the pages of /docs: npm could not bring them then, or they were not "
                       "wanted (DOCS=no). The document itself is at /openapi.yaml.");
    return false;
}

/* Relative, so that it holds behind a proxy that puts a path before ours. */
void api_docs_open(struct api_call *call)
{
    if (carried(call))
        api_reply_redirect(call, "docs/");
}

void api_docs_read(struct api_call *call)
{
    if (carried(call))
        api_reply_file_of(call, files, ARRAY_LEN(files), "/docs");
}
