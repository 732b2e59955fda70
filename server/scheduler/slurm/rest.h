/*
 * Slurm's REST daemon, slurmrestd, as a way into Slurm: over TCP (TLS away from this machine) or its Unix socket, with a token.
 *
 * Which version is spoken is found by asking (its OpenAPI document), and so is what that version can do: the callers ask
 * slurm_rest_can before they change something, and use Slurm's programs where it cannot.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_REST_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_REST_H

#include "base/json.h"
#include "server/scheduler/slurm/command.h"

/* What a version may be able to do, as flags. */
enum slurm_rest_ability {
    SLURM_REST_UPDATES_NODES = 1 << 0,
    SLURM_REST_CANCELS_JOBS = 1 << 1,
    SLURM_REST_SHOWS_RESERVATIONS = 1 << 2,
    SLURM_REST_SHOWS_FIGURES = 1 << 3, /* diag */
};

struct slurm_rest_version {
    int number; /* 38 of v0.0.38; 0: none is known yet */
    unsigned can;
};

/* The versions that this code knows: 22.05's oldest to 25.11's newest. */
#define SLURM_REST_VERSION_MIN 36
#define SLURM_REST_VERSION_MAX 44

/* The newest version of this OpenAPI document that we know, and what it can do. NOT_FOUND with the newest that there is in
 * ret_version->number (0: none) when we know none of them; BACKEND when it is no such document. */
int slurm_rest_choose(const json_t *document, struct slurm_rest_version *ret_version);

struct slurm_rest;

/* True for "http://…", "https://…" and "unix:/path"; else why not. */
bool slurm_rest_is_url(const char *url, const char **ret_why);
/* Copies what it needs and connects to nothing yet. INVALID for what is no URL. */
int slurm_rest_new(const struct slurm_rest_options *options, struct slurm_rest **ret_rest);
void slurm_rest_free(struct slurm_rest *rest); /* accepts NULL */

/* GET of what is behind "/slurm/v0.0.NN/"; path's parts hold nothing that a URL would have to escape. The reply's caller frees it
 * and knows that it has no errors. Else as slurm_run, TOO_LARGE beside: more than is taken. */
int slurm_rest_get(struct slurm_call *call, const char *path, json_t **ret_reply);
/* POST of body (borrowed), or DELETE where it is NULL. */
int slurm_rest_change(struct slurm_call *call, const char *path, const json_t *body);
/* False too where slurmrestd cannot be asked: what comes next says so. */
bool slurm_rest_can(struct slurm_call *call, enum slurm_rest_ability ability);
/* "slurmrestd v0.0.38 of Slurm 22.05.8 at …", and what is not done by it. */
void slurm_rest_tell(struct slurm_rest *rest, char ret_transport[SCHEDULER_TRANSPORT_MAX]);

#endif
