/*
 * Links that answer by themselves: publicUrl/approve/ID/SIGNATURE (or what is made from the address). Who has one may approve or reject that one
 * repair, without a token, so it is given to operators alone and goes where they send it: a webhook, a mail, a chat.
 *
 * The signature is over all that the question is (which repair, of what, by which decision, until when), under a key that never
 * leaves the state directory; so there is nothing in a link to be believed, and a link to another question, of another time or of
 * another hpd is none. It counts once: what was answered cannot be answered again.
 */
#include "server/service/node/approval.h"
#include "server/service/private.h"

#include "base/hmac.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PURPOSE "approval-link/1"
#define SIGNATURE_BYTES 16 /* half of the MAC, as RFC 2104 allows: 2^128 tries */

static void sign(const struct service *s, const struct approval *approval, char ret_signature[APPROVAL_SIGNATURE_MAX])
{
    uint8_t key[ID_SHA256_BYTES], mac[ID_SHA256_BYTES];
    struct text all AUTO(text) = {0};
    text_printf(&all, "%s\n%" PRId64 "\n%" PRId64 "\n%s\n%s\n%s\n%s", approval->uid, approval->expires_at,
                approval->decision_id, action_text(approval->action), approval->code, approval->device,
                approval->sentence);
    hmac_sha256(s->seal_key.bytes, sizeof(s->seal_key.bytes), PURPOSE, sizeof(PURPOSE) - 1, key);
    hmac_sha256(key, sizeof(key), text_get(&all), all.len, mac);
    for (size_t i = 0; i < SIGNATURE_BYTES; i++)
        snprintf(ret_signature + 2 * i, 3, "%02x", mac[i]);
}

void service_approval_url(const struct service *s, const struct approval *approval, char ret_url[APPROVAL_URL_MAX])
{
    char signature[APPROVAL_SIGNATURE_MAX];
    ret_url[0] = '\0';
    if (approval->state != APPROVAL_STATE_ASKED)
        return;
    sign(s, approval, signature);
    say_cut(ret_url, APPROVAL_URL_MAX, "%s/approve/%s/%s", s->server_url, approval->uid, signature);
}

struct reading {
    const char *uid;
    struct approval *approval;
};

static int find_read(struct db_tx *tx, void *arg)
{
    struct reading *reading = arg;
    return db_approval_get(tx, reading->uid, reading->approval);
}

/* What is not signed and what is not there look the same. */
int service_approval_by_link(struct service *s, const char *uid, const char *signature, struct approval *ret_approval,
                             struct problem *ret_problem)
{
    char right[APPROVAL_SIGNATURE_MAX];
    struct reading reading = {uid, ret_approval};
    int status = service_read(s, find_read, &reading, ret_problem);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    if (status == 0)
        sign(s, ret_approval, right);
    if (status == 0 && strlen(signature) == strlen(right) && id_equal(signature, right, strlen(right))) {
        if (ret_approval->state == APPROVAL_STATE_ASKED && service_now(s) >= ret_approval->expires_at)
            ret_approval->state = APPROVAL_STATE_EXPIRED; /* before the loop has seen to it */
        return 0;
    }
    return problem_say(ret_problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                       "This link is to no question. hpctl operation approvals lists those that wait.");
}

int service_approval_answer_by_link(struct service *s, const struct actor *actor, const char *uid,
                                    const char *signature, bool yes, struct approval *ret_approval,
                                    struct problem *ret_problem)
{
    int status = service_approval_by_link(s, uid, signature, ret_approval, ret_problem);
    if (status < 0)
        return status;
    if (ret_approval->state == APPROVAL_STATE_APPROVED || ret_approval->state == APPROVAL_STATE_REJECTED)
        return problem_say(ret_problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "It has been %s already, by %s; a link counts once.",
                           approval_state_text(ret_approval->state), ret_approval->answered_by);
    return service_approval_answer(s, actor, uid, yes, "", ret_approval, ret_problem);
}
