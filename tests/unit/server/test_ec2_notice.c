/* What EC2 announces of instances, as it is read. Whole conversations are test_ec2.c's. */
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/ec2/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

static void more_than_there_is_room_for_is_no_answer(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_done_hides_nothing_that_is_planned),
        cmocka_unit_test(more_than_there_is_room_for_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
