/*
 * A hash map from short text to a pointer. Keys are copied. Not thread-safe.
 */
#ifndef HOLDFAST_BASE_MAP_H
#define HOLDFAST_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

struct map;

struct map *map_new(void);
void map_free(struct map *map); /* accepts NULL; values are not freed */
/* Sets or replaces; returns the earlier value or NULL. value must not be NULL. */
void *map_set(struct map *map, const char *key, void *value);
void *map_get(const struct map *map, const char *key); /* NULL when absent */
void *map_remove(struct map *map, const char *key);    /* the value, or NULL */
size_t map_count(const struct map *map);
/* Walks in no order: start with *cursor = 0; false at the end. The map must not change meanwhile. */
bool map_next(const struct map *map, size_t *cursor, const char **ret_key, void **ret_value);

#endif
