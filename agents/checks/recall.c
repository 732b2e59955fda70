/* A table of some hundred rows, searched from front to back: a run looks each up once or twice. */
#include "agents/checks/recall.h"

#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

struct item {
    char key[RECALL_KEY_MAX_BYTES];
    int64_t value, at_ms;
    bool asked; /* in this run */
};

struct recall {
    int64_t now_ms;
    size_t count;
    struct item items[RECALL_ITEMS_MAX];
};

static struct item *find(struct recall *recall, const char *key)
{
    for (size_t i = 0; i < recall->count; i++)
        if (strcmp(recall->items[i].key, key) == 0)
            return &recall->items[i];
    return NULL;
}

/* NULL when there is no room: then nothing is remembered of it, and nothing said. */
static struct item *find_or_add(struct recall *recall, const char *key, bool *ret_added)
{
    struct item *item = find(recall, key);
    *ret_added = item == NULL;
    if (item == NULL && recall->count < RECALL_ITEMS_MAX && key[0] != '\0' && strpbrk(key, " \n") == NULL &&
        text_copy(recall->items[recall->count].key, RECALL_KEY_MAX_BYTES, key) == 0)
        item = &recall->items[recall->count++];
    if (item != NULL && *ret_added) {
        item->value = 0;
        item->at_ms = recall->now_ms;
        item->asked = false;
    }
    if (item != NULL)
        item->asked = true;
    return item;
}

static void write_down(struct recall *recall, struct item *item, int64_t value)
{
    item->value = value;
    item->at_ms = recall->now_ms;
}

/* --- as text ------------------------------------------------------------------------------------------------- */

static bool take_number(const char **at, const char *end, char stop, int64_t *ret_number)
{
    char digits[24];
    const char *to = memchr(*at, stop, (size_t)(end - *at));
    if (stop == '\n' && to == NULL)
        to = end;
    if (to == NULL || text_copy_bytes(digits, sizeof(digits), *at, (size_t)(to - *at)) != 0 ||
        text_parse_i64(digits, 0, INT64_MAX, ret_number) != 0)
        return false;
    *at = to < end ? to + 1 : end;
    return true;
}

static void take_line(struct recall *recall, const char *line, const char *end)
{
    char key[RECALL_KEY_MAX_BYTES];
    int64_t value, at_ms;
    bool added;
    const char *space = memchr(line, ' ', (size_t)(end - line));
    if (space == NULL || memchr(line, '\0', (size_t)(end - line)) != NULL ||
        text_copy_bytes(key, sizeof(key), line, (size_t)(space - line)) != 0)
        return;
    line = space + 1;
    if (!take_number(&line, end, ' ', &value) || !take_number(&line, end, '\n', &at_ms) || line != end)
        return;
    struct item *item = find_or_add(recall, key, &added);
    if (item != NULL) {
        item->value = value;
        item->at_ms = at_ms < recall->now_ms ? at_ms : recall->now_ms;
        item->asked = false;
    }
}

struct recall *recall_new(const char *data, size_t len, int64_t now_ms)
{
    struct recall *recall = own_calloc(1, sizeof(*recall));
    const char *end = data + len;
    recall->now_ms = now_ms > 0 ? now_ms : 0;
    while (data < end) {
        const char *feed = memchr(data, '\n', (size_t)(end - data));
        const char *stop = feed != NULL ? feed : end;
        take_line(recall, data, stop);
        data = feed != NULL ? feed + 1 : end;
    }
    return recall;
}

void recall_free(struct recall *recall)
{
    free(recall);
}

char *recall_text(const struct recall *recall, size_t bytes_max)
{
    struct text text = {0};
    for (size_t i = 0; i < recall->count; i++) {
        const struct item *item = &recall->items[i];
        size_t before = text.len;
        if (!item->asked)
            continue;
        text_printf(&text, "%s %" PRId64 " %" PRId64 "\n", item->key, item->value, item->at_ms);
        if (text.len <= bytes_max)
            continue;
        text.data[before] = '\0';
        break;
    }
    return text_take(&text);
}

void recall_keep(const struct recall *recall, struct check_out *out)
{
    autofree char *text = recall_text(recall, CHECK_MEMORY_MAX_BYTES);
    check_remember(out, text, strlen(text));
}

/* --- questions ----------------------------------------------------------------------------------------------- */

int64_t recall_most(struct recall *recall, const char *key, int64_t value)
{
    bool added;
    struct item *item = find_or_add(recall, key, &added);
    if (item == NULL)
        return value;
    if (value > item->value)
        write_down(recall, item, value);
    return item->value;
}

int64_t recall_get(struct recall *recall, const char *key, int64_t otherwise)
{
    struct item *item = find(recall, key);
    if (item == NULL)
        return otherwise;
    item->asked = true;
    return item->value;
}

void recall_set(struct recall *recall, const char *key, int64_t value)
{
    bool added;
    struct item *item = find_or_add(recall, key, &added);
    if (item != NULL)
        write_down(recall, item, value);
}

int64_t recall_age_ms(struct recall *recall, const char *key)
{
    struct item *item = find(recall, key);
    return item == NULL ? INT64_MAX : recall->now_ms - item->at_ms;
}

bool recall_lasts(struct recall *recall, const char *key, bool is, int64_t for_ms)
{
    bool added;
    struct item *item = is ? find_or_add(recall, key, &added) : find(recall, key);
    if (item != NULL)
        item->asked = is;
    if (!is && item != NULL) /* the next time is a first time */
        item->key[0] = '\0';
    return is && item != NULL && recall->now_ms - item->at_ms >= for_ms;
}

/* How much is allowed for, when the looks are further apart than the window. */
static int64_t allowance(int64_t limit, int64_t window_ms, int64_t elapsed_ms)
{
    int64_t windows = elapsed_ms <= window_ms ? 1 : elapsed_ms / window_ms + 1;
    return limit > INT64_MAX / windows ? INT64_MAX : limit * windows;
}

int64_t recall_growth(struct recall *recall, const char *key, int64_t value, int64_t limit, int64_t window_ms)
{
    bool added;
    struct item *item = find_or_add(recall, key, &added);
    if (item == NULL)
        return 0;
    int64_t growth = added ? 0 : value - item->value;
    int64_t elapsed_ms = recall->now_ms - item->at_ms;
    bool over = growth > 0 && growth > allowance(limit, window_ms, elapsed_ms);
    if (added || growth < 0 || over || elapsed_ms >= window_ms)
        write_down(recall, item, value);
    return over ? growth : 0;
}
