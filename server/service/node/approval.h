/* Repairs that wait for the approval of a person. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_NODE_APPROVAL_H
#define HOLDFAST_SERVER_SERVICE_NODE_APPROVAL_H

#include "db/approval.h"
#include "server/service/service.h"

/* A person's yes or no to a repair that waits for it. CONFLICT when it was answered otherwise, or is too late. */
int service_approval_answer(struct service *s, const struct actor *actor, const char *uid, bool yes, const char *reason,
                            struct approval *ret_approval, struct problem *ret_problem);
#define APPROVAL_SIGNATURE_MAX 33
#define APPROVAL_URL_MAX 384
/* A link by which whoever has it may answer this question; "" once it was answered. */
void service_approval_url(const struct service *s, const struct approval *approval, char ret_url[APPROVAL_URL_MAX]);
/* The question behind a link, whatever became of it, one that has run out as expired; NOT_FOUND for whatever is not of our making. */
int service_approval_by_link(struct service *s, const char *uid, const char *signature, struct approval *ret_approval,
                             struct problem *ret_problem);
/* The answer, yes or no. CONFLICT when it was answered or has run out. */
int service_approval_answer_by_link(struct service *s, const struct actor *actor, const char *uid,
                                    const char *signature, bool yes, struct approval *ret_approval,
                                    struct problem *ret_problem);
/* What an approved repair still waits for; "": nothing, or it has not been decided anew yet. */
void service_approval_waits(struct service *s, const struct approval *approval, char ret_why[SENTENCE_MAX_BYTES]);
/* Rows are struct approval, newest first, from before an id (0: the newest) on; state -1: any. */
int service_approval_list(struct service *s, int state, int64_t before, int limit, db_row_fn fn, void *arg,
                          struct problem *ret_problem);

#endif
