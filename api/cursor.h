/*
 * Opaque places in lists, as both APIs give them to clients. They are checked when they come back: another list's, or a
 * made-up one, is an error and never a guess.
 */
#ifndef HOLDFAST_API_CURSOR_H
#define HOLDFAST_API_CURSOR_H

#define PAGE_KEY_MAX 72
#define PAGE_CURSOR_MAX 128

/* ret_cursor has PAGE_CURSOR_MAX. */
void cursor_encode(char list, const char *key, char *ret_cursor);
/* INVALID unless it is exactly what cursor_encode makes for this list. ret_key has PAGE_KEY_MAX. */
int cursor_decode(const char *cursor, char list, char *ret_key);

#endif
