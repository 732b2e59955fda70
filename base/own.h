/*
 * Ownership on the line: cleanup attributes and TAKE.
 *
 * autofree frees with free(); AUTO(x) defines auto_x for a type with a free function
 * that accepts NULL. TAKE(p) hands the pointer over and leaves NULL behind.
 * Small allocations never return NULL: when they cannot be met the process
 * aborts, because every durable step survives that (an abort is an ordinary
 * start). Sizes that come from outside are limited before they are allocated.
 */
#ifndef HOLDFAST_BASE_OWN_H
#define HOLDFAST_BASE_OWN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

static inline void own_free_cleanup(void *p)
{
    free(*(void **)p);
}

#define autofree __attribute__((cleanup(own_free_cleanup)))

#define AUTO_DEFINE(type, name, free_fn)              \
    static inline void auto_##name##_cleanup(type *p) \
    {                                                 \
        free_fn(*p);                                  \
    }
#define AUTO(name) __attribute__((cleanup(auto_##name##_cleanup)))

#define TAKE(p)                         \
    __extension__({                     \
        __typeof__(p) own_taken_ = (p); \
        (p) = NULL;                     \
        own_taken_;                     \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Zeroed memory for count objects of size bytes; aborts when there is none. Caller frees. */
void *own_calloc(size_t count, size_t size);
/* As realloc for count objects; checks the product; aborts when there is none. */
void *own_realloc(void *p, size_t count, size_t size);
/* Copies; NULL stays NULL. Caller frees. */
char *own_strdup(const char *s);
/* printf into fresh memory. Caller frees. */
char *own_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *own_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

#endif
