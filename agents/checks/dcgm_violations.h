/*
 * What `dcgmi policy` says: whether policies are set (--get), and what violated them while it listened (--reg). Pure.
 *
 * Both formats are read off DCGM's source (dcgmi/Policy.cpp, DcgmiOutput.cpp, versions 3 and 4), not off a capture. --get is
 * "Policy information", then a table or, with -j, a document:
 *
 *     | Violation conditions         | Double-bit ECC errors                              |
 *     {"body": {"Violation conditions": {"value": "Double-bit ECC errors", "overflow": ["XID error detected."]}, …}}
 *
 * with "None" where nothing is set and "****" where the GPUs of the group differ. --reg tells each violation by two to four lines,
 * none of which names the GPU:
 *
 *     Timestamp: Sun Nov 22 15:04:05 2026
 *     A double-bit ECC error has violated policy manager values.
 *     DBE error count: 1
 */
#ifndef HOLDFAST_AGENTS_CHECKS_DCGM_VIOLATIONS_H
#define HOLDFAST_AGENTS_CHECKS_DCGM_VIOLATIONS_H

#include <stddef.h>
#include <stdint.h>

#define DCGM_POLICY_LIST(X)                                         \
    X(SET, "policies are set")                                      \
    X(NONE, "no policy is set in DCGM")                             \
    X(NO_SERVICE, "DCGM's service (nv-hostengine) does not answer") \
    X(BROKEN, "not what dcgmi policy says")
enum dcgm_policy {
#define X(SYMBOL, text) DCGM_POLICY_##SYMBOL,
    DCGM_POLICY_LIST(X)
#undef X
};
const char *dcgm_policy_text(enum dcgm_policy policy);
enum dcgm_policy dcgm_policy_parse(const char *data, size_t len);

#define DCGM_VIOLATIONS_LIST(X)                                                                                \
    X(DBE, "A double-bit ECC error has", "double-bit ECC errors", "DBE error count")                           \
    X(PCI, "A PCIe replay event has", "PCIe replays", "PCIe replay count")                                     \
    X(PAGES, "The maximum number of retired pages has", "too many retired pages", "DBE page retirement count") \
    X(THERMAL, "The maximum thermal limit has", "too hot", "Temperature")                                      \
    X(POWER, "The maximum power limit has", "too much power", "Power")                                         \
    X(NVLINK, "NVLink Counter ", "NVLink errors", "NVLink Counter value")                                      \
    X(XID, "XID error ", "Xid", NULL)                                                                          \
    X(OTHER, "An unknown error has", "something unknown", NULL)
enum dcgm_violation {
#define X(SYMBOL, begins, words, detail) DCGM_VIOLATION_##SYMBOL,
    DCGM_VIOLATIONS_LIST(X)
#undef X
        DCGM_VIOLATION_COUNT
};
const char *dcgm_violation_text(enum dcgm_violation violation);

struct dcgm_violations {
    int64_t counts[DCGM_VIOLATION_COUNT];
    int64_t last[DCGM_VIOLATION_COUNT]; /* the number that came with the newest: a count, degrees, an Xid; -1: none */
    int64_t sum;
};
/* Passes over whatever it does not know. */
void dcgm_violations_parse(const char *data, size_t len, struct dcgm_violations *ret_violations);

#endif
