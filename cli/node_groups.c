/* Which nodes are as they are for the same reason. Times and addresses of devices make no difference. */
#include "cli/node_groups.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/term.h"

#include <ctype.h>
#include <string.h>

/* A word that is a time or the address of a device: it has digits and a colon, as 0000:b9:00 and 18:06 have. */
static bool is_particular(const char *word, size_t len)
{
    size_t colons = 0, digits = 0;
    while (len > 0 && word[len - 1] == ':')
        len--;
    for (size_t i = 0; i < len; i++) {
        colons += word[i] == ':';
        digits += isdigit((unsigned char)word[i]) != 0;
    }
    return colons > 0 && digits > 0;
}

static void add_common(struct text *out, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, " ,;()");
        if (len == 0) {
            text_add_char(out, *text++);
            continue;
        }
        if (is_particular(text, len))
            text_add(out, "…");
        else
            text_add_bytes(out, text, len);
        text += len;
    }
}

static bool is_unheard(const json_t *node)
{
    return text_equal(json_member_text(node, "attention"), "unheard");
}

static char *key_of(const json_t *node)
{
    struct text key = {0};
    text_printf(&key, "%s/%s/%s/", json_member_text(node, "state"), json_member_text(node, "health"),
                json_member_text(node, "attention"));
    if (json_is_true(json_object_get(node, "optedOut")))
        text_add(&key, "opted out/");
    if (!is_unheard(node))
        add_common(&key, json_member_text(node, "reason"));
    return text_take(&key);
}

static int64_t since_of(const json_t *node)
{
    int64_t ms = 0;
    const char *since =
        json_member_text(node, text_equal(json_member_text(node, "state"), "ready") ? "healthSince" : "stateSince");
    return clock_parse(since, &ms) == 0 ? ms : 0;
}

static void say(struct node_group *group)
{
    struct text words = {0};
    char since[CLOCK_TEXT_MAX];
    const char *state = json_member_text(group->first, "state"), *reason = json_member_text(group->first, "reason");
    autofree char *at = cli_clock_time(clock_format(group->since_ms, since));
    if (is_unheard(group->first)) {
        text_printf(&words, "agent not seen since %s", at);
    } else {
        if (!text_equal(state, "ready"))
            text_add(&words, state);
        else if (*reason == '\0')
            text_printf(&words, "in service, health %s", json_member_text(group->first, "health"));
        if (*reason != '\0' && words.len > 0)
            text_add(&words, ": ");
        if (group->count == 1)
            text_add(&words, reason);
        else
            add_common(&words, reason);
    }
    if (json_is_true(json_object_get(group->first, "optedOut")))
        text_add(&words, " (opted out)");
    autofree char *raw = text_take(&words);
    group->words = cli_local_times(raw);
}

static struct node_group *group_for(struct node_groups *all, const json_t *node)
{
    autofree char *key = key_of(node);
    for (size_t i = 0; i < all->count; i++)
        if (text_equal(all->groups[i].key, key))
            return &all->groups[i];
    all->groups = own_realloc(all->groups, all->count + 1, sizeof(*all->groups));
    all->groups[all->count] = (struct node_group){.key = TAKE(key), .first = node};
    return &all->groups[all->count++];
}

static bool is_named(const json_t *names, const char *name)
{
    size_t i;
    const json_t *item;
    json_array_foreach(names, i, item)
    {
        if (text_equal(json_string_value(item), name))
            return true;
    }
    return false;
}

void node_groups_make(const json_t *nodes, bool waiting, const json_t *skip, struct node_groups *ret_groups)
{
    *ret_groups = (struct node_groups){0};
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        if (json_is_true(json_object_get(node, "waitsForPerson")) != waiting ||
            is_named(skip, json_member_text(node, "name")))
            continue;
        struct node_group *group = group_for(ret_groups, node);
        int64_t since = since_of(node);
        if (since > 0 && (group->since_ms == 0 || since < group->since_ms))
            group->since_ms = since;
        group->names = own_realloc(group->names, group->count + 1, sizeof(*group->names));
        group->names[group->count++] = own_strdup(json_member_text(node, "name"));
    }
    for (size_t i = 0; i < ret_groups->count; i++)
        say(&ret_groups->groups[i]);
}

void node_groups_free(struct node_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        free(groups->groups[i].key);
        free(groups->groups[i].words);
        text_list_free(groups->groups[i].names, groups->groups[i].count);
    }
    free(groups->groups);
    *groups = (struct node_groups){0};
}

char *node_group_names(const struct node_group *group)
{
    return text_hostlist_compress(group->names, group->count);
}
