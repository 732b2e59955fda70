/*
 * Where instances come from. The local provider makes pretend machines out of processes; others
 * (inventory with IPMI/Redfish, command, clouds) come behind the same table.
 *
 * Every call is safe to repeat under its idempotency key: launch with a key that was used answers
 * the instance it made then; reboot with a key that was used does not reboot again; terminate of
 * what is gone is OK. Calls block and run on the executor's threads. Errors as in scheduler.h;
 * FULL is "no capacity", to be tried again later.
 *
 * A provider may also be a person (by_person). Then nothing is called: the loop asks, in the timeline and in
 * the operation, and goes on when the agents report that it was done.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_PROVIDER_H
#define HOLDFAST_SERVER_PROVIDER_PROVIDER_H

#include "model/model.h"
#include "model/notice.h"

#include <stddef.h>
#include <stdint.h>

#define PROVIDER_ERROR_MAX 256

struct provider_launch {
    const char *key;         /* idempotency key, unique for one instance */
    const char *instance_id; /* our id; the provider's own too, where that lets us choose (local does) */
    const char *cluster, *group, *node, *instance_type;
    const char *image_id, *release, *zone; /* "": the provider's own choice */
    /* what the instance needs to find home */
    const char *server_url;
    const char *fingerprint; /* "" over plain loopback HTTP */
    const char *enrollment_token;
};

enum provider_instance_state {
    PROVIDER_INSTANCE_PENDING,
    PROVIDER_INSTANCE_RUNNING,
    PROVIDER_INSTANCE_GONE, /* terminated, or never heard of */
};

/* The machine that a call is about. */
struct provider_target {
    const char *instance_id; /* ours */
    const char *ref; /* the provider's id for it; NULL or "": it took ours, or its answer to the launch was lost */
    const char *launch_key; /* of its launch; NULL or "": not known */
    bool broken;            /* of one that is let go: it is replaced, or was not well */
    bool fault;             /* … because the policy saw a fault */
    const char *why;        /* it is let go; NULL or "": nobody said */
};

struct provider_instance {
    char ref[PROVIDER_REF_MAX_BYTES]; /* the provider's id for it, printable and without blanks; "": ours */
    enum provider_instance_state state;
    char address[ADDRESS_MAX_BYTES];  /* "" when not known */
    char trouble[PROVIDER_ERROR_MAX]; /* what the provider sees to be wrong with it, one line; "" for nothing */
};

/* A machine as a provider lists it: by its own id, by ours, or by both. */
struct provider_listed {
    char ref[PROVIDER_REF_MAX_BYTES], instance_id[ID_INSTANCE_MAX];
};
#define PROVIDER_LISTED_MAX 100000 /* as many as there may be nodes; a longer list is an error */

struct provider;

/* A test of what a provider has to keep to. found hears of each check as it is done. */
struct provider_test {
    bool launches;         /* a machine is launched for it, and ended */
    const char *directory; /* filled in by the provider */
    const char *instance_type, *server_url, *fingerprint;
    void (*found)(const char *check, bool passed, const char *detail, void *arg);
    void *arg;
};

struct provider_ops {
    const char *name;
    const char *kind; /* "command"; NULL: its name is its kind */
    bool by_person;
    bool
        ends_orphans; /* the site says that hpd ends machines which it launched and let go, and which are listed all the same */

    /* required, unless by_person */
    int (*launch)(struct provider *p, const struct provider_launch *launch, struct provider_instance *ret_instance,
                  char *ret_error);
    /* OK with state GONE for an instance it does not know. */
    int (*describe)(struct provider *p, const struct provider_target *target, struct provider_instance *ret_instance,
                    char *ret_error);
    int (*reboot)(struct provider *p, const struct provider_target *target, const char *key, char *ret_error);
    int (*terminate)(struct provider *p, const struct provider_target *target, const char *key, char *ret_error);

    /* optional */
    /* Those of its machines that are there, pending or running. The caller frees. */
    int (*list)(struct provider *p, struct provider_listed **ret_list, size_t *ret_count, char *ret_error);
    /* All that it says of its machines now: what is left out is over. The caller frees. */
    int (*notices)(struct provider *p, struct provider_notice **ret_notices, size_t *ret_count, char *ret_error);
    void (*test)(struct provider *p, const struct provider_test *test);
    void (*free)(struct provider *p);
};

/* The id under which the provider knows the machine. */
static inline const char *provider_target_ref(const struct provider_target *target)
{
    return target->ref != NULL && target->ref[0] != '\0' ? target->ref : target->instance_id;
}

struct provider_driver {
    const struct provider_ops *ops;
    struct provider *self;
};

#endif
