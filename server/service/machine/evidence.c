/*
 * What a vendor's ticket about a machine needs: what it is, and of each time that it was a node what its agent saw, what was decided and
 * repaired, what it was made of, and how its tests went. Read in one transaction, the newest first: of the newest nodes that it was, all
 * that retention has left.
 */
#include "server/service/machine/machine.h"

#include "base/text.h"
#include "db/deep.h"
#include "db/hardware.h"
#include "db/machine.h"
#include "db/node.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "server/live/machine_registry.h"
#include "server/service/private.h"

#define USES_MAX 20
#define PAGE_ROWS 500

struct gathering {
    struct service *s;
    const char *name;
    const struct service_evidence_sink *sink;
    struct problem *problem;
    struct db_tx *tx;
    struct machine machine;
    struct machine_use uses[USES_MAX];
    size_t use_count;
    const struct machine_use *use; /* that is gathered now */
    int64_t last_id;               /* of the page of verdicts */
    int page_rows;
    struct instance instance;
};

static int take_use(const void *row, void *arg)
{
    struct gathering *g = arg;
    g->uses[g->use_count++] = *(const struct machine_use *)row;
    return 0;
}

static int take_verdict(const void *row, void *arg)
{
    struct gathering *g = arg;
    const struct verdict *verdict = row;
    g->last_id = verdict->id;
    g->page_rows++;
    if (text_equal(verdict->instance_id, g->use->instance_id))
        g->sink->verdict(verdict, g->sink->arg);
    return 0;
}

static int take_operation(const void *row, void *arg)
{
    struct gathering *g = arg;
    const struct operation *operation = row;
    struct decision decision;
    if (!text_equal(operation->old_instance, g->use->instance_id))
        return 0;
    g->sink->repair(operation, g->sink->arg);
    int status =
        operation->decision_id == 0 ? STATUS_NOT_FOUND : db_decision_get_row(g->tx, operation->decision_id, &decision);
    if (status == 0)
        g->sink->decision(&decision, operation->uid, g->sink->arg);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int take_run(const void *row, void *arg)
{
    struct gathering *g = arg;
    const struct deep_run *run = row;
    if (text_equal(run->instance_id, g->use->instance_id))
        g->sink->test(run, g->sink->arg);
    return 0;
}

static int take_piece(const void *row, void *arg)
{
    const struct gathering *g = arg;
    g->sink->piece(row, g->sink->arg);
    return 0;
}

static int take_check(const void *row, void *arg)
{
    const struct gathering *g = arg;
    g->sink->check(row, g->instance.boot_id, g->sink->arg);
    return 0;
}

/* Other machines that were the same node may have most of its rows. */
static int gather_verdicts(struct gathering *g)
{
    int status = 0;
    g->last_id = 0;
    do {
        const struct db_verdict_filter page = {
            .node_id = g->use->node_id, .state = -1, .before_id = g->last_id, .limit = PAGE_ROWS};
        g->page_rows = 0;
        status = db_verdict_list(g->tx, &page, take_verdict, g);
    } while (status >= 0 && g->page_rows == PAGE_ROWS);
    return status;
}

/* A node that is gone took its rows with it: then the use itself is all that is left. */
static int gather_use(struct gathering *g)
{
    const struct db_deep_filter runs = {.node_id = g->use->node_id};
    g->sink->use(g->use, g->sink->arg);
    int status = db_instance_get(g->tx, g->use->instance_id, &g->instance);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    status = gather_verdicts(g);
    if (status >= 0)
        status = db_operation_repairs(g->tx, g->use->node_id, 0, take_operation, g);
    if (status >= 0)
        status = db_deep_run_list(g->tx, &runs, take_run, g);
    if (status >= 0)
        status = db_hardware_list(g->tx, g->instance.id, take_piece, g);
    return status < 0 ? status : db_check_list(g->tx, g->instance.id, take_check, g);
}

static int gather(struct db_tx *tx, void *arg)
{
    struct gathering *g = arg;
    g->tx = tx;
    int status = db_machine_get(tx, g->name, &g->machine);
    if (status == STATUS_NOT_FOUND)
        return problem_say(g->problem, status, PROBLEM_NOT_FOUND,
                           "There is no machine named \"%s\". hpctl machine list shows them all.", g->name);
    if (status == 0)
        status = db_machine_use_list(tx, g->machine.id, USES_MAX, take_use, g);
    if (status < 0)
        return status;
    g->machine.seen_at = machine_registry_seen_at(g->s->machines, g->machine.id);
    g->sink->machine(&g->machine, g->sink->arg);
    for (size_t i = 0; i < g->use_count && status >= 0; i++) {
        g->use = &g->uses[i];
        status = gather_use(g);
    }
    return status < 0 ? status : 0;
}

int service_machine_evidence(struct service *s, const char *name, const struct service_evidence_sink *sink,
                             struct problem *ret_problem)
{
    autofree struct gathering *g = own_calloc(1, sizeof(*g));
    *g = (struct gathering){.s = s, .name = name, .sink = sink, .problem = ret_problem};
    return service_read(s, gather, g, ret_problem);
}
