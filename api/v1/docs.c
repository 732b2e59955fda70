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

#include <string.h>

EMBED(docs_page, "api/docs/index.html");
EMBED(docs_script, "api/docs/page.js");
EMBED(swagger_script, DOCS_DIR "/swagger-ui-bundle.js");
EMBED(swagger_style, DOCS_DIR "/swagger-ui.css");
EMBED(swagger_licenses, DOCS_DIR "/swagger-ui-licenses.txt");

#define PAGE "index.html"
#define SCRIPT "text/javascript; charset=utf-8"
/* data: for the icons of the style sheet. */
#define POLICY                                                                                            \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const struct api_file files[] = {
    {PAGE, "text/html; charset=utf-8", docs_page_data, docs_page_end, POLICY},
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
    const char *name = call->params[0][0] != '\0' ? call->params[0] : PAGE;
    size_t i = 0;
    if (!carried(call))
        return;
    while (i < ARRAY_LEN(files) && strcmp(files[i].name, name) != 0)
        i++;
    if (i < ARRAY_LEN(files))
        api_reply_file(call, &files[i]);
    else
        api_problem_printf(call, PROBLEM_NOT_FOUND, "There is no such file under /docs.");
}
