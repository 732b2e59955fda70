/* `hprun rules test LOG -f RULES`: what rules would have said of a log, and when. */
#ifndef HOLDFAST_AGENTS_LAUNCHER_RULES_TEST_H
#define HOLDFAST_AGENTS_LAUNCHER_RULES_TEST_H

#include <stddef.h>
#include <stdint.h>

/* argv behind "rules". Returns the exit code: 0 no finding, 1 findings, 2 it cannot be done. */
int rules_command(int argc, char *const argv[]);

/* The time in a line: RFC 3339, or Python's "2026-01-02 03:04:05,678", near its beginning. STATUS_NOT_FOUND. */
int rules_time_of(const char *line, size_t len, int64_t *ret_ms);
/* The rank of "[default3]:" or srun's "3: "; 0 for none. */
int rules_rank_of(const char *line, size_t len);

#endif
