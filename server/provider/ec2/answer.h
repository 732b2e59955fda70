/*
 * What EC2 answers, read strictly. Pure.
 *
 * An answer counts only when it is the one that was asked for: another document, one that is cut, and an instance without an id of EC2's
 * form are no answer. So nothing of this kind is ever taken for "there is no such instance".
 */
#ifndef HOLDFAST_SERVER_PROVIDER_EC2_ANSWER_H
#define HOLDFAST_SERVER_PROVIDER_EC2_ANSWER_H

#include "server/provider/provider.h"

#define EC2_ID_MAX 24
#define EC2_HASH_MAX 65 /* of a key, in hex: our tag of a launch and the client token's base */
#define EC2_TIME_MAX 40
#define EC2_CODE_MAX 80
#define EC2_NEXT_MAX 1024
#define EC2_BYTES_MAX ((size_t)16 << 20)
#define EC2_LISTED_MAX \
    20000 /* instances, or what is said of them, in one list: 200 pages of 100 take as long as a call may */

/* Tags of an instance of ours. */
#define EC2_TAG_PROVIDER "holdfast-provider" /* its value is the provider's tag in hpd's configuration */
#define EC2_TAG_INSTANCE "holdfast-instance" /* our id */
#define EC2_TAG_LAUNCH "holdfast-launch"     /* the hash of the launch's key */

enum ec2_state {
    EC2_STATE_UNKNOWN, /* a word that EC2 did not have when this was written */
    EC2_STATE_PENDING,
    EC2_STATE_RUNNING,
    EC2_STATE_STOPPING,
    EC2_STATE_STOPPED,
    EC2_STATE_SHUTTING_DOWN,
    EC2_STATE_TERMINATED,
};

struct ec2_instance {
    char id[EC2_ID_MAX];
    enum ec2_state state;
    char address[ADDRESS_MAX_BYTES]; /* private; "" when it has none yet */
    char launched_at[EC2_TIME_MAX];  /* of its last start */
    char provider[NAME_MAX_BYTES], instance_id[ID_INSTANCE_MAX], launch[EC2_HASH_MAX]; /* tags; "": it has none */
};

struct ec2_instances {
    struct ec2_instance *list;
    size_t count;
    char next[EC2_NEXT_MAX]; /* of the newest page; "": it was the last */
};

struct ec2_error {
    char code[EC2_CODE_MAX];
    char message[PROVIDER_ERROR_MAX];
};

/* How a call ended that was refused. */
struct ec2_refusal {
    int status;
    bool certain; /* nothing was done */
    bool auth;    /* the configuration has to change */
    bool throttled;
    bool mismatch; /* the client token was used before: there may be an instance */
};

/* One page, added to *instances. BACKEND with a sentence. document is DescribeInstancesResponse or RunInstancesResponse. */
int ec2_read_instances(const char *document, const char *data, size_t len, struct ec2_instances *instances,
                       char *ret_error);
void ec2_instances_free(struct ec2_instances *instances);
/* BACKEND when it is no error of EC2. */
int ec2_read_error(const char *data, size_t len, struct ec2_error *ret_error);
/* Whether it is the whole answer of a call that answers nothing else. */
int ec2_read_done(const char *document, const char *data, size_t len, char *ret_error);
/* What EC2 says of an instance's hardware, as one line; "" for nothing. BACKEND with a sentence. */
int ec2_read_trouble(const char *data, size_t len, char ret_trouble[PROVIDER_ERROR_MAX], char *ret_error);

/* What EC2 has scheduled, and which hosts are impaired, by its own ids. One page, added to *notices. now_ms: what has been impaired for less
 * than EC2_IMPAIRED_MS is not yet one. */
#define EC2_IMPAIRED_MS INT64_C(180000)
struct ec2_notices {
    struct provider_notice *list;
    size_t count;
    char next[EC2_NEXT_MAX]; /* of the newest page; "": it was the last */
};
int ec2_read_notices(const char *data, size_t len, int64_t now_ms, struct ec2_notices *notices, char *ret_error);
/* Spot instances that EC2 takes back. One page, added to *notices. */
int ec2_read_interruptions(const char *data, size_t len, struct ec2_notices *notices, char *ret_error);
void ec2_notices_free(struct ec2_notices *notices);

struct ec2_refusal ec2_refusal_of(int http_status, const char *code);
bool ec2_is_gone(enum ec2_state state);
const char *ec2_state_text(enum ec2_state state);
/* i- and 8 or 17 hex digits. */
bool ec2_is_id(const char *text);

#endif
