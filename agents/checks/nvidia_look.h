/*
 * One run's look at NVIDIA's GPUs, and what it makes of them: each for itself, each beside what it was, and all of them beside
 * what should be there. Who told the facts does not matter.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_NVIDIA_LOOK_H
#define HOLDFAST_AGENTS_CHECKS_NVIDIA_LOOK_H

#include "agents/checks/check.h"
#include "agents/checks/nvidia_facts.h"
#include "base/json.h"

/* HyperPod had to wait two minutes after a boot, as GPUs looked missing [V]; with a margin [P] */
#define NVIDIA_GRACE_MS 600000

struct nvidia_look {
    const struct check_context *context;
    struct check_out *out;
    json_t *gpus_before; /* by UUID; NULL: none are remembered */
    json_t *gpus_now;
    bool same_boot;
    bool was_missing; /* a GPU, in the run before of this boot */
    int64_t since_ms; /* of the run before, since boot; 0: there was none in this boot */
};

/* Finds what is wrong with a GPU, now and beside before, remembers it in gpus_now and tells its values. links: NULL: not known. */
void nvidia_look_at_gpu(const struct nvidia_look *look, const struct nvidia_gpu *gpu, const struct nvidia_links *links);
/* The half of it that compares. */
void nvidia_compare(const struct nvidia_look *look, const struct nvidia_gpu *gpu, const struct nvidia_links *links);

struct nvidia_bus {
    char names[NVIDIA_GPUS_MAX][DEVICE_MAX_BYTES]; /* GPUs that NVIDIA's driver has taken */
    size_t count;
    bool has_nvidia; /* one at least, taken or not */
};

/* GPUs as the system sees them. */
void nvidia_bus_read(const struct check_context *context, struct nvidia_bus *ret_bus);
/* One is called missing in the second run that misses it: while somebody resets a GPU it is in no list. wanted: how many there
 * should be; 0: nobody knows. True when one is missing. */
bool nvidia_look_at_count(const struct nvidia_look *look, const struct nvidia_report *report,
                          const struct nvidia_bus *bus, int wanted);

#endif
