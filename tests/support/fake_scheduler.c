/* The fake scheduler's side of scheduler.h. */
#include "tests/support/fake_scheduler.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define OURS "holdfast: "

static bool is_ours(const char *reason)
{
    return text_starts_with(reason, OURS);
}

static char *reason_of(const struct scheduler_owner *owner)
{
    return owner->request == SCHEDULER_REQUEST_REBOOT    ? own_strdup("Action:Reboot")
           : owner->request == SCHEDULER_REQUEST_REPLACE ? own_strdup("Action:Replace")
                                                         : own_printf(OURS "%s", owner->note);
}

static struct fake_scheduler *of(struct scheduler *s)
{
    return (struct fake_scheduler *)(void *)s;
}

void fake_scheduler_init(struct fake_scheduler *fake, struct fake_outcome *outcome)
{
    memset(fake, 0, sizeof(*fake));
    fake->outcome = outcome;
}

struct fake_scheduler_node *fake_scheduler_add(struct fake_scheduler *fake, const char *name)
{
    if (fake->count == FAKE_NODES_MAX)
        abort();
    struct fake_scheduler_node *node = &fake->nodes[fake->count++];
    *node = (struct fake_scheduler_node){0};
    snprintf(node->name, sizeof(node->name), "%s", name);
    return node;
}

struct fake_scheduler_node *fake_scheduler_find(struct fake_scheduler *fake, const char *name)
{
    for (int i = 0; i < fake->count; i++)
        if (strcmp(fake->nodes[i].name, name) == 0)
            return &fake->nodes[i];
    return NULL;
}

static void take_out(const struct fake_scheduler *fake, struct fake_scheduler_node *node, bool fail, const char *reason,
                     const char *user)
{
    node->reason_at = fake->clock == NULL ? 0 : clock_wall_ms(fake->clock) / MS_PER_S * MS_PER_S;
    node->out = true;
    node->failed = fail;
    node->by_itself = false;
    snprintf(node->reason, sizeof(node->reason), "%s", reason);
    snprintf(node->user, sizeof(node->user), "%s", user);
}

static void put_back(struct fake_scheduler_node *node)
{
    node->out = node->failed = node->by_itself = false;
    node->reason[0] = node->user[0] = '\0';
}

void fake_scheduler_by_hand(struct fake_scheduler *fake, const char *name, bool fail, const char *reason)
{
    take_out(fake, fake_scheduler_find(fake, name), fail, reason, "alice");
}

void fake_scheduler_give_up(struct fake_scheduler *fake, const char *name, const char *reason)
{
    struct fake_scheduler_node *node = fake_scheduler_find(fake, name);
    take_out(fake, node, false, reason, "slurm");
    node->by_itself = true;
}

void fake_scheduler_resume_by_hand(struct fake_scheduler *fake, const char *name)
{
    put_back(fake_scheduler_find(fake, name));
}

/* --- calls ------------------------------------------------------------------------------------- */
static int begin(struct fake_scheduler *fake, char *error)
{
    int status = fake_outcome_begin(fake->outcome, error);
    if (status == 0 && fake->down) {
        snprintf(error, SCHEDULER_ERROR_MAX, "Unable to contact slurm controller");
        return STATUS_UNAVAILABLE;
    }
    return status;
}

static int find(struct fake_scheduler *fake, const char *name, struct fake_scheduler_node **ret_node, char *error)
{
    int status = begin(fake, error);
    if (status != 0)
        return status;
    if (fake->denies) {
        snprintf(error, SCHEDULER_ERROR_MAX, "User hpd cannot change node, job %d", ++fake->refused);
        return STATUS_DENIED;
    }
    if (fake->refuses) {
        snprintf(error, SCHEDULER_ERROR_MAX, "admission webhook denied the request");
        return STATUS_BACKEND;
    }
    *ret_node = fake_scheduler_find(fake, name);
    if (*ret_node != NULL)
        return 0;
    snprintf(error, SCHEDULER_ERROR_MAX, "Invalid node name specified");
    return STATUS_NOT_FOUND;
}

static enum scheduler_request request_of(const struct fake_scheduler_node *node)
{
    if (!node->out)
        return SCHEDULER_REQUEST_NONE;
    if (node->failed && strcmp(node->reason, "Action:Reboot") == 0)
        return SCHEDULER_REQUEST_REBOOT;
    if (node->failed && strcmp(node->reason, "Action:Replace") == 0)
        return SCHEDULER_REQUEST_REPLACE;
    return strncasecmp(node->reason, "action", 6) == 0 ? SCHEDULER_REQUEST_NEAR_MISS : SCHEDULER_REQUEST_NONE;
}

static int observe(struct scheduler *s, struct scheduler_observation *ret_observation, char *error)
{
    struct fake_scheduler *fake = of(s);
    int status = begin(fake, error);
    if (status != 0)
        return status;
    fake->observed++;
    ret_observation->count = (size_t)fake->count;
    ret_observation->nodes = own_calloc((size_t)fake->count + 1, sizeof(struct scheduler_node));
    struct text words = {0};
    text_add_bytes(&words, "", 1);
    for (int i = 0; i < fake->count; i++) {
        const struct fake_scheduler_node *from = &fake->nodes[i];
        struct scheduler_node *to = &ret_observation->nodes[i];
        text_copy_cut(to->name, sizeof(to->name), from->name);
        text_copy_cut(to->reason, sizeof(to->reason), from->reason);
        text_copy_cut(to->reason_user, sizeof(to->reason_user), from->user);
        to->reason_at = from->reason[0] == '\0' ? 0 : from->reason_at;
        snprintf(to->state, sizeof(to->state), "%s%s", from->jobs > 0 ? "ALLOCATED" : "IDLE",
                 from->failed      ? "+FAIL"
                 : from->by_itself ? "+DOWN"
                 : from->out       ? "+DRAIN"
                                   : "");
        to->responding = from->heard;
        to->down = !from->heard;
        to->maintenance = from->maintenance;
        to->schedulable = from->heard && !from->out && !from->maintenance;
        to->drained = from->out && !from->by_itself;
        to->downed = from->by_itself && from->heard;
        to->busy = from->jobs > 0;
        to->request = request_of(from);
        to->ours = is_ours(from->reason);
        to->note = strlen(OURS);
        to->annotated = strstr(from->reason, " (" OURS) != NULL;
        to->address = words.len;
        text_add_bytes(&words, from->address, strlen(from->address) + 1);
        to->host = words.len;
        text_add_bytes(&words, from->host, strlen(from->host) + 1);
    }
    ret_observation->words = text_take(&words);
    return fake_outcome_end(fake->outcome, 0, error);
}

static int cordon(struct scheduler *s, const char *name, const struct scheduler_owner *owner, const char *replaceable,
                  char *shown, char *error)
{
    autofree char *reason = reason_of(owner);
    struct fake_scheduler *fake = of(s);
    struct fake_scheduler_node *node;
    int status = find(fake, name, &node, error);
    if (status != 0)
        return status;
    if (node->out && !node->by_itself && strcmp(node->reason, reason) != 0 && !is_ours(node->reason) &&
        !(replaceable != NULL && strcmp(node->reason, replaceable) == 0)) {
        snprintf(error, SCHEDULER_ERROR_MAX, "%.40s holds %.40s: %.100s", node->user, name, node->reason);
        return fake_outcome_end(fake->outcome, STATUS_CONFLICT, error);
    }
    text_copy_cut(shown, REASON_MAX_BYTES, reason);
    take_out(fake, node, !is_ours(reason), reason, "holdfast");
    node->marks++;
    return fake_outcome_end(fake->outcome, 0, error);
}

static void explain(const char *node, const char *reason, char ret_sentence[SENTENCE_MAX_BYTES])
{
    bool exact = strcmp(reason, "Action:Reboot") == 0 || strcmp(reason, "Action:Replace") == 0;
    snprintf(ret_sentence, SENTENCE_MAX_BYTES,
             exact ? "the reason %.150s counts in the states fail and down only: make %.60s fail"
                   : "the reason \"%.150s\" of %.60s is not exact",
             reason, node);
}

static int annotate(struct scheduler *s, const char *name, const char *reason, const char *user, char *error)
{
    struct fake_scheduler *fake = of(s);
    struct fake_scheduler_node *node;
    int status = find(fake, name, &node, error);
    if (status != 0)
        return status;
    if (strcmp(node->reason, reason) != 0)
        return fake_outcome_end(fake->outcome, STATUS_CONFLICT, error);
    autofree char *word = own_printf(" (" OURS "%.32s, use Action:Reboot or Action:Replace, state=fail)", user);
    text_copy_cut(node->reason + strlen(reason), sizeof(node->reason) - strlen(reason), word);
    node->annotations++;
    return fake_outcome_end(fake->outcome, 0, error);
}

static int jobs(struct scheduler *s, const char *name, struct scheduler_job **ret_jobs, size_t *ret_count, char *error)
{
    struct fake_scheduler *fake = of(s);
    struct fake_scheduler_node *node;
    int status = find(fake, name, &node, error);
    if (status == 0)
        status = fake_outcome_end(fake->outcome, 0, error);
    if (status != 0)
        return status;
    struct scheduler_job *list = own_calloc((size_t)node->jobs + 1, sizeof(*list));
    for (int i = 0; i < node->jobs; i++) {
        snprintf(list[i].id, sizeof(list[i].id), "%d", 100 + i);
        snprintf(list[i].user, sizeof(list[i].user), "alice");
        snprintf(list[i].state, sizeof(list[i].state), "RUNNING");
        list[i].requeueable = list[i].may_be_asked = true;
    }
    *ret_jobs = list;
    *ret_count = (size_t)node->jobs;
    return 0;
}

static int send_signal(struct scheduler *s, const char *name, enum job_signal signal, struct scheduler_job *list,
                       size_t count, char *error)
{
    struct fake_scheduler *fake = of(s);
    struct fake_scheduler_node *node;
    int status = find(fake, name, &node, error);
    if (status != 0)
        return status;
    for (size_t i = 0; i < count; i++) {
        int64_t number = 0;
        (void)text_parse_i64(list[i].id, 100, 1000, &number);
        int64_t job = number - 100;
        list[i].answer = node->jobs_cannot_be_asked ? STATUS_DENIED : job < node->jobs ? 0 : STATUS_NOT_FOUND;
        if (list[i].answer != 0)
            snprintf(error, SCHEDULER_ERROR_MAX, "Access/permission denied");
        else if (job < FAKE_JOBS_MAX)
            node->signals[job]++;
        node->signal = signal;
    }
    int lost = fake_outcome_end(fake->outcome, 0,
                                error); /* an answer that is lost is that of each job: the signals were sent */
    for (size_t i = 0; i < count && lost != 0; i++)
        list[i].answer = lost;
    return 0;
}

static int evict(struct scheduler *s, const char *name, const struct scheduler_owner *owner, char *error)
{
    struct fake_scheduler *fake = of(s);
    struct fake_scheduler_node *node;
    (void)owner;
    int status = find(fake, name, &node, error);
    if (status != 0)
        return status;
    node->evictions++;
    if (!node->jobs_are_stuck)
        node->jobs = 0;
    status = fake_outcome_end(fake->outcome, 0, error);
    node->evictions_unsure += status != 0 || fake->outcome->dead;
    return status;
}

static int uncordon(struct scheduler *s, const char *name, const struct scheduler_owner *owner, char *error)
{
    autofree char *our_reason = owner == NULL ? NULL : reason_of(owner);
    struct fake_scheduler *fake = of(s);
    struct fake_scheduler_node *node;
    int status = find(fake, name, &node, error);
    if (status != 0)
        return status;
    bool ours = our_reason != NULL ? strcmp(node->reason, our_reason) == 0
                                   : is_ours(node->reason) || text_starts_with(node->reason, "Action:");
    if (node->out && !node->by_itself && !ours) {
        snprintf(error, SCHEDULER_ERROR_MAX, "%.40s holds %.40s: %.100s", node->user, name, node->reason);
        return fake_outcome_end(fake->outcome, STATUS_CONFLICT, error);
    }
    put_back(node);
    node->resumes++;
    return fake_outcome_end(fake->outcome, 0, error);
}

static int update_address(struct scheduler *s, const char *name, struct scheduler_move *move, char *error)
{
    struct fake_scheduler *fake = of(s);
    struct fake_scheduler_node *node;
    int status = find(fake, name, &node, error);
    if (status != 0)
        return status;
    bool may = move->was == NULL;
    for (size_t i = 0; i < move->was_count; i++)
        may = may || strcmp(node->address, move->was[i]) == 0;
    memcpy(move->before, node->address, sizeof(move->before));
    if (may && strcmp(node->address, move->address) != 0)
        node->moves++;
    if (may)
        memcpy(node->address, move->address, sizeof(node->address));
    move->holds = strcmp(node->address, move->address) == 0;
    move->renamed = move->holds && move->host[0] != '\0' && strcmp(node->host, move->host_was) == 0;
    if (move->renamed)
        memcpy(node->host, move->host, sizeof(node->host));
    node->renames += move->renamed;
    return fake_outcome_end(fake->outcome, 0, error);
}

/* Keeps the contract: nothing is touched before what it had is written down. */
static int quarantine(struct scheduler *s, struct scheduler_quarantine *request, char *error)
{
    struct fake_scheduler *fake = of(s);
    int status = begin(fake, error);
    if (status != 0)
        return status;
    for (size_t i = 0; i < request->count; i++) {
        struct scheduler_quarantine_node *asked = &request->nodes[i];
        if (asked->released)
            continue; /* it forgets nothing */
        struct fake_scheduler_node *node = fake_scheduler_find(fake, asked->row.name);
        bool theirs = node != NULL && node->theirs;
        if (asked->row.state == QUARANTINE_STATE_ASKED) {
            asked->gone = !asked->row.wanted;
            asked->noted = asked->row.wanted;
            asked->row.state = QUARANTINE_STATE_NOTED;
            asked->row.had = theirs ? QUARANTINE_HAD_FEATURE : 0;
            continue;
        }
        if (node == NULL || ((asked->row.had & QUARANTINE_HAD_FEATURE) != 0) != theirs)
            abort();
        node->quarantines += asked->row.wanted && !node->quarantine;
        node->quarantine = asked->row.wanted || theirs;
        asked->gone = !asked->row.wanted;
        asked->row.state = QUARANTINE_STATE_HELD;
    }
    return fake_outcome_end(fake->outcome, 0, error);
}

static int places(struct scheduler *s, struct scheduler_place **ret_places, size_t *ret_count, char *error)
{
    const struct fake_scheduler *fake = of(s);
    size_t count = 0;
    (void)error;
    *ret_places = own_calloc((size_t)fake->count + 1, sizeof(**ret_places));
    for (int i = 0; i < fake->count; i++) {
        struct scheduler_place *place = &(*ret_places)[count];
        if (fake->nodes[i].leaf[0] == '\0')
            continue;
        place->level = TOPOLOGY_LEVEL_SWITCH;
        text_copy_cut(place->node, sizeof(place->node), fake->nodes[i].name);
        text_copy_cut(place->domain, sizeof(place->domain), fake->nodes[i].leaf);
        count++;
    }
    *ret_count = count;
    return 0;
}

static int show_faults(struct scheduler *s, const char *name, const struct scheduler_faults *faults, char *error)
{
    struct fake_scheduler *fake = of(s);
    int status = begin(fake, error);
    (void)name;
    if (status != 0)
        return status;
    if (fake->denies_faults && faults->count > 0) {
        snprintf(error, SCHEDULER_ERROR_MAX, "User hpd cannot show faults");
        return STATUS_DENIED;
    }
    fake->cleared += faults->count == 0;
    text_copy_cut(fake->sentence, sizeof(fake->sentence), faults->sentence);
    return fake_outcome_end(fake->outcome, 0, error);
}

struct scheduler_driver fake_scheduler_driver(struct fake_scheduler *fake)
{
    static const struct scheduler_faults_ops faults = {.show = show_faults};
    static struct scheduler_ops showing;
    static const struct scheduler_requests_ops requests = {.explain = explain, .annotate = annotate};
    static const struct scheduler_signals_ops signals = {.signal = send_signal};
    static const struct scheduler_addresses_ops addresses = {.update = update_address};
    static const struct scheduler_topology_ops topology = {.places = places};
    static const struct scheduler_governance_ops governance = {.govern = fake_govern};
    static const struct scheduler_quarantine_ops quarantining = {.set = quarantine};
    static const struct scheduler_ops ops = {
        .name = "slurm",
        .daemon = "slurmd",
        .resume_command = "scontrol update nodename=NODE state=resume",
        .observe = observe,
        .cordon = cordon,
        .uncordon = uncordon,
        .workloads = jobs,
        .evict = evict,
        .requests = &requests,
        .signals = &signals,
        .addresses = &addresses,
        .topology = &topology,
        .governance = &governance,
        .quarantine = &quarantining,
    };
    if (!fake->shows_faults)
        return scheduler_driver_make(&ops, (struct scheduler *)(void *)fake);
    showing = ops;
    showing.faults = &faults;
    return scheduler_driver_make(&showing, (struct scheduler *)(void *)fake);
}

struct scheduler_driver fake_scheduler_plain_driver(struct fake_scheduler *fake)
{
    static const struct scheduler_ops ops = {
        .name = "kubernetes",
        .observe = observe,
        .cordon = cordon,
        .uncordon = uncordon,
        .workloads = jobs,
        .evict = evict,
    };
    return scheduler_driver_make(&ops, (struct scheduler *)(void *)fake);
}
