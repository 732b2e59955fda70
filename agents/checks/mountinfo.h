/*
 * What is mounted, from /proc/self/mountinfo, and what should be, from /etc/fstab.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_MOUNTINFO_H
#define HOLDFAST_AGENTS_CHECKS_MOUNTINFO_H

#include "agents/checks/lines.h"

#define MOUNT_PLACE_MAX_BYTES 256
#define MOUNT_TYPE_MAX_BYTES 32
#define MOUNT_SOURCE_MAX_BYTES 256

struct mount {
    char place[MOUNT_PLACE_MAX_BYTES]; /* the mount point, its escapes undone */
    char type[MOUNT_TYPE_MAX_BYTES];
    char source[MOUNT_SOURCE_MAX_BYTES];
    char device[24];  /* "259:1"; "" of fstab */
    bool is_whole;    /* the root of its file system, and not a part that is mounted elsewhere too */
    bool read_only;   /* the file system itself; fstab: it is to be */
    bool is_broken;   /* the kernel has shut the file system down */
    bool is_optional; /* fstab: noauto, nofail, or nothing that is mounted */
};

/* One line of each; false when it is none, or has no room in the struct. */
bool mountinfo_parse(struct word line, struct mount *ret_mount);
bool fstab_parse(struct word line, struct mount *ret_mount);
/* Whose answers come over a network, or from a program: it may hang. */
bool mount_is_remote(const struct mount *mount);
/* A disk of this machine. */
bool mount_is_disk(const struct mount *mount);

#endif
