/*
 * A reboot that was sent is not sent again, whatever became of it: the boot that the agent reports says whether it was done.
 *
 *   none ──stop sent──► sent ──accepted, or it stops──► stopped ──start sent──► starting ──► done
 *
 * The time of the instance's start, kept before the stop, tells a stop that was not done from one that somebody's start has followed: so no
 * second stop ends what a person has started.
 */
#include "server/provider/ec2/reset.h"

#include "base/clock.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define STOPS_WITHIN_MS (4 * MS_PER_MIN) /* of one call; the next goes on */
#define LOOK_S 2

static int remember(struct ec2_reset *reset, enum ec2_step step)
{
    reset->memory.step = step;
    reset->memory.at = clock_wall_ms(clock_system());
    int status = ec2_memory_write(&reset->entry, &reset->memory);
    if (status != 0)
        snprintf(reset->ret_error, PROVIDER_ERROR_MAX, "%.180s: %s", reset->entry.path, status_meaning(status));
    return status == 0 ? 0 : STATUS_IO;
}

/* action is one that answers no more than that it was accepted. The step is sent before, done after, and before again where EC2
 * refuses it. */
static int send_once(struct ec2_reset *reset, const char *action, const char *id, const char *more, enum ec2_step sent,
                     enum ec2_step done)
{
    AUTO(text) struct text form = {0}, document = {0};
    struct ec2_answer answer = {.data = NULL};
    enum ec2_step before = reset->memory.step == EC2_STEP_SENT ? EC2_STEP_NONE : reset->memory.step;
    int status = remember(reset, sent);
    if (status != 0)
        return status;
    ec2_form_add(&form, "InstanceId.1", id);
    text_add(&form, more);
    text_printf(&document, "%sResponse", action);
    status = ec2_call(reset->finder->client, action, form.data, &answer, reset->ret_error);
    if (status == 0)
        status = ec2_read_done(document.data, answer.data, answer.len, reset->ret_error);
    if (status == 0)
        status = remember(reset, done);
    else if (answer.refusal.certain && remember(reset, before) != 0)
        status = STATUS_IO;
    ec2_answer_free(&answer);
    return status;
}

int ec2_reboot(struct ec2_reset *reset, const struct ec2_instance *found)
{
    if (reset->memory.step != EC2_STEP_NONE)
        return 0;
    return send_once(reset, "RebootInstances", found->id, "", EC2_STEP_SENT, EC2_STEP_DONE);
}

/* --- stop and start -------------------------------------------------------------------------------------------- */

static bool was_started(const struct ec2_reset *reset, const struct ec2_instance *found)
{
    return reset->memory.started_at[0] != '\0' && found->launched_at[0] != '\0' &&
           !text_equal(reset->memory.started_at, found->launched_at);
}

static int stop(struct ec2_reset *reset, const struct ec2_instance *found)
{
    if (was_started(reset, found))
        return remember(reset, EC2_STEP_DONE);
    if (found->state == EC2_STATE_STOPPING || found->state == EC2_STATE_STOPPED)
        return remember(reset, EC2_STEP_STOPPED);
    text_copy_cut(reset->memory.started_at, sizeof(reset->memory.started_at), found->launched_at);
    return send_once(reset, "StopInstances", found->id, "&Force=true", EC2_STEP_SENT, EC2_STEP_STOPPED);
}

static int start(struct ec2_reset *reset, const struct ec2_instance *found)
{
    bool sent = reset->memory.step == EC2_STEP_STARTING;
    if (was_started(reset, found) || (sent && found->state != EC2_STATE_STOPPED))
        return remember(reset, EC2_STEP_DONE);
    if (found->state != EC2_STATE_STOPPED)
        return 0; /* it stops */
    reset->memory.step = EC2_STEP_STOPPED;
    return send_once(reset, "StartInstances", found->id, "", EC2_STEP_STARTING, EC2_STEP_DONE);
}

int ec2_stop_start(struct ec2_reset *reset, const struct ec2_instance *found)
{
    const struct timespec pause = {.tv_sec = LOOK_S};
    int64_t until = clock_mono_ms(clock_system()) + STOPS_WITHIN_MS;
    struct ec2_instance now = *found;
    while (reset->memory.step != EC2_STEP_DONE) {
        enum ec2_step before = reset->memory.step;
        int status = before == EC2_STEP_NONE || before == EC2_STEP_SENT ? stop(reset, &now) : start(reset, &now);
        if (status != 0)
            return status;
        if (reset->memory.step == EC2_STEP_DONE)
            return 0;
        if (clock_mono_ms(clock_system()) > until) {
            snprintf(reset->ret_error, PROVIDER_ERROR_MAX, "instance %s has not stopped yet", found->id);
            return STATUS_UNAVAILABLE;
        }
        if (reset->memory.step == before)
            (void)nanosleep(&pause, NULL);
        status = ec2_find_id(reset->finder, found->id, &now, reset->ret_error);
        if (status != 0)
            return status;
        if (ec2_is_gone(now.state)) {
            snprintf(reset->ret_error, PROVIDER_ERROR_MAX, "EC2 has ended instance %s", found->id);
            return STATUS_NOT_FOUND;
        }
    }
    return 0;
}
