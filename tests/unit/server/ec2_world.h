/*
 * What the tests of the EC2 provider share: the driver against an EC2 of our own (tests/support/fake_ec2.h), and calls of it as the loop makes them.
 */
#ifndef HOLDFAST_TESTS_UNIT_SERVER_EC2_WORLD_H
#define HOLDFAST_TESTS_UNIT_SERVER_EC2_WORLD_H

#include "base/aws.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/ec2/ec2.h"
#include "tests/support/fake_ec2.h"

#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define OURS "i-0123456789abcdef0"
#define TIMEOUT_MS 30000

struct world {
    char dir[64];
    bool forked; /* this process is a child of the test */
    struct fake_ec2 ec2;
    struct provider_driver driver;
    struct ec2_shape shape;
    bool stop_start;
    char error[PROVIDER_ERROR_MAX];
    char token[32]; /* of the machine, which is another in each try */
};

static void write_credentials(struct world *w, const char *text, mode_t mode)
{
    autofree char *path = own_printf("%s/credentials", w->dir);
    assert_int_equal(file_write(path, text, strlen(text), mode), 0);
}

static int open_driver(struct world *w)
{
    autofree char *state = own_printf("%s/state", w->dir), *file = own_printf("%s/credentials", w->dir);
    const struct ec2_options options = {
        .name = "cloud",
        .state_dir = state,
        .shape = &w->shape,
        .stop_start = w->stop_start,
        .client = {.endpoint = fake_ec2_url(&w->ec2),
                   .region = "us-west-2",
                   .credentials = {.file = file, .profile = "default", .metadata_url = fake_ec2_url(&w->ec2)},
                   .timeout_ms = TIMEOUT_MS}};
    return ec2_new(&options, &w->driver, w->error);
}

static void close_driver(struct world *w)
{
    w->driver.ops->free(w->driver.self);
}

static int setup(void **state)
{
    struct world *w = own_calloc(1, sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "/tmp/holdfast-ec2-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    fake_ec2_start(&w->ec2);
    write_credentials(w, "# ours\n[default]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key=se/cret\n", 0600);
    static const char *const subnets[][2] = {{"subnet-1", "us-west-2a"}, {"subnet-2", "us-west-2b"}};
    for (size_t i = 0; i < ARRAY_LEN(subnets); i++) {
        struct ec2_subnet *subnet = &w->shape.subnets[w->shape.subnet_count++];
        text_copy_cut(subnet->id, sizeof(subnet->id), subnets[i][0]);
        text_copy_cut(subnet->zone, sizeof(subnet->zone), subnets[i][1]);
    }
    text_copy_cut(w->token, sizeof(w->token), "hfe_first");
    assert_int_equal(open_driver(w), 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    close_driver(w);
    fake_ec2_stop(&w->ec2);
    int status = file_remove_tree(w->dir);
    free(w);
    return status;
}

/* The fake's threads work under its lock. Around each call of the driver: what the test set before it is seen there, and the test sees what was done. */
static int met(struct world *w, int status)
{
    if (w->forked)
        return status; /* a lock that a thread of the parent held would never be free here */
    pthread_mutex_lock(&w->ec2.lock);
    pthread_mutex_unlock(&w->ec2.lock);
    return status;
}

static int launch_in(struct world *w, const char *key, const char *zone, struct provider_instance *ret_instance)
{
    const struct provider_launch request = {.key = key,
                                            .instance_id = OURS,
                                            .cluster = "west",
                                            .group = "gpu",
                                            .node = "gpu-1",
                                            .instance_type = "ml.p5.48xlarge",
                                            .image_id = "",
                                            .release = "",
                                            .zone = zone,
                                            .server_url = "https://hpd.example:8700",
                                            .fingerprint = "sha256:abc",
                                            .enrollment_token = w->token};
    (void)met(w, 0);
    return met(w, w->driver.ops->launch(w->driver.self, &request, ret_instance, w->error));
}

static int launch(struct world *w, const char *key, struct provider_instance *ret_instance)
{
    return launch_in(w, key, "", ret_instance);
}

static struct provider_target target_of(const char *ref, const char *key)
{
    return (struct provider_target){.instance_id = OURS, .ref = ref, .launch_key = key};
}

static int describe(struct world *w, const char *ref, const char *key, struct provider_instance *ret_instance)
{
    const struct provider_target target = target_of(ref, key);
    (void)met(w, 0);
    return met(w, w->driver.ops->describe(w->driver.self, &target, ret_instance, w->error));
}

static int reboot(struct world *w, const char *ref, const char *key)
{
    const struct provider_target target = target_of(ref, "launch/1");
    (void)met(w, 0);
    return met(w, w->driver.ops->reboot(w->driver.self, &target, key, w->error));
}

static int terminate(struct world *w, const char *ref, const char *key)
{
    const struct provider_target target = target_of(ref, key);
    (void)met(w, 0);
    return met(w, w->driver.ops->terminate(w->driver.self, &target, "terminate/1", w->error));
}

/* How the fake shall answer. */
static void refuse(struct world *w, const char *action, int status, const char *code, int times)
{
    pthread_mutex_lock(&w->ec2.lock);
    text_copy_cut(w->ec2.fail_action, sizeof(w->ec2.fail_action), action);
    text_copy_cut(w->ec2.fail_code, sizeof(w->ec2.fail_code), code);
    w->ec2.fail_status = status;
    w->ec2.fail_times = times;
    pthread_mutex_unlock(&w->ec2.lock);
}

static void lose(struct world *w, const char *action)
{
    pthread_mutex_lock(&w->ec2.lock);
    text_copy_cut(w->ec2.lose_action, sizeof(w->ec2.lose_action), action);
    w->ec2.lose_times = 1;
    pthread_mutex_unlock(&w->ec2.lock);
}

static void fill(struct world *w, const char *subnets)
{
    pthread_mutex_lock(&w->ec2.lock);
    text_copy_cut(w->ec2.full, sizeof(w->ec2.full), subnets);
    pthread_mutex_unlock(&w->ec2.lock);
}

static void raw(struct world *w, int status, const char *body)
{
    pthread_mutex_lock(&w->ec2.lock);
    w->ec2.raw = body;
    w->ec2.raw_status = status;
    pthread_mutex_unlock(&w->ec2.lock);
}

#endif
