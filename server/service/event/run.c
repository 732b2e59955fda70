/*
 * One way to run a read or a write, so that every use case reports the store's failures alike, and the
 * small services that all of them need: now, the role check, the reconcile loop's ears.
 */
#include "server/service/access/access.h"
#include "server/service/private.h"

struct run {
    db_write_fn fn;
    void *arg;
    struct problem *problem;
    struct service_audit *audit; /* of the request that asked for it; NULL: nobody did */
    bool nothing_done;
};

/* A second run after a rolled-back batch must not inherit the refusal of the first. */
static int run_fn(struct db_tx *tx, void *arg)
{
    struct run *run = arg;
    run->problem->detail[0] = '\0';
    return run->fn(tx, run->arg);
}

/* The row of the audit log and the change are one: neither is on disk without the other. */
static int run_write(struct db_tx *tx, void *arg)
{
    struct run *run = arg;
    int status = run_fn(tx, arg);
    run->nothing_done = status == NOTHING_DONE;
    if (run->nothing_done)
        return 0;
    return status < 0 || run->audit == NULL ? status : audit_record(tx, &run->audit->entry);
}

/* A refusal has said why; what else went wrong is the store's. */
static int run_report(int status, const struct run *run)
{
    if (status < 0 && run->problem->detail[0] == '\0')
        return problem_of_store(run->problem, status);
    return status;
}

int service_write(struct service *s, const char *name, db_write_fn fn, void *arg, struct problem *problem)
{
    struct problem unused = {0};
    struct run run = {.fn = fn, .arg = arg, .problem = problem == NULL ? &unused : problem, .audit = audit_current()};
    run.problem->detail[0] = '\0';
    int status = db_write(s->db, name, run_write, &run);
    bool tried = status == ONLY_TRIED;
    if ((status >= 0 || tried) && run.audit != NULL && !run.nothing_done)
        run.audit->recorded = true;
    return tried ? 0 : run_report(status, &run);
}

int service_read(struct service *s, db_write_fn fn, void *arg, struct problem *problem)
{
    struct problem unused = {0};
    struct run run = {.fn = fn, .arg = arg, .problem = problem == NULL ? &unused : problem};
    struct db_tx *tx = NULL;
    run.problem->detail[0] = '\0';
    int status = db_read_begin(s->db, &tx);
    if (status == 0)
        status = run_fn(tx, &run);
    db_read_end(s->db, tx);
    return run_report(status, &run);
}

int service_require(const struct actor *actor, enum role role, struct problem *problem)
{
    if (actor != NULL && actor->role >= role)
        return 0;
    return problem_say(problem, STATUS_DENIED, PROBLEM_FORBIDDEN,
                       "This needs the role %s; \"%s\" has the role %s. Use another token.", role_text(role),
                       actor == NULL ? "" : actor->name, actor == NULL ? "none" : role_text(actor->role));
}

int64_t service_now(const struct service *s)
{
    return clock_wall_ms(s->clock);
}

int64_t service_mono_us(const struct service *s)
{
    /* The stopwatch runs on the system's monotonic clock; a test that owns time owns this, too. */
    return s->clock == clock_system() ? clock_stopwatch_us() : clock_mono_ms(s->clock) * 1000;
}

void service_wake(struct service *s, enum service_wake what, int64_t id)
{
    if (s->wake != NULL)
        s->wake(s->wake_arg, what, id);
}

void changed_nodes_add(struct changed_nodes *nodes, int64_t id)
{
    if (nodes->count == nodes->capacity) {
        nodes->capacity = nodes->capacity == 0 ? 16 : nodes->capacity * 2;
        nodes->ids = own_realloc(nodes->ids, nodes->capacity, sizeof(*nodes->ids));
    }
    nodes->ids[nodes->count++] = id;
}

void changed_nodes_wake(struct service *s, const struct changed_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        service_wake(s, SERVICE_WAKE_NODE, nodes->ids[i]);
}

void service_agent_changed(struct service *s, int64_t node_id)
{
    if (s->agent_changed != NULL)
        s->agent_changed(s->wake_arg, node_id);
}

void service_events_added(struct service *s)
{
    if (s->events_added != NULL)
        s->events_added(s->events_arg);
}
