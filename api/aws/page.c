/*
 * Pages of the AWS API's lists. A token is the place behind the last row that was given, not a number of rows, so rows that
 * come and go in between neither repeat nor hide others.
 */
#include "api/aws/operation.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

int aws_page_begin(struct aws_call *call, const char *cluster, struct aws_page *ret_page)
{
    const char *token = aws_text(call, "NextToken");

    *ret_page = (struct aws_page){.limit = aws_number(call, "MaxResults", AWS_PAGE_DEFAULT)};
    snprintf(ret_page->list, sizeof ret_page->list, "%s/%s/%s/%s", call->operation->name, cluster,
             aws_text(call, "SortBy"), aws_text(call, "SortOrder"));
    ret_page->has_cursor = token[0] != '\0';
    if (ret_page->has_cursor && aws_token_decode(token, ret_page->list, ret_page->cursor) < 0)
        return aws_refuse(call, AWS_ERROR_VALIDATION,
                          "NextToken is not one that %s gave for this cluster and order: begin again without it",
                          call->operation->name);
    ret_page->items = json_array();
    return 0;
}

bool aws_page_wants(struct aws_page *page)
{
    page->more = (int64_t)json_array_size(page->items) == page->limit;
    return !page->more;
}

void aws_page_add(struct aws_page *page, json_t *item, const char *key)
{
    json_array_append_new(page->items, item);
    text_copy_cut(page->last, sizeof page->last, key);
}

json_t *aws_page_output(struct aws_page *page, const char *member)
{
    json_t *json = json_object();
    char token[AWS_TOKEN_MAX];

    json_put(json, member, TAKE(page->items));
    if (page->more) {
        aws_token_encode(page->list, page->last, token);
        json_put_text(json, "NextToken", token);
    }
    return json;
}

void aws_page_free(struct aws_page *page)
{
    json_decref(page->items);
    page->items = NULL;
}
