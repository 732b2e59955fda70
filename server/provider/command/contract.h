/* The contract that a site's executables keep, tried on them. Blocking. */
#ifndef HOLDFAST_SERVER_PROVIDER_COMMAND_CONTRACT_H
#define HOLDFAST_SERVER_PROVIDER_COMMAND_CONTRACT_H

#include "server/provider/provider.h"

void command_contract(struct provider_driver provider, const struct provider_test *test);

#endif
