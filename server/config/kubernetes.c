/*
 * The keys of a Kubernetes cluster: a kubeconfig and its context, or nothing where hpd runs in a pod of that cluster.
 */
#include "server/config/kubernetes.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/pattern.h"
#include "base/status.h"
#include "base/text.h"
#include "server/config/section.h"
#include "server/scheduler/kubernetes/kubernetes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config_kubernetes {
    char kubeconfig[PATH_MAX], service_account[PATH_MAX];
    char context[PATH_MAX]; /* an ARN, or a name as long as people like */
    int64_t timeout_ms;
    bool training_jobs;
};

#define ARN_EXAMPLE "arn:aws:eks:us-west-2:000000000000:cluster/prod"

/* What the AWS API takes as EksClusterArn. */
static bool is_cluster_arn(const char *arn)
{
    AUTO(pattern)
    struct pattern *pattern =
        pattern_new("arn:aws[a-z-]*:eks:[a-z0-9-]*:[0-9]{12}:cluster/[0-9A-Za-z][A-Za-z0-9_-]{0,99}");
    return pattern_matches(pattern, arn, strlen(arn));
}

static int read(struct config_scheduler *scheduler, json_t *json, char *ret_error)
{
    struct config_kubernetes *kubernetes = own_calloc(1, sizeof(*kubernetes));
    static const char *const skip[] = {"name", "kind", NULL};
    const struct key keys[] = {
        {"kubeconfig", KEY_TEXT, kubernetes->kubeconfig, sizeof(kubernetes->kubeconfig), 0, 0},
        {"context", KEY_TEXT, kubernetes->context, sizeof(kubernetes->context), 0, 0},
        {"eksClusterArn", KEY_TEXT, scheduler->arn, sizeof(scheduler->arn), 0, 0},
        {"serviceAccountDir", KEY_TEXT, kubernetes->service_account, sizeof(kubernetes->service_account), 0, 0},
        {"timeout", KEY_DURATION, &kubernetes->timeout_ms, 0, MS_PER_S, 10 * MS_PER_MIN},
        {"trainingJobs", KEY_BOOL, &kubernetes->training_jobs, 0, 0, 0},
        {"jobSnapshotInterval", KEY_DURATION, &scheduler->job_snapshot_interval_ms, 0, 0, MS_PER_HOUR},
        {"observeInterval", KEY_DURATION, &scheduler->observe_interval_ms, 0, 100, MS_PER_HOUR},
    };
    scheduler->options = kubernetes;
    kubernetes->timeout_ms = 20 * MS_PER_S;
    scheduler->job_snapshot_interval_ms = 15 * MS_PER_S; /* as often as Prometheus is used to scrape an exporter */
    text_copy_cut(kubernetes->service_account, sizeof(kubernetes->service_account), KUBERNETES_SERVICE_ACCOUNT);
    int rc = section_read(json, scheduler->path, keys, ARRAY_LEN(keys), skip, ret_error);
    if (rc != 0 || scheduler->arn[0] == '\0' || is_cluster_arn(scheduler->arn))
        return rc;
    snprintf(ret_error, CONFIG_ERROR_MAX, "%s.eksClusterArn must be the ARN of an EKS cluster: " ARN_EXAMPLE,
             scheduler->path);
    return STATUS_INVALID;
}

static struct kubernetes_options options_of(const struct config_scheduler *scheduler)
{
    const struct config_kubernetes *kubernetes = scheduler->options;
    return (struct kubernetes_options){.kubeconfig = kubernetes->kubeconfig[0] != '\0' ? kubernetes->kubeconfig : NULL,
                                       .context = kubernetes->context[0] != '\0' ? kubernetes->context : NULL,
                                       .service_account = kubernetes->service_account,
                                       .timeout_ms = kubernetes->timeout_ms,
                                       .training_jobs = kubernetes->training_jobs};
}

static bool is_same(const struct config_scheduler *a, const struct config_scheduler *b)
{
    const struct kubernetes_options of_a = options_of(a), of_b = options_of(b);
    return kubernetes_options_are_alike(&of_a, &of_b);
}

static void warn(const struct config_scheduler *scheduler)
{
    const struct kubernetes_options options = options_of(scheduler);
    kubernetes_options_warn(&options, scheduler->path);
}

static int make(const struct config_scheduler *scheduler, struct scheduler_driver *ret_driver)
{
    const struct kubernetes_options options = options_of(scheduler);
    char error[SCHEDULER_ERROR_MAX];
    return kubernetes_new(&options, ret_driver, error);
}

static void free_options(struct config_scheduler *scheduler)
{
    free(TAKE(scheduler->options));
}

const struct config_scheduler_kind config_kubernetes_kind = {.name = "kubernetes",
                                                             .reached_by = "kubeconfig or context",
                                                             .read = read,
                                                             .is_same = is_same,
                                                             .warn = warn,
                                                             .make = make,
                                                             .free = free_options};
