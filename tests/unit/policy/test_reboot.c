/* Which method reboots a machine next. */
#include "base/own.h"
#include "base/record.h"
#include "policy/reboot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define PAUSE 30000

static const struct reboot_order order = {.list = {REBOOT_METHOD_AGENT, REBOOT_METHOD_SSH, REBOOT_METHOD_BMC_FORCE},
                                          .count = 3};

static struct reboot_try tries[REBOOT_TRIES_MAX];
static int count;

static int begin(void **state)
{
    (void)state;
    count = 0;
    return 0;
}

static void tried(enum reboot_method method, enum reboot_outcome outcome)
{
    tries[count] =
        (struct reboot_try){.number = count + 1, .method = method, .outcome = outcome, .ended_at = 1000 * (count + 1)};
    count++;
}

static void assert_next(enum reboot_method method, int64_t at)
{
    struct policy_reboot next = policy_reboot_next(&order, tries, count);
    assert_true(next.found);
    assert_int_equal(next.method, method);
    assert_int_equal(next.at, at);
}

static void assert_none(void)
{
    assert_false(policy_reboot_next(&order, tries, count).found);
}

static void each_gets_its_turn_and_no_second_one(void **state)
{
    (void)state;
    assert_next(REBOOT_METHOD_AGENT, 0);
    tried(REBOOT_METHOD_AGENT, REBOOT_OUTCOME_REFUSED);
    assert_next(REBOOT_METHOD_SSH, 0);
    tried(REBOOT_METHOD_SSH, REBOOT_OUTCOME_NO_BOOT);
    assert_next(REBOOT_METHOD_BMC_FORCE, 0);
    tried(REBOOT_METHOD_BMC_FORCE, REBOOT_OUTCOME_NO_BOOT);
    assert_none();
}

static void who_did_not_answer_is_asked_again_after_the_others(void **state)
{
    (void)state;
    tried(REBOOT_METHOD_AGENT, REBOOT_OUTCOME_REFUSED);
    tried(REBOOT_METHOD_SSH, REBOOT_OUTCOME_UNREACHABLE);
    assert_next(REBOOT_METHOD_BMC_FORCE, 0);
    tried(REBOOT_METHOD_BMC_FORCE, REBOOT_OUTCOME_LOST);
    assert_next(REBOOT_METHOD_SSH, 2000 + PAUSE);
    tried(REBOOT_METHOD_SSH, REBOOT_OUTCOME_UNREACHABLE);
    assert_next(REBOOT_METHOD_BMC_FORCE, 3000 + PAUSE);
    tried(REBOOT_METHOD_BMC_FORCE, REBOOT_OUTCOME_LOST);
    assert_next(REBOOT_METHOD_SSH, 4000 + PAUSE);
    tried(REBOOT_METHOD_SSH, REBOOT_OUTCOME_UNREACHABLE);
    assert_none();
}

static void what_failed_after_no_answer_is_over(void **state)
{
    (void)state;
    tried(REBOOT_METHOD_AGENT, REBOOT_OUTCOME_REFUSED);
    tried(REBOOT_METHOD_BMC_FORCE, REBOOT_OUTCOME_NO_BOOT);
    tried(REBOOT_METHOD_SSH, REBOOT_OUTCOME_UNREACHABLE);
    tried(REBOOT_METHOD_SSH, REBOOT_OUTCOME_NO_BOOT);
    assert_none();
}

/* Whatever comes of each: it ends, no method has more than three tries, and no try follows one that failed for good. */
static void it_always_ends(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 2000; seed++) {
        int of[REBOOT_METHOD_COUNT] = {0};
        bool over[REBOOT_METHOD_COUNT] = {false};
        struct policy_reboot next;
        srand(seed);
        for (count = 0; (next = policy_reboot_next(&order, tries, count)).found;) {
            enum reboot_outcome outcome = (enum reboot_outcome)(
                REBOOT_OUTCOME_REFUSED + rand() % (REBOOT_OUTCOME_COUNT - REBOOT_OUTCOME_REFUSED));
            assert_true(count < REBOOT_TRIES_MAX);
            assert_false(over[next.method]);
            assert_true(++of[next.method] <= 3);
            over[next.method] = outcome == REBOOT_OUTCOME_REFUSED || outcome == REBOOT_OUTCOME_NO_BOOT;
            tried(next.method, outcome);
        }
        assert_true(of[REBOOT_METHOD_AGENT] > 0 && of[REBOOT_METHOD_SSH] > 0 && of[REBOOT_METHOD_BMC_FORCE] > 0);
    }
}

static void a_try_is_judged_by_the_clock_and_by_who_is_still_heard(void **state)
{
    (void)state;
    struct reboot_try one = {.began_at = 1000, .deadline_at = 100000};
    assert_int_equal(policy_reboot_judge(&one, 99999, 99000, 10000), REBOOT_OUTCOME_RUNNING);
    assert_int_equal(policy_reboot_judge(&one, 100000, 0, 10000), REBOOT_OUTCOME_LOST);
    one.accepted_at = 2000;
    assert_int_equal(policy_reboot_judge(&one, 99999, 11999, 10000), REBOOT_OUTCOME_RUNNING);
    assert_int_equal(policy_reboot_judge(&one, 12000, 12000, 10000), REBOOT_OUTCOME_NO_BOOT);
    assert_int_equal(policy_reboot_judge(&one, 100000, 0, 10000), REBOOT_OUTCOME_NO_BOOT);
}

static void an_order_is_read_word_by_word(void **state)
{
    (void)state;
    static const char *words[] = {"bmc-force", "bmc", "agent", "nonsense", "agent"};
    const struct optional_list list = {.given = true, .count = ARRAY_LEN(words), .items = words};
    struct reboot_order read;
    reboot_order_read(&list, &read);
    assert_int_equal(read.count, 4);
    assert_int_equal(read.list[0], REBOOT_METHOD_BMC_FORCE);
    assert_int_equal(read.list[1], REBOOT_METHOD_BMC_GRACEFUL);
    assert_int_equal(read.list[2], REBOOT_METHOD_BMC_CYCLE);
    assert_int_equal(read.list[3], REBOOT_METHOD_AGENT);
    reboot_order_read(&(struct optional_list){.given = false}, &read);
    assert_int_equal(read.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_gets_its_turn_and_no_second_one, begin),
        cmocka_unit_test_setup(who_did_not_answer_is_asked_again_after_the_others, begin),
        cmocka_unit_test_setup(what_failed_after_no_answer_is_over, begin),
        cmocka_unit_test_setup(it_always_ends, begin),
        cmocka_unit_test_setup(a_try_is_judged_by_the_clock_and_by_who_is_still_heard, begin),
        cmocka_unit_test_setup(an_order_is_read_word_by_word, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
