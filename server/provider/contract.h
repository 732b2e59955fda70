/* The contract that every provider keeps, tried on one: a site's executables, EC2. Blocking. */
#ifndef HOLDFAST_SERVER_PROVIDER_CONTRACT_H
#define HOLDFAST_SERVER_PROVIDER_CONTRACT_H

#include "server/provider/provider.h"

/* test->directory is that of executables; NULL: there are none. */
void provider_contract(struct provider_driver provider, const struct provider_test *test);

#endif
