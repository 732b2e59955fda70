/*
 * What was asked of EC2 under a key, on our disk before it is asked: so hpd that was killed in between knows what may have been done.
 *
 *   STATE/calls/<hash of action and key>        what stands here
 *   STATE/calls/<hash of action and key>.lock   held while somebody works at it
 */
#ifndef HOLDFAST_SERVER_PROVIDER_EC2_MEMORY_H
#define HOLDFAST_SERVER_PROVIDER_EC2_MEMORY_H

#include "base/enum.h"
#include "server/provider/ec2/answer.h"

/* A launch goes from NONE over SENT to DONE, or back to NONE when EC2 refused; a reboot likewise. A stop-start goes through all. */
#define EC2_STEP_LIST(X)                                                      \
    X(NONE, "none")                                                           \
    X(SENT, "sent")         /* asked for; whether it was done is not known */ \
    X(STOPPED, "stopped")   /* the stop was accepted */                       \
    X(STARTING, "starting") /* the start was asked for */                     \
    X(DONE, "done")
enum ec2_step {
#define X(SYMBOL, text) EC2_STEP_##SYMBOL,
    EC2_STEP_LIST(X)
#undef X
};
ENUM_DECLARE(ec2_step);

#define EC2_SUBNET_MAX 48
struct ec2_memory {
    enum ec2_step step;
    int64_t at;                    /* of the step, by hpd's clock */
    char subnet[EC2_SUBNET_MAX];   /* of a launch that was sent */
    char ref[EC2_ID_MAX];          /* what was made */
    char started_at[EC2_TIME_MAX]; /* of the machine, before it was stopped */
    bool damaged;                  /* the file is there and cannot be read: SENT, and no more is known */
};

struct ec2_entry {
    char *path;
    int lock; /* -1: none */
};

/* The hash of a key: the tag of what is launched. */
void ec2_key_hash(const char *key, char ret_hash[EC2_HASH_MAX]);
/* With its lock. CONFLICT when another call under the key goes on. ret_memory is NONE when nothing was asked yet. */
int ec2_memory_open(const char *state_dir, const char *action, const char *key, struct ec2_entry *ret_entry,
                    struct ec2_memory *ret_memory);
int ec2_memory_write(const struct ec2_entry *entry, const struct ec2_memory *memory);
void ec2_memory_close(struct ec2_entry *entry);
/* Without its lock. */
void ec2_memory_look(const char *state_dir, const char *action, const char *key, struct ec2_memory *ret_memory);
/* What is older than a month goes. */
void ec2_memory_prune(const char *state_dir);

#endif
