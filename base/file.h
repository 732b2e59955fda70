/*
 * Small files, read with a limit and written so that a crash leaves the old or the
 * new one, never half (temporary file, fsync, rename, fsync of the directory).
 */
#ifndef HOLDFAST_BASE_FILE_H
#define HOLDFAST_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whole file, zero-terminated, caller frees. NOT_FOUND, TOO_LARGE above bytes_max, IO. */
int file_read(const char *path, size_t bytes_max, char **ret_data, size_t *ret_len);
/* The same where others may have put what they like: INVALID for what is no file, or a link to one. */
int file_read_plain(const char *path, size_t bytes_max, char **ret_data, size_t *ret_len);
/* Atomic and durable. FULL when the disk is full, else IO. */
int file_write(const char *path, const void *data, size_t len, mode_t mode);
/* mkdir -p. */
int file_make_dirs(const char *path, mode_t mode);
/* Removes a tree; refuses "/" and "". OK when it is not there. */
int file_remove_tree(const char *path);
bool file_exists(const char *path);
/* Takes an exclusive lock that lives as long as the descriptor; CONFLICT when another process holds it. */
int file_lock(const char *path, int *ret_fd);
/* The same, but waits while another process holds it, for so long at most: then CONFLICT. */
int file_lock_within(const char *path, int64_t within_ms, int *ret_fd);
/* For the lock of a process that may have been killed a moment ago. A child of it that has not begun its program yet still holds all its
 * locks, and its last write to a slow disk has to end. */
#define FILE_LOCK_KILLED_MS 5000
/* The lock on path that this process inherited, as descriptor fd; NOT_FOUND when that is anything else, CONFLICT
 * when another process has the lock. From now on the programs that this one starts do not get it. */
int file_lock_inherited(const char *path, int fd);

#endif
