/* Files of a source over one connection, within its bounds and its deadline. */
#include "agents/node/lifecycle_net.h"

#include "agents/node/s3.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "base/xml.h"

#include <stdio.h>
#include <string.h>

int net_say(const struct net *net, int status, const char *what, const char *why)
{
    snprintf(net->error, LIFECYCLE_ERROR_MAX, "%.150s: %.160s", what, why);
    return status;
}

int net_open(struct net *net, const struct runner_options *options, const char *base, const char *directory,
             char ret_error[LIFECYCLE_ERROR_MAX])
{
    char why[WIRE_ERROR_MAX];
    const struct wire_options wire_options = {
        .url = base, .ca_file = options->ca_file, .timeout_ms = options->times.timeout_ms};
    *net = (struct net){.directory = directory, .error = ret_error, .timeout_ms = options->times.timeout_ms};
    if (options->times.fetch_ms > 0)
        net->deadline_ms = clock_mono_ms(clock_system()) + options->times.fetch_ms;
    return wire_new(&wire_options, &net->wire, why) == 0 ? 0 : net_say(net, STATUS_INVALID, base, why);
}

void net_close(struct net *net)
{
    wire_free(TAKE(net->wire));
}

static int sign(struct net *net, const char *path, const char *query)
{
    AUTO(text) struct text headers = {0};
    char host[WIRE_HOST_MAX];
    if (net->s3 == NULL)
        return 0;
    wire_host(net->wire, host);
    int status = s3_sign(net->s3, host, path, query, clock_wall_ms(clock_system()), &headers);
    if (status != 0)
        return net_say(net, status, path, "the request cannot be signed");
    wire_headers(net->wire, text_get(&headers));
    return 0;
}

int net_ask(struct net *net, const char *path, const char *query, size_t bytes_max, int *ret_answer,
            const char **ret_body, size_t *ret_len)
{
    char why[WIRE_ERROR_MAX];
    int64_t left_ms = net->timeout_ms;
    if (net->deadline_ms != 0) {
        left_ms = net->deadline_ms - clock_mono_ms(clock_system());
        if (left_ms <= 0)
            return net_say(net, STATUS_TIMEOUT, "the source", "not all of it came in time");
        if (left_ms > net->timeout_ms)
            left_ms = net->timeout_ms;
    }
    wire_limits(net->wire, left_ms, bytes_max);
    int status = sign(net, path, query);
    if (status != 0)
        return status;
    autofree char *whole = own_printf("%s%s%s", path, query[0] != '\0' ? "?" : "", query);
    status = wire_get(net->wire, whole, NULL, ret_answer, ret_body, ret_len, why);
    return status == 0 ? 0 : net_say(net, status, path, why);
}

static void see_code(const char *path, const char *text, void *arg)
{
    if (strcmp(path, "Error/Code") == 0 && text_is_clean(text) && strlen(text) < 64)
        snprintf(arg, 64, "%s", text);
}

int net_get(struct net *net, const char *path, const char *query, size_t bytes_max, const char **ret_body,
            size_t *ret_len)
{
    char why[WIRE_ERROR_MAX], code[64] = "", error[XML_ERROR_MAX];
    int answer, status = net_ask(net, path, query, bytes_max, &answer, ret_body, ret_len);
    if (status != 0 || answer == 200)
        return status;
    const struct xml_reader reader = {.close = see_code};
    if (net->s3 != NULL)
        (void)xml_read(*ret_body, *ret_len, *ret_len + 1, &reader, code, error);
    snprintf(why, sizeof(why), "the server answered %d%s%s%s", answer, code[0] != '\0' ? " " : "", code,
             answer >= 300 && answer < 400 ? "; redirects are not followed" : "");
    return net_say(net, STATUS_BACKEND, path, why);
}

int net_take(struct net *net, const char *path, const char *name)
{
    const char *body;
    size_t len;
    if (!lifecycle_is_script_name(name))
        return net_say(net, STATUS_INVALID, name, "a name that does not stay below the source");
    if (++net->files > LIFECYCLE_SOURCE_FILES_MAX)
        return net_say(net, STATUS_INVALID, name, "the source has more than 4096 files");
    int status = net_get(net, path, "", LIFECYCLE_FILE_BYTES_MAX, &body, &len);
    if (status != 0)
        return status;
    net->bytes += (int64_t)len;
    if (net->bytes > LIFECYCLE_SOURCE_TOTAL_MAX)
        return net_say(net, STATUS_INVALID, name, "the source has more than 64 MiB");
    autofree char *to = own_printf("%s/%s", net->directory, name);
    autofree char *parent = own_strdup(to);
    *strrchr(parent, '/') = '\0';
    status = file_make_dirs(parent, 0755);
    if (status == 0)
        status = file_write(to, body, len, 0700);
    return status == 0 ? 0 : net_say(net, status, name, status_meaning(status));
}

bool net_is_archive(const char *path)
{
    return text_ends_with(path, ".tar") || text_ends_with(path, ".tar.gz") || text_ends_with(path, ".tgz");
}

int net_take_archive(struct net *net, const char *path)
{
    const char *body;
    size_t len;
    int status = net_get(net, path, "", LIFECYCLE_SOURCE_TOTAL_MAX, &body, &len);
    return status == 0 ? lifecycle_unpack(body, len, net->directory, net->error) : status;
}
