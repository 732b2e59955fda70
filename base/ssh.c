/*
 * SSH by libssh2, without blocking: every call that would wait goes through one poll under the command's deadline.
 *
 * A connection that has served waits for the next command; up to IDLE_MAX do. One that broke while it waited is found out
 * before the command is sent, and another is made; one that breaks later may have run it, and that is said.
 *
 * A host can have keys of several kinds, and the file may know only one of them. libssh2 takes the first kind that both sides
 * have, so where that one is not known the next kind is asked for, on a new connection.
 */
#include "base/ssh.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh2.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define IDLE_MAX 4
#define READ_BYTES 16384
#define FINGERPRINT_MAX 64
#define SIGNALLED 128
#define BYE_MS 500  /* for the other side to hear that we go */
#define STOP_MS 200 /* how often it is looked whether to stop */

static const char *const KEY_KINDS[] = {"ssh-ed25519", "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521",
                                        "ssh-rsa"};

struct connection {
    int fd;
    LIBSSH2_SESSION *session;
};

struct ssh {
    char *host, *user, *key_file, *agent, *known_hosts, *known_keys;
    int port;
    const atomic_bool *stop;
    pthread_mutex_t lock; /* over idle */
    struct connection idle[IDLE_MAX];
    size_t idle_count;
};

/* One command on its way. */
struct run {
    struct ssh *ssh;
    struct connection at;
    int64_t deadline_ms; /* on the monotonic clock */
    bool leaving;        /* has BYE_MS also when it is to stop */
    char *error;
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

static int fail(struct run *run, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct run *run, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *sentence = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_clean(run->error, SSH_ERROR_MAX, sentence, strlen(sentence));
    return status;
}

static const char *session_error(struct run *run)
{
    char *text = NULL;
    libssh2_session_last_error(run->at.session, &text, NULL, 0);
    return text == NULL || text[0] == '\0' ? "it did not say why" : text;
}

/* --- waiting --------------------------------------------------------------------------------------- */

/* As poll of one descriptor, until the deadline. */
static int poll_until(const struct run *run, int fd, short events)
{
    struct pollfd pollfd = {.fd = fd, .events = events};
    int ready = 0;
    while (ready == 0) {
        const atomic_bool *stop = run->leaving ? NULL : run->ssh->stop;
        int64_t left_ms = run->deadline_ms - now_ms(), most_ms = stop != NULL ? STOP_MS : INT32_MAX;
        if (left_ms <= 0 || (stop != NULL && atomic_load(stop)))
            return 0;
        ready = poll(&pollfd, 1, (int)(left_ms < most_ms ? left_ms : most_ms));
    }
    return ready;
}

static int wait_for(struct run *run, int fd, short events)
{
    int ready = poll_until(run, fd, events);
    if (ready == 0)
        return STATUS_TIMEOUT;
    return ready < 0 && errno != EINTR ? STATUS_IO : 0;
}

static int wait_session(struct run *run)
{
    int blocked = libssh2_session_block_directions(run->at.session);
    short events = 0;
    if ((blocked & LIBSSH2_SESSION_BLOCK_INBOUND) != 0)
        events |= POLLIN;
    if ((blocked & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0)
        events |= POLLOUT;
    return wait_for(run, run->at.fd, events == 0 ? POLLIN : events);
}

/* Repeats a call of libssh2 until it no longer says that it would wait; its answer, or our TIMEOUT, in rc. */
#define UNTIL_DONE(run, rc, call)         \
    do {                                  \
        (rc) = (call);                    \
        if ((rc) != LIBSSH2_ERROR_EAGAIN) \
            break;                        \
        if (wait_session(run) != 0) {     \
            (rc) = LIBSSH2_ERROR_TIMEOUT; \
            break;                        \
        }                                 \
    } while (true)

static int failed_call(struct run *run, int rc, int status, const char *what)
{
    if (rc == LIBSSH2_ERROR_TIMEOUT)
        return fail(run, STATUS_TIMEOUT, "%s port %d did not answer in time over SSH (%s)", run->ssh->host,
                    run->ssh->port, what);
    return fail(run, status, "%s port %d over SSH, %s: %s", run->ssh->host, run->ssh->port, what, session_error(run));
}

/* --- a connection ------------------------------------------------------------------------------------ */

static void hang_up(struct run *run)
{
    if (run->at.session != NULL) {
        int rc;
        int64_t end_ms = now_ms() + BYE_MS;
        run->deadline_ms = end_ms;
        run->leaving = true;
        UNTIL_DONE(run, rc, libssh2_session_disconnect(run->at.session, "done"));
        UNTIL_DONE(run, rc, libssh2_session_free(run->at.session));
    }
    if (run->at.fd >= 0)
        close(run->at.fd);
    run->at = (struct connection){.fd = -1};
    run->leaving = false;
}

static int connect_one(struct run *run, const struct addrinfo *address, int *ret_fd)
{
    int error = 0, on = 1;
    socklen_t len = sizeof(error);
    int fd = socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);
    if (fd < 0)
        return errno;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0 && errno != EINPROGRESS) {
        error = errno;
    } else {
        if (poll_until(run, fd, POLLOUT) <= 0)
            error = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
            error = errno;
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    *ret_fd = fd;
    return 0;
}

static int dial(struct run *run)
{
    char port[8];
    struct addrinfo annotations = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    snprintf(port, sizeof(port), "%d", run->ssh->port);
    int rc = getaddrinfo(run->ssh->host, port, &annotations, &found);
    if (rc != 0)
        return fail(run, STATUS_UNAVAILABLE, "%s cannot be found: %s", run->ssh->host, gai_strerror(rc));
    int error = 0;
    for (const struct addrinfo *address = found; address != NULL && run->at.fd < 0; address = address->ai_next)
        error = connect_one(run, address, &run->at.fd);
    freeaddrinfo(found);
    if (run->at.fd >= 0)
        return 0;
    return fail(run, error == ETIMEDOUT ? STATUS_TIMEOUT : STATUS_UNAVAILABLE, "%s port %d cannot be reached: %s",
                run->ssh->host, run->ssh->port, strerror(error));
}

/* As ssh-keygen -l shows it. */
static void fingerprint(LIBSSH2_SESSION *session, char ret_text[FINGERPRINT_MAX])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *hash = libssh2_hostkey_hash(session, LIBSSH2_HOSTKEY_HASH_SHA256);
    unsigned bits = 0, held = 0;
    size_t len = (size_t)snprintf(ret_text, FINGERPRINT_MAX, "SHA256:");
    for (size_t i = 0; hash != NULL && i < 32; i++) {
        bits = bits << 8 | (unsigned char)hash[i];
        for (held += 8; held >= 6; held -= 6)
            ret_text[len++] = digits[bits >> (held - 6) & 63];
    }
    if (held > 0)
        ret_text[len++] = digits[bits << (6 - held) & 63];
    ret_text[len] = '\0';
}

/* A key of another kind is no other key. */
static int known_kind(int kind)
{
    switch (kind) {
    case LIBSSH2_HOSTKEY_TYPE_RSA:
        return LIBSSH2_KNOWNHOST_KEY_SSHRSA;
    case LIBSSH2_HOSTKEY_TYPE_ECDSA_256:
        return LIBSSH2_KNOWNHOST_KEY_ECDSA_256;
    case LIBSSH2_HOSTKEY_TYPE_ECDSA_384:
        return LIBSSH2_KNOWNHOST_KEY_ECDSA_384;
    case LIBSSH2_HOSTKEY_TYPE_ECDSA_521:
        return LIBSSH2_KNOWNHOST_KEY_ECDSA_521;
    case LIBSSH2_HOSTKEY_TYPE_ED25519:
        return LIBSSH2_KNOWNHOST_KEY_ED25519;
    default:
        return LIBSSH2_KNOWNHOST_KEY_UNKNOWN;
    }
}

/* Negative: they cannot be read. */
static int read_known(const struct ssh *ssh, LIBSSH2_KNOWNHOSTS *hosts)
{
    if (ssh->known_hosts[0] != '\0')
        return libssh2_knownhost_readfile(hosts, ssh->known_hosts, LIBSSH2_KNOWNHOST_FILE_OPENSSH);
    int rc = 0;
    for (const char *line = ssh->known_keys; rc == 0 && *line != '\0';) {
        size_t len = strcspn(line, "\n");
        autofree char *one = own_printf("%.*s", (int)len, line); /* libssh2 looks at the byte behind len */
        rc = libssh2_knownhost_readline(hosts, one, len, LIBSSH2_KNOWNHOST_FILE_OPENSSH);
        line += len + (line[len] == '\n');
    }
    return rc;
}

static const char *name_of_known(const struct ssh *ssh)
{
    return ssh->known_hosts[0] != '\0' ? ssh->known_hosts : "the agent's report";
}

static int unknown_key(struct run *run, const char *print)
{
    const struct ssh *ssh = run->ssh;
    return fail(run, STATUS_NOT_FOUND, "%s holds no host key of %s port %d, which showed %s%s", name_of_known(ssh),
                ssh->host, ssh->port, print,
                ssh->known_hosts[0] != '\0' ? ": compare it, then add it with ssh-keyscan" : "");
}

/* NOT_FOUND: no key of this kind is known of the host. */
static int check_host(struct run *run)
{
    size_t len;
    int kind, status = 0;
    const struct ssh *ssh = run->ssh;
    char print[FINGERPRINT_MAX];
    const char *key = libssh2_session_hostkey(run->at.session, &len, &kind);
    LIBSSH2_KNOWNHOSTS *hosts = libssh2_knownhost_init(run->at.session);
    if (key == NULL || hosts == NULL) {
        if (hosts != NULL)
            libssh2_knownhost_free(hosts);
        return fail(run, STATUS_IO, "the host key of %s cannot be looked at: %s", ssh->host, session_error(run));
    }
    fingerprint(run->at.session, print);
    if (read_known(ssh, hosts) < 0)
        status =
            fail(run, STATUS_IO, "the known hosts of %s cannot be read: %s", name_of_known(ssh), session_error(run));
    else
        switch (libssh2_knownhost_checkp(hosts, ssh->host, ssh->port, key, len,
                                         LIBSSH2_KNOWNHOST_TYPE_PLAIN | LIBSSH2_KNOWNHOST_KEYENC_RAW | known_kind(kind),
                                         NULL)) {
        case LIBSSH2_KNOWNHOST_CHECK_MATCH:
            break;
        case LIBSSH2_KNOWNHOST_CHECK_MISMATCH:
            status =
                fail(run, STATUS_DENIED,
                     "the host key of %s (%s) is another one than %s holds: somebody is in between, or the machine "
                     "was set up anew",
                     ssh->host, print, name_of_known(ssh));
            break;
        default:
            status = unknown_key(run, print);
        }
    libssh2_knownhost_free(hosts);
    return status;
}

static int greet(struct run *run, const char *kinds)
{
    int rc, status = dial(run);
    if (status != 0)
        return status;
    run->at.session = libssh2_session_init();
    if (run->at.session == NULL)
        return fail(run, STATUS_IO, "no memory for an SSH session");
    libssh2_session_set_blocking(run->at.session, 0);
    libssh2_session_method_pref(run->at.session, LIBSSH2_METHOD_HOSTKEY, kinds);
    UNTIL_DONE(run, rc, libssh2_session_handshake(run->at.session, run->at.fd));
    if (rc == LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE || rc == LIBSSH2_ERROR_METHOD_NONE || rc == LIBSSH2_ERROR_KEX_FAILURE)
        return fail(run, STATUS_NOT_FOUND, "%s over SSH has no way to talk in common with us (%s): %s", run->ssh->host,
                    kinds, session_error(run));
    return rc == 0 ? check_host(run) : failed_call(run, rc, STATUS_UNAVAILABLE, "greeting");
}

static int use_key_file(struct run *run)
{
    struct stat st;
    int rc;
    const char *file = run->ssh->key_file;
    if (stat(file, &st) != 0)
        return fail(run, STATUS_IO, "the key %s cannot be read: %s", file, strerror(errno));
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return fail(run, STATUS_DENIED, "the key %s may be read by others; chmod 600 it", file);
    UNTIL_DONE(run, rc,
               libssh2_userauth_publickey_fromfile_ex(run->at.session, run->ssh->user, (unsigned)strlen(run->ssh->user),
                                                      NULL, file, ""));
    return rc == 0 ? 0 : failed_call(run, rc, rc == LIBSSH2_ERROR_FILE ? STATUS_IO : STATUS_DENIED, "our key");
}

static int use_agent(struct run *run)
{
    struct libssh2_agent_publickey *identity = NULL;
    LIBSSH2_AGENT *agent = libssh2_agent_init(run->at.session);
    int rc, status = STATUS_DENIED;
    if (agent == NULL)
        return fail(run, STATUS_IO, "no memory for an SSH agent");
    if (run->ssh->agent[0] != '\0')
        libssh2_agent_set_identity_path(agent, run->ssh->agent);
    if (libssh2_agent_connect(agent) != 0 || libssh2_agent_list_identities(agent) != 0) {
        status = fail(run, STATUS_UNAVAILABLE, "the SSH agent cannot be asked for keys: %s", session_error(run));
        libssh2_agent_free(agent);
        return status;
    }
    while (status == STATUS_DENIED && libssh2_agent_get_identity(agent, &identity, identity) == 0) {
        UNTIL_DONE(run, rc, libssh2_agent_userauth(agent, run->ssh->user, identity));
        status = rc == 0 ? 0 : rc == LIBSSH2_ERROR_TIMEOUT ? STATUS_TIMEOUT : STATUS_DENIED;
    }
    libssh2_agent_disconnect(agent);
    libssh2_agent_free(agent);
    return status == 0 ? 0
                       : fail(run, status, "%s over SSH takes no key of the agent for the user %s", run->ssh->host,
                              run->ssh->user);
}

static int connect_new(struct run *run)
{
    int status = STATUS_NOT_FOUND;
    for (size_t i = 0; i < ARRAY_LEN(KEY_KINDS) && status == STATUS_NOT_FOUND; i++) {
        int64_t deadline_ms = run->deadline_ms;
        char error[SSH_ERROR_MAX];
        text_copy_cut(error, sizeof(error), i == 0 ? "" : run->error);
        status = greet(run, KEY_KINDS[i]);
        if (status == STATUS_NOT_FOUND) {
            hang_up(run);
            run->deadline_ms = deadline_ms;
            if (error[0] != '\0') /* the first word is the one that helps */
                text_copy_cut(run->error, SSH_ERROR_MAX, error);
        }
    }
    if (status == 0)
        status = run->ssh->key_file[0] != '\0' ? use_key_file(run) : use_agent(run);
    return status == STATUS_NOT_FOUND ? STATUS_DENIED : status;
}

/* --- a command --------------------------------------------------------------------------------------- */

static int open_channel(struct run *run, LIBSSH2_CHANNEL **ret_channel)
{
    while ((*ret_channel = libssh2_channel_open_session(run->at.session)) == NULL) {
        int rc = libssh2_session_last_errno(run->at.session);
        if (rc != LIBSSH2_ERROR_EAGAIN)
            return failed_call(run, rc, STATUS_UNAVAILABLE, "a channel");
        if (wait_session(run) != 0)
            return failed_call(run, LIBSSH2_ERROR_TIMEOUT, STATUS_TIMEOUT, "a channel");
    }
    return 0;
}

/* One stream's bytes that are there; more than max are read and dropped. Whether any came. */
static bool drain(LIBSSH2_CHANNEL *channel, int stream, size_t max, struct text *out, bool *cut, ssize_t *ret_rc)
{
    char bytes[READ_BYTES];
    ssize_t len = libssh2_channel_read_ex(channel, stream, bytes, sizeof(bytes));
    *ret_rc = len == LIBSSH2_ERROR_EAGAIN ? 0 : len;
    if (len <= 0)
        return false;
    size_t room = max > out->len ? max - out->len : 0;
    *cut = *cut || (size_t)len > room;
    text_add_bytes(out, bytes, (size_t)len < room ? (size_t)len : room);
    return true;
}

static int read_all(struct run *run, LIBSSH2_CHANNEL *channel, size_t out_bytes_max, struct text *out, struct text *err,
                    bool *ret_cut)
{
    while (true) {
        ssize_t rc_out, rc_err;
        bool err_cut = false;
        bool some = drain(channel, 0, out_bytes_max, out, ret_cut, &rc_out);
        some = drain(channel, SSH_EXTENDED_DATA_STDERR, CHILD_ERR_BYTES_MAX - 1, err, &err_cut, &rc_err) || some;
        if (rc_out < 0 || rc_err < 0)
            return failed_call(run, (int)(rc_out < 0 ? rc_out : rc_err), STATUS_UNAVAILABLE,
                               "the command's output, which broke off");
        if (some && now_ms() < run->deadline_ms)
            continue;
        if (!some && libssh2_channel_eof(channel) != 0)
            return 0;
        if (wait_session(run) != 0)
            return failed_call(run, LIBSSH2_ERROR_TIMEOUT, STATUS_TIMEOUT, "the command");
    }
}

/* Whether a signal ended it is said by its name alone. */
static int exit_code(LIBSSH2_SESSION *session, LIBSSH2_CHANNEL *channel)
{
    char *signal = NULL;
    libssh2_channel_get_exit_signal(channel, &signal, NULL, NULL, NULL, NULL, NULL);
    int code = signal != NULL ? SIGNALLED : libssh2_channel_get_exit_status(channel);
    libssh2_free(session, signal);
    return code;
}

static int converse(struct run *run, LIBSSH2_CHANNEL *channel, const char *command, size_t out_bytes_max,
                    struct child_result *ret_result)
{
    struct text out AUTO(text) = {0}, err AUTO(text) = {0};
    bool cut = false;
    int rc;
    UNTIL_DONE(run, rc, libssh2_channel_exec(channel, command));
    if (rc == 0)
        UNTIL_DONE(run, rc, libssh2_channel_send_eof(channel));
    if (rc != 0)
        return failed_call(run, rc, STATUS_UNAVAILABLE, "the command");
    int status = read_all(run, channel, out_bytes_max, &out, &err, &cut);
    if (status != 0)
        return status;
    UNTIL_DONE(run, rc, libssh2_channel_close(channel));
    if (rc == 0)
        UNTIL_DONE(run, rc, libssh2_channel_wait_closed(channel));
    if (rc != 0)
        return failed_call(run, rc, STATUS_UNAVAILABLE, "the command's end");
    *ret_result =
        (struct child_result){.exit_code = exit_code(run->at.session, channel), .out_len = out.len, .out_cut = cut};
    ret_result->out = text_take(&out);
    ret_result->err = text_take(&err);
    return 0;
}

/* --- all of it --------------------------------------------------------------------------------------- */

static bool take_idle(struct run *run)
{
    struct ssh *ssh = run->ssh;
    pthread_mutex_lock(&ssh->lock);
    bool found = ssh->idle_count > 0;
    if (found)
        run->at = ssh->idle[--ssh->idle_count];
    pthread_mutex_unlock(&ssh->lock);
    return found;
}

static void give_back(struct run *run)
{
    struct ssh *ssh = run->ssh;
    pthread_mutex_lock(&ssh->lock);
    bool kept = ssh->idle_count < IDLE_MAX;
    if (kept)
        ssh->idle[ssh->idle_count++] = run->at;
    pthread_mutex_unlock(&ssh->lock);
    if (!kept)
        hang_up(run);
}

int ssh_run(struct ssh *ssh, const char *command, int64_t timeout_ms, size_t out_bytes_max,
            struct child_result *ret_result, char ret_error[SSH_ERROR_MAX])
{
    struct run run = {.ssh = ssh, .at = {.fd = -1}, .error = ret_error};
    const int64_t deadline_ms = now_ms() + timeout_ms;
    LIBSSH2_CHANNEL *channel = NULL;
    int rc, status = STATUS_UNAVAILABLE;
    ret_error[0] = '\0';
    while (channel == NULL && take_idle(&run)) {
        run.deadline_ms = deadline_ms;
        status = open_channel(&run, &channel);
        if (status != 0)
            hang_up(&run); /* it went while it waited */
    }
    run.deadline_ms = deadline_ms;
    if (channel == NULL)
        status = connect_new(&run);
    if (channel == NULL && status == 0)
        status = open_channel(&run, &channel);
    if (status == 0)
        status = converse(&run, channel, command, out_bytes_max, ret_result);
    if (channel != NULL)
        UNTIL_DONE(&run, rc, libssh2_channel_free(channel));
    if (status == 0)
        give_back(&run);
    else
        hang_up(&run);
    return status;
}

static void start_library(void)
{
    if (libssh2_init(0) != 0)
        abort();
}

struct ssh *ssh_new(const struct ssh_options *options)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_library);
    struct ssh *ssh = own_calloc(1, sizeof(*ssh));
    ssh->host = own_strdup(options->host);
    ssh->user = own_strdup(options->user);
    ssh->key_file = own_strdup(options->key_file == NULL ? "" : options->key_file);
    ssh->agent = own_strdup(options->agent == NULL ? "" : options->agent);
    ssh->known_hosts = own_strdup(text_or_empty(options->known_hosts));
    ssh->known_keys = own_strdup(text_or_empty(options->known_keys));
    ssh->stop = options->stop;
    ssh->port = options->port == 0 ? SSH_PORT : options->port;
    pthread_mutex_init(&ssh->lock, NULL);
    return ssh;
}

void ssh_free(struct ssh *ssh)
{
    char error[SSH_ERROR_MAX];
    if (ssh == NULL)
        return;
    struct run run = {.ssh = ssh, .at = {.fd = -1}, .error = error};
    while (take_idle(&run))
        hang_up(&run);
    pthread_mutex_destroy(&ssh->lock);
    free(ssh->host);
    free(ssh->user);
    free(ssh->key_file);
    free(ssh->agent);
    free(ssh->known_hosts);
    free(ssh->known_keys);
    free(ssh);
}

char *ssh_quote(const char *const argv[])
{
    struct text out = {0};
    for (size_t i = 0; argv[i] != NULL; i++) {
        text_add(&out, i == 0 ? "'" : " '");
        for (const char *c = argv[i]; *c != '\0'; c++)
            if (*c == '\'')
                text_add(&out, "'\\''");
            else
                text_add_char(&out, *c);
        text_add_char(&out, '\'');
    }
    return text_take(&out);
}
