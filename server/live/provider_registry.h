/*
 * How each provider of machines stands, in memory: what its calls came to since hpd started, and its last contract test. The loop and the
 * executor say it, the APIs show it. Thread-safe.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_REGISTRY_H
#define HOLDFAST_SERVER_PROVIDER_REGISTRY_H

#include "base/enum.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROVIDER_FINDINGS_MAX 24
#define PROVIDER_WORDS_MAX 256

#define PROVIDER_STATE_LIST(X)                                        \
    X(UNKNOWN, "unknown")         /* it was not asked yet */          \
    X(OK, "ok")                   /* its last call was answered */    \
    X(NO_CAPACITY, "no-capacity") /* … by that it has no machine */ \
    X(FAILING, "failing")         /* its last call failed */          \
    X(BY_PERSON, "by-person")     /* people are asked, not called */
enum provider_state {
#define X(SYMBOL, text) PROVIDER_STATE_##SYMBOL,
    PROVIDER_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(provider_state);

/* One thing that the contract asks of a provider, and what became of it. */
struct provider_finding {
    char check[PROVIDER_WORDS_MAX]; /* what was tried */
    bool passed;
    char detail[PROVIDER_WORDS_MAX]; /* what is wrong, or what was seen */
};

struct provider_status {
    char name[NAME_MAX_BYTES], kind[NAME_MAX_BYTES];
    bool can_test;
    enum provider_state state;
    uint64_t calls, failures;
    int64_t succeeded_at, failed_at; /* 0: never since the start */
    char error[PROVIDER_WORDS_MAX];  /* of the last failure */
    /* The last contract test. */
    int64_t test_started_at, test_ended_at; /* started 0: there was none; ended 0: it goes on */
    bool test_launched;                     /* it was to launch a machine */
    struct provider_finding findings[PROVIDER_FINDINGS_MAX];
    size_t finding_count;
};

struct provider_registry;
struct provider_registry *provider_registry_new(void);
void provider_registry_free(struct provider_registry *registry); /* accepts NULL, as all of these */
/* At the start, in the configuration's order. */
void provider_registry_add(struct provider_registry *registry, const char *name, const char *kind, bool by_person,
                           bool can_test);
/* What a call came to; status is base/status.h's. */
void provider_registry_called(struct provider_registry *registry, const char *name, int status, const char *error,
                              int64_t at);
/* Machines come to its slots by a launch alone; false as well where it is not known. */
bool provider_registry_launches(struct provider_registry *registry, const char *name);
/* False: there is no such place. */
bool provider_registry_get(struct provider_registry *registry, size_t at, struct provider_status *ret_status);
/* False: one goes on already. */
bool provider_registry_test_begins(struct provider_registry *registry, const char *name, bool launches, int64_t at);
void provider_registry_found(struct provider_registry *registry, const char *name, const char *check, bool passed,
                             const char *detail);
void provider_registry_test_ended(struct provider_registry *registry, const char *name, int64_t at);

#endif
