/*
 * SSH and the BMC of simulated worlds: one device that does what the test says, or what chance says, and that reboots a machine again for
 * each call it gets. Its laws: nothing is asked for that is not stored as a try that runs, and nothing twice.
 */
#ifndef HOLDFAST_TESTS_SIM_SIM_REBOOT_H
#define HOLDFAST_TESTS_SIM_SIM_REBOOT_H

#include "db/operation.h"
#include "model/machine.h"
#include "tests/sim/sim_world.h"

enum sim_conduct {
    SIM_REBOOTS,
    SIM_LIES, /* says that it did, and did nothing */
    SIM_DENIES,
    SIM_IS_AWAY,         /* nobody answers, and nothing is done */
    SIM_LOSES_ITS_REPLY, /* it reboots, and nobody hears that it did */
    SIM_HANGS,           /* no reply, and nothing is done */
    SIM_CONDUCTS,
};

#define SIM_REBOOT_KEYS_MAX 512

struct reboot_device {
    struct sim *sim;
    bool by_chance; /* while the world's backends fail by chance */
    enum sim_conduct conduct[REBOOT_METHOD_COUNT];
    int asked[REBOOT_METHOD_COUNT], reboots;
    char bmc[MACHINE_BMC_MAX_BYTES], address[ADDRESS_MAX_BYTES]; /* that it was last asked about */
    char keys[SIM_REBOOT_KEYS_MAX][KEY_MAX_BYTES];
    int key_count;
};

/* "reboot/UID/NUMBER" */
SIM_FN void sim_law_try(struct sim *sim, const char *key, const char *boot_id, enum reboot_method method)
{
    char uid[KEY_MAX_BYTES], expected[KEY_MAX_BYTES] = "";
    struct operation op = {0};
    struct db_tx *tx = NULL;
    const char *from = strchr(key, '/') + 1;
    snprintf(uid, sizeof(uid), "%.*s", (int)strcspn(from, "/"), from);
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    int status = db_operation_get(tx, uid, &op);
    db_read_end(sim->service.db, tx);
    const struct reboot_try *last = op.try_count > 0 ? &op.tries[op.try_count - 1] : NULL;
    if (status == 0 && last != NULL)
        reboot_key(uid, last->number, expected);
    if (status != 0 || last == NULL || last->outcome != REBOOT_OUTCOME_RUNNING || last->method != method ||
        strcmp(expected, from) != 0 || strcmp(op.old_boot, boot_id) != 0)
        sim_fail(sim, NULL, "a reboot was asked for under %s, which is no try that runs", key);
}

SIM_FN void sim_law_once(struct reboot_device *d, const char *key)
{
    for (int i = 0; i < d->key_count; i++)
        if (strcmp(d->keys[i], key) == 0)
            sim_fail(d->sim, NULL, "a reboot was asked for twice under %s", key);
    assert_true(d->key_count < SIM_REBOOT_KEYS_MAX);
    snprintf(d->keys[d->key_count++], KEY_MAX_BYTES, "%s", key);
}

SIM_FN int sim_device_reboot(struct reboot_device *d, const struct reboot_target *target, enum reboot_method method,
                             char ret_error[REBOOT_ERROR_MAX])
{
    struct fake_outcome *outcome = &d->sim->outcome;
    sim_law_try(d->sim, target->key, target->boot_id, method);
    sim_law_once(d, target->key);
    int status = fake_outcome_begin(outcome, ret_error);
    if (status != 0)
        return status;
    enum sim_conduct conduct = d->conduct[method];
    if (d->by_chance && outcome->random != 0)
        conduct = (enum sim_conduct)fake_outcome_draw(&outcome->random, SIM_CONDUCTS);
    d->asked[method]++;
    snprintf(d->bmc, sizeof(d->bmc), "%s", target->bmc);
    snprintf(d->address, sizeof(d->address), "%s", target->address);
    snprintf(ret_error, REBOOT_ERROR_MAX, "as it was told");
    struct fake_instance *instance = fake_provider_find(&d->sim->provider, target->instance_id);
    if ((conduct == SIM_REBOOTS || conduct == SIM_LOSES_ITS_REPLY) && instance != NULL && !instance->gone) {
        fake_instance_boot(&d->sim->provider, instance);
        d->reboots++;
    }
    status = conduct == SIM_DENIES                                    ? STATUS_DENIED
             : conduct == SIM_IS_AWAY                                 ? STATUS_UNAVAILABLE
             : conduct == SIM_LOSES_ITS_REPLY || conduct == SIM_HANGS ? STATUS_TIMEOUT
                                                                      : 0;
    return fake_outcome_end(outcome, status, ret_error);
}

/* From the next boot of hpd on. */
SIM_FN void sim_device_attach(struct reboot_device *d, struct sim *sim)
{
    static const struct reboot_ops ops = {.reboot = sim_device_reboot};
    *d = (struct reboot_device){.sim = sim};
    sim->reboots = (struct reboot_drivers){.ssh = {&ops, d}, .bmc = {&ops, d}};
}

#endif
