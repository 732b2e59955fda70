/*
 * Which settings the agents of each group shall have, in memory: what a heartbeat is compared with. From the store at start;
 * the use case that changes them puts them here after its commit. Thread-safe.
 */
#ifndef HOLDFAST_SERVER_AGENT_BOOK_H
#define HOLDFAST_SERVER_AGENT_BOOK_H

#include <stdint.h>

struct agent_book;

struct agent_book *agent_book_new(void);
void agent_book_free(struct agent_book *book); /* accepts NULL */
/* An older revision than the one that is there changes nothing. tag: model/agent_settings.h. */
void agent_book_put(struct agent_book *book, int64_t group_id, int64_t revision, uint64_t tag);
/* 0: nothing is said of the group. Costs no lock where nothing is said of any. */
uint64_t agent_book_tag(struct agent_book *book, int64_t group_id);
int64_t agent_book_count(const struct agent_book *book);

#endif
