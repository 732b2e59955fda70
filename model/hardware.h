/*
 * What a machine is made of, as far as it can be told from another machine: the devices and the chassis by which attempts are
 * counted across replacements, and what the agent's checks came to.
 *
 * An identity is what the maker gave one piece and no other. Placeholders of a firmware, zeros and what a hypervisor makes up
 * are none: a wrong identity would charge one machine with another's past, so whatever is doubtful is left out.
 */
#ifndef HOLDFAST_MODEL_HARDWARE_H
#define HOLDFAST_MODEL_HARDWARE_H

#include "base/enum.h"
#include "base/id.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARDWARE_KIND_LIST(X)                                                                                        \
    X(CHASSIS, "chassis") /* the machine itself */                                                                   \
    X(GPU, "gpu")         /* NVIDIA's */                                                                             \
    X(NEURON, "neuron")   /* a Trainium or Inferentia device */                                                      \
    X(NIC, "nic")         /* InfiniBand, RoCE */                                                                     \
    X(HOST_KEY,                                                                                                      \
      "host-key") /* of its sshd: location is the kind of key, detail the key; never an identity, images carry it */ \
    X(HOST_NAME, "host-name") /* detail is the short one; never an identity, whoever sets up machines chooses it */
enum hardware_kind {
#define X(SYMBOL, text) HARDWARE_KIND_##SYMBOL,
    HARDWARE_KIND_LIST(X)
#undef X
};
ENUM_DECLARE(hardware_kind);

#define HARDWARE_MAX 128 /* of a machine: 64 GPUs, as many adapters, and the chassis instead of one */
#define HARDWARE_STORED_MAX (2 * HARDWARE_MAX) /* what is there, and as much that is gone */
#define HARDWARE_IDENTITY_MAX_BYTES 64         /* "GPU-" and a UUID; serials of firmwares have at most 32 characters */
#define HARDWARE_DETAIL_MAX_BYTES 128

struct hardware {
    enum hardware_kind kind;
    char identity[HARDWARE_IDENTITY_MAX_BYTES]; /* "GPU-…", a serial, a GUID; "": nothing tells it from another */
    char serial[HARDWARE_IDENTITY_MAX_BYTES];   /* of its board, where that is another; "" */
    char location[DEVICE_MAX_BYTES];            /* as verdicts name it: "0000:b9:00", "mlx5_0"; "" of the chassis */
    char detail[HARDWARE_DETAIL_MAX_BYTES];     /* product and firmware, for people */
    int64_t first_at, last_at;                  /* in this machine, as stored */
    bool present;                               /* in the newest report */
};

/* Whether a text can be one piece's own: no placeholder, not all the same character, long enough to be one of many. */
bool hardware_identifies(const char *text);
/* Whether a host key is one that may stand in a file of known hosts: Ed25519's, in base64 (RFC 4253, RFC 8709). */
bool hardware_is_host_key(const struct hardware *hardware);
/* Whether it is a host name that may be told to others: letters, digits and hyphens, and no name that each machine has. */
bool hardware_is_host_name(const struct hardware *hardware);
/* Of these two kinds: not a piece of the machine, and no verdict means it. */
bool hardware_is_of_host(enum hardware_kind kind);
/* The piece that a verdict's device means, by its place, its identity or its index among those of its kind ("gpu0"); "" is the
 * chassis. NULL: none that is known. */
const struct hardware *hardware_find(const struct hardware *hardware, size_t count, const char *device);

/* By which a machine is known that fills a slot. */
struct host_key {
    char node[NODE_NAME_MAX_BYTES], address[PEER_MAX_BYTES]; /* "": no address is known */
    struct hardware key;
};

/* What a run of a check came to. */
#define CHECK_RESULT_LIST(X) \
    X(OK, "ok")              \
    X(FOUND, "found")        \
    X(UNKNOWN, "unknown")    \
    X(NOT_APPLICABLE, "not-applicable") /* there is nothing to look at: neither good nor bad */
enum check_result {
#define X(SYMBOL, text) CHECK_RESULT_##SYMBOL,
    CHECK_RESULT_LIST(X)
#undef X
};
ENUM_DECLARE(check_result);

#define CHECK_STATES_MAX 96 /* ours, the kernel log, and a site's own */
#define CHECK_WHY_MAX_BYTES 256

/* How a check of the agent's stands. */
struct check_state {
    char name[SOURCE_MAX_BYTES];
    bool has_run; /* since the agent started */
    enum check_result result;
    char why[CHECK_WHY_MAX_BYTES]; /* of unknown and not applicable */
    char boot_id[BOOT_ID_MAX_BYTES];
    int64_t at; /* since when it is so, server's clock */
};

/* What an agent tells of its machine, all of it each time. Large. */
struct machine_report {
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES];
    bool hardware_known; /* every check that knows of hardware has looked: what is not in the list is not there */
    struct hardware hardware[HARDWARE_MAX];
    size_t hardware_count;
    struct check_state checks[CHECK_STATES_MAX];
    size_t check_count;
};

#endif
