/* What stands between a connection's socket and libmicrohttpd: reads the same bytes first (api/strict.h), and refuses. */
#ifndef HOLDFAST_API_GUARD_H
#define HOLDFAST_API_GUARD_H

#include "api/strict.h"

struct guard {
    struct strict strict;
    int fd;
    bool tls, refused;
};

/* From now on what is received on fd is looked at, by the thread that receives. False: the descriptor has too high a number. */
bool guard_begin(struct guard *guard, int fd, bool tls);
void guard_end(struct guard *guard);

#endif
