/*
 * The names that clients verify: those of publicUrl, which hpd hands out, and of the address that it listens on. Where that is
 * "everywhere", the machine's own addresses are in a new certificate, too; but a client that trusts the certificate by its file
 * has to take the next one, so an address that came or went later makes no new one.
 */
#include "server/certificate.h"

#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/url.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

struct addresses {
    char **list; /* owned, and each of them */
    size_t count;
};

static void add_address(const struct sockaddr *from, struct addresses *all)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    char text[INET6_ADDRSTRLEN];
    const char *done = NULL;
    if (from->sa_family == AF_INET) {
        memcpy(&in, from, sizeof(in));
        done = inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
    } else if (from->sa_family == AF_INET6) {
        memcpy(&in6, from, sizeof(in6));
        if (!IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
            done = inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text));
    }
    if (done == NULL)
        return;
    all->list = own_realloc(all->list, all->count + 1, sizeof(*all->list));
    all->list[all->count++] = own_strdup(text);
}

static void read_addresses(struct addresses *all)
{
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list) != 0)
        return;
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next)
        if (i->ifa_addr != NULL && (i->ifa_flags & IFF_LOOPBACK) == 0)
            add_address(i->ifa_addr, all);
    freeifaddrs(list);
}

/* "": publicUrl says none, and whoever is given it cannot use it either. */
static void public_host(const struct config *config, char ret_host[URL_HOST_MAX])
{
    struct url url;
    const char *why = NULL;
    ret_host[0] = '\0';
    if (*config->public_url == 0)
        return;
    if (url_parse(config->public_url, &url, &why) == 0)
        memcpy(ret_host, url.host, URL_HOST_MAX);
    else
        log_warn("publicUrl \"%s\": %s; the certificate gets no name from it", config->public_url, why);
}

static void tell(const char *path, const struct tls_pair *pair)
{
    if (pair->renewed)
        log_warn("%s lacked a name or was near its end and was made again for the same key; clients that trust it by "
                 "its file need "
                 "the new one: hpctl ca",
                 path);
    log_info("the server's public key has the fingerprint %s", pair->fingerprint);
}

int certificate_prepare(const struct config *config, struct tls_pair *ret_pair, char ret_error[CERTIFICATE_ERROR_MAX])
{
    const struct config *c = config;
    if (config_is_loopback(c) && *c->tls_certificate == 0)
        return 0;
    if ((*c->tls_certificate == 0) != (*c->tls_key == 0)) {
        snprintf(ret_error, CERTIFICATE_ERROR_MAX, "tls: certificate and key go together");
        return STATUS_INVALID;
    }
    autofree char *cert = *c->tls_certificate ? own_strdup(c->tls_certificate) : own_printf("%s/tls.crt", c->state_dir);
    autofree char *key = *c->tls_key ? own_strdup(c->tls_key) : own_printf("%s/tls.key", c->state_dir);
    char host[URL_HOST_MAX];
    struct addresses also = {.count = 0};
    bool any = text_equal(c->listen_host, "0.0.0.0") || text_equal(c->listen_host, "::");
    public_host(c, host);
    if (any)
        read_addresses(&also);
    const char *const names[] = {host, any ? "" : c->listen_host};
    const struct tls_request request = {.cert_path = cert,
                                        .key_path = key,
                                        .names = names,
                                        .name_count = ARRAY_LEN(names),
                                        .also = (const char *const *)also.list,
                                        .also_count = also.count};
    int rc = tls_ensure_certificate(&request, ret_pair);
    text_list_free(also.list, also.count);
    if (rc != 0)
        snprintf(ret_error, CERTIFICATE_ERROR_MAX, "%.400s: %s", cert, status_meaning(rc));
    else
        tell(cert, ret_pair);
    return rc;
}
