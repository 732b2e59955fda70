/* Steps of which parts are written, bounded. */
#include "agents/launcher/checkpoint.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <string.h>

static const char *const type_names[CHECKPOINT_TYPES] = {"model_checkpoint", "data_checkpoint"};

int checkpoint_type_parse(const char *text, int *ret_type)
{
    for (int i = 0; i < CHECKPOINT_TYPES; i++)
        if (text_equal(text, type_names[i])) {
            *ret_type = i;
            return 0;
        }
    return STATUS_INVALID;
}

void checkpoints_free(struct checkpoints *checkpoints)
{
    free(checkpoints->steps);
    *checkpoints = (struct checkpoints){0};
}

void checkpoints_announce(struct checkpoints *checkpoints, const char *prefix, const int64_t wanted[CHECKPOINT_TYPES])
{
    if (checkpoints->steps == NULL)
        checkpoints->steps = own_calloc(CHECKPOINT_STEPS_MAX, sizeof(*checkpoints->steps));
    if (strcmp(checkpoints->prefix, prefix) != 0) {
        checkpoints->count = 0;
        checkpoints->has_complete = false;
    }
    text_copy_cut(checkpoints->prefix, sizeof(checkpoints->prefix), prefix);
    memcpy(checkpoints->wanted, wanted, sizeof(checkpoints->wanted));
}

static void remove_step(struct checkpoints *checkpoints, size_t at)
{
    checkpoints->count--;
    memmove(&checkpoints->steps[at], &checkpoints->steps[at + 1],
            (checkpoints->count - at) * sizeof(*checkpoints->steps));
}

static struct checkpoint_step *step_of(struct checkpoints *checkpoints, int64_t step)
{
    for (size_t i = 0; i < checkpoints->count; i++)
        if (checkpoints->steps[i].step == step)
            return &checkpoints->steps[i];
    if (checkpoints->count == CHECKPOINT_STEPS_MAX)
        remove_step(checkpoints, 0);
    struct checkpoint_step *added = &checkpoints->steps[checkpoints->count++];
    *added = (struct checkpoint_step){.step = step};
    return added;
}

static int64_t count_ranks(const uint64_t ranks[LOCAL_RANKS_MAX / 64])
{
    int64_t count = 0;
    for (size_t i = 0; i < LOCAL_RANKS_MAX / 64; i++)
        count += __builtin_popcountll(ranks[i]);
    return count;
}

static bool is_complete(const struct checkpoints *checkpoints, const struct checkpoint_step *step)
{
    for (int i = 0; i < CHECKPOINT_TYPES; i++)
        if (checkpoints->wanted[i] >= 0 && count_ranks(step->ranks[i]) != checkpoints->wanted[i])
            return false;
    return true;
}

int checkpoints_written(struct checkpoints *checkpoints, int64_t step, const char *path, int type, int rank)
{
    if (checkpoints->steps == NULL || checkpoints->wanted[type] < 0 || rank < 0 || rank >= LOCAL_RANKS_MAX)
        return STATUS_INVALID;
    struct checkpoint_step *at = step_of(checkpoints, step);
    at->ranks[type][rank / 64] |= UINT64_C(1) << (rank % 64);
    if (path != NULL && *path != '\0')
        text_copy_cut(at->path, sizeof(at->path), path);
    if (!is_complete(checkpoints, at))
        return 0;
    if (!checkpoints->has_complete || step > checkpoints->complete_step) {
        checkpoints->has_complete = true;
        checkpoints->complete_step = step;
        memcpy(checkpoints->complete_path, at->path, sizeof(at->path));
    }
    remove_step(checkpoints, (size_t)(at - checkpoints->steps));
    return 0;
}
