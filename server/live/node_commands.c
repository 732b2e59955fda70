/* One table behind one lock. A command's place is its own from node_commands_add until a newer one needs it after its end. */
#include "server/live/node_commands.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

ENUM_DEFINE(node_command_state, NODE_COMMAND_STATE_LIST)

struct slot {
    bool used, ready; /* ready: a thread may take it */
    uint64_t number;  /* in the order of their arrival */
    int64_t late_ms;  /* on the monotonic clock: it does not begin after that */
    struct node_command command;
};

struct node_commands {
    node_command_run_fn run;
    void *arg;
    const struct clock *clock;
    pthread_mutex_t lock;
    pthread_cond_t work;
    atomic_bool stop;
    uint64_t next_number;
    struct slot slots[NODE_COMMANDS_MAX];
    pthread_t *threads;
    int thread_count;
};

void node_command_release(struct node_command *command)
{
    free(command->out);
    free(command->err);
    command->out = command->err = NULL;
}

static bool is_over(const struct node_command *command)
{
    return command->state == NODE_COMMAND_STATE_ENDED || command->state == NODE_COMMAND_STATE_FAILED;
}

/* --- with the lock held ------------------------------------------------------------------------------- */

static struct slot *find(struct node_commands *commands, const char *id)
{
    for (size_t i = 0; i < NODE_COMMANDS_MAX; i++)
        if (commands->slots[i].used && text_equal(commands->slots[i].command.id, id))
            return &commands->slots[i];
    return NULL;
}

static void forget(struct slot *slot)
{
    node_command_release(&slot->command);
    *slot = (struct slot){.used = false};
}

/* An unused place, or that of the command that came first of those that are over. */
static struct slot *place_for_one(struct node_commands *commands)
{
    struct slot *oldest = NULL;
    for (size_t i = 0; i < NODE_COMMANDS_MAX; i++) {
        struct slot *slot = &commands->slots[i];
        if (!slot->used)
            return slot;
        if (is_over(&slot->command) && (oldest == NULL || slot->number < oldest->number))
            oldest = slot;
    }
    if (oldest != NULL)
        forget(oldest);
    return oldest;
}

static size_t count_of_node(const struct node_commands *commands, int64_t node_id)
{
    size_t count = 0;
    for (size_t i = 0; i < NODE_COMMANDS_MAX; i++)
        count += commands->slots[i].used && commands->slots[i].command.node_id == node_id &&
                 !is_over(&commands->slots[i].command);
    return count;
}

static struct slot *next_ready(struct node_commands *commands)
{
    struct slot *first = NULL;
    for (size_t i = 0; i < NODE_COMMANDS_MAX; i++) {
        struct slot *slot = &commands->slots[i];
        if (slot->used && slot->ready && slot->command.state == NODE_COMMAND_STATE_WAITING &&
            (first == NULL || slot->number < first->number))
            first = slot;
    }
    return first;
}

/* --- the threads ---------------------------------------------------------------------------------------- */

static bool came_too_late(const struct node_commands *commands, struct node_command *command, int64_t late_ms)
{
    if (clock_mono_ms(commands->clock) <= late_ms)
        return false;
    command->state = NODE_COMMAND_STATE_FAILED;
    command->ended_at = clock_wall_ms(commands->clock);
    snprintf(command->error, sizeof(command->error),
             "it did not run: no thread of nodeCommands.threads was free for %d s",
             (int)(NODE_COMMAND_WAIT_MAX_MS / MS_PER_S));
    return true;
}

/* The lock is free while it runs: nobody else touches a place whose command runs but to copy it. */
static void run_one(struct node_commands *commands, struct slot *slot)
{
    autofree struct node_command *running = own_calloc(1, sizeof(*running));
    if (came_too_late(commands, &slot->command, slot->late_ms))
        return;
    slot->command.state = NODE_COMMAND_STATE_RUNNING;
    slot->command.started_at = clock_wall_ms(commands->clock);
    *running = slot->command;
    pthread_mutex_unlock(&commands->lock);
    int status = commands->run(running, &commands->stop, commands->arg);
    pthread_mutex_lock(&commands->lock);
    running->state = status == 0 ? NODE_COMMAND_STATE_ENDED : NODE_COMMAND_STATE_FAILED;
    running->ended_at = clock_wall_ms(commands->clock);
    slot->command = *running;
}

static void *work(void *arg)
{
    struct node_commands *commands = arg;
    pthread_mutex_lock(&commands->lock);
    while (!atomic_load(&commands->stop)) {
        struct slot *slot = next_ready(commands);
        if (slot != NULL)
            run_one(commands, slot);
        else
            pthread_cond_wait(&commands->work, &commands->lock);
    }
    pthread_mutex_unlock(&commands->lock);
    return NULL;
}

struct node_commands *node_commands_new(node_command_run_fn run, void *arg, const struct clock *clock, int threads)
{
    struct node_commands *commands = own_calloc(1, sizeof(*commands));
    commands->run = run;
    commands->arg = arg;
    commands->clock = clock;
    commands->threads = own_calloc((size_t)threads, sizeof(*commands->threads));
    pthread_mutex_init(&commands->lock, NULL);
    pthread_cond_init(&commands->work, NULL);
    while (commands->thread_count < threads &&
           pthread_create(&commands->threads[commands->thread_count], NULL, work, commands) == 0)
        commands->thread_count++;
    if (commands->thread_count > 0)
        return commands;
    node_commands_free(commands);
    return NULL;
}

void node_commands_free(struct node_commands *commands)
{
    if (commands == NULL)
        return;
    pthread_mutex_lock(&commands->lock);
    atomic_store(&commands->stop, true);
    pthread_cond_broadcast(&commands->work);
    pthread_mutex_unlock(&commands->lock);
    for (int i = 0; i < commands->thread_count; i++)
        pthread_join(commands->threads[i], NULL);
    for (size_t i = 0; i < NODE_COMMANDS_MAX; i++)
        node_command_release(&commands->slots[i].command);
    pthread_cond_destroy(&commands->work);
    pthread_mutex_destroy(&commands->lock);
    free(commands->threads);
    free(commands);
}

/* --- what the use cases call ------------------------------------------------------------------------------- */

int node_commands_add(struct node_commands *commands, const struct node_command *command)
{
    int status = STATUS_FULL;
    pthread_mutex_lock(&commands->lock);
    struct slot *slot =
        count_of_node(commands, command->node_id) < NODE_COMMANDS_OF_NODE_MAX ? place_for_one(commands) : NULL;
    if (slot != NULL) {
        *slot = (struct slot){.used = true,
                              .number = commands->next_number++,
                              .late_ms = clock_mono_ms(commands->clock) + NODE_COMMAND_WAIT_MAX_MS,
                              .command = *command};
        slot->command.state = NODE_COMMAND_STATE_WAITING;
        slot->command.asked_at = clock_wall_ms(commands->clock);
        status = 0;
    }
    pthread_mutex_unlock(&commands->lock);
    return status;
}

void node_commands_go(struct node_commands *commands, const char *id)
{
    pthread_mutex_lock(&commands->lock);
    struct slot *slot = find(commands, id);
    if (slot != NULL)
        slot->ready = true;
    pthread_cond_signal(&commands->work);
    pthread_mutex_unlock(&commands->lock);
}

void node_commands_drop(struct node_commands *commands, const char *id)
{
    pthread_mutex_lock(&commands->lock);
    struct slot *slot = find(commands, id);
    if (slot != NULL && !slot->ready)
        forget(slot);
    pthread_mutex_unlock(&commands->lock);
}

int node_commands_get(struct node_commands *commands, const char *id, struct node_command *ret_command)
{
    int status = STATUS_NOT_FOUND;
    pthread_mutex_lock(&commands->lock);
    const struct slot *slot = find(commands, id);
    if (slot != NULL) {
        *ret_command = slot->command;
        ret_command->out = own_strdup(text_or_empty(slot->command.out));
        ret_command->err = own_strdup(text_or_empty(slot->command.err));
        status = 0;
    }
    pthread_mutex_unlock(&commands->lock);
    return status;
}
