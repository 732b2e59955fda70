/*
 * Which checkpoint is complete: each rank says when its part of a step is written, and a step counts when all parts that were announced are.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_CHECKPOINT_H
#define HOLDFAST_AGENTS_LAUNCHER_CHECKPOINT_H

#include "agents/launcher/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKPOINT_TYPES 2 /* model_checkpoint, data_checkpoint */
#define CHECKPOINT_PATH_MAX 1024
#define CHECKPOINT_STEPS_MAX 16 /* not complete yet; the oldest goes */

struct checkpoint_step {
    int64_t step;
    char path[CHECKPOINT_PATH_MAX];
    uint64_t ranks[CHECKPOINT_TYPES][LOCAL_RANKS_MAX / 64];
};

struct checkpoints {
    char prefix[256];
    int64_t wanted[CHECKPOINT_TYPES]; /* so many ranks; -1: not announced */
    struct checkpoint_step *steps;    /* CHECKPOINT_STEPS_MAX */
    size_t count;
    bool has_complete;
    int64_t complete_step;
    char complete_path[CHECKPOINT_PATH_MAX];
};

void checkpoints_free(struct checkpoints *checkpoints);
void checkpoints_announce(struct checkpoints *checkpoints, const char *prefix, const int64_t wanted[CHECKPOINT_TYPES]);
/* STATUS_INVALID for a type that nobody announced, or a rank that cannot be. */
int checkpoints_written(struct checkpoints *checkpoints, int64_t step, const char *path, int type, int rank);
int checkpoint_type_parse(const char *text, int *ret_type);

#endif
