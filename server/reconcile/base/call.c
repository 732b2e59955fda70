/*
 * Blocking calls to backends, as they run on the executor's threads: they take what they need with them, answer into
 * themselves and come back through the inbox. What the answer means is not decided here.
 */
#include "server/reconcile/base/call.h"
#include "base/text.h"
#include "server/live/provider_registry.h"
#include "server/reconcile/base/executor.h"
#include "server/reconcile/base/inbox.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/service/scheduler/scheduler.h"

struct rcall *reconcile_call_new(enum call_kind kind, int64_t node_id, int64_t operation_id)
{
    struct rcall *call = own_calloc(1, sizeof(*call));
    call->kind = kind;
    call->node_id = node_id;
    call->operation_id = operation_id;
    return call;
}

void reconcile_call_free(struct rcall *call)
{
    if (call == NULL)
        return;
    scheduler_observation_free(&call->observation);
    scheduler_governance_free(call->governance);
    scheduler_quarantine_free(call->quarantine);
    scheduler_desired_free(call->desired);
    free(call->faults);
    scheduler_labels_free(call->labels);
    job_snapshot_free(call->snapshot);
    free(call->jobs);
    free(call->places);
    free(call->listed);
    free(call->notices);
    free(call->move.was);
    free(call);
}

/* For people alone: nobody reads it back. */
static const char *note_of(enum operation_kind kind)
{
    switch (kind) {
    case OPERATION_KIND_REBOOT:
        return "the node is being rebooted";
    case OPERATION_KIND_REPLACE:
        return "the node is being replaced";
    case OPERATION_KIND_UPDATE:
        return "the software is being updated";
    case OPERATION_KIND_RESET:
        return "a device is being reset";
    case OPERATION_KIND_CHECK:
        return "deep health checks";
    default:
        return "the node is being deleted";
    }
}

struct scheduler_owner reconcile_owner(enum operation_kind kind)
{
    return (struct scheduler_owner){.request = kind == OPERATION_KIND_REBOOT    ? SCHEDULER_REQUEST_REBOOT
                                               : kind == OPERATION_KIND_REPLACE ? SCHEDULER_REQUEST_REPLACE
                                                                                : SCHEDULER_REQUEST_NONE,
                                    .note = note_of(kind)};
}

void reconcile_call_owner(struct rcall *call, struct scheduler_owner owner)
{
    call->request = owner.request;
    call->says_only = owner.says_only;
    text_copy_cut(call->reason, sizeof(call->reason), owner.note);
}

void reconcile_call_to(struct rcall *call, struct scheduler_link *link)
{
    call->link = link;
    call->scheduler = link->driver;
}

bool reconcile_call_is_final(int status)
{
    return status == STATUS_INVALID || status == STATUS_DENIED || status == STATUS_UNSUPPORTED;
}

static const char *or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

/* A topology that cannot be had now is asked for later: it does not make the snapshot worthless. */
static int call_observe(struct rcall *call)
{
    const struct scheduler_ops *ops = call->scheduler.ops;
    int status = ops->observe(call->scheduler.self, &call->observation, call->error);
    char error[SCHEDULER_ERROR_MAX];
    if (status == 0 && call->with_places && ops->topology != NULL)
        (void)ops->topology->places(call->scheduler.self, &call->places, &call->place_count, error);
    return status;
}

static struct scheduler_owner owner_of(const struct rcall *call)
{
    return (struct scheduler_owner){.request = call->request, .note = call->reason, .says_only = call->says_only};
}

static int call_evict(struct rcall *call)
{
    const struct scheduler_ops *ops = call->scheduler.ops;
    int status = ops->workloads(call->scheduler.self, call->node, &call->jobs, &call->job_count, call->error);
    if (status != 0 || call->job_count == 0)
        return status;
    if (call->ends && ops->budgets != NULL)
        return ops->budgets->end(call->scheduler.self, call->node, call->error);
    const struct scheduler_owner owner = owner_of(call);
    return ops->evict(call->scheduler.self, call->node, &owner, call->error);
}

/* Where the instance lives is told to the scheduler as soon as the provider knows. */
static int call_update_address(struct rcall *call)
{
    const struct scheduler_ops *ops = call->scheduler.ops;
    if (!call->update_address || call->instance.address[0] == '\0')
        return 0;
    if (ops == NULL || ops->addresses == NULL) {
        call->addressed = true;
        return 0;
    }
    text_copy_cut(call->move.address, sizeof(call->move.address), call->instance.address);
    int status = ops->addresses->update(call->scheduler.self, call->node, &call->move, call->error);
    call->addressed = status == 0;
    return status;
}

static int call_launch(struct rcall *call)
{
    const struct provider_launch launch = {
        .key = call->key,
        .instance_id = call->instance_id,
        .cluster = call->cluster,
        .group = call->group,
        .node = call->node,
        .instance_type = call->instance_type,
        .image_id = call->image_id,
        .release = call->release,
        .zone = call->zone,
        .server_url = call->server_url,
        .fingerprint = call->fingerprint,
        .enrollment_token = call->token,
    };
    int status = call->provider.ops->launch(call->provider.self, &launch, &call->instance, call->error);
    return status != 0 ? status : call_update_address(call);
}

static struct provider_target target_of(const struct rcall *call)
{
    return (struct provider_target){.instance_id = call->instance_id,
                                    .ref = call->provider_ref,
                                    .launch_key = call->launch_key,
                                    .broken = call->broken,
                                    .fault = call->fault,
                                    .why = call->why};
}

static int call_describe(struct rcall *call)
{
    const struct provider_driver *provider = &call->provider;
    const struct provider_target target = target_of(call);
    int status = provider->ops->describe(provider->self, &target, &call->instance, call->error);
    return status != 0 ? status : call_update_address(call);
}

/* The scheduler forgets a machine only once it is gone; where that fails, both are done again. */
static int call_terminate(struct rcall *call, const struct provider_target *target)
{
    const struct provider_driver *provider = &call->provider;
    const struct scheduler_ops *ops = call->scheduler.ops;
    int status = provider->ops->terminate(provider->self, target, call->key, call->error);
    if ((status != 0 && status != STATUS_NOT_FOUND) || ops == NULL || ops->machines == NULL)
        return status;
    int gone = ops->machines->gone(call->scheduler.self, call->node, provider_target_ref(target), call->error);
    call->by_scheduler = gone != 0;
    return gone != 0 ? gone : status;
}

static int call_reboot(struct rcall *call, const struct provider_target *target)
{
    const struct reboot_target machine = {.node = call->node,
                                          .instance_id = call->instance_id,
                                          .ref = call->provider_ref,
                                          .address = call->address,
                                          .bmc = call->bmc,
                                          .boot_id = call->boot_id,
                                          .key = call->key};
    if (call->reboot.ops != NULL)
        return call->reboot.ops->reboot(call->reboot.self, &machine, call->method, call->error);
    if (call->link != NULL)
        return call->scheduler.ops->reboots->reboot(call->scheduler.self, call->node, call->error);
    return call->provider.ops->reboot(call->provider.self, target, call->key, call->error);
}

static int call_do(struct rcall *call)
{
    const struct scheduler_driver *s = &call->scheduler;
    const struct scheduler_owner owner = owner_of(call);
    const struct provider_target target = target_of(call);
    switch (call->kind) {
    case CALL_OBSERVE:
        return call_observe(call);
    case CALL_JOB_SNAPSHOT:
        return s->ops->jobs->snapshot(s->self, &call->observation, &call->snapshot, call->error);
    case CALL_CORDON:
    case CALL_HOLD:
        return s->ops->cordon(s->self, call->node, &owner, or_null(call->seen), call->shown, call->error);
    case CALL_ANNOTATE:
        return s->ops->requests->annotate(s->self, call->node, call->seen, call->reason, call->error);
    case CALL_WORKLOADS:
        return s->ops->workloads(s->self, call->node, &call->jobs, &call->job_count, call->error);
    case CALL_SIGNAL:
        return s->ops->signals->signal(s->self, call->node, call->signal, call->jobs, call->job_count, call->error);
    case CALL_EVICT:
        return call_evict(call);
    case CALL_CANCEL:
        return s->ops->jobs->cancel(s->self, call->key, call->reason, call->error);
    case CALL_UNCORDON:
        return s->ops->uncordon(s->self, call->node, call->any_owner ? NULL : &owner, call->error);
    case CALL_UPDATE_ADDRESS:
        return s->ops->addresses->update(s->self, call->node, &call->move, call->error);
    case CALL_GOVERN:
        return s->ops->governance->govern(s->self, call->governance, call->error);
    case CALL_QUARANTINE:
        return s->ops->quarantine->set(s->self, call->quarantine, call->error);
    case CALL_CONFIGURE:
        return s->ops->configuration->apply(s->self, call->desired, call->error);
    case CALL_FAULTS:
        return s->ops->faults->show(s->self, call->node, call->faults, call->error);
    case CALL_LABELS:
        return s->ops->labels->keep(s->self, call->labels, call->error);
    case CALL_REBOOT:
        return call_reboot(call, &target);
    case CALL_TERMINATE:
        return call_terminate(call, &target);
    case CALL_LAUNCH:
        return call_launch(call);
    case CALL_DESCRIBE:
        return call_describe(call);
    case CALL_LIST:
        return call->provider.ops->list(call->provider.self, &call->listed, &call->listed_count, call->error);
    case CALL_NOTICES:
        return call->provider.ops->notices(call->provider.self, &call->notices, &call->notice_count, call->error);
    case CALL_END_ORPHAN:
        return call->provider.ops->terminate(call->provider.self, &target, call->key, call->error);
    }
    return STATUS_UNSUPPORTED;
}

static void call_run(void *arg)
{
    struct rcall *call = arg;
    inbox_call_begins(call->inbox, call);
    call->status = call_do(call);
    inbox_call_done(call->inbox, call);
}

static void submit(struct reconcile *r, struct rcall *call)
{
    r->calls_in_flight++;
    if (call->link != NULL)
        call->link->calls_in_flight++;
    inbox_call_sent(r->inbox, call);
    int status = executor_submit(r->deps.executor, call_run, call);
    if (status == 0)
        return;
    inbox_call_begins(r->inbox, call);
    call->status = STATUS_UNAVAILABLE;
    text_copy_cut(call->error, sizeof(call->error), "too many backend calls are waiting");
    inbox_call_done(r->inbox, call);
}

void reconcile_call_send(struct reconcile *r, struct rcall *call)
{
    call->inbox = r->inbox;
    call->seq = ++r->tick;
    if (call->kind == CALL_CORDON || call->kind == CALL_HOLD || call->kind == CALL_UNCORDON) {
        struct rnode *node = reconcile_node_find(r, call->node_id);
        if (node != NULL)
            node->touched_seq = UINT64_MAX; /* no snapshot counts until it is back */
    }
    struct scheduler_link *link = call->link;
    if (link != NULL && call->kind != CALL_OBSERVE && reconcile_link_room(r, link) <= 0) {
        call->next = NULL;
        *link->calls_end = call;
        link->calls_end = &call->next;
        return;
    }
    submit(r, call);
}

/* A person's hold, and a node that is not there, are answers. */
static bool is_failure_of_scheduler(const struct rcall *call)
{
    const bool providers = call->kind == CALL_REBOOT || call->kind == CALL_TERMINATE || call->kind == CALL_LAUNCH ||
                           call->kind == CALL_DESCRIBE || call->kind == CALL_LIST || call->kind == CALL_NOTICES ||
                           call->kind == CALL_END_ORPHAN;
    return call->status < 0 && !providers && call->status != STATUS_CONFLICT && call->status != STATUS_NOT_FOUND &&
           call->status != STATUS_UNSUPPORTED;
}

void reconcile_call_is_back(struct reconcile *r, const struct rcall *call)
{
    struct scheduler_link *link = call->link;
    r->calls_in_flight--;
    if (call->kind == CALL_LAUNCH || call->kind == CALL_TERMINATE || call->kind == CALL_DESCRIBE ||
        call->kind == CALL_LIST || call->kind == CALL_NOTICES || call->kind == CALL_END_ORPHAN)
        provider_registry_called(r->service->providers, call->provider.ops->name, call->status, call->error,
                                 reconcile_now(r));
    if (link == NULL)
        return;
    link->calls_in_flight--;
    if (link->shown != NULL && is_failure_of_scheduler(call))
        service_scheduler_failed(link->shown);
    while (link->calls != NULL && reconcile_link_room(r, link) > 0) {
        struct rcall *next = link->calls;
        link->calls = next->next;
        if (link->calls == NULL)
            link->calls_end = &link->calls;
        submit(r, next);
    }
}
