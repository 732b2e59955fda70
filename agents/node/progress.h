/*
 * How far the kernel log was read, together with the windows that were open there. One file, replaced atomically.
 *
 *     boot FILE OFFSET EMPTIED [CURSOR]      of the position, as struct kmsg_position
 *     told|grew {record}                     for each open window (message_write_record)
 *
 * The position alone is not enough. Lines before it are in windows that may still grow; without these windows the lines after it
 * would become new verdicts.
 */
#ifndef HOLDFAST_AGENTS_NODE_PROGRESS_H
#define HOLDFAST_AGENTS_NODE_PROGRESS_H

#include "agents/checks/kmsg.h"
#include "agents/node/state.h"
#include "agents/node/window.h"

/* NOT_FOUND: nothing was read yet, so the whole log has to be read. windows gets the open windows of this boot. A position of an
 * earlier boot is ignored for a device. For a file it means that the present content is skipped: most of it belongs to that boot, and
 * faults of an earlier boot must not cost a machine that was just repaired. Files of older versions are read, too. */
int progress_load(const struct state *state, const char *boot_id, struct windows *windows, int64_t now_ms,
                  struct kmsg_position *ret_position);
int progress_save(const struct state *state, const char *boot_id, const struct kmsg_position *position,
                  const struct windows *windows);

#endif
