/* Scheduler configurations and quotas: every field comes back, versions, what is unique, pages in every order. */
#include "db_world.h"

#include "db/governance.h"

static struct governance a_quota(struct world *w, int number, const char *name, const char *team)
{
    struct governance governance = {.kind = GOVERNANCE_KIND_COMPUTE_QUOTA,
                                    .cluster_id = w->cluster.id,
                                    .status = GOVERNANCE_STATUS_CREATE_FAILED,
                                    .weight = 7,
                                    .active = true,
                                    .created_at = WORLD_NOW,
                                    .made_at = WORLD_NOW};
    snprintf(governance.uid, sizeof(governance.uid), "quota%07d", number);
    SET(governance.name, name);
    SET(governance.team, team);
    SET(governance.config, "{}");
    return governance;
}

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    static struct governance in, out;
    memset(&in, 0, sizeof(in)); /* compared as bytes */
    in.kind = GOVERNANCE_KIND_COMPUTE_QUOTA;
    in.cluster_id = w->cluster.id;
    in.status = GOVERNANCE_STATUS_UPDATE_FAILED;
    in.weight = 100;
    in.active = true;
    in.created_at = WORLD_NOW + 1;
    in.made_at = WORLD_NOW + 2;
    SET(in.uid, "quota0000001");
    SET(in.name, "vision");
    SET(in.cluster, w->cluster.name);
    SET(in.cluster_uid, w->cluster.uid);
    SET(in.created_by, "key:ci");
    SET(in.made_by, "token:admin");
    SET(in.reason, "because");
    SET(in.details, "{\"FairShare\":\"because\"}");
    in.applied_at = WORLD_NOW + 3;
    memset(in.description, 'd', sizeof(in.description) - 1);
    memset(in.config, 'c', sizeof(in.config) - 1);
    SET(in.team, "vision-team");
    MUST(db_governance_insert(w->tx, &in));
    assert_int_equal(in.version, 1);
    MUST(db_governance_get(w->tx, in.kind, in.uid, 0, &out));
    assert_memory_equal(&out, &in, sizeof(in));
    MUST(db_governance_by_name(w->tx, in.kind, in.name, 1, &out));
    assert_memory_equal(&out, &in, sizeof(in));
    MUST(db_governance_of_cluster(w->tx, in.kind, in.cluster_id, 0, &out));
    assert_memory_equal(&out, &in, sizeof(in));
    MUST(db_governance_of_team(w->tx, in.cluster_id, in.team, &out));
    assert_memory_equal(&out, &in, sizeof(in));
    assert_int_equal(db_governance_get(w->tx, GOVERNANCE_KIND_SCHEDULER_CONFIG, in.uid, 0, &out), STATUS_NOT_FOUND);
    assert_int_equal(db_governance_get(w->tx, in.kind, in.uid, 2, &out), STATUS_NOT_FOUND);
    assert_int_equal(db_governance_get(w->tx, in.kind, in.uid, -1, &out), STATUS_NOT_FOUND);
    assert_int_equal(db_governance_of_team(w->tx, in.cluster_id, "other", &out), STATUS_NOT_FOUND);
}

static int note_uid(const void *row, void *arg)
{
    const struct governance *governance = row;
    char *uids = arg;
    size_t len = strlen(uids);
    snprintf(uids + len, 128 - len, "%s/%d ", governance->uid, (int)governance->version);
    return 0;
}

static void test_what_becomes_of_a_version_is_written_to_it_alone(void **state)
{
    struct world *w = *state;
    static struct governance quota, out;
    quota = a_quota(w, 1, "one", "red");
    SET(quota.cluster, w->cluster.name);
    SET(quota.cluster_uid, w->cluster.uid);
    MUST(db_governance_insert(w->tx, &quota));
    MUST(db_governance_add_version(w->tx, &quota));
    quota.status = GOVERNANCE_STATUS_UPDATED;
    quota.applied_at = WORLD_NOW + 9;
    SET(quota.reason, "it is so");
    SET(quota.details, "{\"FairShareWeight\":\"\"}");
    MUST(db_governance_settle(w->tx, &quota));
    MUST(db_governance_get(w->tx, quota.kind, quota.uid, 2, &out));
    assert_memory_equal(&out, &quota, sizeof(quota));
    MUST(db_governance_get(w->tx, quota.kind, quota.uid, 1, &out));
    assert_int_equal(out.status, GOVERNANCE_STATUS_CREATE_FAILED);
    assert_string_equal(out.details, "{}");
    assert_int_equal(out.applied_at, 0);
    quota.version = 3;
    assert_int_equal(db_governance_settle(w->tx, &quota), STATUS_NOT_FOUND);
}

static void test_what_is_wanted_of_a_scheduler(void **state)
{
    struct world *w = *state;
    char uids[128] = "", expected[128];
    struct governance one = a_quota(w, 1, "one", "red"), two = a_quota(w, 2, "two", "blue"),
                      config = a_quota(w, 3, "three", "");
    config.kind = GOVERNANCE_KIND_SCHEDULER_CONFIG;
    MUST(db_governance_insert(w->tx, &one));
    MUST(db_governance_insert(w->tx, &two));
    MUST(db_governance_insert(w->tx, &config));
    MUST(db_governance_add_version(w->tx, &one));
    MUST(db_governance_wanted(w->tx, "slurm", note_uid, uids));
    snprintf(expected, sizeof(expected), "%s/1 %s/2 %s/1 ", config.uid, one.uid, two.uid);
    assert_string_equal(uids, expected);
    uids[0] = '\0';
    MUST(db_governance_wanted(w->tx, "other", note_uid, uids));
    assert_string_equal(uids, "");
}

struct holdings {
    struct governance_held rows[4];
    size_t count;
};

static int note_held(const void *row, void *arg)
{
    struct holdings *holdings = arg;
    holdings->rows[holdings->count++] = *(const struct governance_held *)row;
    return 0;
}

static void test_what_is_held(void **state)
{
    struct world *w = *state;
    struct holdings out = {.count = 0};
    struct governance_held tier = {GOVERNANCE_OBJECT_PARTITION, "dev", "quota0000001", 1, 70, 30};
    const struct governance_held qos = {GOVERNANCE_OBJECT_QOS, "dev", "quota0000002", 0, 0, 0};
    MUST(db_governance_hold(w->tx, "slurm", &tier));
    MUST(db_governance_hold(w->tx, "slurm", &qos)); /* of another thing the name is another */
    tier.value = 71;
    MUST(db_governance_hold(w->tx, "slurm", &tier));
    MUST(db_governance_let_go(w->tx, "slurm", &qos));
    MUST(db_governance_let_go(w->tx, "slurm", &qos)); /* it is gone already */
    MUST(db_governance_held(w->tx, "slurm", note_held, &out));
    assert_int_equal(out.count, 1);
    assert_int_equal(out.rows[0].object, tier.object);
    assert_string_equal(out.rows[0].name, tier.name);
    assert_string_equal(out.rows[0].mark, tier.mark);
    assert_int_equal(out.rows[0].former, 1);
    assert_int_equal(out.rows[0].value, 71);
    assert_int_equal(out.rows[0].previous, 30);
}

static void test_what_is_unique(void **state)
{
    struct world *w = *state;
    struct governance one = a_quota(w, 1, "one", "red"), same_name = a_quota(w, 2, "one", "blue"),
                      same_team = a_quota(w, 3, "three", "red"), same_uid = a_quota(w, 1, "four", "green"),
                      nowhere = a_quota(w, 5, "five", "black"), config = a_quota(w, 6, "one", ""),
                      second = a_quota(w, 7, "seven", "");
    int64_t count;
    config.kind = second.kind = GOVERNANCE_KIND_SCHEDULER_CONFIG;
    nowhere.cluster_id = 999;
    MUST(db_governance_insert(w->tx, &one));
    assert_int_equal(db_governance_insert(w->tx, &same_name), STATUS_EXISTS);
    assert_int_equal(db_governance_insert(w->tx, &same_team), STATUS_EXISTS);
    assert_int_equal(db_governance_insert(w->tx, &same_uid), STATUS_EXISTS);
    assert_int_equal(db_governance_insert(w->tx, &nowhere), STATUS_NOT_FOUND);
    MUST(db_governance_insert(w->tx, &config)); /* a name may be that of the other kind */
    assert_int_equal(db_governance_insert(w->tx, &second), STATUS_EXISTS);
    MUST(db_governance_count(w->tx, GOVERNANCE_KIND_COMPUTE_QUOTA, w->cluster.id, &count));
    assert_int_equal(count, 1);
}

static void test_versions_are_kept_up_to_a_number(void **state)
{
    struct world *w = *state;
    struct governance quota = a_quota(w, 1, "one", "red"), other = a_quota(w, 2, "two", "blue"), out;
    MUST(db_governance_insert(w->tx, &quota));
    MUST(db_governance_insert(w->tx, &other));
    for (int version = 2; version <= GOVERNANCE_VERSIONS_MAX + 3; version++) {
        quota.weight = version;
        quota.status = GOVERNANCE_STATUS_UPDATED;
        MUST(db_governance_add_version(w->tx, &quota));
        assert_int_equal(quota.version, version);
    }
    assert_int_equal(db_governance_get(w->tx, quota.kind, quota.uid, 3, &out), STATUS_NOT_FOUND);
    MUST(db_governance_get(w->tx, quota.kind, quota.uid, 4, &out));
    assert_int_equal(out.weight, 4);
    assert_int_equal(out.newest, GOVERNANCE_VERSIONS_MAX + 3);
    MUST(db_governance_get(w->tx, other.kind, other.uid, 1, &out));
    SET(quota.team, "blue"); /* which the other has */
    assert_int_equal(db_governance_add_version(w->tx, &quota), STATUS_EXISTS);
    MUST(db_governance_delete(w->tx, quota.id));
    assert_int_equal(db_governance_delete(w->tx, quota.id), STATUS_NOT_FOUND);
    assert_int_equal(db_governance_get(w->tx, quota.kind, quota.uid, 0, &out), STATUS_NOT_FOUND);
    MUST(db_cluster_delete(w->tx, w->cluster.id));
    assert_int_equal(db_governance_get(w->tx, other.kind, other.uid, 0, &out), STATUS_NOT_FOUND);
}

/* --- search ------------------------------------------------------------------------------------------ */

struct page {
    char names[128]; /* "a b c" */
    struct governance last;
};

static int add(const void *row, void *arg)
{
    struct page *page = arg;
    page->last = *(const struct governance *)row;
    ADD(page->names, page->last.name);
    ADD(page->names, " ");
    return 0;
}

static void fill(struct world *w)
{
    static const char *const names[] = {"delta", "alpha", "charlie", "bravo"};
    struct cluster other = a_cluster("zzzzzzzzzzzz", "other");
    MUST(db_cluster_insert(w->tx, &other));
    for (int i = 0; i < 4; i++) {
        struct governance quota = a_quota(w, i, names[i], names[i]);
        quota.created_at = WORLD_NOW + i / 2; /* two at the same time */
        quota.status = i % 2 == 0 ? GOVERNANCE_STATUS_CREATED : GOVERNANCE_STATUS_CREATE_FAILED;
        quota.cluster_id = i == 3 ? other.id : w->cluster.id;
        MUST(db_governance_insert(w->tx, &quota));
    }
}

static struct db_governance_search all(void)
{
    return (struct db_governance_search){
        .kind = GOVERNANCE_KIND_COMPUTE_QUOTA, .name_contains = "", .cluster_uid = "", .status = ""};
}

static void test_pages_in_every_order(void **state)
{
    static const char *const wanted[GOVERNANCE_ORDER_COUNT][2] = {
        [GOVERNANCE_BY_TIME] = {"delta alpha charlie bravo ", "bravo charlie alpha delta "},
        [GOVERNANCE_BY_NAME] = {"alpha bravo charlie delta ", "delta charlie bravo alpha "},
        [GOVERNANCE_BY_STATUS] = {"alpha bravo delta charlie ", "charlie delta bravo alpha "},
        [GOVERNANCE_BY_CLUSTER] = {"delta alpha charlie bravo ", "bravo charlie alpha delta "},
    };
    struct world *w = *state;
    static struct page page;
    fill(w);
    /* "CreateFailed" is before "Created". */
    for (int order = 0; order < GOVERNANCE_ORDER_COUNT; order++)
        for (int down = 0; down < 2; down++)
            for (int limit = 0; limit < 4; limit++) {
                struct db_governance_search search = all();
                search.order = (enum governance_order)order;
                search.descending = down != 0;
                search.limit = limit;
                page.names[0] = '\0';
                for (int64_t before = -1; before != page.last.id;) {
                    before = search.cursor_id;
                    page.last.id = search.cursor_id;
                    MUST(db_governance_search(w->tx, &search, add, &page));
                    search.cursor_id = page.last.id;
                    search.cursor_at = page.last.created_at;
                    SET(search.cursor_text, order == GOVERNANCE_BY_NAME     ? page.last.name
                                            : order == GOVERNANCE_BY_STATUS ? governance_status_text(page.last.status)
                                                                            : page.last.cluster_uid);
                }
                assert_string_equal(page.names, wanted[order][down]);
            }
}

static void test_what_is_searched_for(void **state)
{
    struct world *w = *state;
    const struct {
        const char *part, *cluster, *status, *names;
        int64_t after, before;
    } cases[] = {
        {"a", "", "", "delta alpha charlie bravo ", 0, 0},
        {"lt", "", "", "delta ", 0, 0},
        {"LT", "", "", "", 0, 0},
        {"", "zzzzzzzzzzzz", "", "bravo ", 0, 0},
        {"", "aaaaaaaaaaaa", "", "", 0, 0},
        {"", "", "Created", "delta charlie ", 0, 0},
        {"", "", "Deleting", "", 0, 0},
        {"", "", "", "charlie bravo ", WORLD_NOW, 0},
        {"", "", "", "delta alpha ", 0, WORLD_NOW + 1},
        {"", "", "", "", WORLD_NOW, WORLD_NOW + 1},
    };
    static struct page page;
    fill(w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct db_governance_search search = all();
        search.name_contains = cases[i].part;
        search.cluster_uid = cases[i].cluster;
        search.status = cases[i].status;
        search.created_after = cases[i].after;
        search.created_before = cases[i].before;
        page.names[0] = '\0';
        MUST(db_governance_search(w->tx, &search, add, &page));
        assert_string_equal(page.names, cases[i].names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),
        WORLD_TEST(test_what_becomes_of_a_version_is_written_to_it_alone),
        WORLD_TEST(test_what_is_wanted_of_a_scheduler),
        WORLD_TEST(test_what_is_held),
        WORLD_TEST(test_what_is_unique),
        WORLD_TEST(test_versions_are_kept_up_to_a_number),
        WORLD_TEST(test_pages_in_every_order),
        WORLD_TEST(test_what_is_searched_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
