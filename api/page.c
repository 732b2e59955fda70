/* Pages of the REST API's lists. */
#include "api/page.h"
#include "base/status.h"

#include <stdio.h>

#define ITEM_BYTES 4096 /* nearly every item; a longer one is written twice */

void page_init(struct page *page, char list)
{
    *page = (struct page){.list = list, .limit = PAGE_SIZE_DEFAULT};
}

int page_begin(struct api_call *call, struct page *page, bool by_id)
{
    text_add(&page->body, "{\"items\":[");
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

/* Each item becomes text at once: what a tree of a whole page takes and scatters costs more than writing it. */
static void add_json(struct text *body, const json_t *json)
{
    char room[ITEM_BYTES];
    size_t len = json_dumpb(json, room, sizeof room, JSON_COMPACT);
    if (len <= sizeof room) {
        text_add_bytes(body, room, len);
        return;
    }
    autofree char *text = json_dumps(json, JSON_COMPACT);
    text_add(body, text);
}

void page_add(struct page *page, json_t *item, const char *key)
{
    if (page->count++ > 0)
        text_add_char(&page->body, ',');
    add_json(&page->body, item);
    json_decref(item);
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
    text_add_char(&page->body, ']');
    if (page->more) {
        char cursor[PAGE_CURSOR_MAX];
        cursor_encode(page->list, page->last, cursor);
        text_printf(&page->body, ",\"nextCursor\":\"%s\"", cursor); /* base64url */
    }
    text_add_char(&page->body, '}');
    size_t len = page->body.len;
    api_reply_text(call, 200, "application/json", text_take(&page->body), len);
}

void page_free(struct page *page)
{
    text_free(&page->body);
}
