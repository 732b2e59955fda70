/*
 * The Slurm driver: what it looks at, what it marks, what it gives back.
 *
 * Every change is read, judged, made and read again: scontrol's word that an update was taken is not enough
 * to drain somebody's jobs on. Slurm has no compare-and-set, so a person who changes the same node
 * in the milliseconds between our look and our update is overruled; the reading afterwards shows our own reason.
 *
 * What Slurm does to a node (22.05, tried out against tests/support/slurm-lab):
 *   FAIL and DRAIN replace each other, both stay beside DOWN, and running work goes on under either;
 *   RESUME clears DRAIN, FAIL, DOWN and the reason together, whatever combination it is, and for a moment shows
 *   NOT_RESPONDING; on a node that is in service it is an error, so it is not sent there;
 *   since 24.05 only accounting clears the reason: without slurmdbd it stays until a job starts there, and no update
 *   can empty it, so a blank takes its place (it would be the reason of whatever happens to the node next);
 *   a node whose machine rebooted unasked becomes DOWN "Node unexpectedly rebooted", but one that has a reason keeps
 *   that reason: a marked node comes back from its reboot as DOWN+FAIL with our text still on it.
 */
#include "server/scheduler/slurm/slurm.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/command.h"
#include "server/scheduler/slurm/govern.h"
#include "server/scheduler/slurm/job_command.h"
#include "server/scheduler/slurm/job_log.h"
#include "server/scheduler/slurm/job_snapshot.h"
#include "server/scheduler/slurm/jobs.h"
#include "server/scheduler/slurm/manage.h"
#include "server/scheduler/slurm/nodes.h"
#include "server/scheduler/slurm/parse.h"
#include "server/scheduler/slurm/quarantine.h"
#include "server/scheduler/slurm/reboot.h"
#include "server/scheduler/slurm/rest.h"
#include "server/scheduler/slurm/role_file.h"
#include "server/scheduler/slurm/topology.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- cordon ------------------------------------------------------------------------------------------------------- */

/* True when the reason on the node may give way to ours. A node that Slurm itself took out is nobody's. */
static bool may_replace(const struct slurm_node *node, const char *reason, const char *replaceable)
{
    const char *there = node->seen.reason;
    if ((node->state & SLURM_STATE_HELD) == 0 || strcmp(there, reason) == 0 || slurm_reason_is_ours(there) ||
        slurm_downed_unsaid(node))
        return true;
    return (replaceable != NULL && strcmp(there, replaceable) == 0) || slurm_reason_is_automatic(there);
}

static bool is_marked(const struct slurm_node *node, unsigned state, const char *reason)
{
    return (node->state & state) != 0 && strcmp(node->seen.reason, reason) == 0;
}

/* The words that HyperPod has for a repair; a hold is "holdfast:" and the note. Caller frees. */
static char *reason_of(const struct scheduler_owner *owner)
{
    return owner->request == SCHEDULER_REQUEST_REBOOT    ? own_strdup(SLURM_REASON_REBOOT)
           : owner->request == SCHEDULER_REQUEST_REPLACE ? own_strdup(SLURM_REASON_REPLACE)
                                                         : own_printf(SLURM_REASON_OURS "%s", owner->note);
}

static int cordon(struct scheduler *s, const char *name, const struct scheduler_owner *owner, const char *seen,
                  char *ret_shown, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    struct slurm_node node;
    autofree char *reason = reason_of(owner);
    bool fail = owner->request != SCHEDULER_REQUEST_NONE;
    unsigned want = fail ? SLURM_STATE_FAIL : SLURM_STATE_DRAIN;
    if (!slurm_is_reason(reason))
        return slurm_call_fail(&call, STATUS_INVALID, "not a reason that Slurm takes: %.100s", reason);
    text_copy_cut(ret_shown, REASON_MAX_BYTES, reason);
    int status = slurm_look(&call, name, &node);
    if (status != 0)
        return status;
    if (is_marked(&node, want, reason))
        return 0;
    if (!may_replace(&node, reason, seen))
        return slurm_call_fail(&call, STATUS_CONFLICT, "%s is held by %s (%s: %s); resume it in Slurm first", name,
                               node.seen.reason_user[0] != '\0' ? node.seen.reason_user : "somebody", node.seen.state,
                               node.seen.reason);
    status =
        slurm_update_node(&call, name, &(struct slurm_node_change){.state = fail ? "FAIL" : "DRAIN", .reason = reason});
    if (status == 0)
        status = slurm_look(&call, name, &node);
    if (status != 0)
        return status;
    if (!is_marked(&node, want, reason))
        return slurm_call_fail(&call, STATUS_BACKEND, "Slurm took the cordon of %s but shows %s, reason: %s", name,
                               node.seen.state, node.seen.reason);
    return 0;
}

/* --- requests by hand ------------------------------------------------------------------------------------------------------- */

/* What is not printable there is shown as '?', and could not be written back as it was. */
static int annotate(struct scheduler *s, const char *name, const char *reason, const char *user, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    struct slurm_node node;
    autofree char *both = own_printf("%s" SLURM_REASON_ANNOTATION "%.*s, use " SLURM_REASON_REBOOT
                                     " or " SLURM_REASON_REPLACE ", state=fail)",
                                     reason, TEXT_FIT(user[0] != '\0' ? user : "whoever wrote this", 32));
    if (strlen(both) >= REASON_MAX_BYTES)
        return slurm_call_fail(&call, STATUS_TOO_LARGE, "there is no room behind the reason: %.100s", reason);
    if (!slurm_is_reason(both) || strchr(reason, '?') != NULL)
        return slurm_call_fail(&call, STATUS_INVALID, "not a reason that can be written again: %.100s", reason);
    int status = slurm_look(&call, name, &node);
    if (status != 0 || strcmp(node.seen.reason, both) == 0)
        return status;
    if (strcmp(node.seen.reason, reason) != 0)
        return slurm_call_fail(&call, STATUS_CONFLICT, "%s has another reason now: %s", name, node.seen.reason);
    return slurm_update_node(&call, name, &(struct slurm_node_change){.reason = both});
}

/* --- uncordon ----------------------------------------------------------------------------------------------------- */

/* What keeps a node out that may be given back: our own mark, and what Slurm found by itself when the mark had gone
 * before and the repair has ended. That a machine has too little of something is not ended by saying so. */
static bool may_resume(const struct slurm_node *node, const char *our_reason)
{
    const char *there = node->seen.reason;
    if (slurm_reason_is_cured(there) || slurm_downed_unsaid(node))
        return true;
    if (our_reason != NULL)
        return strcmp(there, our_reason) == 0;
    return slurm_reason_is_ours(there) || slurm_reason_action(there) != SCHEDULER_REQUEST_NONE;
}

/* The node is in service by now: a failure is told by the next look and nothing more. */
static void blank_reason(struct slurm_call *call, const char *name)
{
    (void)slurm_update_node(call, name, &(struct slurm_node_change){.reason = SLURM_REASON_BLANK});
}

static int uncordon(struct scheduler *s, const char *name, const struct scheduler_owner *owner, char *ret_error)
{
    autofree char *our_reason = owner == NULL ? NULL : reason_of(owner);
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    struct slurm_node node;
    int status = slurm_look(&call, name, &node);
    if (status != 0 || (node.state & SLURM_STATE_HELD) == 0)
        return status;
    if (!may_resume(&node, our_reason))
        return slurm_call_fail(&call, STATUS_CONFLICT, "%s is held by %s for a reason that is not ours (%s: %s)", name,
                               node.seen.reason_user[0] != '\0' ? node.seen.reason_user : "somebody", node.seen.state,
                               node.seen.reason);
    status = slurm_update_node(&call, name, &(struct slurm_node_change){.state = "RESUME"});
    struct slurm_node after;
    int looked = slurm_look(&call, name, &after);
    if (looked != 0)
        return looked;
    if ((after.state & SLURM_STATE_HELD) == 0) { /* even if the update failed: somebody was quicker */
        if (after.seen.reason[0] != '\0' && strcmp(after.seen.reason, node.seen.reason) == 0)
            blank_reason(&call, name);
        return 0;
    }
    if (status != 0)
        return status;
    return slurm_call_fail(&call, STATUS_BACKEND, "Slurm took the resume of %s but shows %s, reason: %s", name,
                           after.seen.state, after.seen.reason);
}

/* --- addresses -------------------------------------------------------------------------------------------------- */

/* Host names and addresses; a port, if one is given, is the daemon's own business in slurm.conf. */
static bool is_host(const char *s)
{
    if (s[0] == '\0' || s[0] == '-')
        return false;
    for (; *s != '\0'; s++)
        if (!isalnum((unsigned char)*s) && strchr(".-:_", *s) == NULL)
            return false;
    return true;
}

static bool may_move(const struct scheduler_move *move, const char *shown)
{
    for (size_t i = 0; i < move->was_count; i++)
        if (strcmp(move->was[i], shown) == 0)
            return true;
    return move->was == NULL;
}

static int update_address(struct scheduler *s, const char *name, struct scheduler_move *move, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    struct slurm_node node;
    char *host = move->address, *colon = strchr(host, ':');
    move->holds = move->renamed = false;
    if (colon != NULL && strchr(colon + 1, ':') == NULL)
        *colon = '\0';
    if (!is_host(host))
        return slurm_call_fail(&call, STATUS_INVALID, "not an address: %.100s", host);
    int status = slurm_look(&call, name, &node);
    if (status != 0)
        return status;
    memcpy(move->before, node.address, sizeof(move->before));
    move->holds = strcmp(node.address, host) == 0;
    if (!move->holds && !may_move(move, node.address))
        return 0;
    bool rename = move->host[0] != '\0' && is_host(move->host) && strcmp(node.host, move->host_was) == 0;
    if (move->holds && !rename)
        return 0;
    status = slurm_update_node(
        &call, name,
        &(struct slurm_node_change){.address = move->holds ? NULL : host, .host = rename ? move->host : NULL});
    if (status == 0)
        status = slurm_look(&call, name, &node);
    move->holds = status == 0 && strcmp(node.address, host) == 0;
    move->renamed = status == 0 && rename && strcmp(node.host, move->host) == 0;
    if (status == 0 && (!move->holds || move->renamed != rename))
        return slurm_call_fail(&call, STATUS_BACKEND, "Slurm took where %s lives but shows %s on %s", name,
                               node.address, node.host);
    return status;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void slurm_free(struct scheduler *s)
{
    if (s == NULL)
        return;
    free(s->scontrol);
    free(s->squeue);
    free(s->scancel);
    free(s->sacctmgr);
    free(s->sdiag);
    free(s->sshare);
    for (char **entry = s->env; *entry != NULL; entry++)
        free(*entry);
    ssh_free(s->ssh);
    slurm_rest_free(s->rest);
    slurm_manage_free(s->manage);
    free(s->host);
    free(s);
}

static void transport(struct scheduler *s, char ret_transport[SCHEDULER_TRANSPORT_MAX])
{
    if (s->rest != NULL)
        slurm_rest_tell(s->rest, ret_transport);
    else if (s->ssh != NULL)
        snprintf(ret_transport, SCHEDULER_TRANSPORT_MAX, "Slurm's programs, over SSH on %.100s", s->host);
    else
        snprintf(ret_transport, SCHEDULER_TRANSPORT_MAX, "Slurm's programs, run here");
}

static char *program(const char *bin_dir, const char *name)
{
    return bin_dir == NULL || bin_dir[0] == '\0' ? own_strdup(name) : own_printf("%s/%s", bin_dir, name);
}

/* Slurm's programs obey some fifty SLURM_*, SQUEUE_* and SCONTROL_* variables; they get only these. Ours mean nothing on another
 * machine. */
static void set_env(struct scheduler *s, const char *conf)
{
    static const char *const inherited[] = {"PATH", "HOME", "SLURM_JWT"};
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(inherited) && s->ssh == NULL; i++) {
        const char *value = getenv(inherited[i]);
        if (value != NULL)
            s->env[count++] = own_printf("%s=%s", inherited[i], value);
    }
    const char *file = conf != NULL && conf[0] != '\0' ? conf : s->ssh == NULL ? getenv("SLURM_CONF") : NULL;
    if (file != NULL)
        s->env[count++] = own_printf("SLURM_CONF=%s", file);
    s->env[count++] = own_strdup("LC_ALL=C");
    s->env[count++] = own_strdup("SLURM_BITSTR_LEN=0"); /* else squeue cuts the ids of an array's tasks */
    s->env[count++] = own_printf("SLURM_TIME_FORMAT=%%s%s", s->stamp);
}

/* The two words count in the states fail and down only; else it is not exact. */
static void explain_near_miss(const char *node, const char *reason, char ret_sentence[SENTENCE_MAX_BYTES])
{
    if (slurm_reason_action(reason) != SCHEDULER_REQUEST_NONE)
        snprintf(ret_sentence, SENTENCE_MAX_BYTES,
                 "the scheduler's reason %s asks for a repair, and counts in the states fail and down only: scontrol "
                 "update nodename=%s state=fail reason=%s",
                 reason, node, reason);
    else
        snprintf(ret_sentence, SENTENCE_MAX_BYTES,
                 "the scheduler's reason \"%.*s\" looks like a request but is not exact: scontrol update nodename=%s "
                 "state=fail reason=" SLURM_REASON_REPLACE ", or reason=" SLURM_REASON_REBOOT,
                 TEXT_FIT(reason, 150), node);
}

static int evict(struct scheduler *s, const char *node, const struct scheduler_owner *owner, char *ret_error)
{
    autofree char *reason = reason_of(owner);
    return slurm_evict(s, node, reason, ret_error);
}

int slurm_new(const struct slurm_options *options, struct scheduler_driver *ret_driver)
{
    static const struct scheduler_requests_ops requests = {.explain = explain_near_miss, .annotate = annotate};
    static const struct scheduler_jobs_ops jobs = {
        .snapshot = slurm_job_snapshot, .cancel = slurm_cancel, .log = slurm_job_log, .command = slurm_job_command};
    static const struct scheduler_signals_ops signals = {.signal = slurm_signal};
    static const struct scheduler_addresses_ops addresses = {.update = update_address};
    static const struct scheduler_topology_ops topology = {.places = slurm_places};
    static const struct scheduler_governance_ops governance = {.govern = slurm_govern};
    static const struct scheduler_quarantine_ops quarantine = {.set = slurm_quarantine};
    static const struct scheduler_configuration_ops configuration = {.apply = slurm_configure};
    static const struct scheduler_reboots_ops reboots = {.reboot = slurm_reboot};
    static const struct scheduler_ops ops = {
        .name = "slurm",
        .daemon = "slurmd",
        .observe = slurm_observe,
        .resume_command = "scontrol update nodename=NODE state=resume",
        .cordon = cordon,
        .uncordon = uncordon,
        .workloads = slurm_jobs,
        .evict = evict,
        .transport = transport,
        .free = slurm_free,
        .requests = &requests,
        .jobs = &jobs,
        .signals = &signals,
        .addresses = &addresses,
        .topology = &topology,
        .governance = &governance,
        .quarantine = &quarantine,
        .configuration = &configuration,
        .reboots = &reboots,
        .roles = &slurm_role_file,
    };
    if (options->timeout_ms <= 0)
        return STATUS_INVALID;
    struct scheduler *s = own_calloc(1, sizeof(*s));
    uint32_t secret;
    id_bytes(NULL, &secret, sizeof(secret));
    snprintf(s->stamp, sizeof(s->stamp), "~%08x", secret);
    s->scontrol = program(options->bin_dir, "scontrol");
    s->squeue = program(options->bin_dir, "squeue");
    s->scancel = program(options->bin_dir, "scancel");
    s->sacctmgr = program(options->bin_dir, "sacctmgr");
    s->sdiag = program(options->bin_dir, "sdiag");
    s->sshare = program(options->bin_dir, "sshare");
    s->timeout_ms = options->timeout_ms;
    s->ssh = options->ssh == NULL ? NULL : ssh_new(options->ssh);
    s->manage = options->manage == NULL ? NULL : slurm_manage_new(options->manage);
    s->host = own_strdup(options->ssh == NULL ? "" : options->ssh->host);
    set_env(s, options->conf);
    if (options->rest != NULL && slurm_rest_new(options->rest, &s->rest) != 0) {
        slurm_free(s);
        return STATUS_INVALID;
    }
    *ret_driver = scheduler_driver_make(&ops, s);
    return 0;
}
