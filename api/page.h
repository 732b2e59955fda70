/*
 * Pages of lists. A cursor is opaque to clients: base64url of the list's letter and the key of the last item that was
 * shown. It is checked when it comes back: another list's cursor, or a made-up one, is an error and never a guess.
 */
#ifndef HOLDFAST_API_PAGE_H
#define HOLDFAST_API_PAGE_H

#include "api/call.h"
#include "api/cursor.h"

struct page {
    /* 'c' clusters, 'n' nodes, 'o' operations, 'q' quotas, 'v' verdicts, 'd' and 'a' events down and up, 'u' audit log,
     * 'i' incidents, 'j' jobs, 'k' deep health checks, 'p' versions of the policy, 'w' approvals,
     * 's' a scheduler's nodes, 'h' host keys, 'm' machines */
    char list;
    int64_t limit;
    char cursor[PAGE_CURSOR_MAX]; /* as sent; "" for the first page */
    char key[PAGE_KEY_MAX];       /* decoded: start after this; "" for the first page */
    int64_t key_id;               /* the same as a number, 0 when it is none */
    struct text body; /* the reply as far as it is written: items become text one by one, not a tree of all of them */
    int64_t count;
    char last[PAGE_KEY_MAX]; /* of the last item that is shown */
    bool more;
};

/* The two query fields every list has. */
#define PAGE_QUERY(page)                                                                               \
    {.name = "limit", .type = API_QUERY_I64, .target = &(page).limit, .min = 1, .max = PAGE_SIZE_MAX}, \
    {                                                                                                  \
        .name = "cursor", .type = API_QUERY_TEXT, .target = (page).cursor, .size = PAGE_CURSOR_MAX,    \
        .rule = "a nextCursor of this list"                                                            \
    }

void page_init(struct page *page, char list);
/* After api_query: decodes the cursor. by_id: keys are numbers. On failure the call is answered. */
int page_begin(struct api_call *call, struct page *page, bool by_id);
/* How many rows to ask for: one more than is shown tells whether there is another page. */
int page_rows(const struct page *page);
/* True while the row is one to show; then add it. */
bool page_wants(struct page *page);
void page_add(struct page *page, json_t *item, const char *key);
void page_add_id(struct page *page, json_t *item, int64_t id);
void page_reply(struct api_call *call, struct page *page);
void page_free(struct page *page);

#endif
