/* A blocking call to a backend: made by the loop, run on the executor, answered through the inbox. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_CALL_H
#define HOLDFAST_SERVER_RECONCILE_BASE_CALL_H

#include "model/machine.h"
#include "server/provider/provider.h"
#include "server/reboot/reboot.h"
#include "server/scheduler/scheduler.h"
#include "server/service/access/access.h"

struct inbox;
struct reconcile;
struct scheduler_link;

enum call_kind {
    CALL_OBSERVE,
    CALL_JOB_SNAPSHOT,
    CALL_CORDON,
    CALL_HOLD,     /* a mark without an operation */
    CALL_ANNOTATE, /* a word behind a person's reason */
    CALL_WORKLOADS,
    CALL_SIGNAL, /* jobs holds whom */
    CALL_EVICT,
    CALL_CANCEL, /* the job key, if its name is reason */
    CALL_UNCORDON,
    CALL_UPDATE_ADDRESS, /* a machine of people's stands where another stood; without an operation: it was told and is forgotten */
    CALL_GOVERN,
    CALL_QUARANTINE,
    CALL_CONFIGURE,
    CALL_FAULTS,
    CALL_LABELS,
    CALL_REBOOT,
    CALL_TERMINATE,
    CALL_LAUNCH,
    CALL_DESCRIBE,
    CALL_LIST,
    CALL_NOTICES,
    CALL_END_ORPHAN, /* a machine of no slot; without an operation */
};

/* Everything a blocking call needs and answers; it knows nothing of the loop but where to put itself when done. */
struct rcall {
    struct rcall *next, *previous;
    struct inbox *inbox;
    enum call_kind kind;
    int64_t node_id, operation_id;
    uint64_t seq;                /* the loop's tick when it was sent */
    struct scheduler_link *link; /* whose call it is; NULL: a provider's */
    struct scheduler_driver scheduler;
    struct provider_driver provider;
    struct reboot_driver reboot; /* of a reboot: by whom; ops NULL: by the scheduler of link, or else by the provider */
    enum reboot_method method;
    char boot_id[BOOT_ID_MAX_BYTES], address[ADDRESS_MAX_BYTES],
        bmc[MACHINE_BMC_MAX_BYTES]; /* of the machine that is rebooted */
    char cluster[NAME_MAX_BYTES], group[NAME_MAX_BYTES], instance_type[NAME_MAX_BYTES];
    char node[NODE_NAME_MAX_BYTES];
    char image_id[IMAGE_ID_MAX_BYTES], release[RELEASE_VERSION_MAX_BYTES], zone[ZONE_MAX_BYTES];
    char instance_id[ID_INSTANCE_MAX];
    char provider_ref[PROVIDER_REF_MAX_BYTES], launch_key[KEY_MAX_BYTES]; /* of that instance */
    enum scheduler_request request;                                       /* of the owner of a cordon … */
    bool says_only;                                                       /* of the owner, too … */
    bool any_owner; /* … or whose of ours it is does not matter */
    char reason[REASON_MAX_BYTES],
        seen[REASON_MAX_BYTES];   /* the owner's note, and what may give way to it ("": nothing) */
    char shown[REASON_MAX_BYTES]; /* answered: how a cordon stands in the scheduler */
    char key[KEY_MAX_BYTES];
    char server_url[ADDRESS_MAX_BYTES], fingerprint[64], token[SERVICE_TOKEN_TEXT_MAX];
    bool broken, fault;         /* of a machine that is let go: whether it is broken, by a fault that was seen, … */
    char why[REASON_MAX_BYTES]; /* … and this is why */
    struct scheduler_move move; /* was is owned */
    bool asked_before;          /* the same move may have been made already, though nobody heard of it */
    bool update_address;        /* tell the scheduler where the instance lives */

    int status;
    char error[SCHEDULER_ERROR_MAX];
    struct scheduler_job *jobs;
    size_t job_count;
    bool ends; /* an eviction: what budgets protect, too */
    enum job_signal signal;
    struct provider_instance instance;
    struct scheduler_observation observation;
    bool with_places;              /* an observation that asks for the topology as well */
    struct job_snapshot *snapshot; /* in use once: a job snapshot's, made of the observation */
    struct scheduler_place *places;
    size_t place_count;
    struct scheduler_governance *governance; /* owned */
    struct scheduler_quarantine *quarantine; /* owned */
    struct scheduler_desired *desired;       /* owned */
    struct scheduler_faults *faults;         /* owned */
    struct scheduler_labels *labels;         /* owned */
    bool addressed;
    bool by_scheduler; /* of TERMINATE: the provider has ended the machine, and the scheduler's answer is the status */
    struct provider_listed *listed; /* owned */
    size_t listed_count;
    struct provider_notice *notices; /* owned */
    size_t notice_count;
};

struct rcall *reconcile_call_new(enum call_kind kind, int64_t node_id, int64_t operation_id);
void reconcile_call_free(struct rcall *call);
AUTO_DEFINE(struct rcall *, rcall, reconcile_call_free)
/* Runs it on the executor; its result comes through the inbox. Takes the call; UNAVAILABLE as a result when there is no room. One of a
 * scheduler that has its share under way waits until another comes back; only looks at its nodes go at once. */
void reconcile_call_send(struct reconcile *r, struct rcall *call);
/* Its result is here: the next one that waits is sent. */
void reconcile_call_is_back(struct reconcile *r, const struct rcall *call);
/* The call is this scheduler's. */
void reconcile_call_to(struct rcall *call, struct scheduler_link *link);
/* A backend's answer that asking again cannot change. */
bool reconcile_call_is_final(int status);

/* Whose the cordon is that an operation puts on its node. */
struct scheduler_owner reconcile_owner(enum operation_kind kind);
void reconcile_call_owner(struct rcall *call, struct scheduler_owner owner);

#endif
