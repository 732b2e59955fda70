/* Which spare a launch gets, and which launch gets the last ones. Pure; the rules stand in inventory.h. */
#include "server/provider/inventory/inventory.h"

#include "base/text.h"

static bool same(const char *a, const char *b)
{
    return a[0] != '\0' && text_equal(a, b);
}

/* How near it stands to where the slot's last machine stood. */
static int nearness(const struct machine *machine, const struct machine *before)
{
    if (before->id == 0)
        return 0;
    return same(machine->chassis, before->chassis)         ? 3
           : same(machine->net_switch, before->net_switch) ? 2
           : same(machine->rack, before->rack)             ? 1
                                                           : 0;
}

static bool is_better(const struct machine *a, const struct machine *b, const struct machine *before)
{
    int near = nearness(a, before) - nearness(b, before);
    if (near != 0)
        return near > 0;
    return a->changed_at != b->changed_at ? a->changed_at < b->changed_at : a->id < b->id;
}

static bool goes_before(const struct machine_demand *a, const struct machine_demand *b)
{
    if (a->missing != b->missing)
        return a->missing < b->missing;
    return a->since != b->since ? a->since < b->since : a->node_id < b->node_id;
}

/* How many others go first. */
static size_t turn_of(const struct machine_request *request)
{
    const struct machine_demand *own = NULL;
    size_t first = 0;
    for (size_t i = 0; i < request->demand_count; i++)
        if (request->demands[i].node_id == request->node_id)
            own = &request->demands[i];
    for (size_t i = 0; own != NULL && i < request->demand_count; i++)
        first += &request->demands[i] != own && goes_before(&request->demands[i], own);
    return first;
}

long inventory_choose(const struct machine_request *request, const struct machine *machines, size_t count)
{
    long best = MACHINE_NONE;
    size_t ready = 0;
    for (size_t i = 0; i < count; i++) {
        if (machine_not_ready(&machines[i], request->now_ms) != NULL)
            continue;
        ready++;
        if (best == MACHINE_NONE || is_better(&machines[i], &machines[best], &request->before))
            best = (long)i;
    }
    return best != MACHINE_NONE && turn_of(request) >= ready ? MACHINE_FOR_OTHERS : best;
}
