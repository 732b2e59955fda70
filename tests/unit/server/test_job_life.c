/* What a job made of its time: each kind of end of an attempt, steps side by side, a requeue, and what is not known. */
#include "server/service/job/job_life.h"

#include "base/text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define T INT64_C(1000000)
#define NODES 2

static struct job_life life;

static void run(int64_t restart, int64_t from, int64_t to)
{
    const struct job_run row = {
        .restart = restart, .node_count = NODES, .started_at = T + from, .ended_at = to == 0 ? 0 : T + to};
    job_life_add_run(&life, &row);
}

static struct job_attempt *attempt(int64_t restart, int64_t step, int64_t number, int64_t from, int64_t to)
{
    static struct job_attempt row;
    row = (struct job_attempt){.restart = restart,
                               .step = step,
                               .attempt = number,
                               .node_count = NODES,
                               .state = to == 0 ? ATTEMPT_STATE_RUNNING : ATTEMPT_STATE_FAILED,
                               .exit_code = to == 0 ? 0 : 1,
                               .started_at = T + from,
                               .ended_at = to == 0 ? 0 : T + to,
                               .seen_at = T + (to == 0 ? from : to)};
    return &row;
}

/* allocated, productive and lost milliseconds of one node, then each attempt's productive and lost. */
static void comes_to(int64_t now, const char *wanted)
{
    char text[256];
    struct job_goodput goodput;
    job_life_recount(&life, T + now, &goodput);
    int len = snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %" PRId64, goodput.allocated_ms / NODES,
                       goodput.productive_ms / NODES, goodput.lost_ms / NODES);
    for (size_t i = 0; i < life.attempt_count; i++)
        len += snprintf(text + len, sizeof(text) - (size_t)len, " | %" PRId64 " %" PRId64,
                        life.attempts[i].cost.productive_ms, life.attempts[i].cost.lost_ms);
    if (life.attempt_count > 0 && life.attempts[life.attempt_count - 1].cost.state == ATTEMPT_STATE_WAITING)
        snprintf(text + len, sizeof(text) - (size_t)len, " waiting");
    assert_string_equal(text, wanted);
    job_life_free(&life);
}

static void test_nothing(void **state)
{
    (void)state;
    comes_to(0, "0 0 0");
    run(0, 0, 100);
    comes_to(100, "100 100 0"); /* it was not cut short */
}

static void test_it_is_of_use_until_the_last_progress(void **state)
{
    (void)state;
    run(0, 0, 0);
    struct job_attempt *row = attempt(0, 0, 0, 10, 100);
    row->fault_at = T + 90;
    row->progress_at = T + 70;
    job_life_add_attempt(&life, row);
    job_life_add_attempt(&life, attempt(0, 0, 1, 120, 0));
    comes_to(200, "200 140 50 | 60 50 | 80 0");
}

static void test_or_until_its_node_was_seen_to_be_broken(void **state)
{
    (void)state;
    run(0, 0, 0);
    struct job_attempt *row = attempt(0, 0, 0, 0, 100);
    row->fault_at = T + 90;
    job_life_add_attempt(&life, row);
    row = attempt(0, 0, 1, 120, 150); /* broken before it began: all of it was lost */
    row->fault_at = T + 90;
    job_life_add_attempt(&life, row);
    row = attempt(0, 0, 2, 160, 200); /* and of this one nobody knows */
    job_life_add_attempt(&life, row);
    comes_to(230, "230 130 100 | 90 30 | 0 40 | 40 30");
}

static void test_what_ended_well_loses_nothing(void **state)
{
    (void)state;
    run(0, 0, 250);
    struct job_attempt *row = attempt(0, 0, 0, 0, 100);
    row->state = ATTEMPT_STATE_ENDED;
    row->exit_code = 0;
    row->progress_at = T + 50;
    job_life_add_attempt(&life, row);
    row->step = 1;
    row->started_at = T + 150; /* the job's next step */
    row->ended_at = T + 200;
    job_life_add_attempt(&life, row);
    comes_to(900, "250 150 0 | 100 0 | 50 0");
}

/* Its nodes are lost only while none of its steps works. */
static void test_steps_side_by_side(void **state)
{
    (void)state;
    run(0, 0, 0);
    job_life_add_attempt(&life, attempt(0, 0, 0, 0, 40));
    job_life_add_attempt(&life, attempt(0, 0, 1, 60, 0));
    job_life_add_attempt(&life, attempt(0, 1, 0, 0, 50));
    job_life_add_attempt(&life, attempt(0, 1, 1, 70, 0));
    comes_to(100, "100 90 10 | 40 20 | 40 0 | 50 20 | 30 0");
}

/* The wait in the queue is lost, and is no time that nodes were had. */
static void test_a_requeue(void **state)
{
    (void)state;
    run(0, 0, 110);
    run(1, 300, 0);
    job_life_add_attempt(&life, attempt(0, 0, 0, 10, 50)); /* an earlier step, which its script took as it was */
    job_life_add_attempt(&life, attempt(0, 1, 0, 60050, 60100));
    life.runs[0].to = T + 60110;
    life.runs[1].from = T + 60300;
    job_life_add_attempt(&life, attempt(1, 0, 0, 60310, 0));
    comes_to(60400, "60210 180 210 | 40 0 | 50 210 | 90 0");
}

static void test_what_waits_loses_more_and_more(void **state)
{
    (void)state;
    run(0, 0, 0);
    struct job_attempt *row = attempt(0, 0, 0, 0, 50);
    row->state = ATTEMPT_STATE_WAITING;
    job_life_add_attempt(&life, row);
    comes_to(90, "90 50 40 | 50 40 waiting");
    run(0, 0, 70);
    job_life_add_attempt(&life, row); /* until the job is over */
    comes_to(90, "70 50 0 | 50 0");
    run(0, 0, 0);
    job_life_add_attempt(&life, row); /* until another one runs */
    job_life_add_attempt(&life, attempt(0, 0, 1, 60, 0));
    comes_to(90, "90 80 10 | 50 10 | 30 0");
}

static void test_whoever_is_not_heard_is_not_at_work(void **state)
{
    (void)state;
    run(0, 0, 0);
    struct job_attempt *row = attempt(0, 0, 0, 0, 0);
    row->seen_at = T + 50;
    job_life_add_attempt(&life, row);
    comes_to(3 * MS_PER_MIN, "180000 50 0 | 50 0");
    run(0, 0, 70);
    job_life_add_attempt(&life, row);
    comes_to(3 * MS_PER_MIN, "70 70 0 | 70 0");
    job_life_add_attempt(&life, row); /* nobody knows of the job's start */
    comes_to(100, "50 50 0 | 50 0");
}

/* allocated, productive, lost, lost at most milliseconds of one node, and how many starts nobody saw; each start's loss and wait. */
static void starts_come_to(int64_t now, bool waits, const char *wanted)
{
    char text[256];
    struct job_goodput goodput;
    life.waits = waits;
    job_life_recount(&life, T + now, &goodput);
    assert_true(goodput.by_runs);
    int len = snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " unseen %" PRId64,
                       goodput.allocated_ms / NODES, goodput.productive_ms / NODES, goodput.lost_ms / NODES,
                       goodput.lost_max_ms / NODES, goodput.starts_unseen);
    for (size_t i = 0; i < life.run_count; i++)
        len += snprintf(text + len, sizeof(text) - (size_t)len, " | %" PRId64 "+%" PRId64,
                        life.runs[i].cost.lost_max_ms, life.runs[i].cost.waited_ms);
    assert_string_equal(text, wanted);
    job_life_free(&life);
}

static void end_run(int64_t restart, int64_t from, int64_t to, const char *word)
{
    struct job_run row = {.restart = restart, .node_count = NODES, .started_at = T + from, .ended_at = T + to};
    assert_true(word[0] == '\0' || cluster_job_state_parse(word, &row.state) == 0);
    job_life_add_run(&life, &row);
}

static void signal_at(int64_t at, enum job_asked asked)
{
    const struct job_signalled row = {.asked = asked, .asked_at = T + at};
    job_life_add_signal(&life, &row);
}

static void test_starts_alone(void **state)
{
    (void)state;
    end_run(0, 0, 100, "REQUEUED");
    run(1, 130, 0);
    starts_come_to(200, false, "170 70 30 130 unseen 0 | 100+30 | 0+0");
    end_run(0, 0, 100, "REQUEUED"); /* it waits still */
    starts_come_to(160, true, "100 0 60 160 unseen 0 | 100+60");
    end_run(0, 0, 100, "REQUEUED"); /* and was cancelled then */
    starts_come_to(160, false, "100 0 0 100 unseen 0 | 100+0");
    end_run(0, 0, 100, "COMPLETED");
    starts_come_to(160, false, "100 100 0 0 unseen 0 | 0+0");
    end_run(0, 0, 100, "NODE_FAIL");
    starts_come_to(160, false, "100 0 0 100 unseen 0 | 100+0");
    end_run(1, 0, 100, "REQUEUED"); /* 0 and 2 were over before anybody looked: what lies between is not known */
    run(3, 300, 0);
    starts_come_to(400, false, "200 100 0 100 unseen 2 | 100+0 | 0+0");
}

static void test_a_checkpoint_was_asked_for(void **state)
{
    (void)state;
    end_run(0, 0, 100, "REQUEUED");
    run(1, 130, 0);
    signal_at(90, JOB_ASKED_SENT);
    signal_at(95, JOB_ASKED_FAILED); /* nobody heard it */
    signal_at(120, JOB_ASKED_SENT);  /* in none of the starts */
    starts_come_to(200, false, "170 160 30 40 unseen 0 | 10+30 | 0+0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_it_is_of_use_until_the_last_progress),
        cmocka_unit_test(test_or_until_its_node_was_seen_to_be_broken),
        cmocka_unit_test(test_what_ended_well_loses_nothing),
        cmocka_unit_test(test_steps_side_by_side),
        cmocka_unit_test(test_a_requeue),
        cmocka_unit_test(test_what_waits_loses_more_and_more),
        cmocka_unit_test(test_whoever_is_not_heard_is_not_at_work),
        cmocka_unit_test(test_starts_alone),
        cmocka_unit_test(test_a_checkpoint_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
