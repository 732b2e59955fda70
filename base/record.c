/* See record.h. A document is bounded by whoever parsed it; so are the lists in it. */
#include "base/record.h"

#include "base/nearest.h"
#include "base/pattern.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What is under way: where in the document, and what to say of it. */
struct place {
    char path[RECORD_PATH_MAX];
    char *error;
};

static void *at_of(const struct record_field *field, const void *holder)
{
    return (char *)(uintptr_t)holder + field->at;
}

static struct place below(const struct place *place, const char *name)
{
    struct place inner = {.error = place->error};
    autofree char *path = own_printf("%s%s%s", place->path, place->path[0] != '\0' ? "." : "", name);
    text_copy_cut(inner.path, sizeof(inner.path), path);
    return inner;
}

static struct place item_of(const struct place *place, size_t at)
{
    struct place inner = {.error = place->error};
    autofree char *path = own_printf("%s[%zu]", place->path, at);
    text_copy_cut(inner.path, sizeof(inner.path), path);
    return inner;
}

/* --- saying no ------------------------------------------------------------------------------------- */

static int refuse(const struct place *place, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(const struct place *place, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(place->error, RECORD_ERROR_MAX, fmt, ap);
    va_end(ap);
    return STATUS_INVALID;
}

static int refuse_value(const struct place *place, const json_t *value, const char *rule)
{
    autofree char *shown = json_show(value);
    return refuse(place, "%s is %s; it must be %s", place->path, shown, rule);
}

static char *words_rule(const struct record_field *field)
{
    AUTO(text) struct text rule = {0};
    if (field->rule != NULL)
        return own_strdup(field->rule);
    for (size_t i = 0; i < field->word_count; i++)
        text_printf(&rule, "%s%s", i == 0 ? "" : i + 1 == field->word_count ? " or " : ", ", field->words[i]);
    return text_take(&rule);
}

/* --- reading --------------------------------------------------------------------------------------- */

static int64_t characters_of(const char *text)
{
    int64_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static int check_text(const struct place *place, const struct record_field *field, const json_t *value)
{
    if (!json_is_string(value))
        return refuse_value(place, value, "a text");
    const char *text = json_string_value(value);
    int64_t count = characters_of(text);
    if (strlen(text) != json_string_length(value) || !text_is_clean(text))
        return refuse_value(place, value, "a text without control characters");
    if (count < field->min || (field->max > 0 && count > field->max)) {
        autofree char *rule = own_printf("a text of %" PRId64 " to %" PRId64 " characters", field->min, field->max);
        return refuse_value(place, value, rule);
    }
    if (field->pattern == NULL)
        return 0;
    AUTO(pattern) struct pattern *pattern = pattern_new(field->pattern);
    return pattern_matches(pattern, text, strlen(text)) ? 0 : refuse_value(place, value, field->rule);
}

static int read_text(const struct place *place, const struct record_field *field, const json_t *value, char **ret_text)
{
    int status = check_text(place, field, value);
    if (status == 0)
        *ret_text = own_strdup(json_string_value(value));
    return status;
}

static int read_number(const struct place *place, const struct record_field *field, const json_t *value,
                       struct optional *ret_number)
{
    double real = json_real_value(value); /* 0 of what is none; 2.0 is a whole number, too */
    bool is_whole = json_is_integer(value) ||
                    (json_is_real(value) && real >= -0x1p53 && real <= 0x1p53 && real == (double)(int64_t)real);
    int64_t number = json_is_real(value) && is_whole ? (int64_t)real : json_integer_value(value);
    if (!is_whole || number < field->min || number > field->max) {
        autofree char *rule = own_printf("a whole number of %" PRId64 " to %" PRId64, field->min, field->max);
        return refuse_value(place, value, rule);
    }
    *ret_number = (struct optional){true, number};
    return 0;
}

static int read_real(const struct place *place, const struct record_field *field, const json_t *value,
                     struct optional_real *ret_real)
{
    double real = json_number_value(value);
    if (!json_is_number(value) || real < (double)field->min || real > (double)field->max) {
        autofree char *rule = own_printf("a number of %" PRId64 " to %" PRId64, field->min, field->max);
        return refuse_value(place, value, rule);
    }
    *ret_real = (struct optional_real){true, real};
    return 0;
}

static int read_flag(const struct place *place, const json_t *value, struct optional *ret_flag)
{
    if (!json_is_boolean(value))
        return refuse_value(place, value, "true or false");
    *ret_flag = (struct optional){true, json_is_true(value)};
    return 0;
}

static int read_word(const struct place *place, const struct record_field *field, const json_t *value,
                     struct optional *ret_word)
{
    const char *text = json_string_value(value);
    for (size_t i = 0; i < field->word_count; i++)
        if (text_equal(text, field->words[i])) {
            *ret_word = (struct optional){true, (int64_t)i};
            return 0;
        }
    autofree char *rule = words_rule(field);
    return refuse_value(place, value, rule);
}

static int check_list(const struct place *place, const struct record_field *field, const json_t *value)
{
    size_t count = json_array_size(value);
    if (!json_is_array(value))
        return refuse_value(place, value, "a list");
    if (count >= field->items_min && (field->items_max == 0 || count <= field->items_max))
        return 0;
    autofree char *rule = own_printf("a list of %zu to %zu", field->items_min, field->items_max);
    return refuse_value(place, value, rule);
}

static int read_words(const struct place *place, const struct record_field *field, const json_t *value,
                      struct optional *ret_words)
{
    struct optional words = {.given = true}, word;
    int status = check_list(place, field, value);
    for (size_t i = 0; status == 0 && i < json_array_size(value); i++) {
        const struct place item = item_of(place, i);
        status = read_word(&item, field, json_array_get(value, i), &word);
        if (status == 0)
            words.value |= INT64_C(1) << word.value;
    }
    if (status == 0)
        *ret_words = words;
    return status;
}

static int read_texts(const struct place *place, const struct record_field *field, const json_t *value,
                      struct optional_list *ret_list)
{
    int status = check_list(place, field, value);
    if (status < 0)
        return status;
    char **texts = own_calloc(json_array_size(value) + 1, sizeof(*texts));
    *ret_list = (struct optional_list){.given = true, .items = texts};
    for (; status == 0 && ret_list->count < json_array_size(value); ret_list->count += status == 0) {
        const struct place item = item_of(place, ret_list->count);
        status = read_text(&item, field, json_array_get(value, ret_list->count), &texts[ret_list->count]);
    }
    return status;
}

static int check_map(const struct place *place, const struct record_field *field, const json_t *value)
{
    size_t count = json_object_size(value);
    if (!json_is_object(value))
        return refuse_value(place, value, "an object");
    if (field->items_max == 0 || count <= field->items_max)
        return 0;
    return refuse(place, "%s has %zu entries; it may have at most %zu", place->path, count, field->items_max);
}

static int read_map(const struct place *place, const struct record_field *field, const json_t *value,
                    struct optional_list *ret_list)
{
    const char *name;
    json_t *text;
    int status = check_map(place, field, value);
    if (status < 0)
        return status;
    struct record_pair *pairs = own_calloc(json_object_size(value) + 1, sizeof(*pairs));
    *ret_list = (struct optional_list){.given = true, .items = pairs};
    json_object_foreach((json_t *)(uintptr_t)value, name, text)
    {
        auto_json json_t *key = json_string(name);
        const struct place inner = below(place, name);
        struct place of_key = {.error = place->error};
        snprintf(of_key.path, sizeof(of_key.path), "a key of %.140s", place->path);
        struct record_pair *pair = &pairs[ret_list->count];
        if (status == 0 && field->key != NULL)
            status = check_text(&of_key, field->key, key);
        if (status == 0)
            status = read_text(&inner, field, text, &pair->value);
        if (status < 0)
            break;
        pair->key = own_strdup(name);
        ret_list->count++;
    }
    return status;
}

static int read_object(const struct place *place, const struct record *record, const json_t *object, void *holder);

static int read_list(const struct place *place, const struct record_field *field, const json_t *value,
                     struct optional_list *ret_list)
{
    int status = check_list(place, field, value);
    if (status < 0)
        return status;
    size_t size = field->record->size;
    *ret_list = (struct optional_list){.given = true, .items = own_calloc(json_array_size(value) + 1, size)};
    for (; status == 0 && ret_list->count < json_array_size(value); ret_list->count++) {
        const struct place item = item_of(place, ret_list->count);
        status = read_object(&item, field->record, json_array_get(value, ret_list->count),
                             (char *)ret_list->items + ret_list->count * size);
    }
    return status;
}

static int read_field(const struct place *place, const struct record_field *field, const json_t *value, void *holder)
{
    void *at = at_of(field, holder);
    switch (field->type) {
    case RECORD_TEXT:
        return read_text(place, field, value, at);
    case RECORD_NUMBER:
        return read_number(place, field, value, at);
    case RECORD_REAL:
        return read_real(place, field, value, at);
    case RECORD_FLAG:
        return read_flag(place, value, at);
    case RECORD_WORD:
        return read_word(place, field, value, at);
    case RECORD_WORDS:
        return read_words(place, field, value, at);
    case RECORD_TEXTS:
        return read_texts(place, field, value, at);
    case RECORD_MAP:
        return read_map(place, field, value, at);
    case RECORD_LIST:
        return read_list(place, field, value, at);
    case RECORD_OBJECT:
        *(bool *)at = true;
        return read_object(place, field->record, value, at);
    case RECORD_NEVER:
        break;
    }
    return refuse(place, "%s cannot be said here: %s", place->path, field->rule);
}

static const struct record_field *find_field(const struct record *record, const char *name)
{
    for (size_t i = 0; i < record->count; i++)
        if (strcmp(record->fields[i].name, name) == 0)
            return &record->fields[i];
    return NULL;
}

static int refuse_unknown(const struct place *place, const struct record *record, const char *name)
{
    struct nearest nearest = {.word = name};
    for (size_t i = 0; i < record->count; i++)
        if (record->fields[i].type != RECORD_NEVER)
            nearest_see(&nearest, record->fields[i].name);
    autofree char *unknown = nearest_say(&nearest);
    return refuse(place, "%s%s%s", place->path, place->path[0] != '\0' ? ": " : "", unknown);
}

static int check_given(const struct place *place, const struct record *record, const json_t *object)
{
    size_t given = 0;
    for (size_t i = 0; i < record->count; i++) {
        const struct record_field *field = &record->fields[i];
        const json_t *value = json_object_get(object, field->name);
        bool is_given = value != NULL && !json_is_null(value);
        const struct place inner = below(place, field->name);
        given += is_given;
        if (field->required && !is_given)
            return refuse(&inner, "%s is missing; it is required", inner.path);
    }
    if (!record->one || given == 1)
        return 0;
    AUTO(text) struct text names = {0};
    for (size_t i = 0; i < record->count; i++)
        text_printf(&names, "%s%s", i == 0 ? "" : i + 1 == record->count ? " and " : ", ", record->fields[i].name);
    return refuse(place, "%s must have exactly one of %s", place->path, text_get(&names));
}

static int read_object(const struct place *place, const struct record *record, const json_t *object, void *holder)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return refuse_value(place, object, "an object");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct record_field *field = find_field(record, name);
        if (field == NULL && !record->lenient)
            return refuse_unknown(place, record, name);
        if (field == NULL || json_is_null(value))
            continue;
        const struct place inner = below(place, name);
        int status = read_field(&inner, field, value, holder);
        if (status < 0)
            return status;
    }
    return check_given(place, record, object);
}

int record_read(const struct record *record, const json_t *object, const char *where, void *ret_struct,
                char ret_error[RECORD_ERROR_MAX])
{
    struct place top = {.error = ret_error};
    snprintf(top.path, sizeof(top.path), "%s", where);
    if (where[0] == '\0' && !json_is_object(object))
        return refuse(&top, "an object is wanted here");
    int status = read_object(&top, record, object, ret_struct);
    if (status < 0)
        record_free(record, ret_struct);
    return status;
}

/* --- writing --------------------------------------------------------------------------------------- */

static json_t *write_words(const struct record_field *field, int64_t bits)
{
    json_t *list = json_array();
    for (size_t i = 0; i < field->word_count; i++)
        if (bits & (INT64_C(1) << i))
            json_array_append_new(list, json_string(field->words[i]));
    return list;
}

static json_t *write_texts(const struct optional_list *list)
{
    json_t *json = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(json, json_string(((char **)list->items)[i]));
    return json;
}

static json_t *write_map(const struct optional_list *list)
{
    const struct record_pair *pairs = list->items;
    json_t *json = json_object();
    for (size_t i = 0; i < list->count; i++)
        json_object_set_new(json, pairs[i].key, json_string(pairs[i].value));
    return json;
}

static json_t *write_list(const struct record *record, const struct optional_list *list)
{
    json_t *json = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(json, record_write(record, (const char *)list->items + i * record->size));
    return json;
}

static json_t *write_field(const struct record_field *field, const void *at)
{
    const struct optional *one = at;
    switch (field->type) {
    case RECORD_TEXT:
        return json_string(*(char *const *)at);
    case RECORD_NUMBER:
        return json_integer(one->value);
    case RECORD_REAL:
        return json_real(((const struct optional_real *)at)->value);
    case RECORD_FLAG:
        return json_boolean(one->value != 0);
    case RECORD_WORD:
        return json_string(field->words[one->value]);
    case RECORD_WORDS:
        return write_words(field, one->value);
    case RECORD_TEXTS:
        return write_texts(at);
    case RECORD_MAP:
        return write_map(at);
    case RECORD_LIST:
        return write_list(field->record, at);
    case RECORD_OBJECT:
        return record_write(field->record, at);
    case RECORD_NEVER:
        break;
    }
    return NULL;
}

/* Every kind but a text begins with "bool given". */
static bool is_given(const struct record_field *field, const void *holder)
{
    const void *at = at_of(field, holder);
    if (field->type == RECORD_NEVER)
        return false;
    return field->type == RECORD_TEXT ? *(char *const *)at != NULL : *(const bool *)at;
}

json_t *record_write(const struct record *record, const void *from)
{
    json_t *json = json_object();
    for (size_t i = 0; i < record->count; i++) {
        const struct record_field *field = &record->fields[i];
        if (is_given(field, from))
            json_put(json, field->name, write_field(field, at_of(field, from)));
    }
    return json;
}

/* --- owning ---------------------------------------------------------------------------------------- */

static size_t size_of(const struct record_field *field)
{
    switch (field->type) {
    case RECORD_TEXT:
        return sizeof(char *);
    case RECORD_REAL:
        return sizeof(struct optional_real);
    case RECORD_NUMBER:
    case RECORD_FLAG:
    case RECORD_WORD:
    case RECORD_WORDS:
        return sizeof(struct optional);
    case RECORD_TEXTS:
    case RECORD_MAP:
    case RECORD_LIST:
        return sizeof(struct optional_list);
    case RECORD_OBJECT:
        return field->record->size;
    case RECORD_NEVER:
        break;
    }
    return 0;
}

static void free_list(const struct record_field *field, struct optional_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (field->type == RECORD_TEXTS) {
            free(((char **)list->items)[i]);
        } else if (field->type == RECORD_MAP) {
            free(((struct record_pair *)list->items)[i].key);
            free(((struct record_pair *)list->items)[i].value);
        } else {
            record_free(field->record, (char *)list->items + i * field->record->size);
        }
    free(list->items);
}

static void free_field(const struct record_field *field, void *holder)
{
    void *at = at_of(field, holder);
    if (field->type == RECORD_TEXT)
        free(*(char **)at);
    else if (field->type == RECORD_TEXTS || field->type == RECORD_MAP || field->type == RECORD_LIST)
        free_list(field, at);
    else if (field->type == RECORD_OBJECT)
        record_free(field->record, at);
    memset(at, 0, size_of(field));
}

void record_free(const struct record *record, void *contents)
{
    for (size_t i = 0; i < record->count; i++)
        free_field(&record->fields[i], contents);
}

void record_merge(const struct record *record, void *into, void *newer)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct record_field *field = &record->fields[i];
        if (!is_given(field, newer))
            continue;
        free_field(field, into);
        memcpy(at_of(field, into), at_of(field, newer), size_of(field));
        memset(at_of(field, newer), 0, size_of(field));
    }
}
