/* Evictions that the API server refuses: which refusal is a right that is missing, and how it is said. */
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "server/scheduler/kubernetes/kubernetes.h"
#include "tests/support/fake_server.h"
#include "tests/unit/server/kubernetes_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TIMEOUT_MS 20000
#define LIST(items) "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" items "]}"
#define NODE "{\"metadata\":{\"name\":\"gpu-1\",\"uid\":\"n\",\"resourceVersion\":\"5\"}}"
#define POD(space, name)                                                                                             \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" space "\",\"uid\":\"" name "\"},\"spec\":{\"nodeName\":" \
    "\"gpu-1\"},\"status\":{\"phase\":\"Running\"}}"
#define FORBIDDEN(name, why) "{\"message\":\"pods '" name "' is forbidden: " why "\"}"
#define NO_RIGHT(space) "User 'h' cannot create resource 'pods/eviction' in the namespace '" space "'"
#define POLICY "{\"message\":\"admission webhook 'a' denied the request: no eviction at noon\"}"

/* What is refused of an eviction in each of the namespaces; NULL: it is carried out. */
struct answers {
    struct fake_server *server;
    const char *a, *b, *pods;
};

static void answer_request(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    const struct answers *answers = arg;
    const char *refusal = strstr(request, "/namespaces/a/") != NULL ? answers->a : answers->b;
    (void)len;
    if (strstr(request, "watch=true") != NULL) {
        answer->pieces[answer->count++] = "HTTP/1.1 200 X\r\nConnection: close\r\n\r\n";
        answer->close = true; /* the server has one connection at a time */
        return;
    }
    answer->close = true;
    if (strncmp(request, "POST ", 5) == 0)
        fake_answer_json(answer, answers->server, refusal != NULL ? 403 : 201, refusal != NULL ? refusal : "{}");
    else if (strstr(request, "/apis/policy") != NULL)
        fake_answer_json(answer, answers->server, 200, "{\"versions\":[{\"version\":\"v1\"}]}");
    else
        fake_answer_json(answer, answers->server, 200,
                         strstr(request, "/api/v1/nodes") != NULL ? LIST(NODE) : answers->pods);
}

static void test_refused_evictions(void **state)
{
    static const struct {
        struct answers answers;
        int status;
        const char *says;
    } cases[] = {
        {{.a = NULL}, 0, ""},
        {{.a = FORBIDDEN("p", NO_RIGHT("a")), .b = FORBIDDEN("q", NO_RIGHT("b"))},
         STATUS_DENIED,
         "HTTP 403: User 'h' cannot create resource 'pods/eviction'"},
        {{.b = FORBIDDEN("q", NO_RIGHT("b"))},
         STATUS_DENIED,
         "HTTP 403: User 'h' cannot create resource 'pods/eviction'"},
        {{.a = POLICY, .b = FORBIDDEN("q", NO_RIGHT("b"))},
         STATUS_DENIED,
         "HTTP 403: User 'h' cannot create resource 'pods/eviction'"},
        {{.a = POLICY}, STATUS_BACKEND, "no eviction at noon"},
        {{.b = FORBIDDEN("q", "exceeded quota")}, STATUS_BACKEND, "exceeded quota"},
    };
    char error[SCHEDULER_ERROR_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct answers answers = cases[i].answers;
        struct scheduler_driver driver;
        answers.pods = LIST(POD("a", "p") "," POD("b", "q"));
        answers.server = fake_server_start(NULL, 0, NULL, NULL, answer_request, &answers);
        kubernetes_world_open(answers.server, TIMEOUT_MS, &driver);
        const struct scheduler_owner owner = {.note = "a test"};
        error[0] = '\0';
        int status = driver.ops->evict(driver.self, "gpu-1", &owner, error);
        if (status != cases[i].status)
            fail_msg("case %zu: %s: %s", i, status_text(status), error);
        if (status == STATUS_DENIED)
            assert_string_equal(error, cases[i].says);
        else
            assert_non_null(strstr(error, cases[i].says));
        driver.ops->free(driver.self);
        fake_server_stop(answers.server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_evictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
