/*
 * Task governance in Slurm over scripted programs: what is read of their output, what they are told, and what is never touched.
 * The real thing is in tests/e2e/slurm/governance.test.mjs.
 */
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/snapshot.h"
#include "tests/support/captured.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_BYTES_MAX (1024 * 1024)
#define TIMEOUT_MS 20000
#define UID "abcdefabcdef"

static char dir[] = "/tmp/holdfast-govern-XXXXXX";
static char error[SCHEDULER_ERROR_MAX];

/* --- reading ---------------------------------------------------------------------------------------- */

static void test_settings(void **state)
{
    (void)state;
    struct slurm_settings settings;
    char text[] = "Configuration data as of 2026-11-20T19:00:00\nAccountingStorageEnforce = associations,limits\n"
                  "AccountingStorageType   = accounting_storage/slurmdbd  \nClusterName             = lab\n"
                  "PriorityType            = priority/multifactor\nPriorityWeightFairshare = 1000\n"
                  "PriorityWeightQOS       = (null)\nPreemptType=preempt/none\n\nSlurmctld(primary) at x is UP\n";
    assert_int_equal(slurm_parse_settings(text, &settings), 0);
    assert_string_equal(settings.cluster, "lab");
    assert_string_equal(settings.accounting, "accounting_storage/slurmdbd");
    assert_string_equal(settings.enforced, "associations,limits");
    assert_string_equal(settings.preempt, "preempt/none");
    assert_int_equal(settings.weight_fair_share, 1000);
    assert_int_equal(settings.weight_qos, 0);
    char other[] = "<html>\nBad = Gateway\n</html>\n";
    assert_int_equal(slurm_parse_settings(other, &settings), STATUS_BACKEND);
}

static void test_partitions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
        size_t count;
    } cases[] = {
        {"", 0, 0},
        {"No partitions in the system\n", 0, 0},
        {"PartitionName=dev AllowGroups=ALL PriorityJobFactor=1 PriorityTier=65533 RootOnly=NO\n", 0, 1},
        {"PartitionName=a PriorityTier=0 State=UP\nPartitionName=b State=UP PriorityTier=9", 0, 2},
        {"PartitionName=a PriorityTier=65536\n", STATUS_BACKEND, 0},
        {"PartitionName=a PriorityTier=-1\n", STATUS_BACKEND, 0},
        {"PartitionName=a PriorityTier= State=UP\n", STATUS_BACKEND, 0},
        {"PartitionName=a State=UP\n", STATUS_BACKEND, 0},
        {"junk\n", STATUS_BACKEND, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slurm_snapshot snapshot = {.partitions = NULL};
        autofree char *text = own_strdup(cases[i].text);
        assert_int_equal(slurm_parse_partitions(text, &snapshot), cases[i].status);
        if (cases[i].status == 0)
            assert_int_equal(snapshot.partition_count, cases[i].count);
        slurm_snapshot_free(&snapshot);
    }
}

static void test_accounts_and_who_is_in_them(void **state)
{
    (void)state;
    struct slurm_snapshot snapshot = {.accounts = NULL};
    char accounts[] = "a|made by | somebody\nb|holdfast x\nc|holdfast y\n";
    char associations[] = "lab|root||1||normal|\nlab|a||5|cpu=4,mem=1.50G|x,y|x\nlab|b||parent|||\nlab|b|ann|1|||\n"
                          "other|c||1|||\nlab|gone||1|||\n";
    assert_int_equal(slurm_parse_accounts(accounts, &snapshot), 0);
    assert_int_equal(slurm_parse_associations(associations, "lab", &snapshot), 0);
    const struct slurm_account *a = slurm_account_find(&snapshot, "a"), *b = slurm_account_find(&snapshot, "b"),
                               *c = slurm_account_find(&snapshot, "c");
    assert_string_equal(a->description, "made by | somebody");
    assert_true(a->here && !a->used && a->share == 5 && slurm_list_has(a->qos, "y") && !slurm_list_has(a->qos, "z"));
    assert_string_equal(a->qos_default, "x");
    assert_true(b->here && b->used && b->share == -1);
    assert_true(!c->here && c->used);
    char short_line[] = "lab|a||5\n", no_bar[] = "a\n", bad_qos[] = "q|x||\n";
    assert_int_equal(slurm_parse_associations(short_line, "lab", &snapshot), STATUS_BACKEND);
    assert_int_equal(slurm_parse_accounts(no_bar, &snapshot), STATUS_BACKEND);
    assert_int_equal(slurm_parse_qos(bad_qos, &snapshot), STATUS_BACKEND);
    slurm_snapshot_free(&snapshot);
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
        int64_t value;
        int status;
    } cases[] = {
        {"cpu=4", "cpu", 4, 0},
        {"mem=1800T", "mem", INT64_C(1800) << 20, 0},
        {"mem=1.50G", "mem", 1536, 0},
        {"mem=1025M", "mem", 1025, 0},
        {"mem=7", "mem", 7, 0},
        {"gres/gpu:1g.5gb=3", "gres/gpu:1g.5gb", 3, 0},
        {"cpu=1.50", "", 0, STATUS_BACKEND},
        {"cpu=4G", "", 0, STATUS_BACKEND},
        {"mem=1.5G", "", 0, STATUS_BACKEND},
        {"mem=1.555G", "", 0, STATUS_BACKEND},
        {"mem=99999999999999999P", "", 0, STATUS_BACKEND},
        {"mem=", "", 0, STATUS_BACKEND},
        {"=4", "", 0, STATUS_BACKEND},
        {"cpu", "", 0, STATUS_BACKEND},
        {"cpu=-1", "", 0, STATUS_BACKEND},
        {"cpu,mem=4", "", 0, STATUS_BACKEND},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slurm_limits limits = {.count = 0};
        if (slurm_limits_parse(cases[i].text, &limits) != cases[i].status)
            fail_msg("%s is not judged as it should be", cases[i].text);
        assert_int_equal(limits.count, cases[i].status == 0);
        if (cases[i].status != 0)
            continue;
        assert_string_equal(limits.limits[0].name, cases[i].name);
        assert_int_equal(limits.limits[0].value, cases[i].value);
    }
}

static void test_changes_of_limits(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *change;
    } cases[] = {
        {"", "", ""},
        {"cpu=4,mem=10G", "mem=10240,cpu=4", ""},
        {"", "cpu=4,node=2", "cpu=4,node=2"},
        {"cpu=4,gres/gpu=8", "cpu=5", "cpu=5,gres/gpu=-1"},
        {"cpu=4", "", "cpu=-1"},
        {"cpu=0", "cpu=0", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slurm_limits from, to;
        assert_int_equal(slurm_limits_parse(cases[i].from, &from), 0);
        assert_int_equal(slurm_limits_parse(cases[i].to, &to), 0);
        autofree char *change = slurm_limits_change(&from, &to);
        assert_string_equal(change, cases[i].change);
        assert_int_equal(slurm_limits_equal(&from, &to), cases[i].change[0] == '\0');
    }
}

/* What other sites' Slurm printed, where there is a copy of it. */
static void test_captured(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len;
    autofree char *limits_path = captured_path("slurm/gcm/sample-sacctmgr-qos.txt");
    autofree char *config_path = captured_path("slurm/gcm/sample-scontrol-show-config-output.txt");
    if (limits_path == NULL || config_path == NULL)
        skip();
    assert_int_equal(file_read(limits_path, FILE_BYTES_MAX, &text, &len), 0);
    size_t lines = 0;
    char *rest = strchr(text, '\n') + 1; /* the header */
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0'; lines++) {
        struct slurm_limits limits;
        for (int field = 0; field < 9; field++)
            strsep(&line, "|");
        assert_int_equal(slurm_limits_parse(strsep(&line, "|"), &limits), 0);
    }
    assert_true(lines > 3);
    free(TAKE(text));
    struct slurm_settings settings;
    assert_int_equal(file_read(config_path, FILE_BYTES_MAX, &text, &len), 0);
    assert_int_equal(slurm_parse_settings(text, &settings), 0);
    assert_string_equal(settings.accounting, "accounting_storage/slurmdbd");
    assert_true(slurm_list_has(settings.enforced, "limits") && slurm_list_has(settings.counted, "gres/gpu"));
    assert_int_equal(settings.weight_fair_share, 250000);
    free(text);
}

/* --- telling ---------------------------------------------------------------------------------------- */

static void put(const char *name, const char *text, unsigned mode)
{
    autofree char *path = own_printf("%s/%s", dir, name);
    assert_int_equal(file_write(path, text, strlen(text), mode), 0);
}

/* What every slurmdbd shows, and then text. */
static void put_with(const char *name, const char *always, const char *text)
{
    autofree char *whole = own_printf("%s%s", always, text);
    put(name, whole, 0600);
}

static char *note(const char *name)
{
    char *data = NULL;
    size_t len;
    autofree char *path = own_printf("%s/%s", dir, name);
    return file_read(path, FILE_BYTES_MAX, &data, &len) == 0 ? data : own_strdup("");
}

/* Programs that print the files of their names, note what changes they are asked for, and then print other files. */
static int make_programs(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL)
        return -1;
    autofree char *scontrol =
        own_printf("#!/bin/sh\ncd %s\ncase \"$*\" in\n*config) cat config ;;\n"
                   "*partition) cat partition ;;\n*) echo \"$*\" >>told; [ ! -e refuse ] || { cat "
                   "refuse >&2; exit 1; }; [ ! -e partition.after ] || cp partition.after "
                   "partition ;;\nesac\n",
                   dir);
    autofree char *sacctmgr =
        own_printf("#!/bin/sh\ncd %s\ncase \"$*\" in\n*show\\ qos*) cat qos ;;\n"
                   "*show\\ account*) cat account ;;\n*show\\ assoc*) cat assoc; [ ! -e half ] || cat half >&2 ;;\n"
                   "*) echo \"$*\" >>told; for f in qos account assoc; do [ ! -e $f.after ] || cp "
                   "$f.after $f; done ;;\nesac\n",
                   dir);
    put("scontrol", scontrol, 0700);
    put("sacctmgr", sacctmgr, 0700);
    return 0;
}

static int remove_programs(void **state)
{
    (void)state;
    return file_remove_tree(dir);
}

#define CONFIG(accounting, enforce)                                                          \
    "ClusterName = lab\nAccountingStorageType = accounting_storage/" accounting              \
    "\nAccountingStorageEnforce = " enforce                                                  \
    "\nAccountingStorageTRES = cpu,mem,node,gres/gpu\nPriorityType = priority/multifactor\n" \
    "PriorityWeightFairShare = 10\nPriorityWeightQOS = 0\nPreemptType = preempt/none\n"

static void set_up(const char *config, const char *partition, const char *qos, const char *account, const char *assoc)
{
    static const char *const leftovers[] = {"half",      "told",          "refuse",     "partition.after",
                                            "qos.after", "account.after", "assoc.after"};
    for (size_t i = 0; i < ARRAY_LEN(leftovers); i++) {
        autofree char *path = own_printf("%s/%s", dir, leftovers[i]);
        unlink(path);
    }
    put("config", config, 0600);
    put("partition", partition, 0600);
    put("qos", qos, 0600);
    put_with("account", "root|default\n", account);
    put_with("assoc", "lab|root||1||normal|\n", assoc);
}

static struct scheduler_rule *class_rule(struct scheduler_governance *request, const char *name, int64_t weight)
{
    struct scheduler_rule *rule = scheduler_governance_add(request);
    rule->kind = GOVERNANCE_KIND_SCHEDULER_CONFIG;
    text_copy_cut(rule->uid, sizeof(rule->uid), UID);
    text_copy_cut(rule->classes[0].name, sizeof(rule->classes[0].name), name);
    rule->classes[0].weight = weight;
    rule->class_count = 1;
    rule->asked[SCHEDULER_PART_PRIORITY_CLASSES] = true;
    return rule;
}

static struct scheduler_rule *team_rule(struct scheduler_governance *request, const char *team, int64_t cpus)
{
    struct scheduler_rule *rule = scheduler_governance_add(request);
    rule->kind = GOVERNANCE_KIND_COMPUTE_QUOTA;
    text_copy_cut(rule->uid, sizeof(rule->uid), UID);
    text_copy_cut(rule->team, sizeof(rule->team), team);
    rule->weight = 5;
    rule->amounts[0] = (struct scheduler_amount){.instance_type = "ml.p5.48xlarge",
                                                 .nodes = -1,
                                                 .accelerators = -1,
                                                 .cpu_milli = cpus * 1000,
                                                 .memory_mib = -1,
                                                 .slices = -1};
    rule->amount_count = 1;
    rule->asked[SCHEDULER_PART_RESOURCES] = rule->asked[SCHEDULER_PART_WEIGHT] = true;
    return rule;
}

static void hold(struct scheduler_governance *request, enum governance_object object, const char *name, int64_t former,
                 int64_t value, int64_t previous)
{
    request->held = own_realloc(request->held, request->held_count + 1, sizeof(*request->held));
    struct governance_held *held = &request->held[request->held_count++];
    *held =
        (struct governance_held){.object = object, .mark = UID, .former = former, .value = value, .previous = previous};
    text_copy_cut(held->name, sizeof(held->name), name);
}

static void govern(struct scheduler_governance *request)
{
    struct slurm_options options = {.bin_dir = dir, .conf = "/nowhere/slurm.conf", .timeout_ms = TIMEOUT_MS};
    struct scheduler_driver driver;
    assert_int_equal(slurm_new(&options, &driver), 0);
    if (driver.ops->governance->govern(driver.self, request, error) != 0)
        fail_msg("%s", error);
    driver.ops->free(driver.self);
}

static void assert_told(const char *wanted)
{
    autofree char *told = note("told");
    assert_string_equal(told, wanted);
}

static void assert_answer(const struct scheduler_rule *rule, enum scheduler_part part, enum scheduler_outcome outcome,
                          const char *why)
{
    const struct scheduler_answer *answer = &rule->answers[part];
    if (answer->outcome != outcome || strstr(answer->why, why) == NULL)
        fail_msg("%s has come to %d: %s", scheduler_part_text(part), answer->outcome, answer->why);
}

#define AUTO_REQUEST AUTO(scheduler_governance) struct scheduler_governance *
AUTO_DEFINE(struct scheduler_governance *, scheduler_governance, scheduler_governance_free)
#define DEV(tier) "PartitionName=dev PriorityTier=" #tier " State=UP\n"
#define NONE CONFIG("none", "none")

static void test_nothing_is_touched_that_is_not_held(void **state)
{
    (void)state;
    AUTO_REQUEST request = scheduler_governance_new();
    class_rule(request, "dev", 70);
    set_up(NONE, DEV(3), "", "", "");
    govern(request);
    assert_told("");
    assert_int_equal(request->wanted_count, 1);
    const struct governance_held *held = request->wanted;
    assert_string_equal(held->name, "dev");
    assert_string_equal(held->mark, UID);
    assert_true(held->object == GOVERNANCE_OBJECT_PARTITION && held->former == 3 && held->value == 70 &&
                held->previous == 3);
    assert_answer(request->rules, SCHEDULER_PART_PRIORITY_CLASSES, SCHEDULER_OUTCOME_LATER, "dev");
}

/* From what is seen and held to what is to be held; former -1: nothing, the tier is set. */
static void test_what_a_tier_goes_back_to(void **state)
{
    (void)state;
    static const struct {
        const char *seen;
        int64_t held_former, held_value, held_previous, weight, former, previous;
    } cases[] = {
        {DEV(3), 3, 70, 3, 70, -1, 0},   /* as it was before us */
        {DEV(70), 3, 70, 3, 70, -1, 0},  /* as we set it */
        {DEV(50), 3, 70, 50, 70, -1, 0}, /* as we had set it before */
        {DEV(70), 3, 70, 3, 30, 3, 70},  /* another weight */
        {DEV(9), 3, 70, 3, 70, 9, 3},    /* somebody set it: that is what it goes back to */
        {DEV(9), 3, 70, 3, 30, 9, 9},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_REQUEST request = scheduler_governance_new();
        class_rule(request, "dev", cases[i].weight);
        hold(request, GOVERNANCE_OBJECT_PARTITION, "dev", cases[i].held_former, cases[i].held_value,
             cases[i].held_previous);
        set_up(NONE, cases[i].seen, "", "", "");
        govern(request);
        assert_int_equal(request->wanted_count, cases[i].former >= 0);
        if (cases[i].former >= 0) {
            assert_told("");
            assert_int_equal(request->wanted->former, cases[i].former);
            assert_int_equal(request->wanted->previous, cases[i].previous);
            assert_int_equal(request->wanted->value, cases[i].weight);
        }
    }
}

static void test_only_what_is_seen_holds(void **state)
{
    (void)state;
    static const struct {
        const char *after, *refuse;
        enum scheduler_outcome outcome;
        const char *why;
    } cases[] = {
        {DEV(70), NULL, SCHEDULER_OUTCOME_HOLDS, ""},
        {DEV(3), NULL, SCHEDULER_OUTCOME_FAILED, "does not show it"},
        {NULL, "slurm_update error: Access/permission denied", SCHEDULER_OUTCOME_FAILED, "denied"},
        {NULL, "slurm_update error: Unable to contact slurm controller", SCHEDULER_OUTCOME_LATER, "Unable to contact"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_REQUEST request = scheduler_governance_new();
        class_rule(request, "dev", 70);
        hold(request, GOVERNANCE_OBJECT_PARTITION, "dev", 3, 70, 3);
        set_up(NONE, DEV(3), "", "", "");
        if (cases[i].after != NULL)
            put("partition.after", cases[i].after, 0600);
        if (cases[i].refuse != NULL)
            put("refuse", cases[i].refuse, 0600);
        govern(request);
        assert_told("update PartitionName=dev PriorityTier=70\n");
        assert_answer(request->rules, SCHEDULER_PART_PRIORITY_CLASSES, cases[i].outcome, cases[i].why);
    }
}

static void test_what_is_wanted_no_more_goes_back(void **state)
{
    (void)state;
    static const struct {
        const char *seen, *told;
        bool gone;
    } cases[] = {
        {DEV(70), "update PartitionName=dev PriorityTier=3\n", true},
        {DEV(50), "update PartitionName=dev PriorityTier=3\n", true}, /* what it was set to before */
        {DEV(3), "", true},
        {DEV(9), "", true}, /* somebody set it, and keeps it */
        {"PartitionName=other PriorityTier=1\n", "", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_REQUEST request = scheduler_governance_new();
        hold(request, GOVERNANCE_OBJECT_PARTITION, "dev", 3, 70, 50);
        set_up(NONE, cases[i].seen, "", "", "");
        put("partition.after", DEV(3), 0600);
        govern(request);
        assert_told(cases[i].told);
        assert_int_equal(request->gone[0], cases[i].gone);
    }
}

static void test_no_two_claim_a_partition(void **state)
{
    (void)state;
    AUTO_REQUEST request = scheduler_governance_new();
    class_rule(request, "dev", 70);
    class_rule(request, "dev", 30);
    set_up(NONE, DEV(70), "", "", "");
    hold(request, GOVERNANCE_OBJECT_PARTITION, "dev", 3, 70, 3);
    govern(request);
    assert_told("");
    assert_answer(&request->rules[0], SCHEDULER_PART_PRIORITY_CLASSES, SCHEDULER_OUTCOME_HOLDS, "");
    assert_answer(&request->rules[1], SCHEDULER_PART_PRIORITY_CLASSES, SCHEDULER_OUTCOME_FAILED, "another cluster");
}

#define TEAM "holdfast-team-vision"
#define KEPT CONFIG("slurmdbd", "associations,limits,qos")

static void test_a_team_is_made_in_order(void **state)
{
    (void)state;
    AUTO_REQUEST request = scheduler_governance_new();
    struct scheduler_rule *rule = team_rule(request, "vision", 4);
    hold(request, GOVERNANCE_OBJECT_QOS, TEAM, 0, 0, 0);
    hold(request, GOVERNANCE_OBJECT_ACCOUNT, TEAM, 0, 0, 0);
    set_up(KEPT, DEV(1), "normal|0||Normal\n", "", "");
    put("qos.after", "normal|0||Normal\n" TEAM "|0|cpu=4|holdfast " UID "\n", 0600);
    put_with("account.after", "root|default\n", TEAM "|holdfast " UID "\n");
    put_with("assoc.after", "lab|root||1||normal|\n", "lab|" TEAM "||5|cpu=4|" TEAM "|" TEAM "\n");
    govern(request);
    assert_told("-i add qos " TEAM " Description=holdfast " UID " Priority=0 GrpTRES=cpu=4\n"
                "-i add account " TEAM " cluster=lab Description=holdfast " UID
                " Organization=holdfast Fairshare=5 GrpTRES=cpu=4 QosLevel=" TEAM " DefaultQOS=" TEAM "\n");
    assert_answer(rule, SCHEDULER_PART_RESOURCES, SCHEDULER_OUTCOME_HOLDS, "");
    assert_answer(rule, SCHEDULER_PART_WEIGHT, SCHEDULER_OUTCOME_HOLDS, "");
}

static void test_what_is_there_is_altered_or_left(void **state)
{
    (void)state;
    static const struct {
        const char *config, *qos, *account, *assoc, *told, *why;
        enum scheduler_outcome outcome;
    } cases[] = {
        {KEPT, TEAM "|0|cpu=9,node=1|holdfast " UID "\n", TEAM "|holdfast " UID "\n",
         "lab|" TEAM "||5|cpu=4|" TEAM "|" TEAM "\n",
         "-i modify qos where name=" TEAM " set Priority=0 GrpTRES=cpu=4,node=-1\n", "does not show it",
         SCHEDULER_OUTCOME_FAILED},
        {KEPT, TEAM "|0|cpu=4|holdfast " UID "\n", TEAM "|holdfast " UID "\n", "lab|" TEAM "||1||normal|\n",
         "-i modify account where name=" TEAM " cluster=lab set Fairshare=5 GrpTRES=cpu=4 Qos+=" TEAM
         " DefaultQOS=" TEAM "\n",
         "does not show it", SCHEDULER_OUTCOME_FAILED},
        {KEPT, TEAM "|0|cpu=4|somebody's\n", "", "", "", "QOS named " TEAM " that this server did not make",
         SCHEDULER_OUTCOME_FAILED},
        {KEPT, TEAM "|0|cpu=4|holdfast anotherserver\n", "", "", "", "did not make", SCHEDULER_OUTCOME_FAILED},
        {KEPT, TEAM "|0|cpu=4|holdfast " UID "\n", TEAM "|hers\n", "lab|" TEAM "||1|||\n", "",
         "account named " TEAM " that this server did not make", SCHEDULER_OUTCOME_FAILED},
        {CONFIG("slurmdbd", "associations"), TEAM "|0|cpu=4|holdfast " UID "\n", TEAM "|holdfast " UID "\n",
         "lab|" TEAM "||5|cpu=4|" TEAM "|" TEAM "\n", "", "enforces no limits", SCHEDULER_OUTCOME_FAILED},
        {NONE, "", "", "", "", "Slurm keeps no accounting (AccountingStorageType=accounting_storage/none)",
         SCHEDULER_OUTCOME_FAILED},
        {KEPT, "junk\n", "", "", "", "cannot be read", SCHEDULER_OUTCOME_LATER},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_REQUEST request = scheduler_governance_new();
        struct scheduler_rule *rule = team_rule(request, "vision", 4);
        hold(request, GOVERNANCE_OBJECT_QOS, TEAM, 0, 0, 0);
        hold(request, GOVERNANCE_OBJECT_ACCOUNT, TEAM, 0, 0, 0);
        set_up(cases[i].config, DEV(1), cases[i].qos, cases[i].account, cases[i].assoc);
        govern(request);
        assert_told(cases[i].told);
        assert_answer(rule, SCHEDULER_PART_RESOURCES, cases[i].outcome, cases[i].why);
    }
}

static void test_a_team_goes_but_for_people_in_it(void **state)
{
    (void)state;
    static const struct {
        const char *description, *assoc, *told;
    } cases[] = {
        {"holdfast " UID, "lab|" TEAM "||5|cpu=4|" TEAM "|" TEAM "\n",
         "-i delete account name=" TEAM "\n-i delete qos name=" TEAM "\n"},
        {"holdfast " UID, "lab|" TEAM "||5|cpu=4|normal," TEAM "|" TEAM "\nlab|" TEAM "|ann|1|||\n",
         "-i modify account where name=" TEAM " cluster=lab set Fairshare=1 GrpTRES=cpu=-1 DefaultQOS=-1 Qos-=" TEAM
         "\n-i delete qos name=" TEAM "\n"},
        {"holdfast anotherserver", "lab|" TEAM "||5|cpu=4|" TEAM "|" TEAM "\n", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_REQUEST request = scheduler_governance_new();
        struct scheduler_rule *rule = team_rule(request, "vision", 4);
        rule->off = true;
        hold(request, GOVERNANCE_OBJECT_QOS, TEAM, 0, 0, 0);
        hold(request, GOVERNANCE_OBJECT_ACCOUNT, TEAM, 0, 0, 0);
        autofree char *qos = own_printf(TEAM "|0|cpu=4|%s\n", cases[i].description);
        autofree char *account = own_printf(TEAM "|%s\n", cases[i].description);
        set_up(KEPT, DEV(1), qos, account, cases[i].assoc);
        govern(request);
        assert_told(cases[i].told);
        bool others = cases[i].told[0] == '\0';
        assert_int_equal(request->gone[0], others);
        assert_answer(rule, SCHEDULER_PART_RESOURCES, others ? SCHEDULER_OUTCOME_UNASKED : SCHEDULER_OUTCOME_LATER, "");
    }
}

static void test_an_empty_list_is_not_taken_for_nothing(void **state)
{
    (void)state;
    AUTO_REQUEST request = scheduler_governance_new();
    struct scheduler_rule *rule = team_rule(request, "vision", 4);
    hold(request, GOVERNANCE_OBJECT_QOS, TEAM, 0, 0, 0);
    hold(request, GOVERNANCE_OBJECT_ACCOUNT, "holdfast-team-gone", 0, 0, 0);
    set_up(KEPT, DEV(1), TEAM "|0|cpu=4|holdfast " UID "\n", TEAM "|holdfast " UID "\n", "");
    put("assoc", "", 0600);
    govern(request);
    assert_told("");
    assert_answer(rule, SCHEDULER_PART_RESOURCES, SCHEDULER_OUTCOME_LATER, "slurmdbd shows nothing of the cluster lab");
    assert_true(!request->gone[0] && !request->gone[1] && request->wanted_count == 0);
}

/* slurmdbd goes while sacctmgr asks it: what it did not hear it leaves out, and ends well. */
static void test_half_a_list_is_not_believed(void **state)
{
    (void)state;
    AUTO_REQUEST request = scheduler_governance_new();
    struct scheduler_rule *rule = team_rule(request, "vision", 4);
    hold(request, GOVERNANCE_OBJECT_QOS, TEAM, 0, 0, 0);
    hold(request, GOVERNANCE_OBJECT_ACCOUNT, TEAM, 0, 0, 0);
    set_up(KEPT, DEV(1), TEAM "|0|cpu=4|holdfast " UID "\n", TEAM "|holdfast " UID "\n", "lab|" TEAM "||5|||UNKN-2\n");
    put("half", "sacctmgr: error: DBD_GET_QOS failure: Connection refused\n", 0600);
    govern(request);
    assert_told("");
    assert_answer(rule, SCHEDULER_PART_RESOURCES, SCHEDULER_OUTCOME_LATER, "Connection refused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_accounts_and_who_is_in_them),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_changes_of_limits),
        cmocka_unit_test(test_captured),
        cmocka_unit_test(test_nothing_is_touched_that_is_not_held),
        cmocka_unit_test(test_what_a_tier_goes_back_to),
        cmocka_unit_test(test_only_what_is_seen_holds),
        cmocka_unit_test(test_what_is_wanted_no_more_goes_back),
        cmocka_unit_test(test_no_two_claim_a_partition),
        cmocka_unit_test(test_a_team_is_made_in_order),
        cmocka_unit_test(test_what_is_there_is_altered_or_left),
        cmocka_unit_test(test_a_team_goes_but_for_people_in_it),
        cmocka_unit_test(test_half_a_list_is_not_believed),
        cmocka_unit_test(test_an_empty_list_is_not_taken_for_nothing),
    };
    return cmocka_run_group_tests(tests, make_programs, remove_programs);
}
