/*
 * Writes what slurm.conf includes, where slurmctld is: here, or over SSH, by the same few lines of shell.
 *
 * A new text is read by Slurm's own parser before it takes the old one's place, and the old one stays beside it as FILE.before until
 * Slurm is seen to have all of it: so whoever is killed in between, the next call knows that a change is unproven, brings it into
 * force again, and puts the old one back where Slurm refuses. gres.conf and topology.conf go with it: all of a change is proven, or
 * all of it is taken back.
 *
 * What Slurm does (22.05, tried out): "scontrol reconfigure" takes partitions and attributes, but when the set of nodes differs
 * slurmctld ends itself ("node count has changed", "hostnames inconsistency"), whatever MaxNodeCount says. So nodes come and go by a
 * restart of slurmctld, under which running jobs run on; slurmd learns of them by the reconfigure that follows. Without a single node
 * slurmctld does not start.
 *
 * A slurmctld that says nothing has refused the change only when its process is gone. One that runs is busy: nothing is taken back, and the
 * change stays unproven until the next call, which waits for it and restarts nothing.
 */
#include "server/scheduler/slurm/manage.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/map.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/command.h"
#include "server/scheduler/slurm/conf.h"
#include "server/scheduler/slurm/conf_private.h"
#include "server/scheduler/slurm/parse.h"
#include "server/scheduler/slurm/process.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONFIGURE_MS (90 * 1000) /* slurmctld ends, starts and reads its state */
#define LOOK_MS 5000             /* of that, one look whether it is there again */
#define ANSWER_MS (30 * 1000)    /* its process is looked for when it did not answer for so long */
#define EDITED_TIMES 3           /* begun anew when the file was edited in between */
#define POLL_US 250000
#define REFUSED_MS (10 * 60 * 1000) /* what Slurm refused is put to it again so much later */
#define CHUNK_BYTES 16000           /* a command over SSH is one packet */

#define EDITED "Configuration drift detected. The file is not as it was written"

AUTO_DEFINE(struct map *, map, map_free)

enum part {
    PART_GRES,
    PART_TOPOLOGY,
    PART_CONF,
    PART_COUNT
}; /* as they are written: a slurmd starts with what a node is made of */

struct slurm_manage {
    char *paths[PART_COUNT]; /* NULL: gres.conf, topology.conf where they are the site's */
    char **restart;
    struct slurm_conf_site site;
    int64_t answer_ms, configure_ms;
    char refused[ID_SHA256_HEX_MAX]; /* the texts that Slurm did not take last */
    char refused_why[SCHEDULER_ERROR_MAX];
    int64_t refused_until;
};

struct file {
    const char *path;
    char digest[ID_SHA256_HEX_MAX]; /* of it as it was found, taken before it was read */
    char *present, *text;           /* as it is, as it shall be */
    char *before;                   /* of an unproven change: as it was; NULL: there is none */
};

struct arranging {
    struct slurm_call call;
    struct slurm_manage *m;
    struct scheduler_desired *desired;
    struct file files[PART_COUNT];
    struct slurm_conf conf; /* of the present file of nodes and partitions */
    bool restarted;
};

/* --- files there -------------------------------------------------------------------------------- */

static int shell(struct arranging *a, const char *script, const char *one, const char *two, char **ret_out)
{
    autofree char *out = NULL;
    int status = slurm_run(&a->call, (const char *[]){"sh", "-c", script, "sh", one, two, NULL}, &out);
    if (status == 0 && ret_out != NULL)
        *ret_out = TAKE(out);
    return status;
}

/* "" for a file that is not there. */
static int read_there(struct arranging *a, const char *path, char **ret_text)
{
    return shell(a, "if [ -e \"$1\" ]; then cat -- \"$1\"; fi", path, NULL, ret_text);
}

/* People edit the file while we are at it. So none of the steps that take their words away is made when it is not what it was. */
#define UNLESS_EDITED                                                                                             \
    "if [ -e \"$1\" ]; then it=$(sha256sum <\"$1\"); else it=$(sha256sum </dev/null); fi; if [ \"${it%% *}\" != " \
    "\"$2\" ]; "                                                                                                  \
    "then echo edited; exit 0; fi; "
#define EDITED_MEANWHILE "the file was edited while it was being written"

static int unless_edited(struct arranging *a, const char *script, const struct file *file, const char *digest)
{
    autofree char *out = NULL;
    int status = shell(a, script, file->path, digest, &out);
    return status != 0 || out[0] == '\0' ? status : slurm_call_fail(&a->call, STATUS_CONFLICT, EDITED_MEANWHILE);
}

static void digest_of_text(const struct file *file, char ret_digest[ID_SHA256_HEX_MAX])
{
    id_sha256_hex(file->text, strlen(file->text), ret_digest);
}

/* FILE.new, on the disk. */
static int write_new(struct arranging *a, const char *path, const char *text)
{
    int status = shell(a, "umask 022; : >\"$1.new\"", path, NULL, NULL);
    for (size_t at = 0, len = strlen(text); status == 0 && at < len; at += CHUNK_BYTES) {
        autofree char *chunk = own_printf("%.*s", CHUNK_BYTES, text + at);
        status = shell(a, "printf %s \"$2\" >>\"$1.new\"", path, chunk, NULL);
    }
    return status == 0 ? shell(a, "sync -- \"$1.new\"", path, NULL, NULL) : status;
}

/* Each step is a rename of a whole file, so that nobody ever finds half of one. */
static int install(struct arranging *a, struct file *file)
{
    return unless_edited(
        a,
        UNLESS_EDITED
        "if [ ! -e \"$1.before\" ]; then if [ -e \"$1\" ]; then cp -p -- \"$1\" \"$1.before.new\"; else : "
        ">\"$1.before.new\"; fi && sync -- \"$1.before.new\" && mv -f -- \"$1.before.new\" \"$1.before\"; "
        "fi && mv -f -- \"$1.new\" \"$1\" && sync -- \"$(dirname -- \"$1\")\"",
        file, file->digest);
}

/* It stays beside it until Slurm is seen to have it again. */
static int put_back(struct arranging *a, const struct file *file)
{
    return shell(a,
                 "cp -p -- \"$1.before\" \"$1.new\" && sync -- \"$1.new\" && mv -f -- \"$1.new\" \"$1\" && sync -- "
                 "\"$(dirname -- \"$1\")\"",
                 file->path, NULL, NULL);
}

/* What is proven is kept as a copy, for people and for us. */
static int settle(struct arranging *a, const struct file *file)
{
    char digest[ID_SHA256_HEX_MAX];
    digest_of_text(file, digest);
    return unless_edited(
        a,
        UNLESS_EDITED "cp -p -- \"$1\" \"$1.old.new\" && mv -f -- \"$1.old.new\" \"$1.old\" && rm -f -- \"$1.before\"",
        file, digest);
}

static int forget_before(struct arranging *a, const struct file *file)
{
    return shell(a, "rm -f -- \"$1.before\"", file->path, NULL, NULL);
}

/* --- what Slurm has ----------------------------------------------------------------------------- */

/* The names that one of scontrol's lists has: the words "NodeName=…" or "PartitionName=…" at its lines' beginnings. */
static int names_there(struct slurm_call *call, const char *what, const char *key, struct map *names, char **ret_out)
{
    int status = slurm_run(call, (const char *[]){call->s->scontrol, "-a", "-o", "show", what, NULL}, ret_out);
    if (status != 0)
        return status;
    char *rest = *ret_out;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;) {
        if (!text_starts_with(line, key))
            continue;
        char *name = line + strlen(key);
        name[strcspn(name, " ")] = '\0';
        map_set(names, name, name);
    }
    return 0;
}

struct missing {
    bool nodes, partitions; /* some are there and are not to be, or the other way */
    char what[NODE_NAME_MAX_BYTES + 16];
};

static void miss(struct missing *missing, bool partition, const char *name)
{
    *(partition ? &missing->partitions : &missing->nodes) = true;
    snprintf(missing->what, sizeof(missing->what), "%s %.63s", partition ? "partition" : "node", name);
}

/* What conf says and Slurm does not have; with gone, what it does not say and Slurm still has. */
static void compare(const struct slurm_conf *conf, const struct slurm_conf *before, struct map *nodes,
                    struct map *partitions, struct missing *missing)
{
    AUTO(map) struct map *said = map_new();
    AUTO(map) struct map *said_partitions = map_new();
    for (size_t i = 0; i < conf->count; i++) {
        const struct slurm_conf_line *line = &conf->lines[i];
        for (size_t k = 0; line->kind == SLURM_CONF_NODE && k < line->name_count; k++) {
            map_set(said, line->names[k], line->names[k]);
            if (map_get(nodes, line->names[k]) == NULL && strstr(line->rest, "State=FUTURE") == NULL)
                miss(missing, false, line->names[k]);
        }
        if (line->kind == SLURM_CONF_PARTITION)
            map_set(said_partitions, line->partition, line->partition);
        if (line->kind == SLURM_CONF_PARTITION && map_get(partitions, line->partition) == NULL)
            miss(missing, true, line->partition);
    }
    for (size_t i = 0; before != NULL && i < before->count; i++) {
        const struct slurm_conf_line *line = &before->lines[i];
        for (size_t k = 0; line->kind == SLURM_CONF_NODE && k < line->name_count; k++)
            if (map_get(said, line->names[k]) == NULL && map_get(nodes, line->names[k]) != NULL)
                miss(missing, false, line->names[k]);
        if (line->kind == SLURM_CONF_PARTITION && map_get(said_partitions, line->partition) == NULL &&
            map_get(partitions, line->partition) != NULL)
            miss(missing, true, line->partition);
    }
}

static int look(struct slurm_call *call, const char *text, const char *before, struct missing *ret_missing)
{
    AUTO(map) struct map *nodes = map_new();
    AUTO(map) struct map *partitions = map_new();
    autofree char *node_text = NULL, *partition_text = NULL;
    struct slurm_conf conf = {0}, was = {0};
    char error[SLURM_CONF_ERROR_MAX];
    *ret_missing = (struct missing){0};
    int status = names_there(call, "node", "NodeName=", nodes, &node_text);
    if (status == 0)
        status = names_there(call, "partition", "PartitionName=", partitions, &partition_text);
    if (status == 0 && slurm_conf_parse(text, strlen(text), &conf, error) != 0)
        status = slurm_call_fail(call, STATUS_INVALID, "%s", error);
    if (status == 0 && before != NULL)
        (void)slurm_conf_parse(before, strlen(before), &was, error); /* one that nobody can read was never in force */
    if (status == 0)
        compare(&conf, &was, nodes, partitions, ret_missing);
    slurm_conf_free(&conf);
    slurm_conf_free(&was);
    return status;
}

/* --- into force --------------------------------------------------------------------------------- */

/* Slurm's own parser on a copy of slurm.conf that includes the new file. */
static int check(struct arranging *a)
{
    const char *conf = slurm_conf_there(&a->call);
    autofree char *out = NULL, *copy = own_printf("SLURM_CONF=%s.holdfast", conf);
    const char *base = strrchr(a->m->paths[PART_CONF], '/');
    base = base == NULL ? a->m->paths[PART_CONF] : base + 1;
    int status =
        shell(a,
              "awk -v base=\"$2\" 'tolower($1) == \"include\" { n = split($2, part, \"/\"); if (part[n] == base) { "
              "$2 = $2 \".new\"; found = 1 } } { print } END { exit !found }' \"$1\" >\"$1.holdfast\" || { rm -f -- "
              "\"$1.holdfast\"; echo \"it does not include $2\" >&2; exit 1; }",
              conf, base, NULL);
    if (status != 0) {
        autofree char *why = own_strdup(a->call.error);
        return slurm_call_fail(&a->call, STATUS_INVALID, "%s cannot be managed: %s", conf, why);
    }
    status = slurm_run(&a->call,
                       (const char *[]){"env", copy, a->call.s->scontrol, "show", "hostnames", "holdfast", NULL}, &out);
    autofree char *why = own_strdup(a->call.error);
    (void)shell(a, "rm -f -- \"$1.holdfast\"", conf, NULL, NULL);
    return status == 0 ? 0 : slurm_call_fail(&a->call, STATUS_INVALID, "Slurm cannot read the new file: %s", why);
}

static int restart(struct arranging *a)
{
    autofree char *out = NULL;
    a->restarted = true;
    return slurm_run(&a->call, (const char *const *)a->m->restart, &out);
}

static int reconfigure(struct arranging *a)
{
    autofree char *out = NULL;
    return slurm_run(&a->call, (const char *[]){a->call.s->scontrol, "reconfigure", NULL}, &out);
}

static bool is_away(int status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_TIMEOUT;
}

static int still_silent(struct arranging *a)
{
    return slurm_call_fail(
        &a->call, STATUS_TIMEOUT,
        "slurmctld runs and does not answer, so whether it takes the new configuration is not known");
}

/* Until it has what the text says. TIMEOUT: it says nothing, and its process is there. */
static int await(struct arranging *a, const char *text, const char *before)
{
    char error[SCHEDULER_ERROR_MAX] = "";
    struct missing missing = {0};
    int64_t away_at = clock_mono_ms(clock_system()) + a->m->answer_ms;
    for (;;) {
        struct slurm_call aside = slurm_call_aside(&a->call, LOOK_MS, error);
        int status = look(&aside, text, before, &missing);
        int64_t now = clock_mono_ms(clock_system());
        if (status == 0 && !missing.nodes && !missing.partitions)
            return 0;
        bool late = now + LOOK_MS > a->call.deadline_ms;
        bool busy = is_away(status) && (late || now > away_at) && slurm_controller_runs(&a->call);
        if (busy && late)
            return still_silent(a);
        if (status == 0 || busy)
            away_at = now + a->m->answer_ms;
        if (late || now > away_at)
            return slurm_call_fail(&a->call, STATUS_BACKEND, "Slurm did not come to have the %s",
                                   status != 0 ? error : missing.what);
        usleep(POLL_US);
    }
}

/* A first look, for which a slurmctld that runs and does not answer is waited for. UNAVAILABLE, of a change: it has ended. */
static int look_first(struct arranging *a, const char *text, const char *before, bool changed,
                      struct missing *ret_missing)
{
    char error[SCHEDULER_ERROR_MAX] = "";
    for (;;) {
        struct slurm_call aside = slurm_call_aside(&a->call, LOOK_MS, error);
        int status = look(&aside, text, before, ret_missing);
        if (changed && is_away(status) && slurm_controller_runs(&a->call)) {
            if (clock_mono_ms(clock_system()) + LOOK_MS > a->call.deadline_ms)
                return still_silent(a);
            usleep(POLL_US);
            continue;
        }
        if (status == 0)
            return 0;
        return slurm_call_fail(&a->call, changed && is_away(status) ? STATUS_UNAVAILABLE : status, "%s", error);
    }
}

/* With a slurmctld that has ended, and one whose set of nodes changes. */
static int restart_with(struct arranging *a, const char *text, const char *before)
{
    int status = restart(a);
    if (status != 0 && slurm_controller_runs(&a->call))
        status = 0; /* its restart command did not wait long enough */
    if (status == 0)
        status = await(a, text, before);
    return status == 0 ? reconfigure(a) : status;
}

/* changed: the files differ from what Slurm has read, even where no name shows it. */
static int bring(struct arranging *a, const char *text, const char *before, bool changed)
{
    struct missing missing;
    int status = look_first(a, text, before, changed, &missing);
    bool ended = status == STATUS_UNAVAILABLE;
    if (status != 0 && !(ended && changed)) /* that it is away is not ours to fix */
        return status;
    if (status == 0 && !changed && !missing.nodes && !missing.partitions)
        return 0;
    status = ended || missing.nodes ? STATUS_UNAVAILABLE : reconfigure(a);
    bool wants_restart = status != 0 && strstr(a->call.error, "require restart") != NULL; /* CPUs of a node, say */
    if (status == STATUS_UNAVAILABLE || wants_restart) /* or it has just ended itself, for nodes of slurm.conf's own */
        status = restart_with(a, text, before);
    return status == 0 ? await(a, text, before) : status;
}

/* --- all of it ---------------------------------------------------------------------------------- */

/* Something that is in a file of ours and is not ours: it came by Merge. */
static bool has_strangers(const struct slurm_conf *conf, char *said)
{
    AUTO(map) struct map *nodes = map_new();
    map_set(nodes, SLURM_CONF_NOBODY, nodes);
    for (size_t i = 0; i < conf->node_count; i++)
        map_set(nodes, conf->nodes[i], conf->nodes[i]);
    for (size_t i = 0; i < conf->count; i++) {
        const struct slurm_conf_line *line = &conf->lines[i];
        bool ours = line->kind != SLURM_CONF_PARTITION;
        for (size_t k = 0; !ours && k < conf->partition_count; k++)
            ours = text_equal(conf->partitions[k], line->partition);
        if (!ours)
            snprintf(said, DESIRED_SAID_MAX,
                     "Partition configuration drift detected. No group's SlurmConfig has the partition %.63s",
                     line->partition);
        if (!ours)
            return true;
        for (size_t k = 0; line->kind == SLURM_CONF_NODE && k < line->name_count; k++)
            if (map_get(nodes, line->names[k]) == NULL) {
                snprintf(said, DESIRED_SAID_MAX, "Configuration drift detected. The node %.63s is none of Holdfast's",
                         line->names[k]);
                return true;
            }
    }
    return false;
}

/* What somebody else made of the file; "" for nothing, and for a file that is not there yet. */
static void find_drift(struct arranging *a, bool readable, const char *why, const struct slurm_conf *old)
{
    struct scheduler_desired *desired = a->desired;
    desired->drift[0] = desired->done[0] = '\0';
    if (a->files[PART_CONF].present[0] == '\0')
        return;
    if (!readable)
        snprintf(desired->drift, sizeof(desired->drift), "Configuration drift detected. The file cannot be read: %s",
                 why);
    else if (a->conf.signed_by_us ? has_strangers(&a->conf, desired->drift)
                                  : slurm_conf_drift(desired, &a->conf, desired->drift))
        return;
    else if (!a->conf.signed_by_us) {
        char said[DESIRED_SAID_MAX] = "";
        bool which = slurm_conf_edited(old, &a->conf, said);
        autofree char *whole = own_printf(EDITED "%s%s", which ? ": " : "", said);
        text_copy_cut(desired->drift, sizeof(desired->drift), whole);
    }
}

static void add_known(struct map *known, const struct slurm_conf *conf)
{
    for (size_t i = 0; i < conf->count; i++)
        if (conf->lines[i].kind == SLURM_CONF_NODE && conf->lines[i].name_count == 1 &&
            strstr(conf->lines[i].rest, "NodeAddr=") != NULL)
            map_set(known, conf->lines[i].names[0], conf->lines[i].rest);
}

/* slurmctld hangs for seconds over each name that it cannot resolve. So a node is written once it is known where it lives, and one
 * whose machine is being replaced stays where it was until then; where the file was edited, where our last one had it. */
static void settle_addresses(struct arranging *a, const struct slurm_conf *old)
{
    struct scheduler_desired *desired = a->desired;
    AUTO(map) struct map *known = map_new();
    size_t kept = 0;
    add_known(known, old);
    add_known(known, &a->conf);
    for (size_t i = 0; i < desired->count; i++) {
        struct desired_node *node = &desired->nodes[i];
        const char *rest = map_get(known, node->name), *at = rest == NULL ? NULL : strstr(rest, "NodeAddr=");
        if (node->address[0] == '\0' && at != NULL) {
            at += strlen("NodeAddr=");
            (void)text_copy_bytes(node->address, sizeof(node->address), at, strcspn(at, " "));
        }
        if (!slurm_conf_is_partition(node->partition)) /* an instance type may be called what no partition can */
            node->partition[0] = '\0';
        if (node->address[0] != '\0')
            desired->nodes[kept++] = *node;
    }
    desired->count = kept;
}

/* Decides by the strategy; a->text stays NULL where nothing may be written. */
static int plan(struct arranging *a)
{
    char why[SLURM_CONF_ERROR_MAX] = "";
    struct file *files = a->files, *conf = &files[PART_CONF];
    bool readable = slurm_conf_parse(conf->present, strlen(conf->present), &a->conf, why) == 0;
    struct slurm_conf old = {0};
    if (conf->present[0] != '\0' && !a->conf.signed_by_us) {
        autofree char *path = own_printf("%s.old", a->m->paths[PART_CONF]), *text = NULL;
        char unread[SLURM_CONF_ERROR_MAX];
        int status = read_there(a, path, &text);
        if (status != 0)
            return status;
        (void)slurm_conf_parse(text, strlen(text), &old, unread);
    }
    settle_addresses(a, &old);
    find_drift(a, readable, why, &old);
    slurm_conf_free(&old);
    bool drifted = a->desired->drift[0] != '\0';
    if (a->desired->strategy == DESIRED_STRATEGY_OVERWRITE || !drifted)
        conf->text = slurm_conf_text(a->desired, &a->m->site, NULL);
    if (a->desired->strategy == DESIRED_STRATEGY_MERGE && readable) {
        free(conf->text);
        conf->text = slurm_conf_text(a->desired, &a->m->site, &a->conf);
        if (a->conf.signed_by_us)
            a->desired->drift[0] = '\0'; /* it was taken in */
    }
    if (conf->text != NULL && files[PART_GRES].path != NULL)
        files[PART_GRES].text = slurm_conf_gres(a->desired, &a->m->site);
    if (conf->text != NULL && files[PART_TOPOLOGY].path != NULL)
        files[PART_TOPOLOGY].text =
            slurm_conf_topology(a->desired, a->desired->strategy == DESIRED_STRATEGY_MERGE ? &a->conf : NULL);
    return 0;
}

static bool differs(const struct file *file)
{
    return file->path != NULL && !text_equal(file->present, file->text);
}

/* Of all that would be written. */
static void digest_of(const struct arranging *a, char digest[ID_SHA256_HEX_MAX])
{
    AUTO(text) struct text all = {0};
    for (size_t i = 0; i < PART_COUNT; i++)
        if (a->files[i].path != NULL)
            text_printf(&all, "%s%c", a->files[i].text, '\x1f');
    id_sha256_hex(text_get(&all), all.len, digest);
}

static bool was_refused(const struct arranging *a)
{
    char digest[ID_SHA256_HEX_MAX];
    digest_of(a, digest);
    return text_equal(digest, a->m->refused) && clock_mono_ms(clock_system()) < a->m->refused_until;
}

/* All that this change, or an earlier unproven one, has touched: it is as it was before, and seen to be. */
static int restore(struct arranging *a)
{
    struct file *conf = &a->files[PART_CONF];
    const char *before = conf->before != NULL ? conf->before : conf->present;
    int status = 0;
    for (size_t i = 0; i < PART_COUNT && status == 0; i++)
        if (a->files[i].before != NULL || differs(&a->files[i]))
            status = put_back(a, &a->files[i]);
    if (status == 0 && before[0] != '\0')
        status = bring(a, before, conf->text, true);
    for (size_t i = 0; i < PART_COUNT && status == 0; i++)
        if (a->files[i].before != NULL || differs(&a->files[i]))
            status = forget_before(a, &a->files[i]);
    return status;
}

static int roll_back(struct arranging *a, int status)
{
    struct slurm_manage *m = a->m;
    char why[SCHEDULER_ERROR_MAX];
    text_copy_cut(why, sizeof(why), a->call.error);
    a->call.deadline_ms = clock_mono_ms(clock_system()) + a->m->configure_ms;
    int back = restore(a);
    autofree char *trouble = own_strdup(a->call.error);
    slurm_call_fail(
        &a->call, status, "Slurm refused the new configuration (%.120s) and %s%.60s", why,
        back == 0 ? "has the old one again" : "the old one could not be brought back: ", back == 0 ? "" : trouble);
    if (back == 0) {
        digest_of(a, m->refused);
        m->refused_until = clock_mono_ms(clock_system()) + REFUSED_MS;
        text_copy_cut(m->refused_why, sizeof(m->refused_why), a->call.error);
    }
    return STATUS_BACKEND;
}

/* All are on the disk, and what Slurm's parser can read is read, before the first takes the place of an older one. */
static int write_all(struct arranging *a)
{
    int status = 0;
    for (size_t i = 0; i < PART_COUNT && status == 0; i++)
        if (differs(&a->files[i]))
            status = write_new(a, a->files[i].path, a->files[i].text);
    if (status == 0 && differs(&a->files[PART_CONF]))
        status = check(a);
    for (size_t i = 0; i < PART_COUNT && status == 0; i++)
        if (differs(&a->files[i]))
            status = install(a, &a->files[i]);
    return status;
}

/* Its error is the caller's still, when it was not. */
static bool was_edited(struct arranging *a)
{
    char digest[ID_SHA256_HEX_MAX], aside[SCHEDULER_ERROR_MAX];
    text_copy_cut(aside, sizeof(aside), a->call.error);
    digest_of_text(&a->files[PART_CONF], digest);
    a->call.deadline_ms = clock_mono_ms(clock_system()) + LOOK_MS; /* it may have failed for being late */
    if (unless_edited(a, UNLESS_EDITED, &a->files[PART_CONF], digest) == STATUS_CONFLICT)
        return true;
    slurm_call_fail(&a->call, STATUS_BACKEND, "%s", aside);
    return false;
}

static int carry_out(struct arranging *a)
{
    struct file *conf = &a->files[PART_CONF];
    bool written = false, unproven = false;
    for (size_t i = 0; i < PART_COUNT; i++) {
        written = written || differs(&a->files[i]);
        unproven = unproven || a->files[i].before != NULL;
    }
    if (written && was_refused(a))
        return slurm_call_fail(&a->call, STATUS_INVALID, "%s", a->m->refused_why);
    int status = write_all(a);
    if (status != 0)
        return status;
    const char *before = conf->before != NULL ? conf->before : differs(conf) ? conf->present : NULL;
    status = bring(a, conf->text, before, written || unproven);
    if (status != 0 && was_edited(a))
        return STATUS_CONFLICT; /* it is not ours that was refused */
    if (status != 0)
        return (written || unproven) && status != STATUS_DENIED && status != STATUS_TIMEOUT ? roll_back(a, status)
                                                                                            : status;
    for (size_t i = 0; i < PART_COUNT && status == 0; i++)
        if (a->files[i].before != NULL || differs(&a->files[i]))
            status = settle(a, &a->files[i]);
    if (!written && !unproven && !a->restarted)
        return status;
    snprintf(a->desired->done, sizeof(a->desired->done), "%zu node%s, %s", a->desired->count,
             text_plural((int64_t)a->desired->count),
             a->restarted ? "slurmctld was restarted" : "slurmctld read it again");
    a->m->refused[0] = '\0';
    return status;
}

static int read_file(struct arranging *a, struct file *file, const char *path)
{
    autofree char *before_path = own_printf("%s.before", path), *unproven = NULL, *digest = NULL;
    file->path = path;
    int status =
        shell(a, "if [ -e \"$1\" ]; then sha256sum <\"$1\"; else sha256sum </dev/null; fi", path, NULL, &digest);
    if (status == 0)
        (void)text_copy_bytes(file->digest, sizeof(file->digest), digest, strcspn(digest, " "));
    if (status == 0)
        status = read_there(a, path, &file->present);
    if (status == 0)
        status = shell(a, "if [ -e \"$1\" ]; then echo yes; fi", before_path, NULL, &unproven);
    return status == 0 && unproven[0] != '\0' ? read_there(a, before_path, &file->before) : status;
}

static void forget_files(struct arranging *a)
{
    slurm_conf_free(&a->conf);
    for (size_t i = 0; i < PART_COUNT; i++) {
        free(a->files[i].present);
        free(a->files[i].before);
        free(a->files[i].text);
        a->files[i] = (struct file){0};
    }
}

static int configure(struct arranging *a)
{
    int status = 0;
    for (size_t i = 0; i < PART_COUNT && status == 0; i++)
        if (a->m->paths[i] != NULL)
            status = read_file(a, &a->files[i], a->m->paths[i]);
    if (status == 0)
        status = plan(a);
    if (status == 0 && a->files[PART_CONF].text != NULL)
        status = carry_out(a);
    forget_files(a);
    return status;
}

int slurm_configure(struct scheduler *s, struct scheduler_desired *desired, char *ret_error)
{
    struct arranging a = {.m = s->manage, .desired = desired};
    int status = STATUS_CONFLICT;
    slurm_call_start(&a.call, s, ret_error);
    if (s->manage == NULL)
        return slurm_call_fail(&a.call, STATUS_UNSUPPORTED, "this Slurm's configuration is the site's");
    for (int i = 0; i < EDITED_TIMES && status == STATUS_CONFLICT; i++) {
        a.call.deadline_ms = clock_mono_ms(clock_system()) + s->manage->configure_ms;
        status = configure(&a);
    }
    return status;
}

/* --- life --------------------------------------------------------------------------------------- */

struct slurm_manage *slurm_manage_new(const struct slurm_manage_options *options)
{
    struct slurm_manage *m = own_calloc(1, sizeof(*m));
    size_t count = 0;
    m->paths[PART_CONF] = own_strdup(options->file);
    m->paths[PART_GRES] = own_strdup(options->gres);
    m->paths[PART_TOPOLOGY] = own_strdup(options->topology);
    while (options->restart[count] != NULL)
        count++;
    m->restart = own_calloc(count + 1, sizeof(*m->restart));
    for (size_t i = 0; i < count; i++)
        m->restart[i] = own_strdup(options->restart[i]);
    m->site = *options->site;
    m->answer_ms = options->answer_ms > 0 ? options->answer_ms : ANSWER_MS;
    m->configure_ms = options->configure_ms > 0 ? options->configure_ms : CONFIGURE_MS;
    return m;
}

void slurm_manage_free(struct slurm_manage *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < PART_COUNT; i++)
        free(m->paths[i]);
    for (char **word = m->restart; *word != NULL; word++)
        free(*word);
    free(m->restart);
    free(m);
}
