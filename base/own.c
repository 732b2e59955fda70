/* Allocation that does not fail: what cannot be met aborts, and the next start carries on. */
#include "base/own.h"

#include <stdio.h>
#include <string.h>

/* Nothing may be allocated here, so the message goes out as it is. */
static _Noreturn void out_of_memory(void)
{
    fputs("holdfast: out of memory\n", stderr);
    abort();
}

void *own_calloc(size_t count, size_t size)
{
    /* calloc(0) may return NULL; one byte more keeps "never NULL" true. */
    void *p = count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);

    if (p == NULL)
        out_of_memory();
    return p;
}

void *own_realloc(void *p, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory();
    void *grown = realloc(p, bytes == 0 ? 1 : bytes);
    if (grown == NULL)
        out_of_memory();
    return grown;
}

char *own_strdup(const char *s)
{
    if (s == NULL)
        return NULL;
    size_t size = strlen(s) + 1;
    return memcpy(own_calloc(size, 1), s, size);
}

char *own_vprintf(const char *fmt, va_list ap)
{
    char *out = NULL;

    if (vasprintf(&out, fmt, ap) < 0)
        out_of_memory();
    return out;
}

char *own_printf(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    char *out = own_vprintf(fmt, ap);
    va_end(ap);
    return out;
}
