/* THE table: every operation, once. */
#ifndef HOLDFAST_API_ROUTES_H
#define HOLDFAST_API_ROUTES_H

#include <stdbool.h>
#include <stddef.h>

struct api_call;

enum api_access {
    ACCESS_OPEN,     /* no token */
    ACCESS_LOCAL,    /* no token from this machine, a viewer's from elsewhere */
    ACCESS_ENROLL,   /* "Bearer hfe_…", or "hfm_…" of a machine: the handler hands it on */
    ACCESS_AGENT,    /* "Bearer hfn_…": a node's own credential */
    ACCESS_SIGNED,   /* an access key's signature: the handler verifies it, and the key's role */
    ACCESS_JOB,      /* "Bearer hfa_…" and at least this role */
    ACCESS_REPORTER, /* … or a reporter, or at least an operator */
    ACCESS_VIEWER,
    ACCESS_OPERATOR,
    ACCESS_ADMIN,
};

enum api_lane {
    LANE_POOL,   /* on a request thread: may wait for the store */
    LANE_DIRECT, /* on the event loop: must never wait; the body may be a view that ends with the call */
};

#define READS_QUERY 1u /* query parameters; else any is an error */
#define READS_KEY 2u   /* the use case keeps the Idempotency-Key; else api.c does, for every write */

struct api_route {
    const char *method;
    const char *pattern;   /* "/v1/clusters/{cluster}" */
    const char *operation; /* operationId */
    enum api_access access;
    enum api_lane lane;
    unsigned reads;        /* READS_…, beside its body */
    size_t body_bytes_max; /* 0: takes no body */
    void (*handler)(struct api_call *call);
};

#define ROUTES_MAX 160 /* counters are arrays */

extern const struct api_route api_routes[];
extern const size_t api_route_count;

/* A part of the path as sent. */
struct route_param {
    const char *at;
    size_t len;
};

/* The AWS API takes POST at "/" and, for clients whose endpoint has a path, at every other path that ends in a slash. */
const struct api_route *route_aws(void);
bool route_may_be_aws(const char *method, const char *path);

enum route_match { ROUTE_FOUND, ROUTE_NO_PATH, ROUTE_NO_METHOD };
#define ROUTE_ALLOW_MAX 64
/* HEAD finds GET. For NO_METHOD, ret_allow is the Allow header. ret_params has room for API_PARAMS_MAX. */
enum route_match route_find(const char *method, const char *path, const struct api_route **ret_route,
                            struct route_param *ret_params, size_t *ret_param_count, char ret_allow[ROUTE_ALLOW_MAX]);

#endif
