/*
 * A source at https://HOST/PATH: an archive, or a directory. A web server has no list of a directory's files in a form that all share, so these are looked for in turn:
 *
 *     SHA256SUMS   in the directory, as sha256sum writes it: these files, and each has to have its sum
 *     an index     of the directory, as Apache, nginx and Python write one: these files, and the directories below
 *     neither      the scripts alone
 */
#include "agents/node/lifecycle_net.h"

#include "base/file.h"
#include "base/id.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#define SUMS "SHA256SUMS"
#define LIST_BYTES_MAX (2 * 1024 * 1024)
#define SUM_LEN 64

/* "https://host:port" and "/path" without a slash at its end. What would end the path is refused. */
static int split(const char *source, char **ret_base, char **ret_path, char ret_error[LIFECYCLE_ERROR_MAX])
{
    for (const char *at = source; *at != '\0'; at++)
        if (*at <= ' ' || *at >= 0x7f || *at == '?' || *at == '#') {
            snprintf(ret_error, LIFECYCLE_ERROR_MAX,
                     "SourceS3Uri: an address of a path only, and escaped where it has to be");
            return STATUS_INVALID;
        }
    size_t host = strcspn(source + strlen(HTTPS_PREFIX), "/") + strlen(HTTPS_PREFIX);
    size_t len = strlen(source);
    while (len > host && source[len - 1] == '/')
        len--;
    *ret_base = own_printf("%.*s", (int)host, source);
    *ret_path = own_printf("%.*s", (int)(len - host), source + host);
    return 0;
}

static int take(struct net *net, const char *path, const char *name)
{
    AUTO(text) struct text address = {0};
    text_add(&address, path);
    text_add_char(&address, '/');
    text_add_escaped(&address, name, "/");
    return net_take(net, text_get(&address), name);
}

/* --- SHA256SUMS ------------------------------------------------------------------------------------------------ */

static int check_sum(const struct net *net, const char *name, const char *sum)
{
    autofree char *path = own_printf("%s/%s", net->directory, name), *data = NULL;
    char hex[ID_SHA256_HEX_MAX];
    size_t len;
    if (file_read(path, LIFECYCLE_FILE_BYTES_MAX, &data, &len) != 0)
        return net_say(net, STATUS_IO, name, "it cannot be read again");
    id_sha256_hex(data, len, hex);
    return strncmp(hex, sum, SUM_LEN) == 0 ? 0 : net_say(net, STATUS_BACKEND, name, "its sum is not that of " SUMS);
}

/* "<sum>  ./name", or "<sum> *name". */
static int take_summed(struct net *net, const char *path, char *line)
{
    size_t len = strlen(line);
    if (len > 0 && line[len - 1] == '\r')
        line[--len] = '\0';
    if (len == 0)
        return 0;
    if (len < SUM_LEN + 3 || strspn(line, "0123456789abcdef") != SUM_LEN || line[SUM_LEN] != ' ')
        return net_say(net, STATUS_INVALID, SUMS, "a line is a sum and a name, as sha256sum writes it");
    const char *name = line + SUM_LEN + 2;
    while (text_starts_with(name, "./"))
        name += 2;
    if (text_equal(name, SUMS))
        return 0;
    int status = take(net, path, name);
    return status != 0 ? status : check_sum(net, name, line);
}

static int take_sums(struct net *net, const char *path, char *sums)
{
    char *rest, *line = strtok_r(sums, "\n", &rest);
    int status = 0;
    for (; line != NULL && status == 0; line = strtok_r(NULL, "\n", &rest))
        status = take_summed(net, path, line);
    return status;
}

/* --- an index -------------------------------------------------------------------------------------------------- */

static bool is_index(const char *body)
{
    return strcasestr(body, "<title>index of /") != NULL || strcasestr(body, "<title>directory listing for /") != NULL;
}

/* The name that a link has, when it is one of this directory; caller frees. Not up, not elsewhere, not another order of the list. */
static char *linked_name(const char *href, size_t len)
{
    char name[LIFECYCLE_FILE_MAX_BYTES];
    if (len > 2 && strncmp(href, "./", 2) == 0) {
        href += 2;
        len -= 2;
    }
    if (len == 0 || memchr(href, '?', len) != NULL || memchr(href, '#', len) != NULL ||
        memchr(href, ':', len) != NULL || memchr(href, '&', len) != NULL ||
        text_percent_decode(href, len, name, sizeof(name)) != 0)
        return NULL;
    size_t end = strlen(name);
    bool is_directory = end > 0 && name[end - 1] == '/';
    if (is_directory)
        name[end - 1] = '\0';
    if (strchr(name, '/') != NULL || !lifecycle_is_script_name(name))
        return NULL;
    return own_printf("%s%s", name, is_directory ? "/" : "");
}

static int take_index(struct net *net, const char *path, const char *below, const char *index, int depth);

static int take_link(struct net *net, const char *path, const char *below, const char *name, int depth)
{
    autofree char *whole = own_printf("%s%s", below, name);
    if (!text_ends_with(name, "/"))
        return take(net, path, whole);
    AUTO(text) struct text address = {0};
    const char *body;
    size_t len;
    if (depth >= LIFECYCLE_SOURCE_DEPTH_MAX)
        return net_say(net, STATUS_INVALID, whole, "its directories are more than 16 deep");
    if (++net->directories > LIFECYCLE_SOURCE_DIRECTORIES_MAX)
        return net_say(net, STATUS_INVALID, whole, "the source has more than 1024 directories");
    text_printf(&address, "%s/", path);
    text_add_escaped(&address, whole, "/");
    int status = net_get(net, text_get(&address), "", LIST_BYTES_MAX, &body, &len);
    if (status != 0)
        return status;
    net->bytes += (int64_t)len;
    if (net->bytes > LIFECYCLE_SOURCE_TOTAL_MAX)
        return net_say(net, STATUS_INVALID, whole,
                       "the source and the indexes of its directories have more than 64 MiB");
    if (!is_index(body))
        return net_say(net, STATUS_BACKEND, whole, "the server shows no index of it");
    autofree char *index = own_strdup(body);
    return take_index(net, path, whole, index, depth + 1);
}

static int take_index(struct net *net, const char *path, const char *below, const char *index, int depth)
{
    static const char link[] = "href=\"";
    int status = 0;
    for (const char *at = index; status == 0 && (at = strcasestr(at, link)) != NULL;) {
        at += strlen(link);
        size_t len = strcspn(at, "\"");
        autofree char *name = linked_name(at, len);
        at += len;
        if (name != NULL)
            status = take_link(net, path, below, name, depth);
    }
    return status;
}

/* --- the directory --------------------------------------------------------------------------------------------- */

/* Caller frees; NULL when the server has none, which it may say by any refusal but that it cannot answer now. */
static int look_for(struct net *net, const char *path, const char *name, char **ret_body)
{
    autofree char *address = own_printf("%s/%s", path, name);
    const char *body;
    size_t len;
    int answer, status = net_ask(net, address, "", LIST_BYTES_MAX, &answer, &body, &len);
    if (status == 0 && (answer >= 500 || answer == 429 || answer == 408)) {
        status = net_get(net, address, "", LIST_BYTES_MAX, &body, &len); /* once more, and then it is an error */
        answer = 200;
    }
    *ret_body = status == 0 && answer == 200 ? own_printf("%.*s", (int)len, body) : NULL;
    return status;
}

static int fetch_directory(struct net *net, const struct lifecycle_job *job, const char *path)
{
    autofree char *sums = NULL, *index = NULL;
    int status = look_for(net, path, SUMS, &sums);
    /* A server that has one page for everything says 200 of what is not there. */
    if (status == 0 && sums != NULL && strspn(sums, "0123456789abcdef") == SUM_LEN)
        return take_sums(net, path, sums);
    if (status == 0 && sums != NULL && sums[strspn(sums, " \t\r\n")] != '<')
        return net_say(net, STATUS_INVALID, SUMS, "its first line is not a checksum in small hexadecimal digits");
    if (status == 0)
        status = look_for(net, path, "", &index);
    if (status == 0 && index != NULL && is_index(index))
        return take_index(net, path, "", index, 0);
    for (int i = 0; i < LIFECYCLE_SCRIPTS_MAX && status == 0; i++)
        if (job->scripts[i][0] != '\0')
            status = take(net, path, job->scripts[i]);
    return status;
}

int lifecycle_fetch_address(const struct runner_options *options, const struct lifecycle_job *job,
                            const char *directory, char ret_error[LIFECYCLE_ERROR_MAX])
{
    autofree char *base = NULL, *path = NULL;
    struct net net;
    int status = split(job->source, &base, &path, ret_error);
    if (status != 0)
        return status;
    status = net_open(&net, options, base, directory, ret_error);
    if (status == 0)
        status = net_is_archive(path) ? net_take_archive(&net, path) : fetch_directory(&net, job, path);
    net_close(&net);
    return status;
}
