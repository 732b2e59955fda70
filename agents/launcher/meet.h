/*
 * Several nodes without an operator (static, c10d): the hprun of one node gathers the others, gives out ranks, and when a worker fails or a
 * node is lost anywhere it stops all workers of all nodes and starts them anew. Each node holds one connection to it, over which
 * lines of JSON go: join and over one way, start, stop and end the other.
 *
 *     GATHER ──► RUN ──► (all succeeded: end)
 *        ▲        │ a fault, a node lost, or (c10d) one more node that may join
 *        └─ STOP ◄┘
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_MEET_H
#define HOLDFAST_AGENTS_LAUNCHER_MEET_H

#include "agents/launcher/launcher.h"

struct meet;

/* Takes over launcher->on_over. finish ends the program with an exit code. STATUS_INVALID for wrong options, STATUS_IO; said. */
int meet_open(struct launcher *launcher, void (*finish)(struct launcher *launcher, int exit_code),
              struct meet **ret_meet);
void meet_close(struct meet *meet);           /* accepts NULL */
int64_t meet_due_ms(const struct meet *meet); /* INT64_MAX: never */
void meet_tick(struct meet *meet, int64_t now_ms);

/* A port of this machine that nobody has now; 0: none. */
int meet_free_port(void);

#endif
