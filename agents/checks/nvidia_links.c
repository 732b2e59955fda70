/*
 * Blocks of lines: "GPU 3: NVIDIA … (UUID: GPU-…)", then "Link 0: 26.562 GB/s" and "Link 5: <inactive>", or one sentence
 * for all of them. How many links a GPU should have is not said: boards leave some unconnected (12 of 18 on PCIe cards).
 */
#include "agents/checks/nvidia_links.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static bool take_uuid(const char *line, struct nvidia_links *links)
{
    static const char mark[] = "(UUID: ";
    const char *at = strstr(line, mark);
    size_t len = at != NULL ? strcspn(at + sizeof(mark) - 1, ")") : 0;
    if (!text_starts_with(line, "GPU ") || len == 0 || at[sizeof(mark) - 1 + len] != ')')
        return false;
    return text_copy_bytes(links->uuid, sizeof(links->uuid), at + sizeof(mark) - 1, len) == 0;
}

static void take_link(const char *line, struct nvidia_links *links)
{
    int64_t number = 0;
    char digits[8];
    const char *colon = strchr(line, ':');
    if (strstr(line, "all links are inactive") != NULL) {
        links->up = 0;
        snprintf(links->down, sizeof(links->down), "all");
        return;
    }
    if (!text_starts_with(line, "Link ") || colon == NULL ||
        text_copy_bytes(digits, sizeof(digits), line + 5, (size_t)(colon - line - 5)) != 0 ||
        text_parse_i64(digits, 0, 255, &number) != 0)
        return;
    bool is_down = strstr(colon, "inactive") != NULL;
    if (!is_down && strstr(colon, "GB/s") == NULL)
        return;
    if (links->up < 0)
        links->up = 0;
    links->up += !is_down;
    if (is_down)
        nvidia_link_down(links, (int)number);
}

size_t nvidia_links_parse(const char *data, size_t len, struct nvidia_links ret_links[NVIDIA_GPUS_MAX])
{
    struct nvidia_links *links = NULL;
    size_t count = 0;
    while (len > 0) {
        char text[256];
        const char *end = memchr(data, '\n', len);
        size_t line_len = end != NULL ? (size_t)(end - data) : len, skip = 0;
        while (skip < line_len && (data[skip] == ' ' || data[skip] == '\t'))
            skip++;
        if (memchr(data, '\0', line_len) == NULL &&
            text_copy_bytes(text, sizeof(text), data + skip, line_len - skip) == 0) {
            struct nvidia_links next = {.up = -1};
            if (text_starts_with(text, "GPU "))
                links = take_uuid(text, &next) && count < NVIDIA_GPUS_MAX ? &ret_links[count++] : NULL;
            if (links != NULL && next.uuid[0] != '\0')
                *links = next;
            else if (links != NULL)
                take_link(text, links);
        }
        data += line_len + (end != NULL);
        len -= line_len + (end != NULL);
    }
    return count;
}
