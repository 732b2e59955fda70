/*
 * The contract of a provider, tried on it (hpctl provider test): what can be tried without touching a machine, and with a launch the whole
 * life of one: launched, described, listed, found again under its key and without its id, ended, ended again, and gone.
 *
 * Each check says what it saw. One that fails ends the life's checks, but for the end of the machine, which is always asked for.
 */
#include "server/provider/contract.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/command/answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY "i-00000000000000000" /* no machine has this id */
#define POLL_US 500000
#define GONE_WITHIN_MS (2 * MS_PER_MIN)

struct contract {
    struct provider_driver provider;
    const struct provider_test *test;
};

static void found(const struct contract *c, const char *check, bool passed, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void found(const struct contract *c, const char *check, bool passed, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *detail = own_vprintf(fmt, ap);
    va_end(ap);
    c->test->found(check, passed, detail, c->test->arg);
}

/* Who may write an executable may do what hpd may. */
static void check_files(const struct contract *c)
{
    for (int action = 0; action < COMMAND_ACTION_COUNT; action++) {
        const char *name = command_action_text((enum command_action)action);
        autofree char *path = own_printf("%s/%s", c->test->directory, name);
        autofree char *check = own_printf("%s is an executable that only its owner may change", name);
        struct stat st;
        if (stat(path, &st) != 0 || access(path, X_OK) != 0)
            found(c, check, false, "%s is missing, or may not be executed", path);
        else if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
            found(c, check, false, "%s may be written by others: chmod go-w", path);
        else
            found(c, check, true, "%s", path);
    }
}

static const char *state_text(enum provider_instance_state state)
{
    static const char *const words[] = {"pending", "running", "gone"};
    return words[state];
}

static void check_unknown(const struct contract *c)
{
    const char *check = "describe of a machine that never was: it is gone";
    const struct provider_target target = {.instance_id = NOBODY};
    struct provider_instance instance = {.state = PROVIDER_INSTANCE_PENDING};
    char error[PROVIDER_ERROR_MAX] = "";
    int64_t began = clock_mono_ms(clock_system());
    int status = c->provider.ops->describe(c->provider.self, &target, &instance, error);
    int64_t took = clock_mono_ms(clock_system()) - began;
    bool gone = (status == 0 && instance.state == PROVIDER_INSTANCE_GONE) || status == STATUS_NOT_FOUND;
    if (gone)
        found(c, check, true, "answered in %" PRId64 " ms", took);
    else if (status == 0)
        found(c, check, false, "it says %s of an id that no machine has; a lost machine would never be missed",
              state_text(instance.state));
    else
        found(c, check, false, "%s", error[0] != '\0' ? error : status_meaning(status));
}

struct life {
    char id[ID_INSTANCE_MAX], key[KEY_MAX_BYTES], ref[PROVIDER_REF_MAX_BYTES];
};

/* life NULL: only that there is a list. */
static void check_list(const struct contract *c, const struct life *life)
{
    const char *check = life == NULL ? "list answers" : "list has the machine";
    struct provider_listed *list = NULL;
    size_t count = 0;
    char error[PROVIDER_ERROR_MAX] = "";
    bool there = life == NULL;
    if (c->provider.ops->list == NULL)
        return;
    int status = c->provider.ops->list(c->provider.self, &list, &count, error);
    for (size_t i = 0; status == 0 && life != NULL && i < count; i++)
        there |=
            text_equal(list[i].instance_id, life->id) || (life->ref[0] != '\0' && text_equal(list[i].ref, life->ref));
    free(list);
    autofree char *machines = own_printf("%zu machine%s", count, text_plural((int64_t)count));
    found(c, check, status == 0 && there, "%s",
          status == 0        ? machines
          : error[0] != '\0' ? error
                             : status_meaning(status));
}

static void check_notices(const struct contract *c)
{
    struct provider_notice *notices = NULL;
    size_t count = 0;
    char error[PROVIDER_ERROR_MAX] = "";
    if (c->provider.ops->notices == NULL)
        return;
    int status = c->provider.ops->notices(c->provider.self, &notices, &count, error);
    free(notices);
    autofree char *events = own_printf("%zu event%s of machines", count, text_plural((int64_t)count));
    found(c, "what is planned for machines is said", status == 0, "%s",
          status == 0        ? events
          : error[0] != '\0' ? error
                             : status_meaning(status));
}

/* --- the life of a machine ----------------------------------------------------------------------------- */

static int launch_once(const struct contract *c, const struct life *life, struct provider_instance *ret_instance,
                       char error[PROVIDER_ERROR_MAX])
{
    const struct provider_launch launch = {.key = life->key,
                                           .instance_id = life->id,
                                           .cluster = "provider-test",
                                           .group = "provider-test",
                                           .node = "provider-test",
                                           .instance_type = c->test->instance_type,
                                           .image_id = "",
                                           .release = "",
                                           .zone = "",
                                           .server_url = c->test->server_url,
                                           .fingerprint = c->test->fingerprint,
                                           .enrollment_token = "hfe_none"};
    return c->provider.ops->launch(c->provider.self, &launch, ret_instance, error);
}

static bool check_launch(const struct contract *c, struct life *life)
{
    struct provider_instance first = {.ref = ""}, again = {.ref = ""};
    char error[PROVIDER_ERROR_MAX] = "";
    int status = launch_once(c, life, &first, error);
    if (status != 0) {
        found(c, "launch makes a machine", false, "%s", error[0] != '\0' ? error : status_meaning(status));
        return false;
    }
    text_copy_cut(life->ref, sizeof(life->ref), first.ref);
    found(c, "launch makes a machine", true, "its id there is %s", first.ref[0] != '\0' ? first.ref : life->id);
    status = launch_once(c, life, &again, error);
    bool same = status == 0 && text_equal(first.ref, again.ref);
    found(c, "launch under the same key is the same machine", same, "%s",
          same          ? "it is"
          : status == 0 ? again.ref
                        : error);
    return same;
}

static struct provider_target target_of(const struct life *life)
{
    return (struct provider_target){.instance_id = life->id, .ref = life->ref, .launch_key = life->key};
}

static bool check_there(const struct contract *c, const struct life *life)
{
    const char *check = "describe finds the machine";
    const struct provider_target target = target_of(life);
    struct provider_instance instance = {.state = PROVIDER_INSTANCE_GONE};
    char error[PROVIDER_ERROR_MAX] = "";
    int status = c->provider.ops->describe(c->provider.self, &target, &instance, error);
    bool there = status == 0 && instance.state != PROVIDER_INSTANCE_GONE;
    found(c, check, there, "%s",
          there                      ? state_text(instance.state)
          : status == 0 || !error[0] ? "it says that the machine is gone"
                                     : error);
    return there;
}

/* As hpd asks when the answer to the launch was lost. */
static bool check_lost(const struct contract *c, const struct life *life)
{
    const struct provider_target target = {.instance_id = life->id, .ref = "", .launch_key = life->key};
    struct provider_instance instance = {.state = PROVIDER_INSTANCE_GONE};
    char error[PROVIDER_ERROR_MAX] = "";
    int status = c->provider.ops->describe(c->provider.self, &target, &instance, error);
    bool same = status == 0 && instance.state != PROVIDER_INSTANCE_GONE &&
                (life->ref[0] == '\0' || instance.ref[0] == '\0' || text_equal(instance.ref, life->ref));
    found(c, "describe finds the machine by hpd's id alone", same, "%s",
          same                                       ? state_text(instance.state)
          : status != 0                              ? error
          : instance.state == PROVIDER_INSTANCE_GONE ? "it says that the machine is gone"
                                                     : instance.ref);
    return same;
}

static void check_end(const struct contract *c, const struct life *life)
{
    const struct provider_target target = target_of(life);
    char error[PROVIDER_ERROR_MAX] = "";
    autofree char *key = own_printf("terminate/%s", life->id);
    int status = c->provider.ops->terminate(c->provider.self, &target, key, error);
    found(c, "terminate ends the machine", status == 0, "%s",
          status == 0 ? "done"
          : error[0]  ? error
                      : status_meaning(status));
    status = c->provider.ops->terminate(c->provider.self, &target, key, error);
    found(c, "terminate of a machine that was ended is no error", status == 0 || status == STATUS_NOT_FOUND, "%s",
          status == 0 || status == STATUS_NOT_FOUND ? "done"
          : error[0]                                ? error
                                                    : status_meaning(status));
    struct provider_instance instance = {.state = PROVIDER_INSTANCE_PENDING};
    for (int64_t end = clock_mono_ms(clock_system()) + GONE_WITHIN_MS; clock_mono_ms(clock_system()) < end;
         usleep(POLL_US)) {
        status = c->provider.ops->describe(c->provider.self, &target, &instance, error);
        if (status == STATUS_NOT_FOUND || (status == 0 && instance.state == PROVIDER_INSTANCE_GONE))
            break;
    }
    bool gone = status == STATUS_NOT_FOUND || (status == 0 && instance.state == PROVIDER_INSTANCE_GONE);
    found(c, "describe says that it is gone within 2m", gone, "%s",
          gone          ? "it is"
          : status == 0 ? state_text(instance.state)
                        : error);
}

void provider_contract(struct provider_driver provider, const struct provider_test *test)
{
    const struct contract c = {provider, test};
    if (test->directory != NULL)
        check_files(&c);
    check_unknown(&c);
    check_list(&c, NULL);
    check_notices(&c);
    if (!test->launches)
        return;
    struct life life = {.ref = ""};
    char uuid[ID_UUID_MAX];
    id_uuid(NULL, uuid);
    id_instance(NULL, life.id);
    snprintf(life.key, sizeof(life.key), "contract/%s", uuid);
    if (check_launch(&c, &life) && check_there(&c, &life) && check_lost(&c, &life))
        check_list(&c, &life);
    check_end(&c, &life);
}
