/* Commands for jobs are carried out one by one: one that fails holds up those of its job, and no others. */
#include "tests/support/service_world.h"

#include "base/text.h"
#include "db/job_command.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/part.h"
#include "server/service/job/job.h"

#include <pthread.h>

extern const struct part part_job_command;

#define WAIT_S 120
#define LOOKS 3 /* so often all that waits has been tried */

/* Jobs whose name begins with "bad" take no command. */
struct jobs {
    pthread_mutex_t lock;
    struct text done; /* "restart good; " */
    int failed;
};

static int carry_out(struct scheduler *self, const struct job_command *command, char *ret_error)
{
    struct jobs *jobs = (struct jobs *)(void *)self;
    bool bad = text_starts_with(command->job, "bad");
    pthread_mutex_lock(&jobs->lock);
    if (bad)
        jobs->failed++;
    else
        text_printf(&jobs->done, "%s %s; ", job_command_kind_text(command->kind), command->job);
    pthread_mutex_unlock(&jobs->lock);
    if (!bad)
        return 0;
    snprintf(ret_error, SCHEDULER_ERROR_MAX, "the webhook failed");
    return STATUS_BACKEND;
}

static const struct scheduler_jobs_ops jobs_ops = {.command = carry_out};
static const struct scheduler_ops ops = {.name = "kubernetes", .jobs = &jobs_ops};

struct follows {
    struct world world;
    struct jobs jobs;
    struct scheduler_link link;
    struct reconcile loop;
};

static int insert(struct db_tx *tx, void *arg)
{
    return db_job_command_insert(tx, arg);
}

static void ask(struct follows *f, const char *job, enum job_command_kind kind)
{
    struct job_command command = {.kind = kind, .asked_at = clock_wall_ms(&f->world.clock)};
    text_copy_cut(command.scheduler, sizeof(command.scheduler), f->link.name);
    text_copy_cut(command.cluster, sizeof(command.cluster), "ml");
    text_copy_cut(command.job, sizeof(command.job), job);
    text_copy_cut(command.actor, sizeof(command.actor), "token:ann");
    world_write(&f->world, insert, &command);
}

static void open_follows(struct follows *f)
{
    memset(f, 0, sizeof(*f));
    world_open(&f->world, 0);
    world_cluster(&f->world, "ml", "gpu", 1, ORCHESTRATOR_KUBERNETES);
    pthread_mutex_init(&f->jobs.lock, NULL);
    snprintf(f->link.name, sizeof(f->link.name), "kubernetes");
    f->link.driver = (struct scheduler_driver){.ops = &ops, .self = (struct scheduler *)(void *)&f->jobs};
    f->loop.service = &f->world.service;
    f->loop.links = &f->link;
}

static void close_follows(struct follows *f)
{
    part_job_command.end(&f->loop);
    pthread_mutex_destroy(&f->jobs.lock);
    text_free(&f->jobs.done);
    world_close(&f->world);
}

static int add_waiting(const void *row, void *arg)
{
    const struct job_command *command = row;
    text_printf(arg, "%s %s; ", job_command_kind_text(command->kind), command->job);
    return 0;
}

static char *waiting(struct follows *f)
{
    struct text text = {0};
    assert_int_equal(service_job_commands(&f->world.service, f->link.name, add_waiting, &text), 0);
    return text_take(&text);
}

static bool is_so(struct follows *f, const char *done, int failed, const char *waits)
{
    autofree char *now = waiting(f);
    pthread_mutex_lock(&f->jobs.lock);
    bool is = strcmp(text_get(&f->jobs.done), done) == 0 && f->jobs.failed >= failed && strcmp(now, waits) == 0;
    pthread_mutex_unlock(&f->jobs.lock);
    return is;
}

static void until(struct follows *f, const char *done, int failed, const char *waits)
{
    for (int i = 0; i < WAIT_S * 100 && !is_so(f, done, failed, waits); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    if (!is_so(f, done, failed, waits)) {
        autofree char *now = waiting(f);
        fail_msg("done: %s failed: %d waits: %s", text_get(&f->jobs.done), f->jobs.failed, now);
    }
}

static void test_one_that_fails_holds_up_its_own_job_only(void **state)
{
    (void)state;
    struct follows f;
    open_follows(&f);
    ask(&f, "bad/a", JOB_COMMAND_RESTART);
    ask(&f, "ml/b", JOB_COMMAND_RESTART);
    ask(&f, "bad/a", JOB_COMMAND_SUSPEND);
    ask(&f, "ml/c", JOB_COMMAND_SUSPEND);
    part_job_command.start(&f.loop);
    until(&f, "restart ml/b; suspend ml/c; ", LOOKS, "restart bad/a; suspend bad/a; ");
    ask(&f, "ml/b", JOB_COMMAND_SUSPEND); /* and one that comes later */
    until(&f, "restart ml/b; suspend ml/c; suspend ml/b; ", LOOKS, "restart bad/a; suspend bad/a; ");
    close_follows(&f);
}

static void test_many_that_fail_hold_up_no_other(void **state)
{
    (void)state;
    struct follows f;
    open_follows(&f);
    for (const char *const *job = (const char *const[]){"bad/a", "bad/b", "bad/c", "ml/d", "bad/e", NULL}; *job != NULL;
         job++)
        ask(&f, *job, JOB_COMMAND_RESTART);
    part_job_command.start(&f.loop);
    until(&f, "restart ml/d; ", LOOKS, "restart bad/a; restart bad/b; restart bad/c; restart bad/e; ");
    close_follows(&f);
}

static void test_after_a_day_it_is_given_up(void **state)
{
    (void)state;
    struct follows f;
    struct event event;
    open_follows(&f);
    ask(&f, "bad/a", JOB_COMMAND_RESTART);
    clock_fake_advance(&f.world.clock, MS_PER_DAY - MS_PER_S);
    part_job_command.start(&f.loop);
    until(&f, "", LOOKS, "restart bad/a; ");
    clock_fake_advance(&f.world.clock, MS_PER_MIN);
    until(&f, "", LOOKS, "");
    assert_int_equal(world_events(&f.world, EVENT_KIND_OPERATOR_REQUEST, &event), 1);
    assert_string_equal(event.message,
                        "\"restart\" of job bad/a, requested by token:ann, was refused: tried for a day: "
                        "the webhook failed");
    close_follows(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_fails_holds_up_its_own_job_only),
        cmocka_unit_test(test_many_that_fail_hold_up_no_other),
        cmocka_unit_test(test_after_a_day_it_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
