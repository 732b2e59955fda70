/* What one worker is started with: its command, environment, and where its output goes. */
#ifndef HOLDFAST_AGENTS_LAUNCHER_RUN_H
#define HOLDFAST_AGENTS_LAUNCHER_RUN_H

#include "agents/launcher/launcher.h"

/* For the stage that launcher is in; worker has its rank, on_end and arg. STATUS_IO. */
int run_worker(struct launcher *launcher, struct worker *worker,
               void (*on_bytes)(void *arg, int rank, int number, const char *bytes, size_t len),
               void (*on_stream_end)(void *arg, int rank, int number));

#endif
