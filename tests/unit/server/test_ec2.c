/*
 * The provider of EC2, against an EC2 that loses answers, hides what it made, has no capacity and lies; and killed at random points, with
 * every launch, reboot, stop, start and termination counted on EC2's side.
 */
#include "tests/unit/server/ec2_world.h"

#define ROUNDS 40   /* lives of a machine */
#define KILLS_MAX 6 /* in each call of one */

/* --- a machine ------------------------------------------------------------------------------------------------- */

static void a_machine_is_launched_found_and_ended(void **state)
{
    struct world *w = *state;
    struct provider_instance made, seen;
    assert_int_equal(launch(w, "launch/1", &made), 0);
    assert_string_equal(made.ref, "i-00000000000000001");
    assert_string_equal(made.address, "10.0.0.7");
    static const char *const sent[] = {"&InstanceType=p5.48xlarge&",
                                       "&SubnetId=subnet-1&",
                                       "&MinCount=1&MaxCount=1&",
                                       "Value=gpu-1",
                                       "Key=holdfast-cluster&TagSpecification.1.Tag.5.Value=west",
                                       "Key=holdfast-group&TagSpecification.1.Tag.6.Value=gpu",
                                       "Key=holdfast-provider&TagSpecification.1.Tag.2.Value=cloud",
                                       "Key=holdfast-instance&TagSpecification.1.Tag.3.Value=i-0123456789abcdef0",
                                       "Credential=AKIAEXAMPLE/"};
    for (size_t i = 0; i < ARRAY_LEN(sent); i++)
        if (fake_ec2_heard(&w->ec2, sent[i]) == 0)
            fail_msg("not sent: %s", sent[i]);
    assert_int_equal(fake_ec2_heard(&w->ec2, "cret"), 0);
    assert_int_equal(describe(w, made.ref, "launch/1", &seen), 0);
    assert_int_equal(seen.state, PROVIDER_INSTANCE_RUNNING);
    assert_string_equal(seen.trouble, "");
    assert_int_equal(launch(w, "launch/1", &seen), 0); /* the same key */
    assert_string_equal(seen.ref, made.ref);
    assert_int_equal(w->ec2.count, 1);
    assert_int_equal(terminate(w, made.ref, "launch/1"), 0);
    assert_int_equal(terminate(w, made.ref, "launch/1"), 0);
    assert_int_equal(w->ec2.instances[0].ends, 1);
    assert_int_equal(fake_ec2_heard(&w->ec2, "Action=TerminateInstances"), 1);
    assert_int_equal(describe(w, made.ref, "launch/1", &seen), 0);
    assert_int_equal(seen.state, PROVIDER_INSTANCE_GONE);
}

static void a_lost_answer_launches_nothing_twice(void **state)
{
    struct world *w = *state;
    struct provider_instance made = {.ref = ""};
    lose(w, "RunInstances");
    w->ec2.hide = 2; /* neither the look before the launch nor the one after it finds it by its tag */
    assert_int_not_equal(launch(w, "launch/1", &made), 0);
    assert_int_equal(w->ec2.count, 1);
    fill(w, "subnet-1");                                     /* and now another subnet looks better */
    text_copy_cut(w->token, sizeof(w->token), "hfe_second"); /* EC2: the client token was used with other parameters */
    int status = launch(w, "launch/1", &made);
    for (int i = 0; i < 5 && status == STATUS_UNAVAILABLE; i++)
        status = launch(w, "launch/1", &made);
    assert_int_equal(status, 0);
    assert_string_equal(made.ref, "i-00000000000000001");
    assert_int_equal(w->ec2.count, 1);
}

/* What refuses the repeat says nothing of the first try, whose instance EC2 does not show yet. */
static void a_refused_repeat_forgets_no_launch(void **state)
{
    struct world *w = *state;
    struct provider_instance made = {.ref = ""};
    lose(w, "RunInstances");
    w->ec2.hide = 6;
    assert_int_not_equal(launch_in(w, "launch/1", "us-west-2b", &made), 0);
    assert_int_equal(w->ec2.count, 1);
    refuse(w, "RunInstances", 401, "AuthFailure", 2);
    assert_int_equal(launch(w, "launch/1", &made), STATUS_DENIED);
    refuse(w, "", 0, "", 0); /* the first subnet is another one */
    int status = launch(w, "launch/1", &made);
    for (int i = 0; i < 5 && status == STATUS_UNAVAILABLE; i++)
        status = launch(w, "launch/1", &made);
    assert_int_equal(status, 0);
    assert_string_equal(made.ref, "i-00000000000000001");
    assert_int_equal(w->ec2.count, 1);
}

static int damage(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (flag == FTW_F && strstr(path, "/calls/") != NULL && !text_ends_with(path, ".lock"))
        assert_int_equal(truncate(path, 0), 0);
    return 0;
}

/* A file that cannot be read: nothing is launched until EC2 shows what was made, or a person has looked. */
static void a_damaged_memory_launches_nothing(void **state)
{
    struct world *w = *state;
    struct provider_instance made = {.ref = ""};
    lose(w, "RunInstances");
    w->ec2.hide = 6;
    assert_int_not_equal(launch(w, "launch/1", &made), 0);
    assert_int_equal(nftw(w->dir, damage, 8, FTW_PHYS), 0);
    assert_int_equal(launch(w, "launch/1", &made), STATUS_UNAVAILABLE);
    assert_non_null(strstr(w->error, "cannot be read"));
    assert_int_equal(w->ec2.count, 1);
    int status = STATUS_UNAVAILABLE;
    for (int i = 0; i < 10 && status == STATUS_UNAVAILABLE; i++)
        status = launch(w, "launch/1", &made);
    assert_int_equal(status, 0);
    assert_string_equal(made.ref, "i-00000000000000001");
    assert_int_equal(w->ec2.count, 1);
}

static void a_launch_whose_answer_was_lost_is_ended_all_the_same(void **state)
{
    struct world *w = *state;
    struct provider_instance made, seen = {.state = PROVIDER_INSTANCE_GONE};
    lose(w, "RunInstances");
    w->ec2.hide = 3;
    assert_int_not_equal(launch(w, "launch/1", &made), 0);
    assert_int_equal(describe(w, "", "launch/1", &seen), STATUS_UNAVAILABLE); /* not gone */
    int status = STATUS_UNAVAILABLE;
    for (int i = 0; i < 5 && status == STATUS_UNAVAILABLE; i++)
        status = terminate(w, "", "launch/1");
    assert_int_equal(status, 0);
    assert_string_equal(w->ec2.instances[0].state, "terminated");
}

static void another_subnet_has_capacity(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    fill(w, "subnet-1");
    assert_int_equal(launch(w, "launch/1", &made), 0);
    assert_string_equal(w->ec2.instances[0].subnet, "subnet-2");
    fill(w, "subnet-1 subnet-2");
    assert_int_equal(launch(w, "launch/2", &made), STATUS_FULL);
    assert_non_null(strstr(w->error, "InsufficientInstanceCapacity"));
    assert_int_equal(launch_in(w, "launch/3", "us-west-2c", &made), STATUS_INVALID);
    assert_non_null(strstr(w->error, "us-west-2c"));
    fill(w, "");
    assert_int_equal(launch_in(w, "launch/4", "us-west-2b", &made), 0);
    assert_string_equal(w->ec2.instances[1].subnet, "subnet-2");
}

static void a_type_that_a_zone_has_not_is_tried_in_the_next(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    refuse(w, "RunInstances", 400, "Unsupported", 1);
    assert_int_equal(launch(w, "launch/1", &made), 0);
    assert_string_equal(w->ec2.instances[0].subnet, "subnet-2");
    refuse(w, "RunInstances", 400, "Unsupported", 2);
    assert_int_equal(launch(w, "launch/2", &made), STATUS_FULL);
    assert_non_null(strstr(w->error, "Unsupported"));
    assert_int_equal(w->ec2.count, 1);
}

static void two_instances_of_one_machine_are_a_conflict(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    assert_int_equal(launch(w, "launch/1", &made), 0);
    w->ec2.instances[1] = w->ec2.instances[0];
    text_copy_cut(w->ec2.instances[1].id, sizeof(w->ec2.instances[1].id), "i-00000000000000002");
    w->ec2.count = 2;
    assert_int_equal(describe(w, "", "launch/other", &made), STATUS_CONFLICT);
    assert_non_null(strstr(w->error, "i-00000000000000001 and i-00000000000000002"));
    assert_int_equal(terminate(w, "", "launch/other"), STATUS_CONFLICT);
    assert_int_equal(fake_ec2_heard(&w->ec2, "Action=TerminateInstances"), 0);
}

static void what_has_not_our_tag_is_left_alone(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    struct provider_listed *list = NULL;
    size_t count = 0;
    assert_int_equal(launch(w, "launch/1", &made), 0);
    text_copy_cut(w->ec2.instances[0].provider, sizeof(w->ec2.instances[0].provider), "other");
    assert_int_equal(terminate(w, made.ref, "launch/1"), STATUS_DENIED);
    assert_int_equal(reboot(w, made.ref, "reboot/1"), STATUS_DENIED);
    assert_non_null(strstr(w->error, "holdfast-provider=cloud"));
    assert_int_equal(fake_ec2_heard(&w->ec2, "Action=TerminateInstances"), 0);
    assert_int_equal(fake_ec2_heard(&w->ec2, "Action=RebootInstances"), 0);
    (void)met(w, 0);
    assert_int_equal(met(w, w->driver.ops->list(w->driver.self, &list, &count, w->error)), 0);
    assert_int_equal(count, 0);
    free(list);
}

static void a_list_has_all_pages(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    struct provider_listed *list = NULL;
    size_t count = 0;
    w->ec2.page_max = 2;
    for (int i = 0; i < 5; i++) {
        autofree char *key = own_printf("launch/%d", i);
        assert_int_equal(launch(w, key, &made), 0);
    }
    (void)met(w, 0);
    assert_int_equal(met(w, w->driver.ops->list(w->driver.self, &list, &count, w->error)), 0);
    assert_int_equal(count, 5);
    assert_string_equal(list[4].ref, "i-00000000000000005");
    assert_string_equal(list[4].instance_id, OURS);
    free(list);
    refuse(w, "DescribeInstances", 500, "InternalError", 9);
    (void)met(w, 0);
    assert_int_equal(met(w, w->driver.ops->list(w->driver.self, &list, &count, w->error)), STATUS_UNAVAILABLE);
}

/* An instance of a type with 32 network interfaces is described in 80 kB. */
static void a_list_of_large_instances_is_read(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    struct provider_listed *list = NULL;
    size_t count = 0;
    assert_int_equal(launch(w, "launch/1", &made), 0);
    pthread_mutex_lock(&w->ec2.lock);
    for (w->ec2.count = 1; w->ec2.count < 205; w->ec2.count++) {
        struct fake_ec2_instance *next = &w->ec2.instances[w->ec2.count];
        *next = w->ec2.instances[0];
        snprintf(next->id, sizeof(next->id), "i-%017x", w->ec2.count + 1);
    }
    w->ec2.padding = 80000;
    pthread_mutex_unlock(&w->ec2.lock);
    assert_int_equal(met(w, w->driver.ops->list(w->driver.self, &list, &count, w->error)), 0);
    assert_int_equal(count, 205);
    free(list);
}

/* --- what EC2 plans -------------------------------------------------------------------------------------------- */

#define STATUS_OF(id, rest) "<item><instanceId>" id "</instanceId>" rest "</item>"
#define EVENT_OF(id, code, text, at)                                                                             \
    "<item><instanceEventId>" id "</instanceEventId><code>" code "</code><description>" text "</description>" at \
    "</item>"
#define AT "<notBefore>2026-12-05T10:00:00.000Z</notBefore><notAfter>2026-12-05T12:00:00.000Z</notAfter>"
#define IMPAIRED(since)                                                                                      \
    "<systemStatus><status>impaired</status><details><item><name>reachability</name><status>failed</status>" \
    "<impairedSince>" since "</impairedSince></item></details></systemStatus>"

static int say(struct world *w, const char *items, struct provider_notice **ret_notices, size_t *ret_count)
{
    pthread_mutex_lock(&w->ec2.lock);
    w->ec2.status_item = items;
    pthread_mutex_unlock(&w->ec2.lock);
    return met(w, w->driver.ops->notices(w->driver.self, ret_notices, ret_count, w->error));
}

static void what_ec2_plans_is_told_with_its_date(void **state)
{
    struct world *w = *state;
    struct provider_notice *notices = NULL;
    size_t count = 0;
    assert_int_equal(say(w, "", &notices, &count), 0);
    assert_int_equal(count, 0);
    free(notices);
    assert_int_equal(say(w,
                         STATUS_OF("i-00000000000000001",
                                   "<eventsSet>" EVENT_OF("instance-event-1", "instance-retirement",
                                                          "The instance is running on degraded hardware", AT)
                                       EVENT_OF("instance-event-2", "system-reboot", "[Completed] scheduled reboot", AT)
                                           EVENT_OF("instance-event-3", "system-maintenance", "", AT)
                                               EVENT_OF("instance-event-4", "instance-reboot", "", "") "</eventsSet>")
                             STATUS_OF("i-00000000000000002", IMPAIRED("2026-01-05T10:00:00.000Z")) STATUS_OF(
                                 "i-00000000000000003",
                                 "<eventsSet>" EVENT_OF("e", "capacity-block-expiration", "", AT) "</eventsSet>"),
                         &notices, &count),
                     0);
    /* both questions are answered with all of it here */
    assert_int_equal(count, 8);
    assert_string_equal(notices[0].ref, "i-00000000000000001");
    assert_string_equal(notices[0].id, "instance-event-1");
    assert_int_equal(notices[0].kind, PROVIDER_NOTICE_RETIREMENT);
    assert_int_equal(notices[0].due_at, INT64_C(1796464800000));
    assert_string_equal(notices[0].words,
                        "EC2 has scheduled instance-retirement: The instance is running on degraded hardware");
    assert_int_equal(notices[1].kind, PROVIDER_NOTICE_MAINTENANCE);
    assert_int_equal(notices[2].kind, PROVIDER_NOTICE_REBOOT);
    assert_int_equal(notices[2].due_at, 0);
    assert_string_equal(notices[3].ref, "i-00000000000000002");
    assert_int_equal(notices[3].kind, PROVIDER_NOTICE_DEGRADED);
    assert_string_equal(notices[3].words, "EC2 says: system status impaired since 2026-01-05T10:00:00.000Z");
    free(notices);
    assert_true(fake_ec2_heard(&w->ec2, "Filter.1.Value.1=impaired") > 0);
}

static void what_is_impaired_for_a_moment_is_not_degraded(void **state)
{
    struct world *w = *state;
    struct provider_notice *notices = NULL;
    size_t count = 99;
    char since[CLOCK_TEXT_MAX];
    clock_format(clock_true_ms(clock_system()) - 60 * MS_PER_S, since);
    autofree char *item = own_printf(STATUS_OF("i-00000000000000002", IMPAIRED("%s")), since);
    assert_int_equal(say(w, item, &notices, &count), 0);
    assert_int_equal(count, 0);
    free(notices);
    assert_int_equal(say(w, "", &notices, &count), 0);
    free(notices);
}

/* None of these says that nothing is planned. */
static void plans_that_cannot_be_read_are_none(void **state)
{
    struct world *w = *state;
    struct provider_notice *notices = NULL;
    size_t count = 0;
    static const char *const bodies[] = {
        "",
        "<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>",
        "<DescribeInstanceStatusResponse>",
        "<DescribeInstanceStatusResponse/>",
        "<DescribeInstanceStatusResponse><instanceStatusSet><item><instanceId>you</instanceId><eventsSet><item>"
        "<code>instance-stop</code></item></eventsSet></item></instanceStatusSet></DescribeInstanceStatusResponse>",
        "<DescribeInstanceStatusResponse><instanceStatusSet><item><instanceId>i-00000000000000001</"
        "instanceId><eventsSet>"
        "<item><code>instance-stop</code><notBefore>soon</notBefore></item></eventsSet></item></instanceStatusSet>"
        "</DescribeInstanceStatusResponse>"};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        raw(w, 200, bodies[i]);
        if (say(w, "", &notices, &count) == 0)
            fail_msg("answer %zu is taken", i);
    }
    raw(w, 0, NULL);
    refuse(w, "DescribeInstanceStatus", 500, "InternalError", 1);
    assert_int_equal(say(w, "", &notices, &count), STATUS_UNAVAILABLE);
}

/* --- reboots --------------------------------------------------------------------------------------------------- */

static void a_reboot_is_sent_once(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    assert_int_equal(launch(w, "launch/1", &made), 0);
    assert_int_equal(reboot(w, made.ref, "reboot/1"), 0);
    assert_int_equal(reboot(w, made.ref, "reboot/1"), 0);
    assert_int_equal(w->ec2.instances[0].reboots, 1);
    lose(w, "RebootInstances");
    assert_int_not_equal(reboot(w, made.ref, "reboot/2"), 0);
    assert_int_equal(reboot(w, made.ref, "reboot/2"), 0);
    assert_int_equal(w->ec2.instances[0].reboots, 2);
    refuse(w, "RebootInstances", 400, "IncorrectInstanceState", 1);
    assert_int_equal(reboot(w, made.ref, "reboot/3"), STATUS_UNAVAILABLE);
    assert_int_equal(reboot(w, made.ref, "reboot/3"), 0); /* EC2 had refused it */
    assert_int_equal(w->ec2.instances[0].reboots, 3);
}

static void set_state(struct world *w, const char *to, int boots)
{
    pthread_mutex_lock(&w->ec2.lock);
    text_copy_cut(w->ec2.instances[0].state, sizeof(w->ec2.instances[0].state), to);
    w->ec2.instances[0].boots = boots;
    pthread_mutex_unlock(&w->ec2.lock);
}

static void a_stop_is_followed_by_one_start(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    close_driver(w);
    w->stop_start = true;
    assert_int_equal(open_driver(w), 0);
    assert_int_equal(launch(w, "launch/1", &made), 0);
    const struct fake_ec2_instance *i = &w->ec2.instances[0];
    assert_int_equal(reboot(w, made.ref, "reboot/1"), 0);
    assert_int_equal(reboot(w, made.ref, "reboot/1"), 0);
    assert_true(i->stops == 1 && i->starts == 1 && i->reboots == 0);
    assert_int_equal(fake_ec2_heard(&w->ec2, "&Force=true"), 1);
    /* the answer to the stop is lost, and a person starts the instance: it is not stopped again */
    lose(w, "StopInstances");
    assert_int_not_equal(reboot(w, made.ref, "reboot/2"), 0);
    assert_string_equal(i->state, "stopped");
    set_state(w, "running", i->boots + 1);
    assert_int_equal(reboot(w, made.ref, "reboot/2"), 0);
    assert_true(i->stops == 2 && i->starts == 1);
    /* the answer is lost and nobody does anything: it is started */
    lose(w, "StopInstances");
    assert_int_not_equal(reboot(w, made.ref, "reboot/3"), 0);
    assert_int_equal(reboot(w, made.ref, "reboot/3"), 0);
    assert_true(i->stops == 3 && i->starts == 2);
    /* there is no capacity for the start: it is asked for again, and the stop is not */
    refuse(w, "StartInstances", 500, "InsufficientInstanceCapacity", 1);
    assert_int_equal(reboot(w, made.ref, "reboot/4"), STATUS_FULL);
    assert_int_equal(reboot(w, made.ref, "reboot/4"), 0);
    assert_true(i->stops == 4 && i->starts == 3);
    assert_string_equal(i->state, "running");
}

/* --- what EC2 says --------------------------------------------------------------------------------------------- */

static void refusals_mean_what_ec2_says(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    static const struct {
        int http;
        const char *code;
        int status;
        const char *said;
    } cases[] = {{401, "AuthFailure", STATUS_DENIED, "refuses the credentials: AuthFailure: as the test wants"},
                 {403, "UnauthorizedOperation", STATUS_DENIED, "refuses the credentials"},
                 {400, "InvalidAMIID.NotFound", STATUS_INVALID, "InvalidAMIID.NotFound"},
                 {400, "VcpuLimitExceeded", STATUS_FULL, "VcpuLimitExceeded"},
                 {400, "ReservationCapacityExceeded", STATUS_FULL, "ReservationCapacityExceeded"},
                 {400, "WhatNobodyKnows", STATUS_BACKEND, "WhatNobodyKnows: as the test wants"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        refuse(w, "RunInstances", cases[i].http, cases[i].code, 2);
        assert_int_equal(launch(w, "launch/1", &made), cases[i].status);
        assert_non_null(strstr(w->error, cases[i].said));
        assert_int_equal(w->ec2.count, 0);
    }
    refuse(w, "", 0, "", 0);
    assert_int_equal(launch(w, "launch/1", &made), 0);
    assert_int_equal(w->ec2.count, 1);
}

static void a_throttled_call_is_asked_again(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    refuse(w, "RunInstances", 503, "RequestLimitExceeded", 2);
    assert_int_equal(launch(w, "launch/1", &made), 0);
    assert_int_equal(w->ec2.count, 1);
    assert_int_equal(fake_ec2_heard(&w->ec2, "Action=RunInstances"), 3);
}

/* Nothing of this says that the instance is gone, nor that it was launched. */
static void answers_that_cannot_be_read(void **state)
{
    struct world *w = *state;
    struct provider_instance made, seen;
    static const struct {
        int status;
        const char *body;
    } cases[] = {
        {200, ""},
        {200, "<html><body>proxy</body></html>"},
        {200, "<DescribeInstancesResponse/>"},
        {200, "<DescribeInstancesResponse><reservationSet>"},
        {200, "<DescribeInstancesResponse><reservationSet><item><instancesSet><item/></instancesSet></item>"
              "</reservationSet></DescribeInstancesResponse>"},
        {200, "<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-00000000000000009"
              "</instanceId></item></instancesSet></item></reservationSet></DescribeInstancesResponse>"},
        {200, "<!DOCTYPE a [<!ENTITY b \"c\">]><DescribeInstancesResponse><reservationSet>&b;</reservationSet>"
              "</DescribeInstancesResponse>"},
        {404, "not found"},
        {301, ""},
        {500, "<Response/>"},
        {502, "Bad Gateway"},
    };
    assert_int_equal(launch(w, "launch/1", &made), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        raw(w, cases[i].status, cases[i].body);
        seen.state = PROVIDER_INSTANCE_RUNNING;
        int status = describe(w, made.ref, "", &seen);
        if (status == 0 || status == STATUS_NOT_FOUND)
            fail_msg("answer %zu is taken: %d", i, status);
        assert_true(terminate(w, made.ref, "launch/1") != 0);
        assert_true(launch(w, "launch/2", &seen) != 0);
    }
    raw(w, 0, NULL);
    assert_int_equal(launch(w, "launch/2", &seen), 0);
    assert_int_equal(w->ec2.count, 2);
    assert_int_equal(w->ec2.instances[0].ends, 0);
}

static void what_ec2_says_of_the_hardware_is_shown(void **state)
{
    struct world *w = *state;
    struct provider_instance made, seen;
    assert_int_equal(launch(w, "launch/1", &made), 0);
    w->ec2.status_item =
        "<item><eventsSet><item><code>instance-retirement</code><description>[Completed] x</description>"
        "</item><item><code>instance-retirement</code><notBefore>2026-12-01T00:00:00Z</notBefore></item>"
        "</eventsSet></item>";
    assert_int_equal(describe(w, made.ref, "launch/1", &seen), 0);
    assert_string_equal(seen.trouble, "EC2 has scheduled instance-retirement at 2026-12-01T00:00:00Z");
    w->ec2.status_item = "<item><systemStatus><status>impaired</status></systemStatus></item>";
    assert_int_equal(describe(w, made.ref, "launch/1", &seen), 0);
    assert_string_equal(seen.trouble, "EC2 says: system status impaired");
}

/* --- keys ------------------------------------------------------------------------------------------------------ */

static void keys_that_others_may_read_are_refused(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    write_credentials(w, "[default]\naws_access_key_id=A\naws_secret_access_key=B\n", 0640);
    assert_int_equal(launch(w, "launch/1", &made), STATUS_DENIED);
    assert_non_null(strstr(w->error, "chmod 600"));
    static const char *const bad[] = {"", "[other]\naws_access_key_id=A\n", "[default]\naws_access_key_id=A\n",
                                      "[default]\nwhat is this\n", "[default\naws_access_key_id=A"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        write_credentials(w, bad[i], 0600);
        assert_int_equal(launch(w, "launch/1", &made), STATUS_DENIED);
        assert_null(strstr(w->error, "what is this"));
    }
    assert_int_equal(w->ec2.calls, 0);
    write_credentials(w, "[default]\naws_access_key_id=A\naws_secret_access_key=B\naws_session_token=T/+\n", 0600);
    assert_int_equal(launch(w, "launch/1", &made), 0); /* read anew */
    assert_true(fake_ec2_heard(&w->ec2, "X-Amz-Security-Token: T/+") > 0);
}

static void a_role_has_keys_that_end(void **state)
{
    (void)state;
    struct aws_credentials keys;
    char error[PROVIDER_ERROR_MAX];
    const char good[] = "{\"Code\":\"Success\",\"AccessKeyId\":\"ASIA\",\"SecretAccessKey\":\"s\",\"Token\":\"t\","
                        "\"Expiration\":\"2026-11-20T21:00:00Z\"}";
    int64_t end;
    assert_int_equal(clock_parse("2026-11-20T21:00:00Z", &end), 0);
    assert_int_equal(ec2_credentials_parse_role(good, strlen(good), &keys, error), 0);
    assert_true(keys.expires_at == end);
    assert_false(ec2_credentials_are_old(&keys, end - 10 * MS_PER_MIN));
    assert_true(ec2_credentials_are_old(&keys, end - MS_PER_MIN));
    static const char *const bad[] = {"", "[]", "{\"AccessKeyId\":\"A\"}",
                                      "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\"Token\":\"t\","
                                      "\"Expiration\":\"soon\"}",
                                      "{\"AccessKeyId\":\"A\\nB\",\"SecretAccessKey\":\"s\",\"Token\":\"t\","
                                      "\"Expiration\":\"2026-11-20T21:00:00Z\"}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_not_equal(ec2_credentials_parse_role(bad[i], strlen(bad[i]), &keys, error), 0);
}

/* The example of AWS's documentation ("Signature Version 4 test suite", get-vanilla), by our signer. */
static void a_request_is_signed_as_aws_does(void **state)
{
    (void)state;
    char url[AWS_ENDPOINT_MAX];
    struct aws_headers headers;
    const struct aws_credentials keys = {.access_key = "AKIDEXAMPLE",
                                         .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
    const struct aws_request request = {.method = "GET",
                                        .host = "example.amazonaws.com",
                                        .path = "/",
                                        .query = "",
                                        .content_type = "",
                                        .region = "us-east-1",
                                        .service = "service",
                                        .now_ms = INT64_C(1440938160000)};
    assert_int_equal(aws_sign(&request, &keys, &headers), 0);
    assert_string_equal(headers.list[0], "X-Amz-Date: 20150830T123600Z");
    assert_string_equal(
        headers.list[1],
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, "
        "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    aws_headers_free(&headers);
    assert_int_equal(aws_endpoint("ec2", "us-west-2", url), 0);
    assert_string_equal(url, "https://ec2.us-west-2.amazonaws.com");
    assert_int_equal(aws_endpoint("s3", "cn-north-1", url), 0);
    assert_string_equal(url, "https://s3.cn-north-1.amazonaws.com.cn");
    assert_int_equal(aws_endpoint("ec2", "x.evil/", url), STATUS_INVALID);
    assert_int_equal(aws_endpoint("ec2", "", url), STATUS_INVALID);
}

/* --- kill -9 --------------------------------------------------------------------------------------------------- */

/* One call in a process of its own, which is killed after so many microseconds. 0: it ended well before. */
static int killed_call(struct world *w, int (*call)(struct world *w, int round), int round, long after_us)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        w->forked = true;
        _exit(call(w, round) == 0 ? 0 : 1);
    }
    assert_true(pid > 0);
    const struct timespec pause = {.tv_sec = after_us / 1000000, .tv_nsec = after_us % 1000000 * 1000};
    if (after_us > 0) {
        (void)nanosleep(&pause, NULL);
        (void)kill(pid, SIGKILL);
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int kill_launch(struct world *w, int round)
{
    struct provider_instance made;
    autofree char *key = own_printf("launch/k%d", round);
    snprintf(w->token, sizeof(w->token), "hfe_%d_%d", round, (int)getpid());
    return launch(w, key, &made);
}

static int kill_reboot(struct world *w, int round)
{
    autofree char *key = own_printf("reboot/k%d", round);
    return reboot(w, w->ec2.instances[round].id, key);
}

static int kill_terminate(struct world *w, int round)
{
    autofree char *key = own_printf("launch/k%d", round);
    return terminate(w, round % 2 == 0 ? w->ec2.instances[round].id : "", key);
}

/* Until it ends well: killed at random points first, and then let be. */
static void survive(struct world *w, int (*call)(struct world *w, int round), int round)
{
    for (int kills = 0; kills < KILLS_MAX; kills++)
        if (killed_call(w, call, round, 200 + random() % 12000) == 0)
            return;
    int status = 1;
    for (int i = 0; i < 20 && status != 0; i++)
        status = killed_call(w, call, round, 0);
    assert_int_equal(status, 0);
}

static void hide(struct world *w, int looks)
{
    pthread_mutex_lock(&w->ec2.lock);
    w->ec2.hide = looks;
    pthread_mutex_unlock(&w->ec2.lock);
}

/* How many instances there are; the fake may be at work for a call that was killed. */
static int instance_of(struct world *w, int number, struct fake_ec2_instance *ret_instance)
{
    pthread_mutex_lock(&w->ec2.lock);
    int count = (int)w->ec2.count;
    *ret_instance = w->ec2.instances[number];
    pthread_mutex_unlock(&w->ec2.lock);
    return count;
}

static void killed_at_random_nothing_is_done_twice(void **state)
{
    struct world *w = *state;
    struct fake_ec2_instance i;
    close_driver(w);
    w->stop_start = true; /* of every second reboot, below */
    srandom(20261128);
    for (int round = 0; round < ROUNDS; round++) {
        w->stop_start = round % 2 == 1;
        assert_int_equal(open_driver(w), 0);
        fill(w, round % 3 == 0 ? "subnet-1" : "");
        hide(w, round % 4);
        survive(w, kill_launch, round);
        assert_int_equal(instance_of(w, round, &i), round + 1);
        survive(w, kill_reboot, round);
        (void)instance_of(w, round, &i);
        /* one that was killed before it was sent counts as sent: never twice */
        assert_true(w->stop_start ? i.stops == 1 && i.starts == 1 : i.reboots <= 1);
        assert_string_equal(i.state, "running");
        survive(w, kill_terminate, round);
        (void)instance_of(w, round, &i);
        assert_int_equal(i.ends, 1);
        if (round + 1 < ROUNDS)
            close_driver(w);
    }
    assert_int_equal(instance_of(w, 0, &i), ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        IN_WORLD(a_machine_is_launched_found_and_ended),
        IN_WORLD(a_lost_answer_launches_nothing_twice),
        IN_WORLD(a_refused_repeat_forgets_no_launch),
        IN_WORLD(a_damaged_memory_launches_nothing),
        IN_WORLD(a_launch_whose_answer_was_lost_is_ended_all_the_same),
        IN_WORLD(another_subnet_has_capacity),
        IN_WORLD(two_instances_of_one_machine_are_a_conflict),
        IN_WORLD(what_has_not_our_tag_is_left_alone),
        IN_WORLD(a_list_has_all_pages),
        IN_WORLD(what_ec2_plans_is_told_with_its_date),
        IN_WORLD(what_is_impaired_for_a_moment_is_not_degraded),
        IN_WORLD(plans_that_cannot_be_read_are_none),
        IN_WORLD(a_list_of_large_instances_is_read),
        IN_WORLD(a_type_that_a_zone_has_not_is_tried_in_the_next),
        IN_WORLD(a_reboot_is_sent_once),
        IN_WORLD(a_stop_is_followed_by_one_start),
        IN_WORLD(refusals_mean_what_ec2_says),
        IN_WORLD(a_throttled_call_is_asked_again),
        IN_WORLD(answers_that_cannot_be_read),
        IN_WORLD(what_ec2_says_of_the_hardware_is_shown),
        IN_WORLD(keys_that_others_may_read_are_refused),
        cmocka_unit_test(a_role_has_keys_that_end),
        cmocka_unit_test(a_request_is_signed_as_aws_does),
        IN_WORLD(killed_at_random_nothing_is_done_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
