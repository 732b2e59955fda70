/*
 * A fleet that is not there, under the policy that is: nodes fail at the rates of a scenario, policy_decide says what is done about
 * it (the same code that hpd runs), repairs take their time step by step (operation_steps), and jobs lose what they lose.
 *
 * Pure: a scenario goes in, an outcome comes out; the same scenario with the same seed gives the same outcome, byte for byte. Only
 * what happens is looked at: a node that works costs nothing, so 100,000 of them over weeks are seconds.
 *
 * What it is not: jobs never end by themselves, and what a job that is asked to checkpoint saves by that is not counted.
 */
#ifndef HOLDFAST_SIMULATE_SIMULATE_H
#define HOLDFAST_SIMULATE_SIMULATE_H

#include "base/json.h"
#include "policy/policy.h"

struct policy_document;

/* Every number of a scenario, once: symbol, name (in files, and as NAME=VALUE), unit, default, least, most, help.
 * Times are kept in milliseconds and written as durations ("30m"). */
#define SIMULATE_NUMBER_LIST(X)                                                                                       \
    X(NODES, "nodes", COUNT, 1024, 1, 200000, "machines that jobs are made for")                                      \
    X(SPARES, "spares", COUNT, 16, 0, 199999, "machines beside these, for when some are out of service")              \
    X(GPUS, "gpusPerNode", COUNT, 8, 1, 1024, "only to say sizes in GPUs")                                            \
    X(GROUP_NODES, "groupNodes", COUNT, 0, 0, 200000, "nodes of an instance group, whose limits are its own; 0: all") \
    X(CHASSIS_NODES, "chassisNodes", COUNT, 0, 0, 10000, "nodes of a chassis; 0: each has its own")                   \
    X(ULTRASERVER_NODES, "ultraserverNodes", COUNT, 0, 0, 10000, "nodes of an UltraServer; 0: there are none")        \
    X(SWITCH_NODES, "switchNodes", COUNT, 0, 0, 100000, "nodes behind one leaf switch; 0: as the racks")              \
    X(RACK_NODES, "rackNodes", COUNT, 16, 1, 10000, "nodes of a rack; what takes many of one place is one incident")  \
    X(POWER_NODES, "powerDomainNodes", COUNT, 0, 0, 200000, "nodes on one line of power; 0: that is not known")       \
    X(ZONE_NODES, "zoneNodes", COUNT, 0, 0, 200000, "nodes of a zone; 0: all in one")                                 \
    X(TIME, "time", TIME, 30 * DAY, HOUR, 3650 * DAY, "how long to simulate")                                         \
    X(SEED, "seed", COUNT, 1, 0, 1000000000, "what happens by chance comes from it")                                  \
    X(RUNS, "runs", COUNT, 1, 1, 100, "seeds to run, from this one on; the means are shown")                          \
    X(JOB_NODES, "jobNodes", COUNT, 0, 0, 200000,                                                                     \
      "nodes of each job; 0: the jobs of the profile or file, none larger than the fleet, else one over all")         \
    X(CHECKPOINT, "checkpointEvery", TIME, 30 * MINUTE, SECOND, 30 * DAY, "between checkpoints of a job")             \
    X(CHECKPOINT_COST, "checkpointCost", TIME, 10 * SECOND, 0, DAY, "a job stands still for so long at each")         \
    X(RESTART, "restart", TIME, 10 * MINUTE, 0, DAY, "from having its nodes to training on, for a job")               \
    X(DETECT, "detect", TIME, 30 * SECOND, 0, DAY, "from a fault to its verdict")                                     \
    X(UNHEARD, "unheardAfter", TIME, 5 * MINUTE, 0, DAY, "until the scheduler gives up a node (SlurmdTimeout)")       \
    X(DRAIN, "drainDeadline", TIME, 4 * HOUR, 0, 30 * DAY, "jobs may go on for so long where the fault is contained") \
    X(REBOOT, "reboot", TIME, 5 * MINUTE, SECOND, DAY, "a machine's way down and up again")                           \
    X(RESET, "reset", TIME, 20 * SECOND, SECOND, HOUR, "the reset of a GPU")                                          \
    X(RESETS, "resetsPercent", SHARE, 0, 0, 100,                                                                      \
      "of the resets succeed, the others become reboots; 0: no agent offers them")                                    \
    X(REPLACE, "replace", TIME, 30 * MINUTE, SECOND, 90 * DAY, "until another machine is there")                      \
    X(NO_CAPACITY, "noCapacityPercent", SHARE, 0, 0, 100, "of the times that a machine is asked for there is none")   \
    X(PROVISION_FAILED, "provisionFailedPercent", SHARE, 0, 0, 100,                                                   \
      "of the new machines do not come up, as with a bad image")                                                      \
    X(VERIFY, "verify", TIME, 1 * MINUTE, SECOND, DAY, "the return gate, with the tests of a new machine")            \
    X(PERSON, "person", TIME, 24 * HOUR, MINUTE, 90 * DAY, "until a person has dealt with what falls to people")      \
    X(FAULTS, "faultRate", SHARE, 100, 0, 100000, "percent of the profile's rates of faults")                         \
    X(LEMONS, "lemons", SHARE, 0, 0, 50, "percent of the machines that fail more often")                              \
    X(LEMON_FACTOR, "lemonFactor", COUNT, 10, 1, 1000, "so many times as often")                                      \
    X(RACK_LOSSES, "rackLossesPerYear", COUNT, 0, 0, 100000, "times that some rack goes dark, in the whole fleet")    \
    X(RACK_LOSS_AT, "rackLossAt", TIME, 0, 0, 3650 * DAY, "racks go dark then; 0: never")                             \
    X(RACK_LOSS_RACKS, "rackLossRacks", COUNT, 1, 1, 10000, "… so many of them")                                      \
    X(RACK_LOSS_FOR, "rackLossFor", TIME, 4 * HOUR, SECOND, 90 * DAY, "… and are back after this")                    \
    X(APPROVE, "approve", TIME, 1 * HOUR, SECOND, 90 * DAY,                                                           \
      "until a person approves a repair, where the policy's mode asks for that")                                      \
    X(PLANNED_EVERY, "plannedEvery", TIME, 0, 0, 3650 * DAY,                                                          \
      "jobs are stopped in good order, for maintenance; 0: never")                                                    \
    X(PLANNED_FOR, "plannedFor", TIME, 30 * MINUTE, 0, 30 * DAY, "… for so long")                                     \
    X(AUTOMATIC, "automatic", COUNT, 1, 0, 1, "NodeRecovery: 1 is Automatic, 0 is None")                              \
    X(RESETS_MAX, "resetsMax", COUNT, -1, -1, 100, "policy: resets of a device, then a reboot")                       \
    X(REBOOTS_MAX, "rebootsMax", COUNT, -1, -1, 100, "policy: reboots of a device, then another machine")             \
    X(REPLACES_MAX, "replacesMax", COUNT, -1, -1, 100, "policy: replacements of a slot, then a person")               \
    X(BUDGET, "budgetPercent", COUNT, -1, -1, 100, "policy: percent of a group in repair at once")                    \
    X(BREAKER, "breakerPercent", COUNT, -1, -1, 100, "policy: percent of a group failing, from which repairs are held")
enum simulate_number {
#define X(SYMBOL, ...) SIMULATE_##SYMBOL,
    SIMULATE_NUMBER_LIST(X)
#undef X
        SIMULATE_NUMBERS
};
enum simulate_unit { SIMULATE_UNIT_COUNT, SIMULATE_UNIT_SHARE, SIMULATE_UNIT_TIME };
struct simulate_number_row {
    const char *name;
    enum simulate_unit unit;
    int64_t standard, min, max; /* -1 of what is the policy's: the policy's own default */
    const char *help;
};
extern const struct simulate_number_row simulate_numbers[SIMULATE_NUMBERS];

#define SIMULATE_EFFECT_LIST(X)                                               \
    X(FAULT, "fault")     /* a verdict, and the jobs on the node end */       \
    X(NOTICE, "notice")   /* a verdict; jobs go on until they are drained */  \
    X(VANISH, "vanish")   /* nobody hears the machine until it is rebooted */ \
    X(PROGRAM, "program") /* the job ends; the node has nothing */
enum simulate_effect {
#define X(SYMBOL, text) SIMULATE_EFFECT_##SYMBOL,
    SIMULATE_EFFECT_LIST(X)
#undef X
};
ENUM_DECLARE(simulate_effect);

/* A class of faults. */
struct simulate_fault {
    char name[NAME_MAX_BYTES];
    char code[CODE_MAX_BYTES]; /* what the agent says of it, as in the fault tables; "": vanish, program */
    double per_1000_node_days; /* in service */
    int64_t hard_percent;      /* of them come back after a reboot: only another machine helps */
    enum simulate_effect effect;
    char instance_type[NAME_MAX_BYTES]; /* it comes to machines of this type only; "": to all */
};

#define SIMULATE_FAULTS_MAX 32
#define SIMULATE_SIZES_MAX 16

/* Jobs of one size take a share of the machines that are not spares. */
struct simulate_size {
    int64_t nodes;
    double share; /* percent */
};

#define SIMULATE_GROUPS_MAX 64

/* Instance groups, in the order of the machines; what is left over is the last one's. */
struct simulate_group {
    char name[NAME_MAX_BYTES], instance_type[NAME_MAX_BYTES];
    int64_t nodes;
};

#define SIMULATE_LOSSES_MAX 64

/* A place goes dark, and is back after that. */
struct simulate_loss {
    enum topology_level level;
    int64_t number; /* of the place, from 1 */
    int64_t at, lasts;
};

struct simulate_scenario {
    char name[NAME_MAX_BYTES];
    char source[1024]; /* where its numbers come from */
    int64_t number[SIMULATE_NUMBERS];
    struct simulate_fault faults[SIMULATE_FAULTS_MAX];
    size_t fault_count;
    struct simulate_size sizes[SIMULATE_SIZES_MAX]; /* none, or jobNodes said: that */
    size_t size_count;
    struct simulate_group groups[SIMULATE_GROUPS_MAX]; /* none: groupNodes */
    size_t group_count;
    struct simulate_loss losses[SIMULATE_LOSSES_MAX]; /* beside those of the numbers */
    size_t loss_count;
    bool said[SIMULATE_NUMBERS];            /* by NAME=VALUE or a file: it goes over the document */
    const struct policy_document *document; /* the policy; NULL: its defaults. Not owned */
};

/* --- scenario.c: what is wanted -------------------------------------------------------------------------- */

#define SIMULATE_ERROR_MAX 256
void simulate_scenario_default(struct simulate_scenario *ret_scenario);
/* One number by its name. INVALID with a sentence. */
int simulate_set(struct simulate_scenario *scenario, const char *name, const char *value,
                 char ret_error[SIMULATE_ERROR_MAX]);
/* Where in a document it stands: a key, and of a list the number of the element. */
struct simulate_place {
    char key[64], element[24]; /* "": the document as a whole; the key as a whole */
};
/* A document: profile, numbers by name, faults, jobs, groups, losses. What it does not say stays. INVALID with a sentence. */
int simulate_read(struct simulate_scenario *scenario, const json_t *document, char ret_error[SIMULATE_ERROR_MAX],
                  struct simulate_place *ret_place);
/* "rack=3@2d" or "rack=3@2d+4h", as of --lose. INVALID with a sentence. */
int simulate_lose(struct simulate_scenario *scenario, const char *text, char ret_error[SIMULATE_ERROR_MAX]);
/* Whether the numbers go together. */
int simulate_check(const struct simulate_scenario *scenario, char ret_error[SIMULATE_ERROR_MAX]);
/* Nodes of a place of this level. */
int64_t simulate_place_nodes(const struct simulate_scenario *scenario, enum topology_level level);

/* --- policy.c ---------------------------------------------------------------------------------------------- */

#define SIMULATE_POLICY_ERROR_MAX 320
/* A policy document, as hpd takes it; data ends with a zero behind len bytes. INVALID or TOO_LARGE with line and reason. The
 * caller frees what it gets. */
int simulate_policy_read(const char *data, size_t len, struct policy_document **ret_document,
                         char ret_error[SIMULATE_POLICY_ERROR_MAX]);
void simulate_policy_free(struct policy_document *document); /* accepts NULL */

/* What the policy goes by in a group: the defaults, then the document, then the numbers that were said. */
struct simulate_rules {
    struct policy_settings policy;
    int64_t approval_expires_ms;
};
void simulate_rules(const struct simulate_scenario *scenario, const char *group, const char *instance_type,
                    struct simulate_rules *ret_rules);

/* How many entries of the document's groups are for no group of this fleet, whose cluster's name is SIMULATE_CLUSTER: they count
 * for nothing here. *ret_first gets the number of the first, from 1. */
#define SIMULATE_CLUSTER "simulated"
size_t simulate_policy_unmatched(const struct simulate_scenario *scenario, size_t *ret_first);
/* Groups of the scenario, or those of groupNodes by their names. False: there is none of this number. */
bool simulate_group_at(const struct simulate_scenario *scenario, size_t number, struct simulate_group *ret_group);

/* --- profile.c: published fleets ------------------------------------------------------------------------- */

struct simulate_profile {
    const char *name, *about, *source;
    const char *numbers; /* "nodes=2048 spares=16" */
    struct simulate_size sizes[SIMULATE_SIZES_MAX];
    struct simulate_fault faults[SIMULATE_FAULTS_MAX]; /* up to the one without a name */
};
const struct simulate_profile *simulate_profiles(size_t *ret_count);
/* NOT_FOUND. */
int simulate_profile_load(const char *name, struct simulate_scenario *ret_scenario);

/* --- run.c ------------------------------------------------------------------------------------------------ */

#define SIMULATE_SAMPLES 256
#define SIMULATE_RULES_MAX 48

struct simulate_sample {
    double days, working, out, effective; /* nodes that train; nodes out of service; percent of job time so far */
};

struct simulate_rule {
    enum decision_rule rule;
    enum action action;
    int64_t count;
};

/* Where the jobs' machine time went, in node hours: together with spare, idle and out it is all of it. */
struct simulate_hours {
    double useful, lost, checkpoints, noticing, restarting, waiting, planned;
    double all; /* of the jobs' machines: all but the spares, times time */
};

struct simulate_class {
    int64_t faults, interruptions, repairs;
};

struct simulate_mttf {
    int64_t nodes;
    double job_hours; /* with all its nodes, when a fault of any of them ends it */
    int64_t interruptions;
};

/* What came of a place that went dark. */
struct simulate_loss_outcome {
    struct simulate_loss loss;
    int64_t nodes, interruptions; /* nodes 0: its time has not come */
    int64_t repairs;              /* of its nodes, one by one, while it was dark */
    int64_t still_out;            /* at the end */
    double back_hours; /* until the last of its nodes was back in service; of one that is not: until the end */
};

struct simulate_outcome {
    int64_t faults, interruptions, planned, verdicts, decisions, resets, reboots, replaces, people, held, drains;
    int64_t breaker_opened, racks_lost, ops_failed;
    int64_t by_people;                                  /* cases that people have dealt with by the end */
    int64_t no_capacity, provision_failed, protections; /* refused; did not come up; groups protected for that */
    int64_t approvals_asked, only_said;                 /* questions; faults whose mode lets nothing be done */
    int64_t lemons,
        lemons_sound; /* machines that the lemon rule took, and of them those that fail no more often than others */
    struct simulate_loss_outcome losses[SIMULATE_LOSSES_MAX]; /* the first of them */
    size_t loss_count;
    struct simulate_class classes[SIMULATE_FAULTS_MAX + 1]; /* the last: racks, drains */
    struct simulate_rule rules[SIMULATE_RULES_MAX];
    size_t rule_count;
    struct simulate_hours hours;
    double effective_percent; /* of the jobs' time, in training that was kept */
    double goodput_percent;   /* of all machines' time, spares and broken ones too */
    double goodput_possible;  /* the jobs' part of it: more it cannot be */
    double out_mean;          /* nodes out of service */
    int64_t out_max, out_p50, out_p99, out_p999, out_end;
    double repair_hours_mean; /* from the first fault to back in service */
    int64_t repairs_done;
    struct simulate_mttf mttf[SIMULATE_SIZES_MAX];
    size_t mttf_count;
    struct simulate_sample samples[SIMULATE_SAMPLES];
    size_t sample_count;
    int64_t events; /* of the simulation itself */
};

/* scenario has passed simulate_check. One run with the seed given; caller frees nothing. */
void simulate_run(const struct simulate_scenario *scenario, int64_t seed, struct simulate_outcome *ret_outcome);

#endif
