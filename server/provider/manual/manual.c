/* The manual provider's row of the table; what it means stands in manual.h. */
#include "server/provider/manual/manual.h"

struct provider_driver manual_driver(void)
{
    static const struct provider_ops ops = {.name = "manual", .by_person = true};
    return (struct provider_driver){.ops = &ops};
}
