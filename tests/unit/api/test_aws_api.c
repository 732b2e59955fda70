/*
 * The model through the API: what test_aws_properties.c proves of the checker holds for signed requests over HTTP. For every
 * operation each member of its input in turn is of a wrong type, is left out where it is wanted, and breaks a rule; and a
 * document with everything in it gets past the model. The REST API is asked the same of a group's description.
 */
#include "api_world.h"

#include "api/aws/operation.h"
#include "aws_samples.h"
#include "tests/support/sign.h"

static struct api_world aw;
static struct access_key key;
static char secret[SERVICE_SECRET_MAX];

static int setup(void **state)
{
    (void)state;
    api_world_open(&aw, NULL);
    return service_access_key_create(&aw.world.service, &world_admin, "sdk", ROLE_ADMIN, &key, secret,
                                     &aw.world.problem);
}

static int teardown(void **state)
{
    (void)state;
    api_world_close(&aw);
    return 0;
}

/* Caller frees the reply. */
static struct reply ask_aws(int fd, const char *name, const char *body)
{
    const struct sign sign = {key.access_key, secret, "us-west-2", "holdfast"};
    AUTO(text) struct text request = {0};
    autofree char *target = own_printf(AWS_TARGET_PREFIX "%s", name);

    text_add(&request, "POST / HTTP/1.1\r\n");
    sign_headers(&sign, target, body, strlen(body), clock_wall_ms(clock_system()), &request);
    text_printf(&request, "\r\n%s", body);
    client_send(fd, text_get(&request));
    return client_read_reply(fd, false);
}

/* error NULL: whatever it says, it is not the model that refuses. */
static void check(int fd, const struct aws_operation *operation, const json_t *input, const char *error,
                  const char *place)
{
    autofree char *body = json_dumps(input, JSON_COMPACT);
    struct reply reply = ask_aws(fd, operation->name, body);
    char type[64], why[JSON_ERROR_MAX];
    auto_json json_t *json = NULL;

    if (json_parse(reply.body, reply.body_len, REPLY_MAX, &json, why) != 0)
        fail_msg("%s %s: not JSON: %s", operation->name, body, reply.text);
    reply_header(&reply, "Content-Type", type, sizeof type);
    assert_string_equal(type, "application/x-amz-json-1.1");
    const char *got = json_string_value(json_object_get(json, "__type"));
    const char *message = json_string_value(json_object_get(json, "message"));
    if (error == NULL && message != NULL && strstr(message, "validation error") != NULL)
        fail_msg("%s %s: refused by the model: %s", operation->name, body, message);
    if (error == NULL && (reply.status >= 500 || (got != NULL && strcmp(got, "SerializationException") == 0)))
        fail_msg("%s %s: %s", operation->name, body, reply.text);
    if (error != NULL &&
        (reply.status != 400 || got == NULL || strcmp(got, error) != 0 || strstr(message, place) == NULL))
        fail_msg("%s %s: wanted %s %s, got: %s", operation->name, body, error, place, reply.text);
    reply_free(&reply);
}

/* A value of this type and outside of its limits; NULL when there is none that is simple. */
static json_t *outside(const struct aws_shape *shape)
{
    switch (shape->type) {
    case AWS_TYPE_STRING: {
        if (shape->max == AWS_NO_MAX)
            return shape->pattern != NULL ? json_string(sample_text_of(shape)->bad) : NULL;
        autofree char *text = own_calloc(1, (size_t)shape->max + 2);
        memset(text, 'a', (size_t)shape->max + 1);
        return json_string(text);
    }
    case AWS_TYPE_ENUM:
        return json_string("no such value");
    case AWS_TYPE_INTEGER:
    case AWS_TYPE_LONG:
    case AWS_TYPE_FLOAT:
        return json_integer((shape->max != AWS_NO_MAX ? shape->max : INT32_MAX) + 1);
    case AWS_TYPE_TIMESTAMP:
        return json_integer(-1);
    case AWS_TYPE_UNION:
        return json_object();
    case AWS_TYPE_LIST:
        return shape->min > 0 ? json_array() : json_pack("[n]");
    default:
        return NULL;
    }
}

static void try_member(int fd, const struct aws_operation *operation, const struct aws_member *member, json_t *input)
{
    const struct aws_shape *shape = aws_shape(member->shape);
    const char *name = member->name[AWS_SPELLING_PASCAL];
    auto_json json_t *before = json_incref(json_object_get(input, name));
    autofree char *place = own_printf("at '%c%s", name[0] | 0x20, name + 1);
    json_t *bad = outside(shape);

    json_object_set_new(input, name, shape->type == AWS_TYPE_BOOLEAN ? json_string("true") : json_true());
    check(fd, operation, input, "SerializationException", place);
    json_object_set_new(input, name, bad != NULL ? bad : json_incref(before));
    if (bad != NULL)
        check(fd, operation, input, "ValidationException", place);
    json_object_del(input, name);
    if (member->required)
        check(fd, operation, input, "ValidationException", place);
    json_object_set(input, name, before);
}

static void test_every_member_of_every_operation(void **state)
{
    int fd = client_connect(&aw);
    size_t members = 0;

    (void)state;
    for (size_t i = 0; i < AWS_OPERATION_COUNT; i++) {
        const struct aws_operation *operation = aws_operation((enum aws_operation_id)i);
        if (operation->later || !aws_is_carried_out(operation->id))
            continue;
        const struct aws_shape *shape = aws_shape(operation->input);
        auto_json json_t *input = sample(shape, AWS_SPELLING_PASCAL, SAMPLE_FULL);
        for (size_t m = 0; m < shape->count; m++, members++)
            try_member(fd, operation, &aws_shape_members(shape)[m], input);
        check(fd, operation, input, NULL, NULL);
    }
    assert_true(members > 80);
    close(fd);
}

/* --- the same members at the REST API ---------------------------------------------------------------------- */

/* What has another name there. */
static bool is_own(const char *name)
{
    return strcmp(name, "instanceGroupName") == 0;
}

/* Every member of the model's is known there by name, and one that is wrong is named by its path. */
static void test_members_of_a_group_at_the_rest_api(void **state)
{
    const struct aws_shape *shape = aws_shape(AWS_SHAPE_ClusterInstanceGroupSpecification);
    size_t tried = 0;

    (void)state;
    for (size_t i = 0; i < shape->count; i++) {
        const struct aws_member *member = &aws_shape_members(shape)[i];
        const char *name = member->name[AWS_SPELLING_CAMEL];
        if (is_own(name))
            continue;
        auto_json json_t *json =
            json_pack("{s:s, s:[{s:s, s:i}]}", "name", "other", "instanceGroups", "name", "g", "instanceCount", 1);
        json_object_set_new(json_array_get(json_object_get(json, "instanceGroups"), 0), name, json_real(0.5));
        autofree char *body = json_dumps(json, JSON_COMPACT), *place = own_printf("\"instanceGroups[0].%s ", name);
        struct reply reply = client_ask(&aw, "POST", "/v1/clusters", aw.admin, NULL, body);
        assert_reply_problem(&reply, 400, "invalid-value");
        if (strstr(reply.body, place) == NULL || strstr(reply.body, "not known") != NULL)
            fail_msg("%s: wanted %s, got %s", body, place, reply.body);
        reply_free(&reply);
        tried++;
    }
    assert_true(tried > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_member_of_every_operation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_members_of_a_group_at_the_rest_api, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
