/*
 * The file that says what groups are to their scheduler: looked for where a request describes groups of a scheduler that has such files,
 * in the directories (file:///) that their SourceS3Uri name, as this machine has them. An https address is the agents' to read, so there
 * it is not looked for.
 *
 * The file counts in the lifecycle path of the group that it calls the controller. What it says goes into the specs of the
 * request's groups, beside what was asked for; it stays when the file goes, as SlurmConfig does when it is left out.
 */
#include "server/service/cluster/provisioning.h"
#include "server/service/cluster/cluster.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "db/cluster.h"

#include <stdio.h>
#include <string.h>

#define DIRECTORY_PREFIX "file://"
#define ADDRESS_PREFIX "https://"

/* A group of the cluster, as it will be. */
struct party {
    char name[NAME_MAX_BYTES];
    struct group_spec spec; /* owned */
    char *directory;        /* owned; NULL: its scripts lie in none */
    bool by_address;
};

struct finding {
    const struct provisioning_request *request;
    const struct role_file_format *format; /* NULL: the scheduler has no such file */
    struct problem *problem;
    struct db_tx *tx;
    struct cluster cluster;
    bool has_strategy;
    struct party *parties;
    size_t count;
    const struct party *where; /* the first of the groups in whose path the file counts */
    struct role_file file;
};

/* --- the groups as they will be ----------------------------------------------------------------- */

static struct party *party_of(const struct finding *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (text_equal(f->parties[i].name, name))
            return &f->parties[i];
    return NULL;
}

static struct party *add_party(struct finding *f, const char *name)
{
    f->parties = own_realloc(f->parties, f->count + 1, sizeof(*f->parties));
    struct party *party = &f->parties[f->count++];
    *party = (struct party){0};
    text_copy_cut(party->name, sizeof(party->name), name);
    return party;
}

static int take_stored(const void *row, void *arg)
{
    const struct instance_group *group = row;
    struct finding *f = arg;
    if (group->state == GROUP_STATE_DELETING)
        return 0;
    for (size_t i = 0; i < f->request->delete_count; i++)
        if (text_equal(f->request->groups_to_delete[i], group->name))
            return 0;
    return db_group_spec_get(f->tx, group->id, &add_party(f, group->name)->spec);
}

static int read_stored(struct db_tx *tx, void *arg)
{
    struct finding *f = arg;
    AUTO(cluster_spec) struct cluster_spec spec = {0};
    f->tx = tx;
    int status = place_find_cluster(tx, f->request->cluster, &f->cluster, f->problem);
    if (status == 0)
        status = db_cluster_spec_get(tx, f->cluster.id, &spec);
    f->has_strategy = f->has_strategy || spec.strategy.given;
    return status < 0 ? status : db_group_list(tx, f->cluster.id, take_stored, f);
}

static void find_path(struct party *party)
{
    const char *source = party->spec.lifecycle.source;
    party->by_address = source != NULL && text_starts_with(source, ADDRESS_PREFIX);
    if (source == NULL || !text_starts_with(source, DIRECTORY_PREFIX "/"))
        return;
    const char *path = source + strlen(DIRECTORY_PREFIX);
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    party->directory = own_printf("%.*s", (int)len, path);
}

/* What a request says of a group takes the place of what was said of it, or of members of that. */
static void take_request(struct finding *f)
{
    for (size_t i = 0; i < f->request->group_count; i++) {
        const struct service_group_spec *group = &f->request->groups[i];
        struct party *party = party_of(f, group->name);
        if (party == NULL)
            party = add_party(f, group->name);
        if (group->spec == NULL)
            continue;
        AUTO(group_spec) struct group_spec newer = group_spec_copy(group->spec);
        if (!f->request->merge) {
            AUTO(group_spec) struct group_spec older = party->spec;
            party->spec = (struct group_spec){0};
            if (!newer.slurm.given) { /* what the file said stays */
                party->spec.slurm_by_file = older.slurm_by_file;
                older.slurm_by_file = (struct slurm_spec){0};
            }
        }
        group_spec_merge(&party->spec, &newer);
    }
    for (size_t i = 0; i < f->count; i++)
        find_path(&f->parties[i]);
}

/* --- the file ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static int refuse(const struct finding *f, const struct party *party, int status,
                                                        const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *why = own_vprintf(fmt, ap);
    va_end(ap);
    return problem_say(f->problem, status, PROBLEM_INVALID_VALUE,
                       "%s in %.200s, the lifecycle path of the group \"%s\": %s.", f->format->name, party->directory,
                       party->name, why);
}

static bool was_read(const struct finding *f, const struct party *party)
{
    for (const struct party *earlier = f->parties; earlier < party; earlier++)
        if (text_equal(earlier->directory, party->directory))
            return true;
    return false;
}

/* NOT_FOUND: there is none. */
static int read_file(const struct finding *f, const struct party *party, struct role_file *ret_file)
{
    autofree char *path = own_printf("%s/%s", party->directory, f->format->name), *text = NULL;
    char error[ROLE_FILE_ERROR_MAX];
    size_t len = 0;
    int status = file_read_plain(path, ROLE_FILE_BYTES_MAX, &text, &len);
    if (status == STATUS_NOT_FOUND)
        return status;
    if (status == STATUS_INVALID)
        return refuse(f, party, STATUS_INVALID, "it is a link, or no file");
    if (status == STATUS_TOO_LARGE)
        return refuse(f, party, STATUS_INVALID, "it has more than %d bytes", ROLE_FILE_BYTES_MAX);
    if (status != 0)
        return refuse(f, party, STATUS_INVALID, "hpd cannot read it");
    if (f->format->parse(text, len, ret_file, error) != 0)
        return refuse(f, party, STATUS_INVALID, "%s", error);
    return 0;
}

static int find_file(struct finding *f)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct party *party = &f->parties[i];
        struct role_file file;
        if (party->directory == NULL || was_read(f, party))
            continue;
        int status = read_file(f, party, &file);
        if (status == STATUS_NOT_FOUND)
            continue;
        if (status != 0)
            return status;
        const struct party *controller = party_of(f, file.controller);
        if (controller == NULL)
            return refuse(f, party, STATUS_INVALID, "controller_group is \"%s\", and the cluster has no such group",
                          file.controller);
        if (controller->directory == NULL || !text_equal(controller->directory, party->directory))
            continue;
        if (f->where != NULL)
            return refuse(f, party, STATUS_INVALID,
                          "controller_group is \"%s\", and the file in %.200s has another; a cluster has one",
                          file.controller, f->where->directory);
        f->where = controller;
        f->file = file;
    }
    return 0;
}

static bool has_config(const struct finding *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->parties[i].spec.slurm.given)
            return true;
    return false;
}

static int check_file(const struct finding *f)
{
    if (f->where == NULL)
        return 0;
    if (f->has_strategy || has_config(f))
        return problem_say(f->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "%s", f->format->both);
    if (f->file.login[0] != '\0' && party_of(f, f->file.login) == NULL)
        return refuse(f, f->where, STATUS_INVALID, "login_group is \"%s\", and the cluster has no such group",
                      f->file.login);
    for (size_t i = 0; i < f->file.count; i++)
        if (party_of(f, f->file.workers[i].group) == NULL)
            return refuse(f, f->where, STATUS_INVALID,
                          "worker_groups[%zu].instance_group_name is \"%s\", and the cluster has no such group", i,
                          f->file.workers[i].group);
    return 0;
}

/* --- what it comes to --------------------------------------------------------------------------- */

/* What the file says of a group, as if it had been asked for. Nothing of one that it does not name, which a merge does not bring back. */
static struct slurm_spec slurm_of(const struct role_file *file, const char *group)
{
    struct slurm_spec slurm = {.given = true};
    if (text_equal(group, file->controller))
        slurm.role = (struct optional){true, SLURM_ROLE_CONTROLLER};
    if (text_equal(group, file->login))
        slurm.role = (struct optional){true, SLURM_ROLE_LOGIN};
    for (size_t i = 0; i < file->count; i++) {
        if (!text_equal(group, file->workers[i].group))
            continue;
        char **names = own_calloc(1, sizeof(*names));
        names[0] = own_strdup(file->workers[i].partition);
        slurm.role = (struct optional){true, SLURM_ROLE_COMPUTE};
        slurm.partitions = (struct optional_list){true, 1, names};
    }
    return slurm;
}

/* True: the party's spec is what is to be kept; else what the request has. */
static bool take_file(const struct finding *f, struct party *party, bool asked)
{
    const bool had = party->spec.slurm_by_file.given;
    if (f->where == NULL)
        return had && asked;
    AUTO(group_spec) struct group_spec by_file = {.slurm_by_file = slurm_of(&f->file, party->name)};
    if (!had && !by_file.slurm_by_file.role.given)
        return false;
    group_spec_merge(&party->spec, &by_file);
    return true;
}

static void say_missing(const struct finding *f, char told[SENTENCE_MAX_BYTES])
{
    const struct party *in = NULL, *away = NULL;
    for (size_t i = 0; i < f->count; i++) {
        const struct party *party = &f->parties[i];
        if (party->spec.slurm_by_file.given) {
            say_cut(
                told, SENTENCE_MAX_BYTES,
                "%s is not in the lifecycle path of the controller group any more; what it said of the groups stays",
                f->format->name);
            return;
        }
        in = in == NULL && party->directory != NULL ? party : in;
        away = away == NULL && party->by_address ? party : away;
    }
    if (f->request->cluster != NULL || (in == NULL && away == NULL))
        return;
    if (in != NULL)
        say_cut(told, SENTENCE_MAX_BYTES,
                "%s was not found in %.200s, the lifecycle path of the group %s, on hpd's machine; %s", f->format->name,
                in->directory, in->name, f->format->absent);
    else
        say_cut(told, SENTENCE_MAX_BYTES,
                "%s was not looked for: the lifecycle path of the group %s is an address, which agents read and hpd "
                "does not; %s",
                f->format->name, away->name, f->format->other);
}

static void say_found(const struct finding *f, struct provisioned *provisioned)
{
    const struct role_file *file = &f->file;
    say_cut(provisioned->told, sizeof(provisioned->told),
            "%s was found in %.200s, the lifecycle path of the controller group %s: %s%s%s%zu worker group%s",
            f->format->name, f->where->directory, file->controller, file->login[0] == '\0' ? "" : "the login group ",
            file->login, file->login[0] == '\0' ? "" : " and ", file->count, text_plural((int64_t)file->count));
    if (file->ignored[0] != '\0')
        say_cut(provisioned->warned, sizeof(provisioned->warned),
                "Of %s this has no effect here, file systems and further controllers being none of Holdfast's: %s",
                f->format->name, file->ignored);
}

static void provide(const struct finding *f, struct provisioned *provisioned)
{
    const struct provisioning_request *request = f->request;
    provisioned->groups = own_calloc(request->group_count + 1, sizeof(*provisioned->groups));
    provisioned->specs = own_calloc(request->group_count + 1, sizeof(*provisioned->specs));
    provisioned->count = request->group_count;
    for (size_t i = 0; i < request->group_count; i++) {
        provisioned->groups[i] = request->groups[i];
        struct party *party = party_of(f, request->groups[i].name);
        if (party == NULL || !take_file(f, party, request->groups[i].spec != NULL)) /* NULL: no roles in it */
            continue;
        provisioned->specs[i] = group_spec_copy(&party->spec);
        provisioned->groups[i].spec = &provisioned->specs[i];
    }
    if (f->where != NULL)
        say_found(f, provisioned);
    else if (f->format != NULL && !has_config(f))
        say_missing(f, provisioned->told);
}

static int tell_refusal(struct db_tx *tx, void *arg)
{
    struct finding *f = arg;
    return cluster_event(tx, &f->cluster, EVENT_LEVEL_ERROR, EVENT_KIND_SCHEDULER_DESIRED,
                         "The change of the cluster was refused: %s", f->problem->detail);
}

int provisioning_find(struct service *s, const struct provisioning_request *request,
                      struct provisioned *ret_provisioned, struct problem *problem)
{
    struct problem unused;
    struct finding f = {.request = request,
                        .problem = problem != NULL ? problem : &unused,
                        .has_strategy = request->spec != NULL && request->spec->strategy.given,
                        .cluster.orchestrator = request->orchestrator};
    int status = 0;
    if (request->cluster != NULL && request->group_count > 0)
        status = service_read(s, read_stored, &f, f.problem);
    f.format = service_scheduler_role_file(s, f.cluster.orchestrator);
    if (status == 0 && f.format != NULL && request->group_count > 0) {
        take_request(&f);
        status = find_file(&f);
        if (status == 0)
            status = check_file(&f);
        if (status != 0 && request->cluster != NULL && !request->dry_run &&
            db_write(s->db, "provisioning", tell_refusal, &f) == 0)
            service_events_added(s);
    }
    if (status == 0)
        provide(&f, ret_provisioned);
    for (size_t i = 0; i < f.count; i++) {
        group_spec_free(&f.parties[i].spec);
        free(f.parties[i].directory);
    }
    free(f.parties);
    return status;
}

int provisioning_tell(struct db_tx *tx, const struct cluster *cluster, const struct provisioned *provisioned)
{
    int status = 0;
    if (provisioned->told[0] != '\0')
        status = cluster_event(tx, cluster, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_DESIRED, "%s", provisioned->told);
    if (status >= 0 && provisioned->warned[0] != '\0')
        status = cluster_event(tx, cluster, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_DESIRED, "%s", provisioned->warned);
    return status;
}

void provisioned_free(struct provisioned *provisioned)
{
    for (size_t i = 0; i < provisioned->count; i++)
        group_spec_free(&provisioned->specs[i]);
    free(provisioned->specs);
    free(provisioned->groups);
    *provisioned = (struct provisioned){0};
}
