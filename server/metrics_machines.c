/* How many machines of each inventory are in which state, and how many spares are ready to be taken: what to be called for. */
#include "server/metrics_machines.h"

#include "base/own.h"
#include "server/service/machine/machine.h"

#include <inttypes.h>

static void render_states(struct text *t, const char *provider, const struct service_machine_counts *counts)
{
    for (int state = 0; state < MACHINE_STATE_COUNT; state++)
        text_printf(t, "holdfast_machines{provider=\"%s\",state=\"%s\"} %" PRId64 "\n", provider,
                    machine_state_text((enum machine_state)state), counts->of[state]);
}

void metrics_machines(struct text *t, struct service *s)
{
    const struct service_backends *backends = s->backends;
    if (backends == NULL || backends->inventory_count == 0)
        return;
    autofree struct service_machine_counts *counts = own_calloc(backends->inventory_count, sizeof(*counts));
    text_add(t, "# HELP holdfast_machines Machines of an inventory, by state\n# TYPE holdfast_machines gauge\n");
    for (size_t i = 0; i < backends->inventory_count; i++)
        if (service_machine_count(s, backends->inventories[i], "", &counts[i]) == 0)
            render_states(t, backends->inventories[i], &counts[i]);
    text_add(t, "# HELP holdfast_spares_ready Spares of an inventory that a launch could take now\n"
                "# TYPE holdfast_spares_ready gauge\n");
    for (size_t i = 0; i < backends->inventory_count; i++)
        text_printf(t, "holdfast_spares_ready{provider=\"%s\"} %" PRId64 "\n", backends->inventories[i],
                    counts[i].ready);
}
