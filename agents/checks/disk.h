/* What the disk check makes of a file system's figures. */
#ifndef HOLDFAST_AGENTS_CHECKS_DISK_H
#define HOLDFAST_AGENTS_CHECKS_DISK_H

#include "model/agent_settings.h"

struct disk_use {
    uint64_t bytes, bytes_free;   /* free: to those who are not root */
    uint64_t inodes, inodes_free; /* 0 where the file system counts none (btrfs, many network ones) */
};

/* The code of what is wrong, "node.disk.full", or NULL. */
const char *disk_judge(const struct disk_use *use, const struct agent_settings *settings);

#endif
