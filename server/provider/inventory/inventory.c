/* The driver: what each call means for the inventory. The store does each in one transaction. */
#include "server/provider/inventory/inventory.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>

struct provider {
    struct provider_ops ops; /* its name is the site's */
    char name[NAME_MAX_BYTES];
    struct machine_store store;
};

static void show(const struct machine *machine, struct provider_instance *ret_instance)
{
    *ret_instance = (struct provider_instance){.state = PROVIDER_INSTANCE_RUNNING};
    text_copy_cut(ret_instance->ref, sizeof(ret_instance->ref), machine->name);
    text_copy_cut(ret_instance->address, sizeof(ret_instance->address), machine->address);
}

static int launch(struct provider *p, const struct provider_launch *launch, struct provider_instance *ret_instance,
                  char *ret_error)
{
    const struct machine_request request = {.provider = p->name,
                                            .type = text_or_empty(launch->instance_type),
                                            .key = launch->key,
                                            .instance_id = launch->instance_id};
    struct machine machine;
    int status = p->store.take(p->store.arg, &request, inventory_choose, &machine, ret_error);
    if (status == 0)
        show(&machine, ret_instance);
    return status;
}

static int describe(struct provider *p, const struct provider_target *target, struct provider_instance *ret_instance,
                    char *ret_error)
{
    struct machine machine;
    int status = p->store.find(p->store.arg, target->instance_id, &machine);
    *ret_instance = (struct provider_instance){.state = PROVIDER_INSTANCE_GONE};
    if (status == 0)
        show(&machine, ret_instance);
    else if (status != STATUS_NOT_FOUND)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "the inventory cannot be read: %s", status_meaning(status));
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int reboot(struct provider *p, const struct provider_target *target, const char *key, char *ret_error)
{
    (void)p, (void)key;
    snprintf(ret_error, PROVIDER_ERROR_MAX, "an inventory cannot reboot %s", provider_target_ref(target));
    return STATUS_UNSUPPORTED;
}

static int terminate(struct provider *p, const struct provider_target *target, const char *key, char *ret_error)
{
    (void)key; /* an instance is given back once */
    const char *why = text_or_empty(target->why);
    return p->store.give_back(p->store.arg, target->instance_id, target->broken, target->fault,
                              why[0] != '\0' ? why : "its slot let it go", ret_error);
}

struct provider_driver inventory_new(const char *name, const struct machine_store *store)
{
    struct provider *p = own_calloc(1, sizeof(*p));
    p->ops = (struct provider_ops){.name = p->name,
                                   .kind = "inventory",
                                   .launch = launch,
                                   .describe = describe,
                                   .reboot = reboot,
                                   .terminate = terminate,
                                   .free = (void (*)(struct provider *))free};
    p->store = *store;
    text_copy_cut(p->name, sizeof(p->name), name);
    return (struct provider_driver){.ops = &p->ops, .self = p};
}
