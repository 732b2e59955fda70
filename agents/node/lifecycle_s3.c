/*
 * A source at s3://BUCKET/PREFIX: all objects below the prefix, or one that is an archive. The bucket is part of the path and not of the host's name, which
 * every server that speaks as S3 does understands.
 */
#include "agents/node/lifecycle_net.h"

#include "agents/node/s3.h"
#include "base/status.h"
#include "base/xml.h"

#include <stdio.h>
#include <string.h>

#define LIST_BYTES_MAX (8 * 1024 * 1024) /* 1,000 objects a page */
#define KEY_MAX (XML_TEXT_BYTES_MAX - 1) /* what is as long may have been cut */

struct listing {
    const char *prefix; /* with its slash */
    char **keys;
    size_t count, capacity;
    char *next; /* how the next page begins */
    bool cut, is_listing, too_long;
};

static void see_end(const char *path, const char *text, void *arg)
{
    struct listing *listing = arg;
    if (strcmp(path, "ListBucketResult/IsTruncated") == 0) {
        listing->cut = strcmp(text, "true") == 0;
    } else if (strcmp(path, "ListBucketResult/NextContinuationToken") == 0) {
        free(listing->next);
        listing->next = own_strdup(text);
    } else if (strcmp(path, "ListBucketResult") == 0) {
        listing->is_listing = true;
    } else if (strcmp(path, "ListBucketResult/Contents/Key") == 0) {
        listing->too_long = listing->too_long || strlen(text) >= KEY_MAX;
        if (text_ends_with(text, "/")) /* how consoles write an empty directory */
            return;
        if (listing->count == listing->capacity) {
            listing->capacity = listing->capacity == 0 ? 64 : listing->capacity * 2;
            listing->keys = own_realloc(listing->keys, listing->capacity, sizeof(*listing->keys));
        }
        listing->keys[listing->count++] = own_strdup(text);
    }
}

static void listing_free(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->keys[i]);
    free(listing->keys);
    free(listing->next);
}

static int list_page(struct net *net, const char *bucket, struct listing *listing)
{
    AUTO(text) struct text query = {0};
    char why[XML_ERROR_MAX];
    const char *body;
    size_t len;
    if (listing->next != NULL) {
        text_add(&query, "continuation-token=");
        text_add_escaped(&query, listing->next, "");
        text_add_char(&query, '&');
    }
    text_add(&query, "list-type=2&max-keys=1000&prefix=");
    text_add_escaped(&query, listing->prefix, "");
    int status = net_get(net, bucket, text_get(&query), LIST_BYTES_MAX, &body, &len);
    if (status != 0)
        return status;
    const struct xml_reader reader = {.close = see_end};
    listing->cut = listing->is_listing = false;
    free(TAKE(listing->next));
    if (xml_read(body, len, LIST_BYTES_MAX, &reader, listing, why) != 0)
        return net_say(net, STATUS_BACKEND, "the list of objects", why);
    if (!listing->is_listing || (listing->cut && (listing->next == NULL || listing->next[0] == '\0')))
        return net_say(net, STATUS_BACKEND, "the list of objects", "the answer is not one");
    if (listing->too_long)
        return net_say(net, STATUS_INVALID, "the list of objects", "a key has more than 1,000 bytes");
    if (listing->count > LIFECYCLE_SOURCE_FILES_MAX)
        return net_say(net, STATUS_INVALID, "the list of objects", "the source has more than 4096 files");
    return 0;
}

static int take_all(struct net *net, const char *bucket, const struct listing *listing)
{
    int status = 0;
    for (size_t i = 0; i < listing->count && status == 0; i++) {
        AUTO(text) struct text path = {0};
        if (!text_starts_with(listing->keys[i], listing->prefix))
            return net_say(net, STATUS_BACKEND, "the list of objects", "it has a key of another prefix");
        text_add(&path, bucket);
        text_add_char(&path, '/');
        text_add_escaped(&path, listing->keys[i], "/");
        status = net_take(net, text_get(&path), listing->keys[i] + strlen(listing->prefix));
    }
    return status;
}

static int fetch_prefix(struct net *net, const char *bucket, const char *key)
{
    autofree char *prefix = own_printf("%s%s", key, key[0] != '\0' ? "/" : "");
    struct listing listing = {.prefix = prefix};
    int status;
    do
        status = list_page(net, bucket, &listing);
    while (status == 0 && listing.cut);
    if (status == 0 && listing.count == 0)
        status = net_say(net, STATUS_NOT_FOUND, "the source", "there is no object below this prefix");
    if (status == 0)
        status = take_all(net, bucket, &listing);
    listing_free(&listing);
    return status;
}

/* "/bucket", escaped, and the key without a slash at its end, as it is. */
static int split(const struct net *net, const char *source, char **ret_bucket, char **ret_key)
{
    const char *name = source + strlen(S3_PREFIX);
    size_t len = strcspn(name, "/");
    autofree char *bucket = own_printf("/%.*s", (int)len, name);
    autofree char *key = own_strdup(name[len] == '/' ? name + len + 1 : "");
    if (len == 0 || strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") < len ||
        bucket[1] == '.')
        return net_say(net, STATUS_INVALID, source, "a source is s3://BUCKET/PREFIX");
    for (size_t end = strlen(key); end > 0 && key[end - 1] == '/'; end--)
        key[end - 1] = '\0';
    *ret_bucket = TAKE(bucket);
    *ret_key = TAKE(key);
    return 0;
}

static int fetch(struct net *net, const char *source)
{
    autofree char *bucket = NULL, *key = NULL;
    int status = split(net, source, &bucket, &key);
    if (status != 0 || !net_is_archive(key))
        return status != 0 ? status : fetch_prefix(net, bucket, key);
    AUTO(text) struct text path = {0};
    text_add(&path, bucket);
    text_add_char(&path, '/');
    text_add_escaped(&path, key, "/");
    return net_take_archive(net, text_get(&path));
}

int lifecycle_fetch_s3(const struct runner_options *options, const struct lifecycle_job *job, const char *directory,
                       char ret_error[LIFECYCLE_ERROR_MAX])
{
    struct s3_config config;
    struct net net;
    char why[S3_ERROR_MAX];
    if (options->s3_config == NULL) {
        snprintf(ret_error, LIFECYCLE_ERROR_MAX,
                 "%.150s: this agent has no keys for s3; start it with --s3-config FILE", job->source);
        return STATUS_INVALID;
    }
    if (s3_config_read(options->s3_config, &config, why) != 0) {
        snprintf(ret_error, LIFECYCLE_ERROR_MAX, "--s3-config %s", why);
        return STATUS_INVALID;
    }
    int status = net_open(&net, options, config.endpoint, directory, ret_error);
    net.s3 = &config;
    if (status == 0)
        status = fetch(&net, job->source);
    net_close(&net);
    explicit_bzero(&config, sizeof(config));
    return status;
}
