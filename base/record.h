/*
 * Documents as structs: a record says what the members of a JSON object are called, where in a struct each is kept, and what it may
 * be. One record reads and writes, so that what was read can be shown in the same words; several records of one struct are the words
 * of several who speak of the same thing.
 *
 * What was said and what was not is kept apart: a text that is NULL, and a struct optional, list or nested struct that is not given,
 * were not said. A member that is null counts as one that is left out.
 */
#ifndef HOLDFAST_BASE_RECORD_H
#define HOLDFAST_BASE_RECORD_H

#include "base/json.h"

#define RECORD_ERROR_MAX 640
#define RECORD_PATH_MAX 160

struct optional {
    bool given;
    int64_t value;
};
struct optional_real {
    bool given;
    double value;
};
struct optional_list {
    bool given;
    size_t count;
    void *items; /* owned */
};

/* One entry of a map. */
struct record_pair {
    char *key, *value;
};

enum record_type {
    RECORD_TEXT,   /* char *, owned */
    RECORD_NUMBER, /* struct optional in [min, max] */
    RECORD_REAL,   /* struct optional_real in [min, max] */
    RECORD_FLAG,   /* struct optional, 0 or 1 */
    RECORD_WORD,   /* struct optional: the place in words */
    RECORD_WORDS,  /* struct optional: a bit for each place in words, of a list without repetitions */
    RECORD_TEXTS,  /* struct optional_list of char *, owned */
    RECORD_MAP,    /* struct optional_list of struct record_pair, owned: an object with texts as values */
    RECORD_LIST,   /* struct optional_list of the structs of a record */
    RECORD_OBJECT, /* a struct whose first member is "bool given" */
    RECORD_NEVER,  /* known, and never taken: rule says why */
};

struct record;
struct record_field {
    const char *name;
    enum record_type type;
    size_t at; /* in the struct */
    bool required;
    int64_t min, max; /* of a number; characters of a text or of each of TEXTS (max 0: any) */
    const char
        *pattern; /* of a text or of each of TEXTS, the whole of it; NULL: any text. None has control characters */
    const char
        *rule; /* in words what pattern or words want, or why it is never taken; NULL: made from min, max and words */
    const char *const *words;
    size_t word_count;
    size_t items_min, items_max;    /* of TEXTS, MAP and LIST; items_max 0: any number */
    const struct record_field *key; /* of MAP: what each key may be; the field itself says what each value may */
    const struct record *record;    /* of LIST and OBJECT */
};
struct record {
    const struct record_field *fields;
    size_t count;
    size_t size;  /* of the struct */
    bool one;     /* exactly one member is given */
    bool lenient; /* members that are not known are skipped: for what was checked before */
};
#define RECORD(type, list)                                               \
    {                                                                    \
        .fields = (list), .count = ARRAY_LEN(list), .size = sizeof(type) \
    }

/* INVALID, and a sentence without its full stop: the member's path, what came, and what may be. where: the path of object, "" at
 * the top. On failure the struct is as empty as it was. */
int record_read(const struct record *record, const json_t *object, const char *where, void *ret_struct,
                char ret_error[RECORD_ERROR_MAX]);
/* What is given. Caller owns. */
json_t *record_write(const struct record *record, const void *from);
/* The contents; what is left says nothing. Any record that knows all members of the struct will do. */
void record_free(const struct record *record, void *contents);
/* Members that are given in newer take the place of those of into; newer is left without them. */
void record_merge(const struct record *record, void *into, void *newer);

#endif
