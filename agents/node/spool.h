/*
 * What was seen and not yet taken over by the server, on disk, bounded.
 *
 * A record counts as spooled when spool_append has returned 0: it is then fsynced. Records leave in the order
 * they came. One process at a time (the state directory's lock sees to that).
 */
#ifndef HOLDFAST_AGENTS_NODE_SPOOL_H
#define HOLDFAST_AGENTS_NODE_SPOOL_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_BYTES_MAX (1024 * 1024) /* some 1,500 verdicts: a day of a very sick node */
#define SPOOL_RECORD_BYTES_MAX 16384  /* a verdict with every byte escaped is under 8 KiB */
#define SPOOL_MEMORY_RECORDS_MAX 32   /* kept in memory alone while the disk takes nothing */

struct spool;

/* Reads what an earlier life left; bytes that are no whole record (a write cut short) are passed over and counted in
 * *ret_damaged. IO when the file cannot be opened or made. */
int spool_open(const char *path, size_t bytes_max, struct spool **ret_spool, size_t *ret_damaged);
void spool_free(struct spool *spool);

/* id: a later record with the same id replaces an earlier one that still waits. Critical records are dropped last.
 * 0: durable. FULL or IO: the disk did not take it; it is kept in memory and tried again with spool_retry. */
int spool_append(struct spool *spool, uint64_t id, bool critical, const void *data, size_t len);
/* Writes what is in memory alone. 0 when nothing is left there. */
int spool_retry(struct spool *spool);

size_t spool_count(const struct spool *spool);
int64_t spool_dropped(const struct spool *spool); /* since the start, because the bound was reached */
bool spool_is_durable(const struct spool *spool); /* nothing is in memory alone */

/* The first waiting record whose serial is above after (0: the first at all); false when there is none. serials grow
 * and stay a record's own. */
bool spool_next(const struct spool *spool, uint64_t after, uint64_t *ret_serial);
/* Reads a waiting record. NOT_FOUND when it is gone, IO when it cannot be read any more (it is then given up). */
int spool_read(struct spool *spool, uint64_t serial, struct text *ret_data);
/* The server has it. */
void spool_done(struct spool *spool, uint64_t serial);
/* Gives the disk space of done records back when nothing waits. */
void spool_trim(struct spool *spool);

#endif
