/* The keys of a mapping in hpd's configuration: what each may be, and where its value goes. */
#ifndef HOLDFAST_SERVER_CONFIG_SECTION_H
#define HOLDFAST_SERVER_CONFIG_SECTION_H

#include "base/json.h"
#include "base/nearest.h"

enum key_type { KEY_TEXT, KEY_PATH, KEY_DURATION, KEY_INT, KEY_BOOL, KEY_LOG_LEVEL, KEY_LISTEN };

struct key {
    const char *name;
    enum key_type type;
    void *target;     /* KEY_LISTEN: the struct config */
    size_t size;      /* KEY_TEXT: bytes of target; KEY_INT: that of an int, else it is an int64_t */
    int64_t min, max; /* KEY_INT: the value; KEY_DURATION: milliseconds */
};

/* Members named in skip (NULL-terminated; NULL: none) are not looked at. section is the path of the mapping, "" for the file. INVALID
 * with the key's path in ret_error (CONFIG_ERROR_MAX bytes). */
int section_read(json_t *object, const char *section, const struct key *keys, size_t count, const char *const *skip,
                 char *ret_error);
/* INVALID, with words for a key that is none of the section. */
int section_unknown(const char *section, const struct nearest *nearest, char *ret_error);

#endif
