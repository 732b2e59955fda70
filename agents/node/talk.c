/* Every exchange reads the credential from the state directory again: an enrolment may have replaced it. */
#include "agents/node/talk.h"

#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/wire.h"

#include <poll.h>

#define SAY_TRIES_MAX 120 /* then the agent starts another runner if the order is still wanted */
#define PAUSE_DOUBLINGS_MAX 5
#define SHOWN_BYTES_MAX 300

int talk_open(struct talk *talk, const struct talk_options *options)
{
    char why[WIRE_ERROR_MAX];
    *talk = (struct talk){.options = *options, .state = {.dir = own_strdup(options->state_dir), .lock_fd = -1}};
    const struct wire_options wire = {.url = options->url,
                                      .fingerprint = options->fingerprint,
                                      .timeout_ms = options->timeout_ms,
                                      .reply_bytes_max = options->reply_bytes_max};
    int status = wire_new(&wire, &talk->wire, why);
    if (status != 0)
        log_error("the server cannot be asked: %s", why);
    return status == 0 ? 0 : STATUS_INVALID;
}

void talk_close(struct talk *talk)
{
    wire_free(TAKE(talk->wire));
    free(TAKE(talk->state.dir));
}

void talk_pause(int64_t ms)
{
    (void)poll(NULL, 0, (int)ms);
}

int talk_exchange(struct talk *talk, const struct text *body, int *ret_answer, const char **ret_body, size_t *ret_len)
{
    const char *path = talk->options.path;
    struct message_enrolled enrolled;
    char why[WIRE_ERROR_MAX];
    if (state_load_credential(&talk->state, talk->options.instance_id, &enrolled) != 0)
        return STATUS_UNAVAILABLE;
    int status = body == NULL ? wire_get(talk->wire, path, enrolled.credential, ret_answer, ret_body, ret_len, why)
                              : wire_post(talk->wire, path, enrolled.credential, body->data, body->len, ret_answer,
                                          ret_body, ret_len, why);
    if (status != 0)
        log_warn("the server does not answer: %s", why);
    return status;
}

/* 0, WITHDRAWN, or a status for a retry. A rejected credential may be replaced meanwhile. */
static int meaning_of(int answer, const char *body, size_t len)
{
    if (answer == 200)
        return 0;
    if (answer == 404 || answer == 409)
        return TALK_WITHDRAWN;
    log_warn("the server answered %d: %.*s", answer, (int)(len < SHOWN_BYTES_MAX ? len : SHOWN_BYTES_MAX), body);
    bool never = answer == 400 || answer == 413 || answer == 415; /* a retry cannot help */
    return never ? 0 : STATUS_UNAVAILABLE;
}

int talk_say_once(struct talk *talk, const struct text *body)
{
    int answer;
    const char *reply;
    size_t len;
    int status = talk_exchange(talk, body, &answer, &reply, &len);
    return status != 0 ? status : meaning_of(answer, reply, len);
}

int talk_say(struct talk *talk, const struct text *body)
{
    int status = STATUS_UNAVAILABLE;
    int64_t pause = talk->options.pause_ms;
    for (int i = 0; i < SAY_TRIES_MAX && status < 0; i++) {
        if (i > 0)
            talk_pause(pause);
        if (i > 0 && i <= PAUSE_DOUBLINGS_MAX)
            pause *= 2;
        status = talk_say_once(talk, body);
    }
    return status;
}
