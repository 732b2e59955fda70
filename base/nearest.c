/* See nearest.h. The distance counts letters that were left out, added, changed, or swapped with their neighbour. */
#include "base/nearest.h"

#include "base/json.h"
#include "base/own.h"

#include <ctype.h>
#include <string.h>

#define WORD_BYTES_MAX 64 /* no word that we know is longer */
#define LETTERS_FOR_A_CHANGE 3

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t cost(char a, char b)
{
    return tolower((unsigned char)a) != tolower((unsigned char)b);
}

/* Both are shorter than WORD_BYTES_MAX. */
static size_t distance_of(const char *a, const char *b)
{
    size_t rows[3][WORD_BYTES_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];
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
    if (len > WORD_BYTES_MAX || strlen(known) > WORD_BYTES_MAX)
        return;
    size_t distance = distance_of(nearest->word, known), allowed = len / LETTERS_FOR_A_CHANGE;
    if (distance > (allowed > 0 ? allowed : 1) || (nearest->found != NULL && distance >= nearest->distance))
        return;
    nearest->found = known;
    nearest->distance = distance;
}

char *nearest_say(const struct nearest *nearest)
{
    autofree char *shown = json_show_text(nearest->word);
    if (nearest->found == NULL)
        return own_printf("%s is not known here", shown);
    return own_printf("%s is not known here (the nearest is \"%s\")", shown, nearest->found);
}
