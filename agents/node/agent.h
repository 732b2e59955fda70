/*
 * hp-agent: watches one node, tells the server, decides nothing.
 */
#ifndef HOLDFAST_AGENTS_NODE_AGENT_H
#define HOLDFAST_AGENTS_NODE_AGENT_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_ERROR_MAX 256
#define AGENT_HEARTBEAT_DEFAULT_MS 5000
#define AGENT_TIMEOUT_MS 10000     /* of one exchange */
#define AGENT_BACKOFF_MIN_MS 500   /* after the first failure */
#define AGENT_BACKOFF_MAX_MS 30000 /* a restarted server sees its fleet again within this */
#define AGENT_PROBE_MS 60000       /* a rejected credential may be good again */
#define AGENT_TOKEN_MS 10000       /* a token may be there now */

struct agent_options {
    const char *url, *state_dir;
    const char *node;        /* NULL: the enrolment token names it */
    const char *machine;     /* of an inventory: the server says what it is; NULL: it is a node */
    const char *instance_id; /* NULL: made once and kept in the state directory */
    const char *token_file;  /* NULL: none */
    const char *address;     /* where others reach this machine; NULL: where the connection to the server comes from */
    const char *fingerprint; /* NULL: none */
    const char *kmsg;        /* as kmsg_new has it; NULL: /dev/kmsg or the journal */
    const char *boot_id_file;
    const char *checks;        /* as in struct checks_options */
    const char *checks_dir;    /* of a site's own; NULL: none */
    const char *settings;      /* the node's own, as in settings.h; NULL: none */
    bool log_level_given;      /* on the command line: settings do not change it */
    const char *metrics;       /* where what they measure can be asked for, as metrics_open has it; NULL: nowhere */
    const char *checks_root;   /* in place of "/", for tests */
    const char *instance_type; /* "" when not known */
    int64_t checks_first_ms;   /* within which each has its first turn */
    int64_t heartbeat_interval_ms;
    bool allow_inject;
    bool health_events; /* print what is found on stdout, as HyperPod's agent logs it */
    bool allow_reboot;
    const char *reboot_command;            /* NULL: systemctl reboot */
    bool no_lifecycle;                     /* lifecycle scripts are not run, and the server is told so */
    const char *lifecycle_log;             /* NULL: in the state directory */
    const char *config_dir;                /* a copy of what scripts read; "": none */
    const char *ca_file;                   /* of https sources of scripts; NULL: the system's */
    const char *s3_config;                 /* for sources of scripts at s3; NULL: none are read */
    const char *runner;                    /* the program that runs them; NULL: this one */
    const struct runner_kind *runner_kind; /* this process is a runner of that kind, and no agent; NULL: an agent */
    const char *runner_key;                /* for that order */
    int64_t timeout_ms, backoff_min_ms, backoff_max_ms, probe_ms, token_ms;
    size_t spool_bytes_max;
};

struct agent;

/* What a running agent can be asked, for tests and for the log at its end. */
struct agent_figures {
    size_t spooled;
    int64_t dropped, refused;
    bool known; /* to the server */
};

/* Everything but the required url and state_dir set to its default. */
void agent_options_init(struct agent_options *options);
int agent_new(const struct agent_options *options, struct agent **ret_agent, char ret_error[AGENT_ERROR_MAX]);
/* Stores what is not yet stored. */
void agent_free(struct agent *agent);
/* One turn of the loop: waits at most wait_ms, less when something happens or is due, or stop_fd (-1: none) becomes
 * readable; then does what there is to do. False when stop_fd did. */
bool agent_turn(struct agent *agent, int stop_fd, int64_t wait_ms);
/* It is another instance from now on: agent_turn ended for that, and it is to be made anew. */
bool agent_begins_anew(const struct agent *agent);
struct agent_figures agent_figures(const struct agent *agent);

#endif
