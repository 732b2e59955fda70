/*
 * How a machine is rebooted: methods that work whoever provides it, in the order that its group says, and what came of each.
 */
#ifndef HOLDFAST_MODEL_REBOOT_H
#define HOLDFAST_MODEL_REBOOT_H

#include "base/enum.h"
#include "base/id.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* X(SYMBOL, text, in a sentence: "reboot by …") */
#define REBOOT_METHOD_LIST(X)                                                                 \
    X(AGENT, "agent", "the node's agent")                                                     \
    X(SCHEDULER, "scheduler", "the scheduler")                                                \
    X(SSH, "ssh", "SSH")                                                                      \
    X(BMC_GRACEFUL, "bmc-graceful", "the BMC (GracefulRestart)") /* the system shuts down */  \
    X(BMC_FORCE, "bmc-force", "the BMC (ForceRestart)")          /* a reset line is pulled */ \
    X(BMC_CYCLE, "bmc-cycle", "the BMC (PowerCycle)")                                         \
    X(PROVIDER, "provider", "the provider")
enum reboot_method {
#define X(SYMBOL, text, words) REBOOT_METHOD_##SYMBOL,
    REBOOT_METHOD_LIST(X)
#undef X
        REBOOT_METHOD_COUNT
};
ENUM_DECLARE(reboot_method);
const char *reboot_method_words(enum reboot_method method);
/* In a group's list: the three of a BMC, in their order. */
#define REBOOT_METHOD_BMC "bmc"

/* X(SYMBOL, text): what came of one try */
#define REBOOT_OUTCOME_LIST(X)                                                             \
    X(RUNNING, "running")                                                                  \
    X(REBOOTED, "rebooted")       /* the agent reported another boot */                    \
    X(REFUSED, "refused")         /* nothing was done, and asking again changes nothing */ \
    X(UNREACHABLE, "unreachable") /* nothing was done, as nobody answered */               \
    X(NO_BOOT, "no-new-boot")     /* accepted, and there was no other boot in time */      \
    X(LOST, "lost")               /* whether it was accepted is not known, and no other boot was seen */
enum reboot_outcome {
#define X(SYMBOL, text) REBOOT_OUTCOME_##SYMBOL,
    REBOOT_OUTCOME_LIST(X)
#undef X
        REBOOT_OUTCOME_COUNT
};
ENUM_DECLARE(reboot_outcome);

#define REBOOT_TRIES_MAX 12 /* of one operation */
#define REBOOT_DETAIL_MAX_BYTES 192

struct reboot_try {
    int number; /* from 1 on */
    enum reboot_method method;
    enum reboot_outcome outcome;
    int64_t began_at;    /* stored before anything is asked for */
    int64_t accepted_at; /* 0: nobody said so */
    int64_t deadline_at; /* for the new boot */
    int64_t ended_at;
    char detail[REBOOT_DETAIL_MAX_BYTES]; /* why it failed, for people */
};

struct reboot_order {
    enum reboot_method list[REBOOT_METHOD_COUNT];
    int count; /* 0: the provider reboots, as it does for a group that says nothing */
};

struct optional_list;
#define REBOOT_WORDS_PATTERN "agent|scheduler|ssh|bmc|bmc-graceful|bmc-force|bmc-cycle|provider"
#define REBOOT_WORDS_RULE "agent, scheduler, ssh, bmc, bmc-graceful, bmc-force, bmc-cycle or provider"
/* words: of char *. A word that is none of these, and one that is there already, is passed over. */
void reboot_order_read(const struct optional_list *words, struct reboot_order *ret_order);

/* The order to an agent. */
struct reboot_job {
    char key[KEY_MAX_BYTES]; /* of the operation and the try: under one key nothing is rebooted twice */
    char instance_id[ID_INSTANCE_MAX];
    char boot_id[BOOT_ID_MAX_BYTES]; /* that ends */
    char reason[REASON_MAX_BYTES];   /* for those who are logged in */
    int64_t delay_ms;                /* after they were told */
    int64_t attempt;                 /* the number of the try */
};
/* "<uid of the operation>/<number of the try>" */
void reboot_key(const char *operation_uid, int number, char ret_key[KEY_MAX_BYTES]);

#endif
