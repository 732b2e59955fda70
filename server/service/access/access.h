/* Who may come in, and the log of what they changed. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_ACCESS_ACCESS_H
#define HOLDFAST_SERVER_SERVICE_ACCESS_ACCESS_H

#include "db/access_key.h"
#include "db/audit.h"
#include "db/token.h"
#include "server/service/service.h"

#define SERVICE_TOKEN_TEXT_MAX 128
/* API token: role; enrolment token: cluster and node ("" any). ret_text is the secret, shown once. */
int service_token_create_api(struct service *s, const struct actor *actor, const char *name, enum role role,
                             int64_t ttl_ms, struct token *ret_token, char ret_text[SERVICE_TOKEN_TEXT_MAX],
                             struct problem *ret_problem);
int service_token_create_enrollment(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                                    int64_t ttl_ms, struct token *ret_token, char ret_text[SERVICE_TOKEN_TEXT_MAX],
                                    struct problem *ret_problem);
int service_token_list(struct service *s, db_row_fn fn, void *arg, struct problem *ret_problem);
int service_token_delete(struct service *s, const struct actor *actor, const char *uid, struct problem *ret_problem);
/* First start: makes the admin token unless an administrator's exists; ret_text "" when one does. anew: makes it in any
 * case, in place of the one that was made so before. */
/* For agents of machines of an inventory, which say which machine each is. */
int service_token_create_machines(struct service *s, const struct actor *actor, int64_t ttl_ms, struct token *ret_token,
                                  char ret_text[SERVICE_TOKEN_TEXT_MAX], struct problem *ret_problem);
int service_ensure_admin_token(struct service *s, bool anew, char ret_text[SERVICE_TOKEN_TEXT_MAX]);
/* "hfa_…" to an actor. Results are cached in memory for a few seconds. */
int service_authenticate(struct service *s, const char *bearer, struct actor *ret_actor);

/* What clients of the AWS API sign with: an id, and a secret that ret_secret shows once. */
#define SERVICE_SECRET_MAX (ACCESS_KEY_SECRET_CHARACTERS + 1)
int service_access_key_create(struct service *s, const struct actor *actor, const char *name, enum role role,
                              struct access_key *ret_key, char ret_secret[SERVICE_SECRET_MAX],
                              struct problem *ret_problem);
int service_access_key_list(struct service *s, db_row_fn fn, void *arg, struct problem *ret_problem);
int service_access_key_delete(struct service *s, const struct actor *actor, const char *access_key,
                              struct problem *ret_problem);
/* The secret and who it stands for: nobody has proven anything yet. The caller verifies a signature with it, wipes it, and
 * then says service_access_key_used. UNAUTHENTICATED when there is no such key. */
int service_access_key_secret(struct service *s, const char *access_key, char ret_secret[SERVICE_SECRET_MAX],
                              struct access_key *ret_key, struct actor *ret_actor);
void service_access_key_used(struct service *s, const struct access_key *key);

/* --- the audit log ------------------------------------------------------------------------------ */
/* One request for a change, as far as its API knows it. */
struct service_audit {
    struct audit entry;
    bool recorded; /* there is a row of it */
};
/* From here to the end the request is what this thread works on: every write of a use case takes the entry with it into the
 * same transaction, so that no change is on disk without its row. */
void service_audit_begin(struct service_audit *audit);
void service_audit_end(void);
/* What the next write is about, where one request has several. */
void service_audit_about(const char *cluster, const char *resource);
/* A request that was granted although nothing had to be written has its row, too. Waits for the disk. */
void service_audit_settle(struct service *s);
/* A request that was refused or failed: the outcome and the code are the entry's. Never waits. Floods become counts
 * (audit_flood.c). */
void service_audit_refused(struct service *s, const struct audit *entry);
/* Writes the counts whose time has come; all: whatever is counted. Never waits. */
void service_audit_flush(struct service *s, bool all);
int service_audit_list(struct service *s, const struct db_audit_filter *filter, db_row_fn fn, void *arg,
                       struct problem *ret_problem);

#endif
