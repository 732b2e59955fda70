/* Reads the policy document into assignments, and applies them. What may be said is the list of settings.c. */
#include "server/config/policy_document.h"

#include "base/nearest.h"
#include "base/own.h"
#include "base/text.h"
#include "base/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PATH_MAX_DEPTH 8
#define EVERYWHERE (-1)

struct match {
    char cluster[NAME_MAX_BYTES], group[NAME_MAX_BYTES], instance_type[NAME_MAX_BYTES]; /* "": any */
};

/* The narrower scope has the last word, and within one scope the class. */
enum rank { RANK_DEFAULTS, RANK_CLASS, RANK_GROUP, RANK_GROUP_CLASS, RANK_COUNT };

struct assignment {
    const struct setting *setting;
    enum rank rank;
    int match;              /* EVERYWHERE, or which of the matches */
    enum fault_class fault; /* FAULT_CLASS_COUNT: all */
    struct setting_value value;
};

struct policy_document {
    struct match *matches;
    size_t match_count;
    struct assignment *rows; /* as they stand in the text */
    size_t count, capacity;
};

/* Where a reader is: the path is what yaml_line finds the line by. */
struct reading {
    const char *data;
    size_t len;
    struct policy_document *document;
    const char *path[PATH_MAX_DEPTH];
    size_t depth;
    int match;
    char *error;
};

static int refuse(const struct reading *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(const struct reading *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *why = own_vprintf(fmt, ap);
    va_end(ap);
    size_t line = r->depth > 0 ? yaml_line(r->data, r->len, r->path, r->depth) : 1;
    snprintf(r->error, POLICY_DOCUMENT_ERROR_MAX, "line %zu: %s", line, why);
    return STATUS_INVALID;
}

static const char *const none[] = {NULL};
static const char *const match_keys[] = {"cluster", "group", "instanceType", NULL};
static const char *const group_keys[] = {"match", "classes", NULL};
static const char *const root_keys[] = {"version", "defaults", "classes", "groups", NULL};

/* Of the text's own words no more than a line's worth is repeated. */
#define SHOWN "%.60s"

/* A word that is none of known (ends with NULL), nor, with sections, a section of settings. what says so, which what there is instead. */
static int refuse_unknown(const struct reading *r, const char *name, const char *const *known, bool sections,
                          const char *what, const char *which)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest nearest = {.word = name};
    for (; *known != NULL; known++)
        nearest_see(&nearest, *known);
    for (size_t i = 0; sections && i < setting_count; i++)
        nearest_see(&nearest, settings[i].section);
    return refuse(r, "\"" SHOWN "\" %s%s%s", name, what, nearest_hint(&nearest, hint), which);
}

static void enter(struct reading *r, const char *part)
{
    r->path[r->depth++] = part; /* the grammar is not as deep as the path is long */
}

static void leave(struct reading *r)
{
    r->depth--;
}

static int need_mapping(const struct reading *r, const json_t *value, const char *what)
{
    return json_is_object(value) ? 0 : refuse(r, "%s must be a mapping of keys to values", what);
}

static void add(struct reading *r, const struct setting *setting, enum rank rank, enum fault_class fault,
                const struct setting_value *value)
{
    struct policy_document *document = r->document;
    if (document->count == document->capacity) {
        document->capacity = document->capacity == 0 ? 16 : document->capacity * 2;
        document->rows = own_realloc(document->rows, document->capacity, sizeof(*document->rows));
    }
    document->rows[document->count++] = (struct assignment){setting, rank, r->match, fault, *value};
}

/* --- settings ------------------------------------------------------------------------------------------------- */

static int read_setting(struct reading *r, const struct setting *setting, const json_t *value, enum rank rank,
                        enum fault_class fault)
{
    char rule[SETTING_RULE_MAX];
    struct setting_value read = {0};
    if (setting_read(setting, value, &read, rule) != 0)
        return refuse(r, "%s must be %s", setting->name, rule);
    add(r, setting, rank, fault, &read);
    return 0;
}

static int refuse_setting(struct reading *r, const char *section, const char *name)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest nearest = {.word = name};
    setting_near(section, &nearest);
    return refuse(r, "%s." SHOWN " is no setting%s; hpctl policy show lists them", section, name,
                  nearest_hint(&nearest, hint));
}

static int read_section(struct reading *r, const char *section, const json_t *object, enum rank rank)
{
    const char *name;
    json_t *value;
    int rc = need_mapping(r, object, section);
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct setting *setting = setting_find(section, name);
        enter(r, name);
        if (setting == NULL)
            rc = refuse_setting(r, section, name);
        else if (!setting_is_grouped(setting))
            rc = refuse(r, "%s.%s is one for all groups: it is said in hpd's configuration file", section, name);
        else
            rc = read_setting(r, setting, value, rank, FAULT_CLASS_COUNT);
        leave(r);
        if (rc != 0)
            return rc;
    }
    return rc;
}

static bool is_section(const char *name)
{
    for (size_t i = 0; i < setting_count; i++)
        if (settings[i].section[0] != '\0' && text_equal(settings[i].section, name))
            return true;
    return false;
}

static const struct setting *find_classed(const char *name)
{
    for (size_t i = 0; i < setting_count; i++)
        if (settings[i].classed && setting_is_grouped(&settings[i]) && text_equal(settings[i].name, name))
            return &settings[i];
    return NULL;
}

static int refuse_class(struct reading *r, const char *name)
{
    AUTO(text) struct text classes = {0};
    char hint[NEAREST_HINT_MAX];
    struct nearest nearest = {.word = name};
    for (int i = FAULT_CLASS_NONE + 1; i < FAULT_CLASS_COUNT; i++) {
        text_printf(&classes, "%s%s", classes.len > 0 ? ", " : "", fault_class_text((enum fault_class)i));
        nearest_see(&nearest, fault_class_text((enum fault_class)i));
    }
    return refuse(r, "\"" SHOWN "\" is no class of faults%s; these are: %s", name, nearest_hint(&nearest, hint),
                  text_get(&classes));
}

static int refuse_classed(struct reading *r, const char *member)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest nearest = {.word = member};
    for (size_t i = 0; i < setting_count; i++)
        if (settings[i].classed)
            nearest_see(&nearest, settings[i].name);
    return refuse(r, "\"" SHOWN "\" is nothing that is said by class%s; hpctl policy show lists what is", member,
                  nearest_hint(&nearest, hint));
}

static int read_class(struct reading *r, const char *name, const json_t *object, enum rank rank)
{
    enum fault_class fault;
    const char *member;
    json_t *value;
    if (fault_class_parse(name, &fault) != 0 || fault == FAULT_CLASS_NONE)
        return refuse_class(r, name);
    int rc = need_mapping(r, object, name);
    json_object_foreach((json_t *)(uintptr_t)object, member, value)
    {
        const struct setting *setting = find_classed(member);
        enter(r, member);
        rc = setting == NULL ? refuse_classed(r, member) : read_setting(r, setting, value, rank, fault);
        leave(r);
        if (rc != 0)
            return rc;
    }
    return rc;
}

static int read_classes(struct reading *r, const json_t *object, enum rank rank)
{
    const char *name;
    json_t *value;
    int rc = need_mapping(r, object, "classes");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        enter(r, name);
        rc = read_class(r, name, value, rank);
        leave(r);
        if (rc != 0)
            return rc;
    }
    return rc;
}

static int read_defaults(struct reading *r, const json_t *object)
{
    const char *name;
    json_t *value;
    int rc = need_mapping(r, object, "defaults");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        enter(r, name);
        rc = is_section(name)
                 ? read_section(r, name, value, RANK_DEFAULTS)
                 : refuse_unknown(r, name, none, true, "is no section of settings", "; hpctl policy show lists them");
        leave(r);
        if (rc != 0)
            return rc;
    }
    return rc;
}

/* --- groups --------------------------------------------------------------------------------------------------- */

static int read_match(struct reading *r, const json_t *object)
{
    struct match *match = &r->document->matches[r->match];
    const struct {
        const char *name;
        char *target;
    } parts[] = {{"cluster", match->cluster}, {"group", match->group}, {"instanceType", match->instance_type}};
    const char *name;
    json_t *value;
    int rc = need_mapping(r, object, "match");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t i = 0;
        const char *text = json_string_value(value);
        while (i < ARRAY_LEN(parts) && !text_equal(parts[i].name, name))
            i++;
        enter(r, name);
        if (i == ARRAY_LEN(parts))
            rc = refuse_unknown(r, name, match_keys, false, "is nothing to match by",
                                ": cluster, group and instanceType are");
        else if (text == NULL || text[0] == '\0' || text_copy(parts[i].target, NAME_MAX_BYTES, text) != 0)
            rc = refuse(r, "%s must be a name, which may end with *", name);
        leave(r);
        if (rc != 0)
            return rc;
    }
    if (rc == 0 && json_object_size(object) == 0)
        return refuse(r, "match must name a cluster, a group or an instanceType; what is for all stands in defaults");
    for (int other = 0; rc == 0 && other < r->match; other++)
        if (memcmp(&r->document->matches[other], match, sizeof(*match)) == 0)
            rc = refuse(r, "entry %d of groups matches the same; say it at one place", other + 1);
    return rc;
}

static int read_group(struct reading *r, const json_t *object)
{
    const char *name;
    json_t *value;
    int rc = need_mapping(r, object, "an entry of groups");
    if (rc == 0 && json_object_get(object, "match") == NULL)
        rc = refuse(r, "match is missing: which groups this is for");
    if (rc != 0)
        return rc;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        enter(r, name);
        if (text_equal(name, "match"))
            rc = read_match(r, value);
        else if (text_equal(name, "classes"))
            rc = read_classes(r, value, RANK_GROUP_CLASS);
        else if (is_section(name))
            rc = read_section(r, name, value, RANK_GROUP);
        else
            rc = refuse_unknown(r, name, group_keys, true, "is no key here",
                                ": match, classes and sections of settings are");
        leave(r);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int read_groups(struct reading *r, const json_t *list)
{
    size_t i, count = json_array_size(list);
    const json_t *entry;
    if (!json_is_array(list) || count > POLICY_DOCUMENT_GROUPS_MAX)
        return refuse(r, "groups must be a list of at most %d entries", POLICY_DOCUMENT_GROUPS_MAX);
    r->document->matches = own_calloc(count + 1, sizeof(*r->document->matches));
    r->document->match_count = count;
    json_array_foreach(list, i, entry)
    {
        char number[24];
        snprintf(number, sizeof(number), "%zu", i);
        r->match = (int)i;
        enter(r, number);
        int rc = read_group(r, entry);
        leave(r);
        if (rc != 0)
            return rc;
    }
    r->match = EVERYWHERE;
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------------------------ */

static int read_format(struct reading *r, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) == POLICY_DOCUMENT_FORMAT)
        return 0;
    return refuse(r, "version must be %d, which is that of this format", POLICY_DOCUMENT_FORMAT);
}

static int read_root(struct reading *r, const json_t *root)
{
    const char *name;
    json_t *value;
    int rc = need_mapping(r, root, "the document");
    if (rc != 0)
        return rc;
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
    {
        enter(r, name);
        if (text_equal(name, "version"))
            rc = read_format(r, value);
        else if (text_equal(name, "defaults"))
            rc = read_defaults(r, value);
        else if (text_equal(name, "classes"))
            rc = read_classes(r, value, RANK_CLASS);
        else if (text_equal(name, "groups"))
            rc = read_groups(r, value);
        else
            rc = refuse_unknown(r, name, root_keys, false, "is no key of a policy",
                                ": version, defaults, classes and groups are");
        leave(r);
        if (rc != 0)
            return rc;
    }
    if (json_object_get(root, "version") == NULL) /* last: it may be there under a name with a typing error */
        rc = refuse(r, "version is missing; it must be %d, which is that of this format", POLICY_DOCUMENT_FORMAT);
    return rc;
}

int policy_document_parse(const char *data, size_t len, struct policy_document **ret_document,
                          char ret_error[POLICY_DOCUMENT_ERROR_MAX])
{
    auto_json json_t *root = NULL;
    char error[JSON_ERROR_MAX];
    if (len >= POLICY_TEXT_MAX_BYTES) {
        snprintf(ret_error, POLICY_DOCUMENT_ERROR_MAX,
                 "line 1: the document has %zu bytes, and %d at most may be: match more groups with one entry", len,
                 POLICY_TEXT_MAX_BYTES - 1);
        return STATUS_TOO_LARGE;
    }
    int rc = yaml_parse(data, len, POLICY_TEXT_MAX_BYTES, &root, error);
    if (rc != 0) {
        snprintf(ret_error, POLICY_DOCUMENT_ERROR_MAX, "%s", error);
        return rc;
    }
    struct reading reading = {.data = data,
                              .len = len,
                              .document = own_calloc(1, sizeof(*reading.document)),
                              .match = EVERYWHERE,
                              .error = ret_error};
    rc = read_root(&reading, root);
    if (rc != 0)
        policy_document_free(reading.document);
    else
        *ret_document = reading.document;
    return rc;
}

void policy_document_free(struct policy_document *document)
{
    if (document == NULL)
        return;
    free(document->matches);
    free(document->rows);
    free(document);
}

/* --- what it says --------------------------------------------------------------------------------------------- */

static bool fits(const char *pattern, const char *name)
{
    size_t len = strlen(pattern);
    if (len == 0)
        return true;
    return pattern[len - 1] == '*' ? strncmp(pattern, name, len - 1) == 0 : text_equal(pattern, name);
}

size_t policy_document_entries(const struct policy_document *document)
{
    return document == NULL ? 0 : document->match_count;
}

static bool match_fits(const struct match *match, const struct policy_place *place)
{
    return fits(match->cluster, place->cluster) && fits(match->group, place->group) &&
           fits(match->instance_type, place->instance_type);
}

bool policy_document_is_for(const struct policy_document *document, size_t entry, const struct policy_place *place)
{
    return match_fits(&document->matches[entry], place);
}

static bool is_for(const struct policy_document *document, const struct assignment *row,
                   const struct policy_place *place)
{
    return row->match == EVERYWHERE || (place != NULL && match_fits(&document->matches[row->match], place));
}

void policy_document_apply(const struct policy_document *document, const struct policy_place *place,
                           struct loop_settings *in, struct policy_said *ret_said)
{
    if (ret_said != NULL)
        *ret_said = (struct policy_said){0};
    for (enum rank rank = RANK_DEFAULTS; document != NULL && rank < RANK_COUNT; rank++)
        for (size_t i = 0; i < document->count; i++) {
            const struct assignment *row = &document->rows[i];
            if (row->rank != rank || !is_for(document, row, place))
                continue;
            setting_put_in(in, row->setting, row->fault, &row->value);
            if (ret_said != NULL && row->fault == FAULT_CLASS_COUNT)
                ret_said->all[row->setting - settings] = true;
            else if (ret_said != NULL)
                ret_said->fault[row->setting - settings][row->fault] = true;
        }
}
