/*
 * The HTTP client of hpctl and of anything that is not a node agent (libcurl; this is its
 * only user). Redirects are never followed. A server that made its own certificate is
 * verified by the fingerprint of its public key, from the first contact on.
 */
#ifndef HOLDFAST_BASE_HTTP_H
#define HOLDFAST_BASE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_client;

struct http_options {
    const char *url;         /* "http://127.0.0.1:8700" or "https://…", no path */
    const char *token;       /* sent as Authorization: Bearer; NULL: none */
    const char *fingerprint; /* "sha256:" and base64 of SHA-256 over the SubjectPublicKeyInfo; NULL: system CAs */
    const char *ca_file;     /* PEM; NULL: system CAs */
    const char *cert_file, *key_file; /* PEM, by which we are known to the server; NULL: none */
    const char *proxy;                /* NULL: as the environment says */
    const char *socket;               /* a Unix socket to go through, url being http://localhost then; NULL: TCP */
    bool plain; /* http:// is not for the loopback alone: the server has no TLS, and the token opens nothing else */
    int64_t timeout_ms;
};

struct http_reply {
    int status; /* HTTP status */
    char *body; /* zero-terminated */
    size_t len;
    char content_type[64];
    char etag[80];
    int64_t retry_after_s; /* what the server asks for; 0: nothing */
};

#define HTTP_ERROR_MAX 256

int http_client_new(const struct http_options *options, struct http_client **ret_client,
                    char ret_error[HTTP_ERROR_MAX]);
void http_client_free(struct http_client *client);
/* How long each request from now on may take. */
void http_client_limit(struct http_client *client, int64_t timeout_ms);
/* Sent as Authorization: Bearer from now on; NULL: none. INVALID when it holds a line break. */
int http_client_token(struct http_client *client, const char *token);
/* What the server asked for in the last answer, also of a stream; 0: nothing. */
int64_t http_client_retry_after_s(const struct http_client *client);
/* From any thread: the request that goes on now ends within a second or two as UNAVAILABLE, and so does each later one at once. */
void http_client_cancel(struct http_client *client);
/* One request. UNAVAILABLE, TIMEOUT, DENIED (certificate does not match), TOO_LARGE, with a sentence.
 * headers: NULL or a NULL-terminated list of "Name: value". */
int http_request(struct http_client *client, const char *method, const char *path_and_query, const char *content_type,
                 const void *body, size_t len, const char *const *headers, size_t bytes_max,
                 struct http_reply *ret_reply, char ret_error[HTTP_ERROR_MAX]);
void http_reply_free(struct http_reply *reply);
/* Streams a reply's body to on_bytes until it returns false, the server ends or idle_timeout_ms pass in silence. Of a reply with 2xx
 * on_bytes hears as soon as its head is there, with 0 bytes. */
int http_stream(struct http_client *client, const char *path_and_query,
                bool (*on_bytes)(const char *bytes, size_t len, void *arg), void *arg, int64_t idle_timeout_ms,
                int *ret_status, char ret_error[HTTP_ERROR_MAX]);

/* The same for any method, with the body into a file as it comes: the answer's, whatever its status is. header: one whose value is
 * wanted, as "X-Name:"; "" when it did not come. FULL, IO: the file could not be written. */
struct http_download {
    const char *method, *path_and_query, *header;
    int fd;
    int64_t idle_timeout_ms;
};
#define HTTP_HEADER_VALUE_MAX 80
int http_download(struct http_client *client, const struct http_download *download, int *ret_status,
                  char ret_value[HTTP_HEADER_VALUE_MAX], char ret_error[HTTP_ERROR_MAX]);

#endif
