/*
 * The machines that a site owns: what people say of them, how a launch takes one and gives it back, and what their agents say while
 * they wait. See service.h.
 */
#ifndef HOLDFAST_SERVER_SERVICE_MACHINE_MACHINE_H
#define HOLDFAST_SERVER_SERVICE_MACHINE_MACHINE_H

#include "model/deep.h"
#include "model/hardware.h"
#include "model/machine.h"
#include "server/service/access/access.h"
#include "server/service/service.h"

/* --- people ------------------------------------------------------------------------------------ */

/* What is said of a machine; NULL: nothing is said, so what stands stays. */
struct service_machine_spec {
    const char *name, *provider, *type, *address, *bmc, *rack, *net_switch, *chassis, *serial;
};
/* provider NULL: the only inventory. */
int service_machine_add(struct service *s, const struct actor *actor, const struct service_machine_spec *spec,
                        struct machine *ret_machine, struct problem *ret_problem);
int service_machine_update(struct service *s, const struct actor *actor, const struct service_machine_spec *spec,
                           struct machine *ret_machine, struct problem *ret_problem);
int service_machine_get(struct service *s, const char *name, struct machine *ret_machine, struct problem *ret_problem);
/* state -1: any. Rows are struct machine, by name. */
int service_machine_list(struct service *s, const char *provider, int state, const char *after_name, int limit,
                         db_row_fn fn, void *arg, struct problem *ret_problem);
/* What it was, the newest first; rows are struct machine_use. */
int service_machine_uses(struct service *s, const char *name, int limit, db_row_fn fn, void *arg,
                         struct problem *ret_problem);
/* A person moves it: to the bench, to retirement, or back (from bench or retirement to burn-in, from burn-in to the spares). */
int service_machine_move(struct service *s, const struct actor *actor, const char *name, enum machine_state to,
                         const char *reason, struct machine *ret_machine, struct problem *ret_problem);

/* What a vendor's ticket needs. The machine comes first, then each use, the newest first, with what belongs to it. */
struct service_evidence_sink {
    void (*machine)(const struct machine *machine, void *arg);
    void (*use)(const struct machine_use *use, void *arg);
    void (*verdict)(const struct verdict *verdict, void *arg);
    void (*repair)(const struct operation *operation, void *arg);
    void (*decision)(const struct decision *decision, const char *operation, void *arg);
    void (*test)(const struct deep_run *run, void *arg);
    void (*piece)(const struct hardware *hardware, void *arg);
    void (*check)(const struct check_state *check, const char *boot_id, void *arg);
    void *arg;
};
int service_machine_evidence(struct service *s, const char *name, const struct service_evidence_sink *sink,
                             struct problem *ret_problem);

/* How many there are, by state, and how many of the spares are ready. */
struct service_machine_counts {
    int64_t of[MACHINE_STATE_COUNT], ready;
};
/* type "": of any type. */
int service_machine_count(struct service *s, const char *provider, const char *type,
                          struct service_machine_counts *ret_counts);

/* --- providers --------------------------------------------------------------------------------- */

/* Each call is one transaction. */
struct machine_store service_machine_store(struct service *s);

/* --- agents that wait -------------------------------------------------------------------------- */

struct service_spare_report {
    char machine[NAME_MAX_BYTES];
    char boot_id[BOOT_ID_MAX_BYTES];
    bool checked;
    char trouble[SENTENCE_MAX_BYTES];
};
struct service_spare_answer {
    enum machine_state state;
    int64_t wait_ms;                     /* it asks again after so long */
    char secret[SERVICE_TOKEN_TEXT_MAX]; /* the machine's own credential, "hfm_<row>.<secret>"; "": it has it */
    char instance_id[ID_INSTANCE_MAX];   /* what it is from now on; "": nothing */
    char node[NODE_NAME_MAX_BYTES];
    int64_t node_id;
    char credential[SERVICE_TOKEN_TEXT_MAX]; /* of that node */
};
/* bearer: a token for machines (hfe_…) or the machine's own credential (hfm_…). */
int service_spare_report(struct service *s, const char *bearer, const struct service_spare_report *report,
                         struct service_spare_answer *ret_answer, struct problem *ret_problem);

#endif
