/*
 * hpd's configuration: what it takes, what it refuses and how it says so, and the man page against the keys.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "server/config/settings.h"
#include "server/config/slurm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

static int read_text(struct config *config, const char *yaml, char *error)
{
    char path[] = "/tmp/holdfast-config.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, yaml, strlen(yaml)), (ssize_t)strlen(yaml));
    close(fd);
    config_default(config);
    int rc = config_read_file(config, path, error);
    unlink(path);
    return rc;
}

static void test_full_file(void **state)
{
    (void)state;
    struct config config;
    char error[CONFIG_ERROR_MAX] = "";
    int rc =
        read_text(&config,
                  "listen: \"[::1]:9000\"\npublicUrl: https://hpd.example:9000\nawsPathPrefix: /hyperpod\nlogLevel: "
                  "debug\nworkers: 3\n"
                  "tls: {certificate: /a.crt, key: /a.key}\n"
                  "agents: {heartbeatInterval: 10s, silentAfter: 2m, unreachableAfter: 1h}\n"
                  "slurm: {binDir: /opt/slurm/bin, conf: /etc/slurm.conf, timeout: 5s,\n"
                  "        ssh: {host: ctl, port: 2222, keyFile: /k, knownHosts: /h}}\n"
                  "providers: {local: {dir: /d, bootDelay: 250ms, services: [{name: a, command: [x, \"{node}\"]}]}}\n"
                  "recovery: {verifyQuiet: 1m, rebootsMax: 1, budgetPercent: 10}\n",
                  error);
    assert_string_equal(error, "");
    assert_int_equal(rc, 0);
    assert_string_equal(config.listen_host, "::1");
    assert_int_equal(config.listen_port, 9000);
    assert_true(config_is_loopback(&config));
    assert_int_equal(config.workers, 3);
    assert_string_equal(config.aws_path_prefix, "/hyperpod");
    assert_int_equal(config.heartbeat_interval_ms, 10 * MS_PER_S);
    assert_int_equal(config.reconcile.policy.unreachable_after_ms, MS_PER_HOUR);
    assert_true(config.schedulers.count == 1 && config.local_enabled);
    const struct config_slurm *slurm = config_slurm_of(&config.schedulers.list[0]);
    assert_string_equal(config.schedulers.list[0].name, "slurm");
    assert_string_equal(slurm->conf, "/etc/slurm.conf");
    assert_true(slurm->over_ssh);
    assert_string_equal(slurm->ssh.host, "ctl");
    assert_string_equal(slurm->ssh.user, "slurm");
    assert_int_equal(slurm->ssh.port, 2222);
    assert_string_equal(slurm->ssh.known_hosts, "/h");
    assert_int_equal(config.local_boot_delay_ms, 250);
    assert_int_equal(config.local_service_count, 1);
    assert_string_equal(config.local_services[0].argv[1], "{node}");
    assert_null(config.local_services[0].argv[2]);
    assert_int_equal(config.reconcile.verify_quiet_ms, MS_PER_MIN);
    assert_int_equal(config.reconcile.policy.reboots_max, 1);
    assert_int_equal(config.reconcile.policy.budget_percent, 10);
    config_free(&config);
}

static void test_ec2(void **state)
{
    (void)state;
    struct config config;
    char error[CONFIG_ERROR_MAX] = "";
    int rc = read_text(&config,
                       "providers:\n"
                       "  aws: {kind: ec2, region: cn-north-1, endpoint: 'https://ec2.example', credentialsFile: /c,\n"
                       "        launchTemplate: lt-1, placementGroup: pg, capacityReservation: cr-1,\n"
                       "        market: capacity-block, reset: stop-start, endOrphans: true, timeout: 1m, "
                       "securityGroups: [sg-1, sg-2],\n"
                       "        subnets: {subnet-2: cn-north-1b, subnet-1: cn-north-1a}, tags: {team: a b}}\n"
                       "  rack: {kind: inventory}\n"
                       "  spare: {kind: ec2, region: us-west-2, image: ami-1}\n",
                       error);
    assert_string_equal(error, "");
    assert_int_equal(rc, 0);
    assert_int_equal(config.commands.ec2_count, 2);
    const struct config_ec2 *ec2 = &config.commands.ec2[0];
    assert_string_equal(ec2->name, "aws");
    assert_string_equal(ec2->shape.tag, "aws");
    assert_string_equal(ec2->profile, "default");
    assert_true(ec2->stop_start && ec2->shape.market == EC2_MARKET_BLOCK && ec2->timeout_ms == MS_PER_MIN);
    assert_string_equal(ec2->shape.subnets[0].id, "subnet-2"); /* in the site's order */
    assert_string_equal(ec2->shape.subnets[0].zone, "cn-north-1b");
    assert_string_equal(ec2->shape.security_groups[1], "sg-2");
    assert_string_equal(ec2->shape.tags[0].value, "a b");
    assert_true(ec2->end_orphans);
    assert_false(config.commands.ec2[1].stop_start || config.commands.ec2[1].end_orphans);
    config_free(&config);
}

static void test_examples_are_taken(void **state)
{
    (void)state;
    static const char *const files[] = {"docs/examples/local.yaml", "docs/examples/slurm.yaml",
                                        "docs/examples/schedulers.yaml"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct config config;
        char error[CONFIG_ERROR_MAX] = "";
        config_default(&config);
        if (config_read_file(&config, files[i], error) != 0)
            fail_msg("%s: %s", files[i], error);
        assert_int_equal(config.local_enabled, i == 0);
        assert_int_equal(config.schedulers.count, i);
        config_free(&config);
    }
}

static void test_empty_file_keeps_the_defaults(void **state)
{
    (void)state;
    struct config config;
    char error[CONFIG_ERROR_MAX] = "";
    assert_int_equal(read_text(&config, "# nothing\n", error), 0);
    assert_int_equal(config.listen_port, 8700);
    assert_false(config.schedulers.count > 0 || config.local_enabled);
    config_free(&config);
}

static void test_limits_go_to_their_type_of_instance(void **state)
{
    struct config config;
    char error[CONFIG_ERROR_MAX];
    struct deep_job job = {.instance_type = "ml.p5.48xlarge"}, other = {.instance_type = "g5.xlarge"};
    (void)state;
    config_default(&config);
    assert_int_equal(read_text(&config,
                               "checks: {limits: {p5.48xlarge: [EFA MB/s >= 9000, EFA latency us <= 40], "
                               "ml.g5.xlarge: [GPUs >= 1]}}",
                               error),
                     0);
    deep_site_fill(&config.reconcile.check_limits, &job);
    deep_site_fill(&config.reconcile.check_limits, &other);
    assert_int_equal(job.limit_count, 2);
    assert_string_equal(job.limits[0].measure, "EFA MB/s");
    assert_true(deep_limit_holds(&job.limits[1], 40));
    assert_false(deep_limit_holds(&job.limits[1], 40.5));
    assert_int_equal(other.limit_count, 1);
    assert_string_equal(other.limits[0].measure, "GPUs");
    config_free(&config);
}

struct refusal {
    const char *yaml, *says;
};

static void assert_refused(const struct refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct config config;
        char error[CONFIG_ERROR_MAX] = "";
        assert_int_equal(read_text(&config, cases[i].yaml, error), STATUS_INVALID);
        if (strstr(error, cases[i].says) == NULL)
            fail_msg("\"%s\" says \"%s\" instead of \"%s\"", cases[i].yaml, error, cases[i].says);
        config_free(&config);
    }
}

static void test_any_number_of_schedulers(void **state)
{
    (void)state;
    struct config config;
    char error[CONFIG_ERROR_MAX] = "";
    int rc = read_text(&config,
                       "schedulers:\n"
                       "- {name: east, kind: slurm, conf: /east.conf, observeInterval: 2s, jobSnapshotInterval: 0s}\n"
                       "- {name: west, kind: slurm, conf: /west.conf, timeout: 5s,\n"
                       "   ssh: {host: ctl, knownHosts: /h}, manage: {file: /etc/slurm/holdfast.conf}}\n"
                       "- {name: south, kind: slurm, conf: /south.conf,\n" /* a second slurmctld of one machine */
                       "   rest: {url: \"https://ctl:6820\", tokenFile: /t}}\n",
                       error);
    assert_string_equal(error, "");
    assert_int_equal(rc, 0);
    assert_int_equal(config.schedulers.count, 3);
    const struct config_scheduler *east = &config.schedulers.list[0], *west = &config.schedulers.list[1];
    assert_string_equal(east->name, "east");
    assert_string_equal(config_slurm_of(east)->conf, "/east.conf");
    assert_int_equal(east->observe_interval_ms, 2 * MS_PER_S);
    assert_int_equal(east->job_snapshot_interval_ms, 0);
    assert_false(config_slurm_of(east)->over_ssh);
    assert_string_equal(west->path, "schedulers.west");
    assert_int_equal(west->observe_interval_ms, 0);
    assert_int_equal(west->job_snapshot_interval_ms, 15 * MS_PER_S);
    assert_int_equal(config_slurm_of(west)->timeout_ms, 5 * MS_PER_S);
    assert_string_equal(config_slurm_of(west)->ssh.user, "slurm");
    assert_true(config_slurm_of(west)->over_ssh && !config_slurm_of(west)->over_rest);
    assert_string_equal(config_slurm_of(west)->manage.file, "/etc/slurm/holdfast.conf");
    config_free(&config);
}

static void test_refuses_schedulers(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"slurm: {}\nschedulers: [{name: a, kind: slurm}]", "slurm: it is the short form of schedulers, and both"},
        {"schedulers: {name: a}", "schedulers must be a list of 1 to 32"},
        {"schedulers: []", "schedulers must be a list of 1 to 32"},
        {"schedulers: [a]", "schedulers, entry 1: it must be a mapping"},
        {"schedulers: [{kind: slurm}]", "schedulers, entry 1: name must be"},
        {"schedulers: [{name: a, kind: slurm}, {name: \"b c\", kind: slurm}]", "schedulers, entry 2: name must be"},
        {"schedulers: [{name: a, kind: slurm}, {name: a, kind: slurm}]",
         "schedulers, entry 2: entry 1 has the same name"},
        {"schedulers: [{name: a, kind: slurm}, {name: b, kind: slurm, timeout: 5s}]",
         "schedulers, entry 2: it is reached as entry 1 is"},
        /* slurmrestd does a part; the programs are run beside it, so they say as well which Slurm it is */
        {"schedulers: [{name: a, kind: slurm, conf: /a.conf}, {name: b, kind: slurm, conf: /a.conf, rest: {url: "
         "\"unix:/r\"}}]",
         "entry 2: it is reached as entry 1 is: conf, ssh.host or rest.url has to differ"},
        {"schedulers: [{name: a, kind: slurm, ssh: {host: Head, knownHosts: /h}}, {name: b, kind: slurm, conf: "
         "/b.conf, rest: {url: \"https://head:6820\", tokenFile: /t}}]",
         "entry 2: it is reached as entry 1 is"},
        {"schedulers: [{name: a, kind: slurm, conf: /b.conf, rest: {url: \"https://head:6820\", tokenFile: /t}}, "
         "{name: b, kind: slurm, conf: /b.conf, ssh: {host: head, knownHosts: /h}}]",
         "entry 2: it is reached as entry 1 is"},
        {"schedulers: [{name: a}]", "schedulers.a.kind must be slurm"},
        {"schedulers: [{name: a, kind: kubernetes, eksClusterArn: prod}]",
         "schedulers.a.eksClusterArn must be the ARN of an EKS cluster"},
        {"schedulers: [{name: a, kind: kubernetes, eksClusterArn: \"arn:aws:eks:r:00000000000:cluster/prod\"}]",
         "schedulers.a.eksClusterArn must be"},
        {"schedulers: [{name: a, kind: kubernetes, kubeconfig: /a, eksClusterArn: "
         "\"arn:aws:eks:r:000000000000:cluster/prod\"}, {name: b, kind: kubernetes, kubeconfig: /b, eksClusterArn: "
         "\"arn:aws:eks:r:000000000000:cluster/prod\"}]",
         "schedulers, entry 2: it has the eksClusterArn of entry 1"},
        {"schedulers: [{name: a, kind: lsf}]", "schedulers.a.kind must be slurm"},
        {"schedulers: [{name: a, kind: slurm, bindir: /x}]", "schedulers.a.bindir is not a key"},
        {"schedulers: [{name: a, kind: slurm, observeInterval: 5}]", "schedulers.a.observeInterval must be a duration"},
        {"schedulers: [{name: a, kind: slurm, ssh: {host: h}}]", "schedulers.a.ssh needs knownHosts"},
        {"schedulers: [{name: a, kind: slurm, ssh: {hots: h}}]", "schedulers.a.ssh.hots is not a key"},
        {"schedulers: [{name: a, kind: slurm, rest: {url: x}}]", "schedulers.a.rest.url"},
        {"schedulers: [{name: a, kind: slurm, manage: {file: x}}]", "schedulers.a.manage: file, gres"},
        {"slurm: {name: a}", "slurm.name is not a key"},
        {"slurm: {manage: {file: x}}", "slurm.manage: file, gres"},
    };
    assert_refused(cases, ARRAY_LEN(cases));
}

static void test_refuses_webhooks(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"webhooks: {}", "webhooks must be a list of at most 8"},
        {"webhooks: [{name: a, url: \"https://x/\"}]", "entry 1: secretFile is needed: it has what messages"},
        {"webhooks: [{name: a, url: \"https://x/\", format: pagerduty}]", "it has the key of the service's API"},
        {"webhooks: [{name: a, url: \"https://x/\", format: teams}]", "format must be standard, cloudevents, slack"},
        {"webhooks: [{name: a, url: \"http://x.org/\", secretFile: /s}]", "entry 1: url: "},
        {"webhooks: [{name: a, url: \"https://x.org?a=1\", secretFile: /s}]", "entry 1: url: after the host"},
        {"webhooks: [{name: a, url: \"https://x.org/#a\", secretFile: /s}]", "entry 1: url: after the host"},
        {"webhooks: [{name: a, url: x.org, secretFile: /s}]", "entry 1: url must begin with https://"},
        {"webhooks: [{name: a, url: \"https://x.org/\", secretFile: s}]", "must be absolute paths"},
        {"webhooks: [{name: a b, url: \"https://x.org/\", secretFile: /s}]", "name must be letters"},
        {"webhooks: [{name: a, url: \"https://x.org/\", secretFile: /s, kinds: [x]}]", "has \"x\", which is no kind"},
        {"webhooks: [{name: a, url: \"https://x.org/\", secretFile: /s, kinds: [7]}]", "something that is no text"},
        {"webhooks: [{name: a, url: \"https://x.org/\", secretFile: /s, clusters: [a b]}]", "names of clusters"},
        {"webhooks: [{name: a, url: \"https://x.org/\", secretFile: /s, giveUpAfter: 1s}]", "from 1m0s to 30d0h"},
    };
    assert_refused(cases, ARRAY_LEN(cases));
}

static void test_refuses_ways_to_reboot(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"nodeCommands: {keyFile: /k}", "nodeCommands needs user"},
        {"nodeCommands: {user: u}", "nodeCommands needs keyFile or agent"},
        {"nodeCommands: {user: u, keyFile: k}", "nodeCommands.keyFile"},
        {"nodeCommands: {user: u, threads: 0}", "nodeCommands.threads"},
        {"nodeCommands: {user: u, timeoutMax: 2h}", "nodeCommands.timeoutMax"},
        {"ssh: {user: root}", "ssh needs knownHosts"},
        {"ssh: {knownHosts: /k}", "ssh needs user"},
        {"ssh: {user: root, knownHosts: /k, adress: a}", "ssh.adress"},
        {"ssh: {user: root, knownHosts: /k, address: '%q'}", "ssh.address has a %"},
        {"ssh: {user: root, knownHosts: /k, command: 'reboot 100%'}", "ssh.command has a %"},
        {"bmc: {address: 'https://bmc-%n.example'}", "bmc needs credentialsFile"},
        {"bmc: {address: 'http://bmc-%n.example', credentialsFile: /c}", "bmc.address http://bmc-%n.example: "},
        {"bmc: {address: 'https://bmc-%n.example/redfish', credentialsFile: /c}",
         "bmc.address https://bmc-%n.example/redfish"},
        {"bmc: {address: 'https://%n', credentialsFile: c}", "bmc.credentialsFile"},
        {"bmc: {address: 'https://%n', credentialsFile: /c, system: '%'}", "bmc.system has a %"},
    };
    assert_refused(cases, ARRAY_LEN(cases));
}

static void test_refuses_ec2(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"providers: {c: {kind: ec2, image: ami-1}}", "providers.c.region must be a region of EC2"},
        {"providers: {c: {kind: ec2, region: x/y, image: ami-1}}", "providers.c.region must be a region of EC2"},
        {"providers: {c: {kind: ec2, region: r}}", "providers.c.image, or launchTemplate"},
        {"providers: {c: {kind: ec2, region: r, image: a, market: cheap}}", "providers.c.market must be on-demand"},
        {"providers: {c: {kind: ec2, region: r, image: a, market: capacity-block}}", "capacityReservation is needed"},
        {"providers: {c: {kind: ec2, region: r, image: a, reset: hard}}",
         "providers.c.reset must be reboot or stop-start"},
        {"providers: {c: {kind: ec2, region: r, image: a, reset: stop-start, market: spot}}",
         "providers.c.reset must be reboot where market is spot"},
        {"providers: {c: {kind: ec2, region: r, image: a, subnets: [x]}}", "providers.c.subnets must be a mapping"},
        {"providers: {c: {kind: ec2, region: r, image: a, subnets: {subnet-1: 7}}}", "ids with their zones"},
        {"providers: {c: {kind: ec2, region: r, image: a, securityGroups: [a]}}", "must be ids, as sg-"},
        {"providers: {c: {kind: ec2, region: r, image: a, tags: {holdfast-x: y}}}", "not the site's to set"},
        {"providers: {c: {kind: ec2, region: r, image: a, tags: {x: 1}}}", "put numbers in quotes"},
        {"providers: {c: {kind: ec2, region: r, image: a, tag: \"a b\"}}", "providers.c.tag must be a name"},
        {"providers: {c: {kind: ec2, region: r, image: a, amiId: b}}", "providers.c.amiId is not a key"},
    };
    assert_refused(cases, ARRAY_LEN(cases));
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"listne: 127.0.0.1:1", "listne is not a key of this file (the nearest is \"listen\")"},
        {"awsPathPrefix: hyperpod", "awsPathPrefix must be a path that begins with a slash"},
        {"awsPathPrefix: /a?b", "awsPathPrefix must be a path that begins with a slash"},
        {"listen: 8700", "listen must be an IP address and a port"},
        {"listen: \":8700\"", "listen must be an IP address and a port"},
        {"listen: example.org:8700", "listen must be an IP address and a port"},
        {"listen: 127.0.0.1:65536", "listen must be an IP address and a port"},
        {"workers: 0", "workers must be a whole number from 1"},
        {"workers: two", "workers must be a whole number"},
        {"logLevel: loud", "logLevel must be debug, info, warn or error"},
        {"agents: {heartbeatInterval: 5}", "agents.heartbeatInterval must be a duration with a unit"},
        {"agents: {heartbeatInterval: 1ms}", "agents.heartbeatInterval must be between"},
        {"agents: {heartbeatInterval: 1m, silentAfter: 90s}", "at least twice"},
        {"agents: [1]", "agents must be a mapping"},
        {"recovery: {verifyQuite: 1s}", "recovery.verifyQuite is not a key"},
        {"recovery: {budgetPercent: 101}", "recovery.budgetPercent must be a whole number from 0 to 100"},
        {"slurm: {ssh: {knownHosts: /h}}", "slurm.ssh needs host"},
        {"slurm: {ssh: {host: ctl}}", "slurm.ssh needs knownHosts"},
        {"slurm: {ssh: {host: ctl, knownHosts: /h, password: x}}", "slurm.ssh.password is not a key"},
        {"slurm: {ssh: [ctl]}", "slurm.ssh must be a mapping"},
        {"slurm: {rest: {user: x}}", "slurm.rest.url, where slurmrestd listens: an address starts with"},
        {"slurm: {rest: {url: \"unix:rest.sock\"}}", "which begins with /"},
        {"slurm: {rest: {url: \"http://ctl:6820\", tokenFile: /t}}", "slurm.rest.url, where slurmrestd listens: "},
        {"slurm: {rest: {url: \"https://ctl:6820\"}}", "slurm.rest needs tokenFile"},
        {"slurm: {rest: {url: \"https://ctl\", token: x}}", "slurm.rest.token is not a key"},
        {"providers: {remote: {}}", "providers.remote is not a key"},
        {"providers: {remote: {kind: cloud, directory: /d}}", "providers.remote.kind must be command"},
        {"providers: {remote: {kind: command}}", "providers.remote.directory must be an absolute path"},
        {"providers: {remote: {kind: command, directory: /d, dir: x}}", "providers.remote.dir is not a key"},
        {"providers: {remote: {kind: command, directory: /d, environment: {A: 1}}}", "put numbers in quotes"},
        {"providers: {remote: {kind: command, directory: /d, environment: {A=B: x}}}", "names of variables"},
        {"providers: {manual: {kind: command, directory: /d}}", "take another name"},
        {"providers: {local: {dir: \"\"}}", "providers.local.dir must be a non-empty text"},
        {"providers: {local: {services: [{name: a}]}}", "entry 1"},
        {"providers: {local: {services: [{name: a, command: []}]}}", "command"},
        {"providers: {local: {services: [{name: a, command: [x, 7]}]}}", "argument 2 of \"a\" must be a text"},
        {"providers: {local: {services: x}}", "must be a list"},
        {"providers: {local: {services: [{name: a, command: [x, \"{nodename}\"]}]}}",
         "entry 1: a service's command has {nodename}"},
        {"providers: {local: {services: [{name: a b, command: [x]}]}}", "entry 1: the name must be"},
        {"providers: {local: {services: [{name: a, command: [x]}, {name: a, command: [y]}]}}",
         "entry 2: another service"},
        {"checks: {limits: [x]}", "checks.limits must be a mapping"},
        {"checks: {limits: {p5.48xlarge: 5}}", "\"p5.48xlarge\" must be a type of instance"},
        {"checks: {limits: {p5.48xlarge: [EFA MB/s > 5]}}", "limit 1 must be such as"},
        {"subnets: [{id: s-1, zone: a}, {id: s-2, zone: a}, {id: s-1, zone: b}]", "entry 3: entry 1 has the same id"},
        {"a: b: c", "line"},
        {"[1, 2]", "the file must be a mapping"},
        {"listen: 127.0.0.1:1\nlisten: 127.0.0.1:2", "listen"},
    };
    assert_refused(cases, ARRAY_LEN(cases));
    struct config config;
    char error[CONFIG_ERROR_MAX] = "";
    config_default(&config);
    assert_int_equal(config_read_file(&config, "/nonexistent/hpd.yaml", error), STATUS_NOT_FOUND);
    assert_non_null(strstr(error, "/nonexistent/hpd.yaml"));
}

static int count_keys(const char *path, const char *page)
{
    autofree char *source = NULL;
    size_t len;
    int keys = 0;
    assert_int_equal(file_read(path, 1 << 20, &source, &len), 0);
    for (const char *at = source; (at = strstr(at, "\", KEY_")) != NULL; at++) {
        const char *start = at;
        while (start[-1] != '"')
            start--;
        char key[64];
        assert_int_equal(text_copy_bytes(key, sizeof(key), start, (size_t)(at - start)), 0);
        if (strstr(page, key) == NULL)
            fail_msg("docs/man/hpd.8 does not name %s", key);
        keys++;
    }
    return keys;
}

/* The last words of all keys that the reader knows, found in its own source, must be in the man page. */
static void test_man_page_names_every_key(void **state)
{
    (void)state;
    static const char *const sources[] = {"server/config/config.c", "server/config/scheduler.c"};
    autofree char *page = NULL;
    size_t len;
    int keys = 0;
    assert_int_equal(file_read("docs/man/hpd.8", 1 << 20, &page, &len), 0);
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        keys += count_keys(sources[i], page);
    for (size_t i = 0; i < setting_count; i++) {
        if (settings[i].section[0] != '\0' && strstr(page, settings[i].name) == NULL)
            fail_msg("docs/man/hpd.8 does not name %s", settings[i].name);
        keys += settings[i].section[0] != '\0';
    }
    assert_true(keys > 25);
}

/* What an API shows is what is in force, and says who said so. */
static void test_settings_say_where_they_are_from(void **state)
{
    static struct service_policy policy;
    static struct config config;
    char error[CONFIG_ERROR_MAX] = "";
    int told = 0;
    (void)state;
    assert_int_equal(read_text(&config,
                               "agents: {silentAfter: 2m}\n"
                               "recovery: {rebootsMax: 2, budgetPercent: 7, verifyQuiet: 45s}\n"
                               "history: {events: 5000}\n",
                               error),
                     0);
    settings_show(&config, &policy);
    assert_int_equal(policy.count, setting_count);
    for (size_t i = 0; i < policy.count; i++) {
        const struct service_setting *s = &policy.settings[i];
        bool fixed = s->section[0] == '\0';
        bool hours = s->kind == SETTING_KIND_WINDOWS;
        assert_true(fixed ? s->source == SETTING_SOURCE_FIXED : hours || (s->value >= s->min && s->value <= s->max));
        assert_true(s->source == SETTING_SOURCE_FILE || s->value == s->standard);
        assert_true(fixed || hours || (s->standard >= s->min && s->standard <= s->max));
        assert_true(s->help[0] != '\0');
        told += s->source == SETTING_SOURCE_FILE;
        for (size_t k = 0; k < i; k++)
            assert_false(text_equal(s->section, policy.settings[k].section) &&
                         text_equal(s->name, policy.settings[k].name));
        if (text_equal(s->name, "rebootsMax")) /* said, although it is what it would be anyway */
            assert_true(s->source == SETTING_SOURCE_FILE && s->value == 2 && s->kind == SETTING_KIND_NUMBER);
        if (text_equal(s->name, "verifyQuiet"))
            assert_true(s->value == 45 * MS_PER_S && s->standard == 30 * MS_PER_S && s->kind == SETTING_KIND_DURATION);
    }
    assert_int_equal(told, 5);
    config_free(&config);
}

static void test_what_is_built_in_is_no_key(void **state)
{
    struct config config;
    char error[CONFIG_ERROR_MAX] = "";
    (void)state;
    assert_int_equal(read_text(&config, "recovery: {foldWindow: 1s}", error), STATUS_INVALID);
    assert_non_null(strstr(error, "recovery.foldWindow is not a key"));
    config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_file),
        cmocka_unit_test(test_ec2),
        cmocka_unit_test(test_examples_are_taken),
        cmocka_unit_test(test_empty_file_keeps_the_defaults),
        cmocka_unit_test(test_any_number_of_schedulers),
        cmocka_unit_test(test_refuses_schedulers),
        cmocka_unit_test(test_limits_go_to_their_type_of_instance),
        cmocka_unit_test(test_refuses_ec2),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_refuses_ways_to_reboot),
        cmocka_unit_test(test_refuses_webhooks),
        cmocka_unit_test(test_man_page_names_every_key),
        cmocka_unit_test(test_settings_say_where_they_are_from),
        cmocka_unit_test(test_what_is_built_in_is_no_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
