/* A driver for Kubernetes whose API server is a fake one. */
#ifndef HOLDFAST_TESTS_UNIT_SERVER_KUBERNETES_WORLD_H
#define HOLDFAST_TESTS_UNIT_SERVER_KUBERNETES_WORLD_H

#include "base/file.h"
#include "base/own.h"
#include "server/scheduler/kubernetes/kubernetes.h"
#include "tests/support/fake_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Freed with its ops. */
static inline void kubernetes_world_open(const struct fake_server *server, int64_t timeout_ms,
                                         struct scheduler_driver *ret_driver)
{
    char dir[] = "/tmp/holdfast-kubernetes-XXXXXX", error[SCHEDULER_ERROR_MAX] = "";
    assert_non_null(mkdtemp(dir));
    autofree char *path = own_printf("%s/kubeconfig", dir),
                  *text = own_printf("current-context: a\nclusters: [{name: c, cluster: {server: \"%s\"}}]\nusers: "
                                     "[{name: u, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: c, user: "
                                     "u}}]\n",
                                     fake_server_url(server));
    assert_int_equal(file_write(path, text, strlen(text), 0600), 0);
    const struct kubernetes_options options = {.kubeconfig = path, .timeout_ms = timeout_ms};
    assert_int_equal(kubernetes_new(&options, ret_driver, error), 0);
    assert_int_equal(file_remove_tree(dir), 0);
}

#endif
