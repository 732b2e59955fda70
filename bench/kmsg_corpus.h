/*
 * A kernel log to measure with: mostly what the kernel of a GPU node says when all is well, and some faults.
 */
#ifndef HOLDFAST_BENCH_KMSG_CORPUS_H
#define HOLDFAST_BENCH_KMSG_CORPUS_H

#include <stddef.h>
#include <stdint.h>

#define CORPUS_LINE_MAX 512
#define CORPUS_FAULT_EVERY 100 /* one line in so many is a row of the table */

/* Record number i as /dev/kmsg gives it, with its line feed; the same for the same i. Returns its length. */
size_t corpus_record(uint64_t i, char ret_record[CORPUS_LINE_MAX]);

#endif
