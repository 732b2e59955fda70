/*
 * What Kubernetes answers and what people write of it: the first byte, from '0' on, says whether the rest is a kubeconfig, what a credential plugin
 * printed, a line of a watch, or a node that is cordoned and given back by the patches made for it, or that is to carry labels.
 */
// ROOMS: server base model
#include "tests/fuzz/fuzz.h"

#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/kubernetes/cache.h"
#include "server/scheduler/kubernetes/kubeconfig.h"
#include "server/scheduler/kubernetes/private.h"

static void *keep_node(const json_t *object)
{
    struct kube_node *node = own_calloc(1, sizeof(*node));
    if (kube_node_read(object, node) == 0)
        return node;
    free(node);
    return NULL;
}

static uint64_t version_of(const void *kept)
{
    return ((const struct kube_node *)kept)->version;
}

static void check_node(const void *kept, void *arg)
{
    const struct kube_node *node = kept;
    char reason[REASON_MAX_BYTES];
    (void)arg;
    kube_node_reason(node, reason);
    REQUIRE(text_is_clean(reason) && text_is_utf8(reason, strlen(reason)));
    REQUIRE(text_is_clean(node->name) && node->object[0] != '\0');
    REQUIRE(!kube_node_is_lifted(node) || !node->unschedulable || node->says_only);
}

static void read_line(const char *text, size_t len)
{
    static const struct kube_cache_kind kind = {.path = "/x", .query = "", .read = keep_node, .version = version_of};
    struct kube_cache *cache = kube_cache_new_still(&kind);
    (void)kube_cache_line(cache, text, len);
    kube_cache_each(cache, check_node, NULL);
    kube_cache_free(cache);
}

static void read_config(const char *text, size_t len)
{
    struct kube_access access;
    char error[JSON_ERROR_MAX] = "";
    if (kubeconfig_parse(text, len, "/d", NULL, &access, error) != 0) {
        REQUIRE(error[0] != '\0');
        return;
    }
    REQUIRE(access.server != NULL && access.prefix != NULL && (access.token == NULL || access.token_file == NULL));
    kube_access_free(&access);
}

static void read_credential(const char *text, size_t len)
{
    char *token = NULL, error[JSON_ERROR_MAX] = "";
    int64_t until;
    if (kube_exec_credential(text, len, &token, &until, error) == 0)
        REQUIRE(token[0] != '\0' && strpbrk(token, " \r\n") == NULL);
    free(token);
}

/* Our cordon can be told from anybody else's, and goes without a trace of ours. */
static void cordon(const char *text, size_t len)
{
    static const struct scheduler_owner owner = {.request = SCHEDULER_REQUEST_REPLACE};
    auto_json json_t *json = NULL;
    struct kube_node node;
    char error[JSON_ERROR_MAX];
    if (json_parse(text, len, len, &json, error) != 0 || kube_node_read(json, &node) != 0)
        return;
    auto_json json_t *patch = kube_cordon_patch(json, &node, &owner);
    REQUIRE(patch != NULL);
    auto_json json_t *back = kube_uncordon_patch(json, &node);
    REQUIRE(back != NULL);
}

static const json_t *pair_of(const json_t *object, const char *name)
{
    return json_object_get(json_object_get(object, "labels"), name);
}

/* Whatever the node and our annotation say, what others set is in no patch, and what was asked for is shown or is theirs. */
static void label(const char *text, size_t len)
{
    auto_json json_t *json = NULL;
    auto_json json_t *people = json_pack("{s:{s:s}, s:[{s:s, s:s, s:s}]}", "labels", "a", "1", "taints", "key", "t",
                                         "value", "v", "effect", "NoSchedule");
    auto_json json_t *ours = json_pack("{s:{s:s}}", "labels", "b", "2");
    const struct kube_wanted wanted = {.people = people, .ours = ours};
    struct kube_carried carried;
    char error[JSON_ERROR_MAX];
    if (json_parse(text, len, len, &json, error) != 0)
        return;
    auto_json json_t *patch = kube_labels_patch(json, &wanted, &carried);
    const json_t *node = json_object_get(json, "metadata"), *changed = json_object_get(patch, "metadata");
    const json_t *was = pair_of(node, "others");
    REQUIRE(was == NULL || !json_is_string(pair_of(changed, "others")));
    REQUIRE(text_is_clean(carried.conflict));
    REQUIRE(carried.conflict[0] != '\0' || strstr(carried.current, "\"a\":\"1\"") != NULL);
    free(carried.current);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *, size_t) = {read_config, read_credential, read_line, cordon, label};
    if (size == 0)
        return 0;
    autofree char *text = fuzz_text(data + 1, size - 1);
    readers[(uint8_t)(data[0] - '0') % ARRAY_LEN(readers)](text, size - 1);
    return 0;
}
