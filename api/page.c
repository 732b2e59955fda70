/* Pages of the REST door's lists. */
#include "api/page.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

void page_init(struct page *page, char list)
{
    *page = (struct page){.list = list, .limit = PAGE_SIZE_DEFAULT};
}

int page_begin(struct api_call *call, struct page *page, bool by_id)
{
    page->items = json_array();
    if (page->cursor[0] == '\0')
        return 0;
    int rc = cursor_decode(page->cursor, page->list, page->key);
    if (rc == 0 && by_id)
        rc = text_parse_i64(page->key, 1, INT64_MAX, &page->key_id);
    if (rc == 0)
        return 0;
    page_free(page);
    api_problem_printf(call, PROBLEM_INVALID_VALUE,
                       "The cursor is not one of this list. Begin again without a cursor.");
    return rc;
}

int page_rows(const struct page *page)
{
    return (int)page->limit + 1;
}

bool page_wants(struct page *page)
{
    page->more = page->count == page->limit;
    return !page->more;
}

void page_add(struct page *page, json_t *item, const char *key)
{
    json_array_append_new(page->items, item);
    page->count++;
    text_copy_cut(page->last, sizeof page->last, key);
}

void page_add_id(struct page *page, json_t *item, int64_t id)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)id);
    page_add(page, item, key);
}

void page_reply(struct api_call *call, struct page *page)
{
    json_t *json = json_object();
    json_put(json, "items", TAKE(page->items));
    if (page->more) {
        char cursor[PAGE_CURSOR_MAX];
        cursor_encode(page->list, page->last, cursor);
        json_put_text(json, "nextCursor", cursor);
    }
    api_reply_json(call, 200, json);
}

void page_free(struct page *page)
{
    json_decref(page->items);
    page->items = NULL;
}
