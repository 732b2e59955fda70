/*
 * A BMC that is slow, lies or breaks off: what is made of each, and that nobody but the configured address ever sees the password. The real
 * implementation is tests/support/redfish-lab's.
 */
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/reboot/bmc.h"
#include "server/reboot/redfish.h"
#include "tests/support/fake_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SYSTEM "/redfish/v1/Systems/1"
#define RESET SYSTEM "/Actions/ComputerSystem.Reset"

enum misdeed {
    NONE,
    HANGS_AT_THE_LIST,
    SENDS_TOO_MUCH,
    IS_NO_JSON,
    REDIRECTS,
    NAMES_A_FAR_PATH,
    HAS_SEVERAL,
    DENIES,
    IS_BUSY,
    REFUSES_THE_RESET,
    HANGS_AT_THE_RESET,
    BREAKS_OFF_AT_THE_RESET,
    IS_OFF,
};

struct bmc {
    struct fake_server *server;
    enum misdeed misdeed;
    atomic_int resets, others; /* others: requests without the password */
    char kind[64];
    char *large;
};

static char dir[] = "/tmp/holdfast-redfish-XXXXXX";
static char credentials[64], error[REBOOT_ERROR_MAX];

static void reply_raw(struct fake_answer *answer, const char *text)
{
    answer->pieces[answer->count++] = text;
    answer->close = true;
}

static void list(struct bmc *bmc, struct fake_answer *answer)
{
    if (bmc->misdeed == HANGS_AT_THE_LIST)
        answer->hold = true;
    else if (bmc->misdeed == SENDS_TOO_MUCH)
        fake_answer_json(answer, bmc->server, 200, bmc->large);
    else if (bmc->misdeed == IS_NO_JSON)
        fake_answer_json(answer, bmc->server, 200, "<html>login</html>");
    else if (bmc->misdeed == REDIRECTS)
        reply_raw(answer, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    else if (bmc->misdeed == NAMES_A_FAR_PATH)
        fake_answer_json(answer, bmc->server, 200, "{\"Members\":[{\"@odata.id\":\"http://127.0.0.1:1/\"}]}");
    else if (bmc->misdeed == HAS_SEVERAL)
        fake_answer_json(answer, bmc->server, 200, "{\"Members\":[{\"@odata.id\":\"/redfish/v1/Systems/1\"},{}]}");
    else if (bmc->misdeed == DENIES)
        fake_answer_json(answer, bmc->server, 401, "{\"error\":{\"message\":\"no such user\"}}");
    else if (bmc->misdeed == IS_BUSY)
        fake_answer_json(answer, bmc->server, 503, "");
    else
        fake_answer_json(answer, bmc->server, 200, "{\"Members\":[{\"@odata.id\":\"" SYSTEM "\"}]}");
}

static void reset(struct bmc *bmc, const char *request, struct fake_answer *answer)
{
    const char *body = strstr(request, "\r\n\r\n");
    snprintf(bmc->kind, sizeof(bmc->kind), "%s", body != NULL ? body + 4 : "");
    atomic_fetch_add(&bmc->resets, 1);
    if (bmc->misdeed == REFUSES_THE_RESET)
        fake_answer_json(answer, bmc->server, 409, "{\"error\":{\"message\":\"The system is in POST\"}}");
    else if (bmc->misdeed == HANGS_AT_THE_RESET)
        answer->hold = true;
    else if (bmc->misdeed == BREAKS_OFF_AT_THE_RESET)
        reply_raw(answer, "HTTP/1.1 20");
    else
        reply_raw(answer, "HTTP/1.1 204 No Content\r\n\r\n");
}

static void handle(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct bmc *bmc = arg;
    (void)len;
    if (strstr(request, "Authorization: Basic cm9vdDpzZWNyZXQ=") == NULL) /* root:secret */
        atomic_fetch_add(&bmc->others, 1);
    if (text_starts_with(request, "GET /redfish/v1/Systems HTTP"))
        list(bmc, answer);
    else if (text_starts_with(request, "GET " SYSTEM " HTTP"))
        fake_answer_json(
            answer, bmc->server, 200,
            bmc->misdeed == IS_OFF
                ? "{\"PowerState\":\"Off\",\"Actions\":{\"#ComputerSystem.Reset\":{\"target\":\"" RESET "\"}}}"
                : "{\"PowerState\":\"On\",\"Actions\":{\"#ComputerSystem.Reset\":{\"target\":\"" RESET
                  "\",\"ResetType@Redfish.AllowableValues\":[\"On\",\"GracefulRestart\",\"ForceRestart\"]}}}");
    else if (text_starts_with(request, "POST " RESET " HTTP"))
        reset(bmc, request, answer);
    else
        fake_answer_json(answer, bmc->server, 404, "{}");
}

/* The address is the configuration's, or that of an inventory. */
static int reboot_at(struct bmc *bmc, const char *inventory, enum misdeed misdeed, enum reboot_method method)
{
    const struct reboot_target target = {.node = "n",
                                         .instance_id = "i-1",
                                         .ref = "",
                                         .address = "127.0.0.1",
                                         .bmc = inventory,
                                         .boot_id = "b",
                                         .key = "o/1"};
    const struct reboot_bmc_options options = {
        .address = fake_server_url(bmc->server), .credentials = credentials, .timeout_ms = 1000};
    struct reboot_driver driver = reboot_bmc_new(&options);
    bmc->misdeed = misdeed;
    atomic_store(&bmc->resets, 0);
    error[0] = '\0';
    int status = driver.ops->reboot(driver.self, &target, method, error);
    driver.ops->free(driver.self);
    assert_int_equal(atomic_load(&bmc->others), 0);
    assert_true(status == 0 || error[0] != '\0');
    return status;
}

static int reboot(struct bmc *bmc, enum misdeed misdeed, enum reboot_method method)
{
    return reboot_at(bmc, "", misdeed, method);
}

static void write_credentials(const char *text, mode_t mode)
{
    assert_int_equal(file_write(credentials, text, strlen(text), 0600), 0);
    assert_int_equal(chmod(credentials, mode), 0);
}

static int start(void **state)
{
    struct bmc *bmc = own_calloc(1, sizeof(*bmc));
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(credentials, sizeof(credentials), "%s/bmc.yaml", dir);
    write_credentials("default: {user: root, password: secret}\n", 0600);
    bmc->large = own_calloc(1, REDFISH_BYTES_MAX + 16);
    memset(bmc->large, ' ', REDFISH_BYTES_MAX + 8);
    bmc->server = fake_server_start(NULL, 0, NULL, NULL, handle, bmc);
    *state = bmc;
    return bmc->server != NULL ? 0 : -1;
}

static int stop(void **state)
{
    struct bmc *bmc = *state;
    fake_server_stop(bmc->server);
    free(bmc->large);
    free(bmc);
    return file_remove_tree(dir);
}

/* Who may change the inventory does not get the password of all BMCs. */
static void the_default_password_goes_to_no_unverified_bmc_of_an_inventory(void **state)
{
    struct bmc *bmc = *state;
    autofree char *own = own_printf("%s: {user: root, password: secret}\n", fake_server_url(bmc->server));
    assert_int_equal(reboot_at(bmc, fake_server_url(bmc->server), NONE, REBOOT_METHOD_BMC_GRACEFUL), STATUS_DENIED);
    assert_non_null(strstr(error, "bmc.credentialsFile has to name it"));
    assert_int_equal(atomic_load(&bmc->resets), 0);
    write_credentials(own, 0600);
    assert_int_equal(reboot_at(bmc, fake_server_url(bmc->server), NONE, REBOOT_METHOD_BMC_GRACEFUL), 0);
}

static void each_kind_is_asked_for_once(void **state)
{
    struct bmc *bmc = *state;
    assert_int_equal(reboot(bmc, NONE, REBOOT_METHOD_BMC_GRACEFUL), 0);
    assert_string_equal(bmc->kind, "{\"ResetType\":\"GracefulRestart\"}");
    assert_int_equal(reboot(bmc, NONE, REBOOT_METHOD_BMC_FORCE), 0);
    assert_string_equal(bmc->kind, "{\"ResetType\":\"ForceRestart\"}");
    assert_int_equal(atomic_load(&bmc->resets), 1);
    assert_int_equal(reboot(bmc, NONE, REBOOT_METHOD_BMC_CYCLE), STATUS_UNSUPPORTED);
    assert_non_null(strstr(error, "it does not offer PowerCycle"));
    assert_int_equal(atomic_load(&bmc->resets), 0);
}

static void a_machine_that_is_off_is_switched_on(void **state)
{
    struct bmc *bmc = *state;
    assert_int_equal(reboot(bmc, IS_OFF, REBOOT_METHOD_BMC_FORCE), 0);
    assert_string_equal(bmc->kind, "{\"ResetType\":\"On\"}");
    assert_string_equal(error, "the machine was off, and is switched on");
}

static void what_fails_before_the_reset_has_done_nothing(void **state)
{
    static const struct {
        enum misdeed misdeed;
        int status;
        const char *why;
    } cases[] = {
        {HANGS_AT_THE_LIST, STATUS_UNAVAILABLE, ""},
        {SENDS_TOO_MUCH, STATUS_TOO_LARGE, "larger"},
        {IS_NO_JSON, STATUS_BACKEND, "names none"},
        {REDIRECTS, STATUS_BACKEND, "answered 302"},
        {NAMES_A_FAR_PATH, STATUS_BACKEND, "none of Redfish's"},
        {HAS_SEVERAL, STATUS_BACKEND, "2 systems: name one with bmc.system"},
        {DENIES, STATUS_DENIED, "answered 401: no such user"},
        {IS_BUSY, STATUS_UNAVAILABLE, "answered 503"},
    };
    struct bmc *bmc = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(reboot(bmc, cases[i].misdeed, REBOOT_METHOD_BMC_FORCE), cases[i].status);
        assert_non_null(strstr(error, cases[i].why));
        assert_int_equal(atomic_load(&bmc->resets), 0);
    }
}

static void what_fails_at_the_reset_may_have_been_done(void **state)
{
    struct bmc *bmc = *state;
    assert_int_equal(reboot(bmc, HANGS_AT_THE_RESET, REBOOT_METHOD_BMC_FORCE), STATUS_TIMEOUT);
    assert_int_equal(reboot(bmc, BREAKS_OFF_AT_THE_RESET, REBOOT_METHOD_BMC_FORCE), STATUS_TIMEOUT);
    assert_int_equal(reboot(bmc, REFUSES_THE_RESET, REBOOT_METHOD_BMC_FORCE), STATUS_BACKEND);
    assert_non_null(strstr(error, "ForceRestart answered 409: The system is in POST"));
}

static void credentials_that_others_may_read_are_not_used(void **state)
{
    struct bmc *bmc = *state;
    int before = fake_server_connections(bmc->server);
    write_credentials("default: {user: root, password: secret}\n", 0640);
    assert_int_equal(reboot(bmc, NONE, REBOOT_METHOD_BMC_FORCE), STATUS_DENIED);
    assert_non_null(strstr(error, "chmod 600"));
    write_credentials("https://bmc-other.example: {user: root, password: secret}\n", 0600);
    assert_int_equal(reboot(bmc, NONE, REBOOT_METHOD_BMC_FORCE), STATUS_NOT_FOUND);
    assert_int_equal(fake_server_connections(bmc->server), before);
    write_credentials("default: {user: root, password: secret}\n", 0600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_asked_for_once),
        cmocka_unit_test(the_default_password_goes_to_no_unverified_bmc_of_an_inventory),
        cmocka_unit_test(a_machine_that_is_off_is_switched_on),
        cmocka_unit_test(what_fails_before_the_reset_has_done_nothing),
        cmocka_unit_test(what_fails_at_the_reset_may_have_been_done),
        cmocka_unit_test(credentials_that_others_may_read_are_not_used),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
