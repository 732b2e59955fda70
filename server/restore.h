/* hpd restore: puts a backup in the place of the store, while no hpd runs. */
#ifndef HOLDFAST_SERVER_RESTORE_H
#define HOLDFAST_SERVER_RESTORE_H

#include <stdbool.h>

/* Exit code; says what it did on standard output, and why it did not on standard error. force: also a copy that lacks its log, and one whose
 * secrets are sealed with another key. */
int restore_main(const char *state_dir, const char *file, bool force);

#endif
