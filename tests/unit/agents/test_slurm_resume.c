/* What hp-auto-resume reads (a job as Slurm shows it, hpd's answer, its configuration), and what it decides by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/slurm/config.h"
#include "agents/slurm/decide.h"
#include "agents/slurm/reply.h"
#include "base/status.h"

#include <string.h>

/* --- the job --------------------------------------------------------------------------------------------- */

#define JOB_HEAD \
    "JobId=82 JobName=llama UserId=ann(1000) GroupId=ann(1000) MCS_label=N/A Priority=1 Account=(null) QOS=normal "
#define JOB_STATE "JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 "
#define JOB_PLACE \
    "Partition=dev AllocNode:Sid=login:1 ReqNodeList=(null) ExcNodeList=(null) NodeList=gpu-[1-2] BatchHost=gpu-1 "
#define JOB_SIZE "NumNodes=2 NumCPUs=8 NumTasks=2 CPUs/Task=1 "
#define JOB_TAIL "MinMemoryNode=0 Features=(null) OverSubscribe=NO Command=/tmp/x WorkDir=/tmp"
#define JOB JOB_HEAD JOB_STATE JOB_PLACE JOB_SIZE "TRES=cpu=8,node=2,billing=8 " JOB_TAIL

static struct resume_job job;

static void test_job(void **state)
{
    (void)state;
    assert_int_equal(resume_job_parse(JOB, &job), 0);
    assert_true(job.running && job.batch && job.requeueable && job.exclusive);
    assert_false(job.gres);
    assert_string_equal(job.nodes, "gpu-[1-2]");
    assert_string_equal(job.excluded, "");
    assert_string_equal(job.batch_host, "gpu-1");
    assert_string_equal(job.partition, "dev");
    assert_string_equal(job.account, "");
    assert_string_equal(job.qos, "normal");
    assert_string_equal(job.memory, "");
    assert_int_equal(job.node_count, 2);
    assert_int_equal(job.cpus, 8);
}

static void test_job_that_excludes(void **state)
{
    (void)state;
    assert_int_equal(
        resume_job_parse(JOB_HEAD JOB_STATE
                         "Partition=dev ReqNodeList=gpu-1 ExcNodeList=gpu-[7-8],old NodeList=gpu-1 " JOB_SIZE,
                         &job),
        0);
    assert_string_equal(job.excluded, "gpu-[7-8],old");
    assert_string_equal(job.nodes, "gpu-1");
}

static void test_job_with_gpus(void **state)
{
    (void)state;
    assert_int_equal(
        resume_job_parse(JOB_HEAD JOB_STATE JOB_PLACE JOB_SIZE "TRES=cpu=8,gres/gpu=16 MinMemoryNode=500M", &job), 0);
    assert_true(job.gres);
    assert_string_equal(job.memory, "500M");
    assert_int_equal(
        resume_job_parse(JOB_HEAD JOB_STATE JOB_PLACE JOB_SIZE "ReqTRES=cpu=8 AllocTRES=cpu=8,gres/gpu=16", &job), 0);
    assert_true(job.gres); /* so Slurm says it from 23.02 on */
    assert_int_equal(resume_job_parse(JOB " TresPerNode=gres:gpu:8", &job), 0);
    assert_true(job.gres);
    assert_int_equal(resume_job_parse(JOB " TresPerNode=license:x Comment=gres", &job), 0);
    assert_false(job.gres);
    assert_int_equal(resume_job_parse(JOB " JOB_GRES=gpu:4   Nodes=gpu-[1-2] CPU_IDs=0-3 GRES=gpu:2(IDX:0-1)", &job),
                     0);
    assert_true(job.gres); /* nobody asked for them: it has its nodes alone */
    assert_int_equal(resume_job_parse(JOB " JOB_GRES=(null)   Nodes=gpu-3 CPU_IDs=0 GRES= ", &job), 0);
    assert_false(job.gres);
}

/* The job's name is its owner's, and stands before all that is read. */
static void test_job_with_an_odd_name(void **state)
{
    (void)state;
    assert_int_equal(
        resume_job_parse(
            "JobId=82 JobName=x NodeList=evil JobState=FAILED NumNodes=9 UserId=a(1) " JOB_STATE JOB_PLACE JOB_SIZE,
            &job),
        0);
    assert_string_equal(job.nodes, "gpu-[1-2]");
    assert_true(job.running);
    assert_int_equal(job.node_count, 2);
}

static void test_no_job(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        "JobId=82",
                                        "slurm_load_jobs error: Invalid job id specified",
                                        JOB_HEAD JOB_STATE JOB_PLACE "NumNodes=x NumCPUs=8",
                                        JOB_HEAD JOB_STATE JOB_PLACE "NumNodes=-1 NumCPUs=8",
                                        JOB_HEAD JOB_STATE JOB_PLACE "NumNodes=99999999999 NumCPUs=8",
                                        JOB_HEAD JOB_PLACE JOB_SIZE,
                                        JOB_HEAD JOB_STATE JOB_SIZE};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(resume_job_parse(lines[i], &job), STATUS_INVALID);
}

static void test_names(void **state)
{
    (void)state;
    struct resume_names all = {0}, broken = {0};
    size_t left = 9;
    assert_int_equal(resume_names_expand("gpu-[1-3],x", &all), 0);
    assert_int_equal(resume_names_expand("gpu-2,far", &broken), 0);
    char *good = resume_names_without(&all, &broken, &left);
    assert_string_equal(good, "gpu-1,gpu-3,x");
    assert_int_equal(left, 3);
    free(good);
    good = resume_names_without(&broken, &broken, &left);
    assert_string_equal(good, "");
    assert_int_equal(left, 0);
    free(good);
    resume_names_free(&all);
    resume_names_free(&broken);
    assert_int_equal(resume_names_expand("", &all), 0);
    assert_int_equal(all.count, 0);
    assert_int_equal(resume_names_expand("gpu-[1-", &all), STATUS_INVALID);
}

/* --- hpd's answer ------------------------------------------------------------------------------------------ */

static int answer(const char *text, struct resume_reply *ret_reply)
{
    char error[JSON_ERROR_MAX];
    return resume_reply_parse(text, strlen(text), ret_reply, error);
}

static void test_reply(void **state)
{
    (void)state;
    struct resume_reply reply;
    assert_int_equal(
        answer("{\"resumeAction\":\"RETRYSTEP\",\"new\":1,\"nodes\":[{\"node\":\"gpu-2\",\"state\":\"held\","
               "\"reason\":\"xid.79\"},{\"node\":\"gpu-3\"}]}",
               &reply),
        0);
    assert_int_equal(reply.action, RESUME_ACTION_RETRYSTEP);
    assert_int_equal(reply.broken.count, 2);
    assert_string_equal(reply.broken.names[1], "gpu-3");
    assert_string_equal(reply.why, "xid.79");
    resume_reply_free(&reply);
    assert_int_equal(answer("{\"resumeAction\":\"WAIT\"}", &reply), 0);
    assert_int_equal(reply.action, RESUME_ACTION_WAIT);
    assert_int_equal(reply.earlier_runs, 0); /* an older hpd does not tell */
    resume_reply_free(&reply);
    assert_int_equal(answer("{\"resumeAction\":\"NONE\",\"earlierRuns\":4,\"earlierFutile\":2}", &reply), 0);
    assert_int_equal(reply.earlier_runs, 4);
    assert_int_equal(reply.earlier_futile, 2);
    resume_reply_free(&reply);
    assert_int_equal(answer("{\"resumeAction\":\"NONE\",\"earlierRuns\":-1,\"earlierFutile\":1e9}", &reply), 0);
    assert_int_equal(reply.earlier_runs, 0);
    assert_int_equal(reply.earlier_futile, 0);
    resume_reply_free(&reply);
}

static void test_no_reply(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"resumeAction\":1}",
        "{\"resumeAction\":\"retrystep\"}",
        "{\"resumeAction\":\"RETRYSTEP\"}",
        "{\"resumeAction\":\"RETRYSTEP\",\"nodes\":[]}",
        "{\"resumeAction\":\"RETRYSTEP\",\"nodes\":[{\"node\":\"\"}]}",
        "{\"resumeAction\":\"RETRYSTEP\",\"nodes\":[{\"node\":\"gpu-1\"},{\"node\":\"-w\"}]}",
        "{\"resumeAction\":\"RETRYSTEP\",\"nodes\":[{\"node\":\"a,b\"}]}",
        "{\"resumeAction\":\"RETRYSTEP\",\"nodes\":[{\"node\":\"a b\"}]}",
        "{\"resumeAction\":\"RETRYSTEP\",\"nodes\":[7]}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct resume_reply reply;
        assert_int_equal(answer(texts[i], &reply), STATUS_INVALID);
    }
}

/* --- the configuration -------------------------------------------------------------------------------------- */

static int configure(const char *text, struct resume_config *ret_config)
{
    char error[JSON_ERROR_MAX] = "";
    int status = resume_config_parse(text, strlen(text), ret_config, error);
    assert_true(status == 0 || error[0] != '\0');
    return status;
}

static void test_config(void **state)
{
    (void)state;
    static struct resume_config config;
    assert_int_equal(configure("url: https://hpd:8700\ncluster: train\ntoken: hfa_x\n", &config), 0);
    assert_string_equal(config.cluster, "train");
    assert_string_equal(config.salloc, "salloc");
    assert_int_equal(config.poll_ms, 5000);
    assert_int_equal(config.diagnosis_ms, 10 * 60000);
    assert_int_equal(config.replacement_ms, 2 * 3600000);
    assert_int_equal(config.attempts_max, 10);
    assert_int_equal(configure("url: x\ncluster: t\ntokenFile: /x\npollInterval: 1m\nmaxAttempts: 3\n", &config), 0);
    assert_int_equal(config.poll_ms, 60000);
    assert_int_equal(config.attempts_max, 3);
}

static void test_no_config(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "- a\n",
                                        "cluster: t\ntoken: x\n",
                                        "url: x\ncluster: t\n",
                                        "url: x\ntoken: y\n",
                                        "url: x\ncluster: t\ntoken: y\ntokenFile: /z\n",
                                        "url: x\ncluster: ../t\ntoken: y\n",
                                        "url: x\ncluster: t\ntoken: y\npollInterval: 61s\n",
                                        "url: x\ncluster: t\ntoken: y\npollInterval: 5\n",
                                        "url: x\ncluster: t\ntoken: y\nmaxAttempts: 0\n",
                                        "url: x\ncluster: t\ntoken: \"y\\nz\"\n",
                                        "url: x\ncluster: t\ntoken: y\nother: 1\n"};
    static struct resume_config config;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(configure(texts[i], &config), STATUS_INVALID);
}

/* --- the decision --------------------------------------------------------------------------------------------- */

static const struct resume_facts broken_node = {.fault = true,
                                                .running = true,
                                                .batch = true,
                                                .requeueable = true,
                                                .good_nodes = 1,
                                                .attempts = 1,
                                                .attempts_max = 10};

static void test_site(void **state)
{
    static const struct {
        const char *config;
        bool barred, gres, database;
    } cases[] = {
        {"PrologFlags             = Alloc,Contain\nSLURM_VERSION           = 24.11.5\n", true, false, false},
        {"PrologFlags             = Alloc\nSLURM_VERSION           = 23.02.1\n", true, false, false},
        {"PrologFlags             = Alloc,Contain\nSLURM_VERSION           = 22.05.8\n", false, false, false},
        {"PrologFlags             = (null)\nSLURM_VERSION           = 24.11.5\n", false, false, false},
        {"PrologFlags             = DeferBatch\nSLURM_VERSION           = 24.11.5\n", false, false, false},
        {"PrologFlagsOfOurs = Alloc\nProlog = /opt/Alloc\nSLURM_VERSION = 24.11.5", false, false, false},
        {"Configuration data as of today\nSLURM_VERSION = 24.11.5\nPrologFlags = X11", true, false, false},
        {"GresTypes               = gpu\nAccountingStorageType   = accounting_storage/slurmdbd", false, true, true},
        {"GresTypes               = (null)\nAccountingStorageType   = accounting_storage/none", false, false, false},
        {"AccountingStorageType   = (null)\nGresTypes               = gpu,shard\n", false, true, false},
        {"", false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct resume_site site;
        resume_site_parse(cases[i].config, &site);
        if (site.bars_newcomers != cases[i].barred || site.has_gres != cases[i].gres ||
            site.has_database != cases[i].database)
            fail_msg("%s", cases[i].config);
    }
}

static void follows(const struct resume_facts *facts, enum resume_next next, const char *why)
{
    char said[RESUME_WHY_MAX];
    assert_int_equal(resume_decide(facts, said), next);
    assert_non_null(strstr(said, why));
}

static void test_fault(void **state)
{
    (void)state;
    struct resume_facts facts = broken_node;
    follows(&facts, RESUME_REPLACE, "at fault");
    facts.gres = true;
    follows(&facts, RESUME_REQUEUE, "GRES");
    facts.requeueable = false;
    follows(&facts, RESUME_END, "requeueing is forbidden");
    facts.requeueable = true;
    facts.batch = false;
    follows(&facts, RESUME_END, "only batch jobs");
    facts = broken_node;
    facts.newcomers_barred = true;
    follows(&facts, RESUME_REQUEUE, "PrologFlags");
    facts = broken_node;
    facts.merge_barred = true;
    follows(&facts, RESUME_REQUEUE, "GresTypes");
    facts = broken_node;
    facts.batch_host_lost = true;
    follows(&facts, RESUME_REQUEUE, "batch script");
    facts = broken_node;
    facts.good_nodes = 0;
    follows(&facts, RESUME_REQUEUE, "no node of the job is left");
    facts = broken_node;
    facts.running = false;
    follows(&facts, RESUME_END, "has ended");
}

static void test_crash(void **state)
{
    (void)state;
    struct resume_facts facts = broken_node;
    facts.fault = false;
    facts.crashes = 1;
    follows(&facts, RESUME_END, "not asked for");
    facts.crash_max = 2;
    follows(&facts, RESUME_AGAIN, "crash 1 of 2");
    facts.crashes = 2;
    follows(&facts, RESUME_AGAIN, "crash 2 of 2");
    facts.crashes = 3;
    follows(&facts, RESUME_END, "crashed 3 times");
}

/* Whoever ended it owes it another run. */
static void test_stopped(void **state)
{
    (void)state;
    struct resume_facts facts = broken_node;
    facts.stopped = true;
    follows(&facts, RESUME_REPLACE, "at fault");
    facts.fault = false;
    follows(&facts, RESUME_AGAIN, "taken back");
    facts.attempts = facts.attempts_max;
    follows(&facts, RESUME_END, "may be no more");
}

static void test_limits(void **state)
{
    (void)state;
    struct resume_facts facts = broken_node;
    facts.futile = 2;
    follows(&facts, RESUME_REPLACE, "at fault");
    facts.futile = 3;
    follows(&facts, RESUME_END, "no progress over 3 attempts");
    facts.futile = 0;
    facts.attempts = 9;
    follows(&facts, RESUME_REPLACE, "at fault");
    facts.attempts = 10;
    follows(&facts, RESUME_END, "may be no more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job),           cmocka_unit_test(test_job_that_excludes),
        cmocka_unit_test(test_job_with_gpus), cmocka_unit_test(test_job_with_an_odd_name),
        cmocka_unit_test(test_no_job),        cmocka_unit_test(test_names),
        cmocka_unit_test(test_reply),         cmocka_unit_test(test_no_reply),
        cmocka_unit_test(test_config),        cmocka_unit_test(test_no_config),
        cmocka_unit_test(test_site),          cmocka_unit_test(test_fault),
        cmocka_unit_test(test_crash),         cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
