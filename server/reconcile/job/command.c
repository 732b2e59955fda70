/*
 * Commands that people gave for jobs: a thread of its own for each scheduler that takes some, so that one that does not answer holds up
 * nothing but these. It reads the store when it begins, when somebody gives a command, and again as long as one waits.
 *
 * A command that fails waits, and the others go on: something at its job alone may refuse it (a webhook of Kubernetes that fails). After two
 * failures in a row the scheduler itself may be away, so the rest waits, too, and is tried first a second later. A command that cannot be carried
 * out within a day is dropped, and an event says so.
 */
#include "base/log.h"
#include "base/text.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/service/job/job.h"

#include <pthread.h>

#define AGAIN_MS 1000
#define FAILURES_MAX 2 /* in a row */
#define TRY_FOR_MS MS_PER_DAY

struct follower {
    struct follower *next;
    struct service *service;
    const struct scheduler_link *link; /* its name and driver, which do not change */
    int64_t told;                      /* of that command the log says already that it waits */
    int64_t tried;                     /* the last one that failed, with which a look ended; those after it are next */
    pthread_t thread;
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t changed;
    bool asked, stopped;
};

struct job_command_part {
    struct follower *followers;
};

struct commands {
    struct job_command *list;
    bool *ended;
    size_t count;
};

static int add_command(const void *row, void *arg)
{
    struct commands *commands = arg;
    commands->list = own_realloc(commands->list, commands->count + 1, sizeof(*commands->list));
    commands->list[commands->count++] = *(const struct job_command *)row;
    return 0;
}

/* Those of one job go in their order. */
static bool waits_behind(const struct commands *commands, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!commands->ended[i] && text_equal(commands->list[i].job, commands->list[at].job))
            return true;
    return false;
}

static void tell_waits(struct follower *follower, const struct job_command *command, const char *error)
{
    if (command->id > follower->told)
        log_warn("a command for a job waits scheduler=%s job=%s command=%s by=%s: %s", follower->link->name,
                 command->job, job_command_kind_text(command->kind), command->actor, error);
    follower->told = command->id > follower->told ? command->id : follower->told;
}

static bool is_too_late(const struct follower *follower, const struct job_command *command)
{
    return clock_wall_ms(follower->service->clock) - command->asked_at >= TRY_FOR_MS;
}

/* 0: it is over. CONFLICT: it is not its time yet. Any other status: it failed. */
static int carry_out(struct follower *follower, const struct job_command *command)
{
    const struct scheduler_driver *driver = &follower->link->driver;
    char error[SCHEDULER_ERROR_MAX] = "";
    int status = driver->ops->jobs->command(driver->self, command, error);
    bool never = status == STATUS_NOT_FOUND || status == STATUS_INVALID || status == STATUS_DENIED;
    if (status == 0 || never)
        return service_job_command_end(follower->service, command, never ? error : NULL);
    if (error[0] == '\0')
        text_copy_cut(error, sizeof(error), status_text(status));
    if (is_too_late(follower, command)) {
        autofree char *why = own_printf("tried for a day: %s", error);
        return service_job_command_end(follower->service, command, why);
    }
    tell_waits(follower, command, error);
    return status;
}

static size_t first_to_try(const struct follower *follower, const struct commands *commands)
{
    for (size_t i = 0; i < commands->count; i++)
        if (commands->list[i].id > follower->tried)
            return i;
    return 0;
}

/* True: something waits. */
static bool follow_all(struct follower *follower, struct commands *commands)
{
    const size_t first = first_to_try(follower, commands);
    size_t ended = 0;
    int failures = 0;
    follower->tried = 0;
    for (size_t k = 0; k < commands->count && failures < FAILURES_MAX; k++) {
        size_t at = (first + k) % commands->count;
        int status = waits_behind(commands, at) ? STATUS_CONFLICT : carry_out(follower, &commands->list[at]);
        commands->ended[at] = status == 0;
        ended += status == 0;
        if (status != STATUS_CONFLICT)
            failures = status == 0 ? 0 : failures + 1;
        if (failures == FAILURES_MAX)
            follower->tried = commands->list[at].id;
    }
    return ended < commands->count;
}

static bool follow(struct follower *follower)
{
    struct commands commands = {0};
    int status = service_job_commands(follower->service, follower->link->name, add_command, &commands);
    commands.ended = own_calloc(commands.count + 1, sizeof(*commands.ended));
    bool more = status != 0 || follow_all(follower, &commands);
    free(commands.list);
    free(commands.ended);
    return more;
}

/* Until somebody asks, or for a while only. False: hpd ends. */
static bool rest(struct follower *follower, bool more)
{
    struct timespec until = clock_deadline(AGAIN_MS);
    int rc = 0;
    pthread_mutex_lock(&follower->lock);
    while (!follower->stopped && !follower->asked && rc == 0)
        rc = more ? pthread_cond_timedwait(&follower->changed, &follower->lock, &until)
                  : pthread_cond_wait(&follower->changed, &follower->lock);
    follower->asked = false;
    bool goes_on = !follower->stopped;
    pthread_mutex_unlock(&follower->lock);
    return goes_on;
}

static void *run(void *arg)
{
    struct follower *follower = arg;
    bool more = follow(follower);
    while (rest(follower, more))
        more = follow(follower);
    return NULL;
}

static void follower_free(struct follower *follower)
{
    pthread_cond_destroy(&follower->changed);
    pthread_mutex_destroy(&follower->lock);
    free(follower);
}

static void begin(struct reconcile *r, const struct scheduler_link *link)
{
    struct follower *follower = own_calloc(1, sizeof(*follower));
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&follower->lock, NULL);
    pthread_cond_init(&follower->changed, &attr);
    pthread_condattr_destroy(&attr);
    follower->service = r->service;
    follower->link = link;
    if (pthread_create(&follower->thread, NULL, run, follower) != 0) {
        log_error("commands for jobs are not carried out, there is no thread for them scheduler=%s", link->name);
        follower_free(follower);
        return;
    }
    follower->next = r->job_command->followers;
    r->job_command->followers = follower;
}

static void start(struct reconcile *r)
{
    r->job_command = own_calloc(1, sizeof(*r->job_command));
    for (const struct scheduler_link *link = r->links; link != NULL; link = link->next)
        if (link->driver.ops != NULL && link->driver.ops->jobs != NULL && link->driver.ops->jobs->command != NULL)
            begin(r, link);
}

static void signal_follower(struct follower *follower, bool stop)
{
    pthread_mutex_lock(&follower->lock);
    follower->asked = true;
    follower->stopped = follower->stopped || stop;
    pthread_cond_broadcast(&follower->changed);
    pthread_mutex_unlock(&follower->lock);
}

static void wake(struct reconcile *r, enum service_wake what, int64_t id)
{
    (void)id;
    if (what != SERVICE_WAKE_JOB_COMMAND && what != SERVICE_WAKE_ALL)
        return;
    for (struct follower *follower = r->job_command->followers; follower != NULL; follower = follower->next)
        signal_follower(follower, false);
}

static void end(struct reconcile *r)
{
    if (r->job_command == NULL)
        return;
    while (r->job_command->followers != NULL) {
        struct follower *follower = r->job_command->followers;
        r->job_command->followers = follower->next;
        signal_follower(follower, true);
        pthread_join(follower->thread, NULL);
        follower_free(follower);
    }
    free(TAKE(r->job_command));
}

const struct part part_job_command = {.start = start, .end = end, .wake = wake};
