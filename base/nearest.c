/* See nearest.h. The distance counts letters that were left out, added, changed, or swapped with their neighbour. */
#include "base/nearest.h"

#include "base/json.h"
#include "base/own.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LETTERS_FOR_A_CHANGE 3

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t cost(char a, char b)
{
    return tolower((unsigned char)a) != tolower((unsigned char)b);
}

/* Both are shorter than NEAREST_WORD_MAX. */
static size_t distance_of(const char *a, const char *b)
{
    size_t rows[3][NEAREST_WORD_MAX], *before = rows[0], *last = rows[1], *row = rows[2];
    size_t len = strlen(b);
    for (size_t k = 0; k <= len; k++)
        last[k] = before[k] = k;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        row[0] = i;
        for (size_t k = 1; k <= len; k++) {
            row[k] = least(least(last[k], row[k - 1]) + 1, last[k - 1] + cost(a[i - 1], b[k - 1]));
            if (i > 1 && k > 1 && cost(a[i - 1], b[k - 2]) == 0 && cost(a[i - 2], b[k - 1]) == 0)
                row[k] = least(row[k], before[k - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[len];
}

void nearest_see(struct nearest *nearest, const char *known)
{
    size_t len = strlen(nearest->word);
    if (len >= NEAREST_WORD_MAX || strlen(known) >= NEAREST_WORD_MAX)
        return;
    size_t distance = distance_of(nearest->word, known), allowed = len / LETTERS_FOR_A_CHANGE;
    if (distance > (allowed > 0 ? allowed : 1) || (nearest->found[0] != '\0' && distance >= nearest->distance))
        return;
    snprintf(nearest->found, sizeof(nearest->found), "%s", known);
    nearest->distance = distance;
}

const char *nearest_hint(const struct nearest *nearest, char ret_hint[NEAREST_HINT_MAX])
{
    ret_hint[0] = '\0';
    if (nearest->found[0] != '\0')
        snprintf(ret_hint, NEAREST_HINT_MAX, " (the nearest is \"%s\")", nearest->found);
    return ret_hint;
}

const char *nearest_hint_of(const char *word, const char *const *known, char ret_hint[NEAREST_HINT_MAX])
{
    struct nearest nearest = {.word = word};
    for (; *known != NULL; known++)
        nearest_see(&nearest, *known);
    return nearest_hint(&nearest, ret_hint);
}

char *nearest_say(const struct nearest *nearest)
{
    char hint[NEAREST_HINT_MAX];
    autofree char *shown = json_show_text(nearest->word);
    return own_printf("%s is not known here%s", shown, nearest_hint(nearest, hint));
}
