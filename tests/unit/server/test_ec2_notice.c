/* What EC2 announces of instances, as it is read. Whole conversations are test_ec2.c's. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/ec2/answer.h"
#include "server/provider/ec2/ec2.h"
#include "tests/support/fake_ec2.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW INT64_C(1795186800000)
#define BEGIN \
    "<DescribeInstanceStatusResponse><instanceStatusSet><item><instanceId>i-00000000000000001</instanceId><eventsSet>"
#define END "</eventsSet></item></instanceStatusSet></DescribeInstanceStatusResponse>"
#define EVENT_OF(id, code, description)                                                                              \
    "<item><instanceEventId>" id "</instanceEventId><code>" code "</code><description>" description "</description>" \
    "<notBefore>2026-12-05T10:00:00.000Z</notBefore></item>"

static int read_events(const char *event, int times, const char *last, struct ec2_notices *notices, char *error)
{
    AUTO(text) struct text text = {0};
    text_add(&text, BEGIN);
    for (int i = 0; i < times; i++)
        text_add(&text, event);
    text_printf(&text, "%s" END, last);
    return ec2_read_notices(text_get(&text), strlen(text_get(&text)), NOW, notices, error);
}

/* What EC2 has done with an instance stays listed for days, and takes no room from what it plans. */
static void what_is_done_hides_nothing_that_is_planned(void **state)
{
    struct ec2_notices notices = {.list = NULL};
    char error[PROVIDER_ERROR_MAX] = "";
    (void)state;
    assert_int_equal(read_events(EVENT_OF("e", "instance-reboot", "[Completed] reboot"), 40,
                                 EVENT_OF("last", "instance-retirement", ""), &notices, error),
                     0);
    assert_int_equal(notices.count, 1);
    assert_string_equal(notices.list[0].id, "last");
    assert_int_equal(notices.list[0].kind, PROVIDER_NOTICE_RETIREMENT);
    ec2_notices_free(&notices);
}

static void an_answer_over_the_limits_is_refused(void **state)
{
    struct ec2_notices notices = {.list = NULL};
    char error[PROVIDER_ERROR_MAX] = "";
    (void)state;
    assert_int_equal(read_events(EVENT_OF("e", "instance-reboot", ""), 16, "", &notices, error), 0);
    ec2_notices_free(&notices);
    assert_int_equal(read_events(EVENT_OF("e", "instance-reboot", ""), 17, "", &notices, error), STATUS_BACKEND);
    assert_non_null(strstr(error, "more than 16 events"));
    ec2_notices_free(&notices);
}

/* --- spot instances --------------------------------------------------------------------------------------------- */

#define SPOT_BEGIN "<DescribeSpotInstanceRequestsResponse><spotInstanceRequestSet>"
#define SPOT_END "</spotInstanceRequestSet></DescribeSpotInstanceRequestsResponse>"
#define SPOT_OF(id, code, instance)                                                                       \
    "<item><spotInstanceRequestId>" id "</spotInstanceRequestId><status><code>" code "</code>"            \
    "<updateTime>2026-12-05T10:00:00.000Z</updateTime><message>x</message></status><instanceId>" instance \
    "</instanceId></item>"

static void a_spot_instance_that_is_taken_back_goes_in_two_minutes(void **state)
{
    static const char text[] = SPOT_BEGIN SPOT_OF("sir-1", "fulfilled", "i-00000000000000001")
        SPOT_OF("sir-2", "marked-for-termination", "i-00000000000000002")
            SPOT_OF("sir-3", "marked-for-stop", "i-00000000000000003")
                SPOT_OF("sir-4", "instance-terminated-no-capacity", "i-00000000000000004") SPOT_END;
    struct ec2_notices notices = {.list = NULL};
    char error[PROVIDER_ERROR_MAX] = "";
    (void)state;
    assert_int_equal(ec2_read_interruptions(text, strlen(text), &notices, error), 0);
    assert_int_equal(notices.count, 2);
    assert_string_equal(notices.list[0].id, "sir-2");
    assert_string_equal(notices.list[0].ref, "i-00000000000000002");
    assert_int_equal(notices.list[0].kind, PROVIDER_NOTICE_RETIREMENT);
    assert_int_equal(notices.list[0].due_at, INT64_C(1796464920000));
    assert_string_equal(notices.list[0].words, "EC2 takes the spot instance back: marked-for-termination");
    assert_string_equal(notices.list[1].ref, "i-00000000000000003");
    ec2_notices_free(&notices);
}

static void spot_requests_that_cannot_be_read_are_none(void **state)
{
    static const char *const bodies[] = {"",
                                         "<DescribeSpotInstanceRequestsResponse/>",
                                         SPOT_BEGIN,
                                         BEGIN END,
                                         SPOT_BEGIN SPOT_OF("sir-2", "marked-for-stop", "you") SPOT_END,
                                         SPOT_BEGIN SPOT_OF("", "marked-for-stop", "i-00000000000000003") SPOT_END};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct ec2_notices notices = {.list = NULL};
        char error[PROVIDER_ERROR_MAX] = "";
        if (ec2_read_interruptions(bodies[i], strlen(bodies[i]), &notices, error) == 0)
            fail_msg("answer %zu is taken", i);
        assert_string_not_equal(error, "");
        ec2_notices_free(&notices);
    }
}

/* A role of an earlier version lacks the right to ask for them, and hides nothing else by that. */
static void only_who_has_spot_instances_asks_for_them(void **state)
{
    struct fake_ec2 ec2 = {.spot_item = SPOT_OF("sir-2", "marked-for-termination", "i-00000000000000002")};
    char dir[] = "/tmp/holdfast-ec2-XXXXXX", error[PROVIDER_ERROR_MAX] = "";
    (void)state;
    log_set_level(LOG_LEVEL_ERROR);
    assert_non_null(mkdtemp(dir));
    fake_ec2_start(&ec2);
    autofree char *file = own_printf("%s/credentials", dir);
    static const char keys[] = "[default]\naws_access_key_id=AKIAEXAMPLE\naws_secret_access_key=secret\n";
    assert_int_equal(file_write(file, keys, strlen(keys), 0600), 0);
    for (int denied = 0; denied < 3; denied++) {
        const bool spot = denied < 2;
        const struct ec2_shape shape = {.market = spot ? EC2_MARKET_SPOT : EC2_MARKET_ON_DEMAND};
        const struct ec2_options options = {
            .name = "cloud",
            .state_dir = dir,
            .shape = &shape,
            .client = {.endpoint = fake_ec2_url(&ec2),
                       .region = "us-west-2",
                       .credentials = {.file = file, .profile = "default", .metadata_url = fake_ec2_url(&ec2)},
                       .timeout_ms = 30000}};
        struct provider_driver driver;
        struct provider_notice *notices = NULL;
        size_t count = 99;
        assert_int_equal(ec2_new(&options, &driver, error), 0);
        pthread_mutex_lock(&ec2.lock);
        text_copy_cut(ec2.fail_action, sizeof(ec2.fail_action), "DescribeSpotInstanceRequests");
        text_copy_cut(ec2.fail_code, sizeof(ec2.fail_code), "UnauthorizedOperation");
        ec2.fail_status = 403;
        ec2.fail_times = denied == 1 ? 1000 : 0;
        pthread_mutex_unlock(&ec2.lock);
        fake_ec2_forget(&ec2);
        assert_int_equal(driver.ops->notices(driver.self, &notices, &count, error), 0);
        assert_int_equal(count, denied == 0);
        assert_int_equal(fake_ec2_heard(&ec2, "DescribeSpotInstanceRequests") > 0, spot);
        free(notices);
        driver.ops->free(driver.self);
    }
    fake_ec2_stop(&ec2);
    assert_int_equal(file_remove_tree(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spot_instance_that_is_taken_back_goes_in_two_minutes),
        cmocka_unit_test(spot_requests_that_cannot_be_read_are_none),
        cmocka_unit_test(only_who_has_spot_instances_asks_for_them),
        cmocka_unit_test(what_is_done_hides_nothing_that_is_planned),
        cmocka_unit_test(an_answer_over_the_limits_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
