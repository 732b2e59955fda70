/* What the past of a cluster's nodes weighs, the worst first. */
#include "server/service/node/lemon.h"
#include "api/call.h"
#include "api/render.h"
#include "api/v1/v1.h"

#define LEMONS_MAX 1000 /* the worst; nobody looks further down */

void api_lemon_list(struct api_call *call)
{
    struct problem problem;
    struct service_lemon *lemons = NULL;
    size_t count = 0;
    if (service_lemon_list(call->service, call->params[0], &lemons, &count, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *items = json_array();
    for (size_t i = 0; i < count && i < LEMONS_MAX; i++)
        json_array_append_new(items, render_lemon(&lemons[i]));
    free(lemons);
    api_reply_json(call, 200, json_pack("{s:o}", "items", items));
}
