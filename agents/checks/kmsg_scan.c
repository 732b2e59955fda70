/*
 * The algorithm of Wu and Manber. A window as long as the shortest word moves over the text. Its last two bytes determine the step
 * (mostly the whole window). Where they can end the start of a word, the words are compared.
 */
#include "agents/checks/kmsg_scan.h"

#include "base/own.h"

#include <assert.h>
#include <string.h>

#define WINDOW KMSG_SCAN_WORD_LEN_MIN
#define BLOCKS 4096 /* hashes of two bytes; a collision only makes a step shorter */
#define NONE UINT16_MAX

struct kmsg_scan {
    uint8_t step[BLOCKS];
    uint16_t first[BLOCKS]; /* of the words whose window ends in this block */
    uint16_t next[KMSG_SCAN_WORDS_MAX];
    struct kmsg_scan_word words[KMSG_SCAN_WORDS_MAX];
};

static unsigned block(const char *at)
{
    return ((unsigned)(unsigned char)at[0] << 4 ^ (unsigned)(unsigned char)at[1]) % BLOCKS;
}

static void add(struct kmsg_scan *scan, uint16_t index)
{
    const struct kmsg_scan_word *word = &scan->words[index];
    for (size_t end = 1; end < WINDOW; end++) {
        uint8_t *step = &scan->step[block(word->text + end - 1)];
        if (WINDOW - 1 - end < *step)
            *step = (uint8_t)(WINDOW - 1 - end);
    }
    unsigned last = block(word->text + WINDOW - 2);
    scan->next[index] = scan->first[last];
    scan->first[last] = index;
}

struct kmsg_scan *kmsg_scan_new(const struct kmsg_scan_word *words, size_t count)
{
    assert(count <= KMSG_SCAN_WORDS_MAX);
    struct kmsg_scan *scan = own_calloc(1, sizeof(*scan));
    memset(scan->step, WINDOW - 1, sizeof(scan->step));
    memset(scan->first, 0xff, sizeof(scan->first));
    for (size_t i = 0; i < count; i++) {
        assert(words[i].len >= WINDOW);
        scan->words[i] = words[i];
        add(scan, (uint16_t)i);
    }
    return scan;
}

void kmsg_scan_free(struct kmsg_scan *scan)
{
    free(scan);
}

bool kmsg_scan_find(const struct kmsg_scan *scan, const char *text, size_t len, struct kmsg_scan_set *ret_set)
{
    struct kmsg_scan_set set;
    bool found = false;
    for (size_t end = WINDOW - 1; end < len;) {
        unsigned at = block(text + end - 1);
        if (scan->step[at] > 0) {
            end += scan->step[at];
            continue;
        }
        const char *start = text + end - (WINDOW - 1);
        for (uint16_t i = scan->first[at]; i != NONE; i = scan->next[i]) {
            const struct kmsg_scan_word *word = &scan->words[i];
            if (*start != *word->text || (size_t)(text + len - start) < word->len ||
                memcmp(start, word->text, word->len) != 0)
                continue;
            if (!found)
                set = (struct kmsg_scan_set){0};
            found = true;
            set.bits[i / 64] |= UINT64_C(1) << (i % 64);
        }
        end++;
    }
    if (found)
        *ret_set = set;
    return found;
}
