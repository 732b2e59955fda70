/* The memory of a node's address. */
#include "server/reconcile/base/address.h"
#include "base/own.h"

void reconcile_address_free(struct raddress *address)
{
    if (address == NULL)
        return;
    free(address->told);
    free(address->shown);
    free(address->host);
    free(address->host_settled);
    free(address);
}
