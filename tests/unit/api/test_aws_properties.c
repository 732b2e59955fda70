/*
 * Properties of checking, from the model's tables: in a full document of every operation's input and output each place in
 * turn is given every value just inside of its limits, which must pass, and every value just outside, which must be
 * refused by a sentence that names the place and the rule. Both spellings.
 *
 * At the end the limits that were tried are held against those that the tables have, so that no shape is passed over. That
 * the tables have what the model says is test_aws_model.c's; the same through the API is test_aws_api.c's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/aws/validate.h"
#include "base/status.h"
#include "tests/unit/api/aws_samples.h"

#include <stdio.h>

#define LIMITS_OF_A_LIST_MAX 200 /* larger ones are tried on their own, not in every place */

/* What can be wrong with a value of a shape. */
enum limit {
    LIMIT_TYPE = 1,
    LIMIT_LEAST = 2,
    LIMIT_MOST = 4,
    LIMIT_PATTERN = 8,
    LIMIT_VALUES = 16,
    LIMIT_ONE = 32, /* of a union */
    LIMIT_REQUIRED = 64,
    LIMIT_KNOWN = 128,
    LIMIT_KEY = 256,
};

/* By spelling and shape: the limits beyond which something was tried, and refused. */
static unsigned tried[2][AWS_SHAPE_COUNT];

/* One document, and the place in it that is being changed. */
struct trial {
    const struct aws_shape *shape;
    enum aws_spelling spelling;
    json_t *document;
    json_t *holder; /* an object or array; NULL: the document itself stays */
    const char *member;
    size_t index;
    char path[512];
    size_t inside, outside;
};

static void mark(const struct trial *trial, const struct aws_shape *shape, enum limit limit)
{
    tried[trial->spelling][shape - aws_shape(AWS_SHAPE_NONE)] |= limit;
}

/* NULL: it is not there. */
static void put(struct trial *trial, json_t *value)
{
    if (value == NULL)
        json_object_del(trial->holder, trial->member);
    else if (json_is_array(trial->holder))
        json_array_set_new(trial->holder, trial->index, value);
    else
        json_object_set_new(trial->holder, trial->member, value);
}

static json_t *get(struct trial *trial)
{
    return json_is_array(trial->holder) ? json_array_get(trial->holder, trial->index)
                                        : json_object_get(trial->holder, trial->member);
}

/* Takes value, tries it in its place, and puts back what was there. rule NULL: it must pass. */
static void try_value(struct trial *trial, json_t *value, const char *rule, enum aws_error error)
{
    AUTO(aws_issues) struct aws_issues issues = {0};
    const struct aws_rules rules = {.spelling = trial->spelling, .unknown_refused = true};
    json_t *before = json_incref(get(trial));

    put(trial, value);
    int r = aws_validate(trial->shape, trial->document, rules, &issues);
    autofree char *message = aws_issues_message(&issues);
    autofree char *place = own_printf("at '%s", trial->path);
    if (rule == NULL && r != 0)
        fail_msg("%s, %s: refused: %s", trial->shape->name, trial->path, message);
    if (rule != NULL && (r != STATUS_INVALID || strstr(message, rule) == NULL || aws_issues_error(&issues) != error ||
                         strstr(message, place) == NULL))
        fail_msg("%s: wanted \"%s\" %s, got %d: %s", trial->shape->name, rule, place, r, message);
    trial->inside += rule == NULL;
    trial->outside += rule != NULL;
    put(trial, before);
}

static void try_inside(struct trial *trial, json_t *value)
{
    try_value(trial, value, NULL, AWS_ERROR_VALIDATION);
}

static void try_outside(struct trial *trial, json_t *value, const char *rule)
{
    try_value(trial, value, rule, AWS_ERROR_VALIDATION);
}

static void try_other_types(struct trial *trial, const struct aws_shape *shape)
{
    json_t *const all[] = {json_string("7"), json_integer(7), json_true(), json_array(), json_object()};
    const bool is_number = shape->type >= AWS_TYPE_INTEGER && shape->type <= AWS_TYPE_FLOAT;
    const bool is_time = shape->type == AWS_TYPE_TIMESTAMP;
    const bool fits[] = {
        shape->type == AWS_TYPE_STRING || shape->type == AWS_TYPE_ENUM ||
            (is_time && trial->spelling == AWS_SPELLING_CAMEL),
        is_number || (is_time && trial->spelling == AWS_SPELLING_PASCAL),
        shape->type == AWS_TYPE_BOOLEAN,
        shape->type == AWS_TYPE_LIST,
        shape->type == AWS_TYPE_MAP || shape->type == AWS_TYPE_STRUCTURE || shape->type == AWS_TYPE_UNION,
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (fits[i])
            json_decref(all[i]);
        else
            try_value(trial, all[i], "should be ", AWS_ERROR_SERIALIZATION);
    mark(trial, shape, LIMIT_TYPE);
}

static void limit_text(char ret_text[96], const char *what, bool is_below, int64_t limit)
{
    snprintf(ret_text, 96, "Member must have %s %s than or equal to %lld", what, is_below ? "greater" : "less",
             (long long)limit);
}

static bool has_length(json_t *text, int64_t length)
{
    return (int64_t)json_string_length(text) == length; /* samples are ASCII */
}

/* A text that matches, with a line's end in place of its first or last character: "^" and "$" would let it through. */
static void try_line_ends(struct trial *trial, const struct aws_shape *shape)
{
    for (int at_end = 0; at_end <= 1; at_end++) {
        json_t *text = sample_plain_string(shape);
        autofree char *copy = own_printf("%s", json_string_value(text));
        copy[at_end ? strlen(copy) - 1 : 0] = '\n';
        json_string_set(text, copy);
        try_outside(trial, text, shape->pattern);
    }
}

static void try_pattern(struct trial *trial, const struct aws_shape *shape)
{
    const struct sample_text *sample_of = sample_text_of(shape);

    for (size_t i = 0; i < ARRAY_LEN(sample_others); i++)
        if (strcmp(sample_others[i].shape, shape->name) == 0)
            try_value(trial, json_string(sample_others[i].text), sample_others[i].fits ? NULL : shape->pattern,
                      AWS_ERROR_VALIDATION);
    if (sample_of->bad == NULL)
        return;
    try_line_ends(trial, shape);
    try_outside(trial, json_string(sample_of->bad), shape->pattern);
    mark(trial, shape, LIMIT_PATTERN);
}

static void try_string(struct trial *trial, const struct aws_shape *shape)
{
    char rule[96];

    try_inside(trial, sample_plain_string(shape));
    for (int i = 0; i < 2; i++) {
        int64_t limit = i == 0 ? shape->min : shape->max;
        if (limit == AWS_NO_MIN || limit == AWS_NO_MAX)
            continue;
        auto_json json_t *at_limit = sample_string(shape, limit);
        if (has_length(at_limit, limit) && (limit > 0 || shape->pattern == NULL))
            try_inside(trial, json_incref(at_limit));
    }
    if (shape->min > 0) {
        char text[64];
        assert_true(shape->min < (int64_t)sizeof(text)); /* of all samples: the longest least length is 50 */
        memset(text, 'a', sizeof(text));
        text[shape->min - 1] = '\0';
        limit_text(rule, "length", true, shape->min);
        try_outside(trial, json_string(text), rule);
        mark(trial, shape, LIMIT_LEAST);
    }
    if (shape->max != AWS_NO_MAX) {
        autofree char *text = own_calloc(1, (size_t)shape->max + 2);
        memset(text, 'a', (size_t)shape->max + 1);
        limit_text(rule, "length", false, shape->max);
        try_outside(trial, json_string(text), rule);
        mark(trial, shape, LIMIT_MOST);
    }
    if (shape->pattern != NULL)
        try_pattern(trial, shape);
}

static void try_enum(struct trial *trial, const struct aws_shape *shape)
{
    for (size_t i = 0; i < shape->count; i++)
        try_inside(trial, json_string(aws_shape_values(shape)[i]));
    autofree char *longer = own_printf("%s ", aws_shape_values(shape)[0]);
    try_outside(trial, json_string(longer), "Member must satisfy enum value set: [");
    longer[strlen(longer) - 2] = '\0';
    try_outside(trial, json_string(longer), "Member must satisfy enum value set: [");
    try_outside(trial, json_string(""), aws_shape_values(shape)[0]);
    mark(trial, shape, LIMIT_VALUES);
}

static void try_number(struct trial *trial, const struct aws_shape *shape)
{
    const bool is_float = shape->type == AWS_TYPE_FLOAT;
    int64_t min = shape->min, max = shape->max;
    char rule[96];

    if (shape->type == AWS_TYPE_INTEGER) {
        min = min == AWS_NO_MIN ? INT32_MIN : min;
        max = max == AWS_NO_MAX ? INT32_MAX : max;
    }
    try_inside(trial, json_integer(min));
    try_inside(trial, json_real((double)min));
    try_inside(trial, json_integer(max));
    limit_text(rule, "value", true, min);
    try_outside(trial, json_integer(min - 1), rule);
    try_outside(trial, json_real(is_float ? (double)min - 0.001 : -1e21), rule);
    limit_text(rule, "value", false, max);
    try_outside(trial, json_integer(max + 1), rule);
    try_outside(trial, json_real(1e21), rule);
    if (is_float)
        try_inside(trial, json_real((double)max - 0.5));
    else
        try_outside(trial, json_real((double)min + 0.5), "Member must be a whole number");
    mark(trial, shape, LIMIT_LEAST | LIMIT_MOST);
}

static void try_time(struct trial *trial)
{
    if (trial->spelling == AWS_SPELLING_PASCAL) {
        try_inside(trial, json_integer(0));
        try_inside(trial, json_real(1.7e9));
        try_inside(trial, json_integer(AWS_TIME_MAX_S));
        try_outside(trial, json_integer(-1), "Member must have value greater than or equal to 0");
        try_outside(trial, json_real(-0.001), "Member must have value greater than or equal to 0");
        try_outside(trial, json_integer(AWS_TIME_MAX_S + 1), "Member must have value less than or equal to");
        return;
    }
    try_inside(trial, json_string("1970-01-01T00:00:00Z"));
    try_inside(trial, json_string("2026-11-20T15:00:00.5+01:00"));
    try_outside(trial, json_string("1969-12-31T23:59:59Z"), "Member must not be before 1970");
    try_outside(trial, json_string("2026-11-20"), "Member must be a time as RFC 3339 writes it");
    try_outside(trial, json_string("1700000000"), "Member must be a time as RFC 3339 writes it");
}

static json_t *sample_of_size(const struct trial *trial, const struct aws_shape *shape, int64_t size)
{
    return shape->type == AWS_TYPE_LIST ? sample_list(shape, trial->spelling, SAMPLE_LEAST, size)
                                        : sample_map(shape, trial->spelling, SAMPLE_LEAST, size);
}

/* A map of one entry, whose value is taken. */
static json_t *one_entry(const char *key, json_t *value)
{
    json_t *map = json_object();

    json_object_set_new(map, key, value);
    return map;
}

static void try_keys(struct trial *trial, const struct aws_shape *shape)
{
    const struct aws_shape *key = aws_shape(shape->key), *of = aws_shape(shape->of);
    auto_json json_t *good =
        key->type == AWS_TYPE_ENUM ? json_string(aws_shape_values(key)[0]) : sample_plain_string(key);
    char rule[96], longer[SAMPLE_LENGTH_MAX];

    try_outside(trial, one_entry(json_string_value(good), json_null()), "Member must not be null");
    if (key->type == AWS_TYPE_ENUM) {
        snprintf(longer, sizeof(longer), "%s-", json_string_value(good));
        try_outside(trial, one_entry(longer, sample(of, trial->spelling, SAMPLE_LEAST)),
                    "Member must satisfy enum value set: [");
    } else {
        try_outside(trial, one_entry(sample_text_of(key)->bad, sample(of, trial->spelling, SAMPLE_LEAST)),
                    key->pattern);
        memset(longer, 'a', (size_t)key->max + 1);
        longer[key->max + 1] = '\0';
        limit_text(rule, "length", false, key->max);
        try_outside(trial, one_entry(longer, sample(of, trial->spelling, SAMPLE_LEAST)), rule);
    }
    mark(trial, shape, LIMIT_KEY);
}

static void try_sizes(struct trial *trial, const struct aws_shape *shape)
{
    char rule[96];

    if (shape->min >= 0)
        try_inside(trial, sample_of_size(trial, shape, shape->min));
    if (shape->min > 0) {
        limit_text(rule, "length", true, shape->min);
        try_outside(trial, sample_of_size(trial, shape, shape->min - 1), rule);
        mark(trial, shape, LIMIT_LEAST);
    }
    if (shape->max <= LIMITS_OF_A_LIST_MAX) {
        try_inside(trial, sample_of_size(trial, shape, shape->max));
        limit_text(rule, "length", false, shape->max);
        try_outside(trial, sample_of_size(trial, shape, shape->max + 1), rule);
        mark(trial, shape, LIMIT_MOST);
    }
    if (shape->type == AWS_TYPE_LIST && shape->max > 1) {
        json_t *with_null = sample_of_size(trial, shape, shape->min > 0 ? shape->min : 1);
        json_array_set_new(with_null, 0, json_null());
        try_outside(trial, with_null, "Member must not be null");
    }
    if (shape->type == AWS_TYPE_MAP)
        try_keys(trial, shape);
}

static void walk(struct trial *trial, const struct aws_shape *shape);

/* One that the model does not have: a name of the other spelling's looks most alike. */
static void try_unknown(struct trial *trial, const struct aws_shape *shape, json_t *here)
{
    struct trial outer = *trial;
    size_t path_len = strlen(trial->path);

    trial->holder = here;
    trial->member = trial->spelling == AWS_SPELLING_CAMEL ? "ClusterName" : "clusterName";
    try_outside(trial, json_string("c"), "There is no such member");
    trial->path[path_len] = '\0';
    trial->holder = outer.holder;
    trial->member = outer.member;
    mark(trial, shape, LIMIT_KNOWN);
}

/* Each member in turn, as trial's place; afterwards the place is again what it was. */
static void walk_members(struct trial *trial, const struct aws_shape *shape)
{
    const struct aws_member *members = aws_shape_members(shape);
    struct trial outer = *trial;
    size_t path_len = strlen(trial->path);
    json_t *here = trial->holder == NULL ? trial->document : get(trial);

    try_unknown(trial, shape, here);
    for (size_t i = 0; i < shape->count; i++) {
        const char *name = members[i].name[trial->spelling];
        bool is_camel = trial->spelling == AWS_SPELLING_CAMEL;
        if (json_object_get(here, name) == NULL)
            continue; /* a union has but one */
        trial->holder = here;
        trial->member = name;
        snprintf(trial->path + path_len, sizeof(trial->path) - path_len, "%s%s",
                 is_camel       ? "/"
                 : path_len > 0 ? "."
                                : "",
                 name);
        if (!is_camel)
            trial->path[path_len + (path_len > 0)] |= 0x20;
        if (members[i].required) {
            try_outside(trial, json_null(), "Member must not be null");
            try_outside(trial, NULL, "Member must not be null");
            mark(trial, shape, LIMIT_REQUIRED);
        } else if (shape->type != AWS_TYPE_UNION) {
            try_inside(trial, json_null());
            try_inside(trial, NULL);
        }
        walk(trial, aws_shape(members[i].shape));
        trial->path[path_len] = '\0';
    }
    trial->holder = outer.holder;
    trial->member = outer.member;
    trial->index = outer.index;
}

/* A union is walked once for each member it may have; none and two are outside. */
static void walk_union(struct trial *trial, const struct aws_shape *shape)
{
    for (size_t i = 0; i < shape->count; i++) {
        try_inside(trial, sample_structure(shape, trial->spelling, SAMPLE_LEAST, i));
        put(trial, sample_structure(shape, trial->spelling, SAMPLE_FULL, i));
        walk_members(trial, shape);
    }
    json_t *two = sample_structure(shape, trial->spelling, SAMPLE_LEAST, 0);
    auto_json json_t *other = sample_structure(shape, trial->spelling, SAMPLE_LEAST, 1);
    json_object_update(two, other);
    try_outside(trial, two, "Member must have exactly one of: ");
    try_outside(trial, json_object(), "Member must have exactly one of: ");
    json_t *null_beside = sample_structure(shape, trial->spelling, SAMPLE_LEAST, 0);
    json_object_set_new(null_beside, aws_shape_members(shape)[1].name[trial->spelling], json_null());
    try_inside(trial, null_beside);
    mark(trial, shape, LIMIT_ONE);
}

static void walk_inner(struct trial *trial, const struct aws_shape *shape)
{
    struct trial outer = *trial;
    size_t path_len = strlen(trial->path);
    bool is_camel = trial->spelling == AWS_SPELLING_CAMEL;

    trial->holder = get(trial);
    if (shape->type == AWS_TYPE_LIST) {
        trial->index = 0;
        snprintf(trial->path + path_len, sizeof(trial->path) - path_len, is_camel ? "/0" : ".1.member");
    } else {
        trial->member = json_object_iter_key(json_object_iter(trial->holder));
        snprintf(trial->path + path_len, sizeof(trial->path) - path_len, is_camel ? "/" : ".");
    }
    if (json_is_object(trial->holder) || json_array_size(trial->holder) > 0)
        walk(trial, aws_shape(shape->of));
    trial->path[path_len] = '\0';
    trial->holder = outer.holder;
    trial->member = outer.member;
    trial->index = outer.index;
}

static void walk(struct trial *trial, const struct aws_shape *shape)
{
    try_other_types(trial, shape);
    switch (shape->type) {
    case AWS_TYPE_STRUCTURE:
        walk_members(trial, shape);
        break;
    case AWS_TYPE_UNION:
        walk_union(trial, shape);
        break;
    case AWS_TYPE_LIST:
    case AWS_TYPE_MAP:
        try_sizes(trial, shape);
        walk_inner(trial, shape);
        break;
    case AWS_TYPE_STRING:
        try_string(trial, shape);
        break;
    case AWS_TYPE_ENUM:
        try_enum(trial, shape);
        break;
    case AWS_TYPE_INTEGER:
    case AWS_TYPE_LONG:
    case AWS_TYPE_FLOAT:
        try_number(trial, shape);
        break;
    case AWS_TYPE_TIMESTAMP:
        try_time(trial);
        break;
    default:
        break;
    }
}

/* The document itself is of another type, or none. */
static void try_documents(struct trial *trial)
{
    json_t *const all[] = {json_array(), json_string("{}"), json_null()};
    const struct aws_rules rules = {.spelling = trial->spelling};

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        AUTO(aws_issues) struct aws_issues issues = {0};
        assert_int_equal(aws_validate(trial->shape, all[i], rules, &issues), STATUS_INVALID);
        assert_int_equal(aws_issues_error(&issues), AWS_ERROR_SERIALIZATION);
        json_decref(all[i]);
    }
    mark(trial, trial->shape, LIMIT_TYPE);
}

static void walk_shape(enum aws_shape_id id, enum aws_spelling spelling, size_t *inside, size_t *outside)
{
    const struct aws_shape *shape = aws_shape(id);
    auto_json json_t *document = sample(shape, spelling, SAMPLE_FULL);
    struct trial trial = {.shape = shape, .spelling = spelling, .document = document};

    walk_members(&trial, shape);
    try_documents(&trial);
    *inside += trial.inside;
    *outside += trial.outside;
}

/* Largest lists that the model lets be, each on its own because they are slow in every place. */
static void try_large(enum aws_shape_id id, enum aws_spelling spelling)
{
    const struct aws_shape *shape = aws_shape(id);
    const struct trial trial = {.shape = shape, .spelling = spelling};

    for (int64_t size = shape->max - 1; size <= shape->max + 1; size++) {
        AUTO(aws_issues) struct aws_issues issues = {0};
        auto_json json_t *list = sample_of_size(&trial, shape, size);
        assert_int_equal(aws_validate(shape, list, (struct aws_rules){.spelling = spelling}, &issues),
                         size <= shape->max ? 0 : STATUS_INVALID);
    }
    mark(&trial, shape, LIMIT_MOST);
}

/* --- what there is to try ------------------------------------------------------------------------------------ */

static void reach(enum aws_shape_id id, bool is_key, bool *reached)
{
    const struct aws_shape *shape = aws_shape(id);

    if (id == AWS_SHAPE_NONE || reached[id])
        return;
    reached[id] = !is_key; /* a key's own limits are its map's */
    if (shape->type == AWS_TYPE_STRUCTURE || shape->type == AWS_TYPE_UNION)
        for (size_t i = 0; i < shape->count; i++)
            reach(aws_shape_members(shape)[i].shape, false, reached);
    reach(shape->key, true, reached);
    reach(shape->of, false, reached);
}

static unsigned limits_of_structure(const struct aws_shape *shape)
{
    unsigned limits = LIMIT_KNOWN | (shape->type == AWS_TYPE_UNION ? LIMIT_ONE : 0);

    for (size_t i = 0; i < shape->count; i++)
        limits |= aws_shape_members(shape)[i].required ? LIMIT_REQUIRED : 0;
    return limits;
}

static unsigned limits_of(const struct aws_shape *shape)
{
    const unsigned sized = (shape->min > 0 ? LIMIT_LEAST : 0) | (shape->max != AWS_NO_MAX ? LIMIT_MOST : 0);

    switch (shape->type) {
    case AWS_TYPE_STRUCTURE:
    case AWS_TYPE_UNION:
        return LIMIT_TYPE | limits_of_structure(shape);
    case AWS_TYPE_LIST:
        return LIMIT_TYPE | sized;
    case AWS_TYPE_MAP:
        return LIMIT_TYPE | LIMIT_KEY | sized;
    case AWS_TYPE_STRING:
        return LIMIT_TYPE | sized | (shape->pattern != NULL && sample_text_of(shape)->bad != NULL ? LIMIT_PATTERN : 0);
    case AWS_TYPE_ENUM:
        return LIMIT_TYPE | LIMIT_VALUES;
    case AWS_TYPE_INTEGER:
    case AWS_TYPE_LONG:
    case AWS_TYPE_FLOAT:
        return LIMIT_TYPE | LIMIT_LEAST | LIMIT_MOST;
    default:
        return LIMIT_TYPE;
    }
}

/* Nothing that the tables say was passed over, and nothing was tried that they do not say. */
static void check_all_tried(enum aws_spelling spelling, const bool *reached)
{
    for (size_t id = AWS_SHAPE_NONE + 1; id < AWS_SHAPE_COUNT; id++) {
        const struct aws_shape *shape = aws_shape((enum aws_shape_id)id);
        if (reached[id] && tried[spelling][id] != limits_of(shape))
            fail_msg("%s: tried %#x of %#x", shape->name, tried[spelling][id], limits_of(shape));
    }
}

static void walk_operations(enum aws_spelling spelling)
{
    size_t inside = 0, outside = 0;
    bool reached[AWS_SHAPE_COUNT] = {false};

    for (size_t i = 0; i < AWS_OPERATION_COUNT; i++) {
        const struct aws_operation *operation = aws_operation((enum aws_operation_id)i);
        if (operation->later)
            continue;
        walk_shape(operation->input, spelling, &inside, &outside);
        reach(operation->input, false, reached);
        reach(operation->output, false, reached);
        if (operation->output != AWS_SHAPE_NONE)
            walk_shape(operation->output, spelling, &inside, &outside);
    }
    for (size_t id = AWS_SHAPE_NONE + 1; id < AWS_SHAPE_COUNT; id++) {
        const struct aws_shape *shape = aws_shape((enum aws_shape_id)id);
        bool is_sized = shape->type == AWS_TYPE_LIST || shape->type == AWS_TYPE_MAP;
        if (reached[id] && is_sized && shape->max > LIMITS_OF_A_LIST_MAX && shape->max != AWS_NO_MAX)
            try_large((enum aws_shape_id)id, spelling);
    }
    check_all_tried(spelling, reached);
    print_message("%zu values inside, %zu outside\n", inside, outside);
    assert_true(inside > 1500 && outside > 2000);
}

static void test_every_limit_of_every_member(void **state)
{
    (void)state;
    walk_operations(AWS_SPELLING_PASCAL);
}

static void test_every_limit_in_the_other_spelling(void **state)
{
    (void)state;
    walk_operations(AWS_SPELLING_CAMEL);
}

/* A row that is no shape's, or of a shape whose pattern has gone, proves nothing. */
static void test_samples_are_of_the_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sample_texts); i++)
        assert_non_null(aws_shape(aws_shape_find(sample_texts[i].shape))->pattern);
    for (size_t i = 0; i < ARRAY_LEN(sample_others); i++)
        assert_non_null(aws_shape(aws_shape_find(sample_others[i].shape))->pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_limit_of_every_member),
        cmocka_unit_test(test_every_limit_in_the_other_spelling),
        cmocka_unit_test(test_samples_are_of_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
