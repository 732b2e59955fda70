/*
 * Slurm hostlists: "gpu-[1-3,07],login", also with several brackets ("r[1-2]n[1-4]").
 *
 * A name is built segment by segment: a literal lengthens every name of the item, a
 * bracket multiplies them. The count is checked before anything is multiplied, so
 * "n[0-999999999]" costs nothing. Names that begin with a dash are refused, since they
 * would be read as options by the tools they are handed to.
 */
#include "base/text.h"

#include "base/status.h"

#include <ctype.h>
#include <string.h>

#define HOSTLIST_NAME_MAX 255   /* a host name, RFC 1035 */
#define HOSTLIST_DIGITS_MAX 18  /* fits in int64_t */
#define HOSTLIST_BRACKETS_MAX 4 /* more dimensions than any machine's names have */

struct names {
    char **items;
    size_t count, capacity;
};

struct hostlist {
    const char *at;
    size_t count_max;
    struct names done; /* of the items before this one */
};

struct range {
    int64_t low, high;
    int width;
};

static void names_add(struct names *names, char *name)
{
    if (names->count == names->capacity) {
        names->capacity = names->capacity == 0 ? 16 : names->capacity * 2;
        names->items = own_realloc(names->items, names->capacity, sizeof(names->items[0]));
    }
    names->items[names->count++] = name;
}

static void names_free(struct names *names)
{
    text_list_free(names->items, names->count);
    *names = (struct names){0};
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
}

static int parse_number(const char **at, int64_t *ret_value, size_t *ret_digits)
{
    size_t digits = strspn(*at, "0123456789");
    char copy[HOSTLIST_DIGITS_MAX + 1];

    if (digits == 0 || text_copy_bytes(copy, sizeof(copy), *at, digits) < 0)
        return STATUS_INVALID;
    *at += digits;
    *ret_digits = digits;
    return text_parse_i64(copy, 0, INT64_MAX, ret_value);
}

/* "7", "1-3", "007-012", "08-11". The width is the lower end's; an upper end padded otherwise is a mistake. */
static int parse_range(const char **at, struct range *ret_range)
{
    struct range range = {0};
    size_t low_digits, high_digits;
    int r = parse_number(at, &range.low, &low_digits);

    if (r < 0)
        return r;
    range.high = range.low;
    range.width = (int)low_digits;
    if (**at == '-') {
        (*at)++;
        const char *high = *at;
        r = parse_number(at, &range.high, &high_digits);
        if (r < 0 || range.high < range.low || (high[0] == '0' && high_digits != low_digits))
            return STATUS_INVALID;
    }
    *ret_range = range;
    return 0;
}

/* Adds to next every name of item with every number of range behind it. */
static int multiply(const struct names *item, const struct range *range, size_t room, struct names *next)
{
    uint64_t span = (uint64_t)(range->high - range->low) + 1;

    if (span > room || span * item->count > room - next->count)
        return STATUS_TOO_LARGE;
    for (size_t i = 0; i < item->count; i++)
        for (int64_t n = range->low; n <= range->high; n++) {
            char *name = own_printf("%s%0*lld", item->items[i], range->width, (long long)n);
            names_add(next, name);
            if (strlen(name) > HOSTLIST_NAME_MAX)
                return STATUS_INVALID;
        }
    return 0;
}

/* "[1-3,07]" behind every name of item. */
static int expand_bracket(struct hostlist *h, struct names *item)
{
    struct names next = {0};
    int r;

    do {
        struct range range;
        h->at++; /* the '[' or the ',' */
        r = parse_range(&h->at, &range);
        if (r == 0)
            r = multiply(item, &range, h->count_max - h->done.count, &next);
    } while (r == 0 && *h->at == ',');
    if (r == 0 && *h->at != ']')
        r = STATUS_INVALID;
    if (r < 0) {
        names_free(&next);
        return r;
    }
    h->at++;
    names_free(item);
    *item = next;
    return 0;
}

static int expand_literal(struct hostlist *h, struct names *item)
{
    size_t len = 0;

    while (is_name_char(h->at[len]))
        len++;
    if (len == 0 || len > HOSTLIST_NAME_MAX)
        return STATUS_INVALID;
    for (size_t i = 0; i < item->count; i++) {
        char *name = own_printf("%s%.*s", item->items[i], (int)len, h->at);
        free(item->items[i]);
        item->items[i] = name;
        if (strlen(name) > HOSTLIST_NAME_MAX)
            return STATUS_INVALID;
    }
    h->at += len;
    return 0;
}

/* One item up to its comma or the end. */
static int expand_item(struct hostlist *h)
{
    struct names item = {0};
    int brackets = 0, r = 0;

    if (*h->at == '-' || *h->at == '.' || *h->at == ',' || *h->at == '\0')
        return STATUS_INVALID;
    if (h->done.count >= h->count_max)
        return STATUS_TOO_LARGE;
    names_add(&item, own_strdup(""));
    while (r == 0 && *h->at != '\0' && *h->at != ',') {
        if (*h->at == '[')
            r = ++brackets > HOSTLIST_BRACKETS_MAX ? STATUS_INVALID : expand_bracket(h, &item);
        else
            r = expand_literal(h, &item);
    }
    for (size_t i = 0; r == 0 && i < item.count; i++)
        names_add(&h->done, TAKE(item.items[i]));
    names_free(&item);
    return r;
}

int text_hostlist_expand(const char *list, size_t count_max, char ***ret_names, size_t *ret_count)
{
    struct hostlist h = {.at = list, .count_max = count_max};
    int r;

    if (list == NULL)
        return STATUS_INVALID;
    while ((r = expand_item(&h)) == 0 && *h.at == ',')
        h.at++;
    if (r < 0) {
        names_free(&h.done);
        return r;
    }
    *ret_names = h.done.items;
    *ret_count = h.done.count;
    return 0;
}

/* --- and back ----------------------------------------------------------------------------------------- */

/* Where the number at the end of a name begins: "gpu-07" at "07"; at its zero byte where there is none that counts. */
static const char *number_of(const char *name)
{
    enum { DIGITS_MAX = 9 };
    const char *end = name + strlen(name), *at = end;
    while (at > name && isdigit((unsigned char)at[-1]) && end - at < DIGITS_MAX)
        at--;
    return at == name ? end : at;
}

int text_by_name(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    const char *number_a = number_of(a), *number_b = number_of(b);
    size_t prefix_a = (size_t)(number_a - a), prefix_b = (size_t)(number_b - b);
    int order = strncmp(a, b, prefix_a < prefix_b ? prefix_a : prefix_b);
    if (order != 0 || prefix_a != prefix_b)
        return order != 0 ? order : prefix_a < prefix_b ? -1 : 1;
    size_t digits_a = strlen(number_a), digits_b = strlen(number_b);
    return digits_a != digits_b ? (digits_a < digits_b ? -1 : 1) : strcmp(number_a, number_b);
}

/* It has at most nine digits. */
static int64_t value_of(const char *number)
{
    int64_t value = 0;
    (void)text_parse_i64(number + strspn(number, "0"), 0, INT64_MAX, &value); /* only zeros are no number to it */
    return value;
}

int64_t text_name_number(const char *name)
{
    const char *number = number_of(name);
    return *number == '\0' ? -1 : value_of(number);
}

/* "n10" after "n9", and "n08" after "n07"; but not "n010" after "n9", which a range would name otherwise. */
static bool follows(const char *name, const char *before)
{
    const char *number = number_of(name), *number_before = number_of(before);
    size_t prefix = (size_t)(number - name);
    bool padded = *number == '0' || *number_before == '0';
    return *number != '\0' && prefix == (size_t)(number_before - before) && strncmp(name, before, prefix) == 0 &&
           (!padded || strlen(number) == strlen(number_before)) && value_of(number) == value_of(number_before) + 1;
}

char *text_hostlist_compress(char **names, size_t count)
{
    AUTO(text) struct text list = {0};
    qsort(names, count, sizeof(*names), text_by_name);
    for (size_t i = 0, last; i < count; i = last + 1) {
        last = i;
        while (last + 1 < count && follows(names[last + 1], names[last]))
            last++;
        const char *number = number_of(names[i]);
        if (i > 0)
            text_add_char(&list, ',');
        if (last == i)
            text_add(&list, names[i]);
        else
            text_printf(&list, "%.*s[%s-%s]", (int)(number - names[i]), names[i], number, number_of(names[last]));
    }
    return text_take(&list);
}

void text_list_free(char **names, size_t count)
{
    if (names == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}
