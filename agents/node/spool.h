/*
 * Verdicts that the server has not acknowledged yet, on disk, bounded.
 *
 * A record is durable when spool_append has returned 0. Records are sent in the order of arrival. Only one process may use the
 * file; the lock of the state directory ensures that.
 */
#ifndef HOLDFAST_AGENTS_NODE_SPOOL_H
#define HOLDFAST_AGENTS_NODE_SPOOL_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_BYTES_MAX (1024 * 1024) /* some 1,500 verdicts: a day of a very sick node */
#define SPOOL_RECORD_BYTES_MAX 16384  /* a verdict with every byte escaped is under 8 KiB */
#define SPOOL_MEMORY_RECORDS_MAX 32   /* kept in memory while the disk rejects writes */

struct spool;

/* Reads the file of an earlier process. Incomplete or damaged records are skipped; *ret_damaged counts their bytes. IO when the
 * file cannot be opened or created. */
int spool_open(const char *path, size_t bytes_max, struct spool **ret_spool, size_t *ret_damaged);
void spool_free(struct spool *spool);

/* A record replaces a waiting one with the same id. Critical records are dropped last. 0: durable. FULL or IO: not on disk; the
 * record is kept in memory, and spool_retry tries again. */
int spool_append(struct spool *spool, uint64_t id, bool critical, const void *data, size_t len);
/* Writes the records that are only in memory. 0 when all of them are on disk. */
int spool_retry(struct spool *spool);

size_t spool_count(const struct spool *spool);
int64_t spool_dropped(const struct spool *spool); /* since the start, because the bound was reached */
bool spool_is_durable(const struct spool *spool); /* all records are on disk */

/* The first waiting record with a serial above after (0: the very first); false when there is none. Serials grow, and a record
 * keeps its own. */
bool spool_next(const struct spool *spool, uint64_t after, uint64_t *ret_serial);
/* Reads a waiting record. NOT_FOUND when it is gone. IO when it cannot be read; it is then dropped. */
int spool_read(struct spool *spool, uint64_t serial, struct text *ret_data);
/* The server has acknowledged the record. */
void spool_done(struct spool *spool, uint64_t serial);
/* Truncates the file when no record waits. */
void spool_trim(struct spool *spool);

#endif
