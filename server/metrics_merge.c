/* Puts the samples of several texts under one head for each family, in the order in which families come first. */
#include "server/metrics_merge.h"

#include "base/own.h"

#include <stdlib.h>
#include <string.h>

#define HELP "# HELP "

struct family {
    const char *head, *samples, *end;
    const char *name;
    size_t name_len;
};

struct families {
    struct family *list;
    size_t count;
};

static const char *line_end(const char *line)
{
    const char *end = strchr(line, '\n');
    return end == NULL ? line + strlen(line) : end + 1;
}

static void index_families(struct families *families, const char *text)
{
    *families = (struct families){0};
    for (const char *line = text; *line != '\0'; line = line_end(line)) {
        struct family *last = families->count == 0 ? NULL : &families->list[families->count - 1];
        if (strncmp(line, HELP, strlen(HELP)) == 0) {
            families->list = own_realloc(families->list, families->count + 1, sizeof(*families->list));
            last = &families->list[families->count++];
            *last = (struct family){.head = line, .name = line + strlen(HELP)};
            last->name_len = strcspn(last->name, " \n");
            last->samples = line_end(line);
        } else if (last != NULL && line[0] == '#') {
            last->samples = line_end(line);
        }
        if (last != NULL)
            last->end = line_end(line);
    }
}

static const struct family *find(const struct families *families, const struct family *like)
{
    for (size_t i = 0; i < families->count; i++)
        if (families->list[i].name_len == like->name_len &&
            memcmp(families->list[i].name, like->name, like->name_len) == 0)
            return &families->list[i];
    return NULL;
}

/* "name{a="b"} 1" and "name 1" with one label more. */
static void add_samples(struct text *t, const struct family *family, const char *scheduler)
{
    for (const char *line = family->samples; line < family->end; line = line_end(line)) {
        size_t name = strcspn(line, "{ \n");
        const char *rest = line + name + (line[name] == '{');
        text_printf(t, "%.*s{scheduler=\"%s\"%s", (int)name, line, scheduler, line[name] == '{' ? "," : "}");
        text_add_bytes(t, rest, (size_t)(line_end(line) - rest));
    }
}

void metrics_merge(struct text *t, const struct metrics_part *parts, size_t count)
{
    autofree struct families *all = own_calloc(count + 1, sizeof(*all));
    for (size_t i = 0; i < count; i++)
        index_families(&all[i], parts[i].text);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < all[i].count; k++) {
            const struct family *family = &all[i].list[k];
            bool is_first = true;
            for (size_t before = 0; before < i && is_first; before++)
                is_first = find(&all[before], family) == NULL;
            if (!is_first)
                continue;
            text_add_bytes(t, family->head, (size_t)(family->samples - family->head));
            for (size_t other = i; other < count; other++) {
                const struct family *same = find(&all[other], family);
                if (same != NULL)
                    add_samples(t, same, parts[other].scheduler);
            }
        }
    for (size_t i = 0; i < count; i++)
        free(all[i].list);
}
