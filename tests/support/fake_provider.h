/*
 * A provider that lives in memory. It keeps the contract of provider.h: a call that is repeated under its key has no
 * second effect; and it counts effects, so that a test can say "exactly once".
 */
#ifndef HOLDFAST_TESTS_SUPPORT_FAKE_PROVIDER_H
#define HOLDFAST_TESTS_SUPPORT_FAKE_PROVIDER_H

#include "base/clock.h"
#include "server/provider/provider.h"
#include "tests/support/fake_outcome.h"

#define FAKE_INSTANCES_MAX 512
#define FAKE_KEYS_MAX 2048

struct fake_instance {
    char id[ID_INSTANCE_MAX];
    char key[KEY_MAX_BYTES];
    char ref[PROVIDER_REF_MAX_BYTES]; /* its id here; "": the one that was asked for */
    char node[NODE_NAME_MAX_BYTES], cluster[NAME_MAX_BYTES];
    char release[RELEASE_VERSION_MAX_BYTES], zone[ZONE_MAX_BYTES];
    char token[160]; /* the newest that was handed over */
    char boot_id[BOOT_ID_MAX_BYTES];
    int64_t up_at; /* the machine is up from then on */
    int boots;
    bool gone;
    bool hangs; /* it does not come up again after the next reboot */
    /* the agent on it */
    int64_t node_row;
    char credential[160]; /* on its disk; "" before it enrolled */
    int64_t seq;
    char address[PEER_MAX_BYTES];  /* what it tells of itself; "": nothing */
    bool muted;                    /* nothing is heard of it */
    char deep_key[KEY_MAX_BYTES];  /* of the deep health check it works on, or did last */
    int deep_runs, deep_said;      /* tests that were begun; what it said of the present one */
    bool runs_no_tests;            /* its agent knows no deep health checks */
    char reset_key[KEY_MAX_BYTES]; /* of the reset it did last, on its disk */
    int resets;
    char reboot_key[KEY_MAX_BYTES]; /* of the reboot that its agent did last, on its disk */
    bool reset_failed;
    int64_t reset_ended_at;
    int scripts_run;
    bool scripts_done; /* on its disk: what succeeded is not run again */
};

struct fake_provider {
    struct fake_instance instances[FAKE_INSTANCES_MAX];
    int count;
    char home[NAME_MAX_BYTES];               /* the cluster whose nodes are meant by their names; "": any */
    char keys[FAKE_KEYS_MAX][KEY_MAX_BYTES]; /* of effects, once each */
    int key_count;
    int launches, reboots, terminations; /* effects */
    bool lists;                          /* its driver, made from now on, can list its machines */
    bool ends_orphans;                   /* … and the site lets hpd end orphans */
    int ends_in_vain;                    /* so many ends are answered, and not done */
    struct provider_notice notices[8];   /* what it says of its machines now, */
    int notice_count;
    bool says;                                      /* … where its driver, made from now on, can say it */
    bool own_ids;                                   /* it names its machines itself */
    bool full;                                      /* no capacity */
    char no_daemon[NODE_NAME_MAX_BYTES];            /* the scheduler's daemon on this node ends as soon as it begins */
    bool failed_to_provision;                       /* new instances never come up */
    char cursed[NODE_NAME_MAX_BYTES];               /* none is made for this node; "": for any */
    char broken_release[RELEASE_VERSION_MAX_BYTES]; /* what is launched from it never comes up */
    int64_t boot_ms;
    struct clock *clock;
    struct id_source *ids;
    struct fake_outcome *outcome;
};

void fake_provider_init(struct fake_provider *fake, struct clock *clock, struct id_source *ids,
                        struct fake_outcome *outcome);
struct provider_driver fake_provider_driver(struct fake_provider *fake);
struct fake_instance *fake_provider_find(struct fake_provider *fake, const char *instance_id);
/* The newest instance of the node that is not gone; NULL when there is none. */
struct fake_instance *fake_provider_of_node(struct fake_provider *fake, const char *node);
/* The same where several clusters have nodes of these names. */
struct fake_instance *fake_provider_of(struct fake_provider *fake, const char *cluster, const char *node);
/* It boots, and no provider had to do with that. */
void fake_instance_boot(struct fake_provider *fake, struct fake_instance *instance);
bool fake_instance_is_up(const struct fake_provider *fake, const struct fake_instance *instance);

#endif
