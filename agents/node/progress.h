/*
 * How far the kernel log was read, together with what was folded by then: one file, replaced whole.
 *
 *     boot FILE OFFSET EMPTIED [CURSOR]      of the position, as struct kmsg_position
 *     told|grew {record}                     for each open window (message_write_record)
 *
 * A position alone would say too little: lines in front of it are in windows that still grow, and whoever began behind it
 * would tell the rest of a minute as something new.
 */
#ifndef HOLDFAST_AGENTS_NODE_PROGRESS_H
#define HOLDFAST_AGENTS_NODE_PROGRESS_H

#include "agents/checks/kmsg.h"
#include "agents/node/state.h"
#include "agents/node/window.h"

/* NOT_FOUND when nothing was read yet: everything has to be read. windows are filled with what was open in this boot. Of an
 * earlier boot, a device's position is worth nothing; a file's means that what the file holds by now is passed over: most of it, or
 * all, was written in that boot, and evidence of an earlier boot taken for this one's would cost a machine that was just
 * repaired. Files of versions before are read as well. */
int progress_load(const struct state *state, const char *boot_id, struct windows *windows, int64_t now_ms,
                  struct kmsg_position *ret_position);
int progress_save(const struct state *state, const char *boot_id, const struct kmsg_position *position,
                  const struct windows *windows);

#endif
