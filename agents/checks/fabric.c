/*
 * fi_pingpong is one program with two ends: the one without an address waits on a control port of TCP, the other connects
 * there, and both then measure over the provider. The waiting end runs in a thread; the other is tried again for as long as
 * nobody listens yet. Its exit code is the errno of what failed.
 */
#include "agents/checks/fabric.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define INSTALLED "/opt/amazon/efa/bin" /* where Amazon's installer puts the tools, in nobody's PATH */
#define OUT_BYTES_MAX 65536
#define HERE "127.0.0.1"
#define COLUMNS 8 /* bytes #sent #ack total time MB/sec usec/xfer Mxfers/sec */
#define AGAIN_MS 50

/* --- fi_info ------------------------------------------------------------------------------------------------- */

/* The value of "   name: value" when the line's name is that one. */
static bool take_value(const char *line, size_t len, const char *name, char *ret_value, size_t size)
{
    size_t skip = strspn(line, " ");
    size_t name_len = strlen(name);
    if (skip > len || len - skip < name_len + 2 || memcmp(line + skip, name, name_len) != 0 ||
        memcmp(line + skip + name_len, ": ", 2) != 0)
        return false;
    skip += name_len + 2;
    return memchr(line + skip, '\0', len - skip) == NULL &&
           text_copy_bytes(ret_value, size, line + skip, len - skip) == 0;
}

size_t fabric_parse_info(const char *text, struct fabric_info *ret_infos, size_t count_max)
{
    size_t count = 0;
    for (size_t len; *text != '\0'; text += len + (text[len] == '\n')) {
        struct fabric_info info = {.provider = ""};
        len = strcspn(text, "\n");
        if (text[0] != ' ' && take_value(text, len, "provider", info.provider, sizeof(info.provider))) {
            if (count == count_max)
                return count;
            ret_infos[count++] = info;
        }
        if (count == 0)
            continue;
        struct fabric_info *last = &ret_infos[count - 1];
        take_value(text, len, "domain", last->domain, sizeof(last->domain));
        take_value(text, len, "type", last->type, sizeof(last->type));
    }
    return count;
}

/* --- the table of fi_pingpong -------------------------------------------------------------------------------- */

static bool parse_decimal(const char *text, double *ret_value)
{
    char *end = NULL;
    if (strlen(text) > 20 || strspn(text, "0123456789.") != strlen(text) || text[0] < '0' || text[0] > '9')
        return false;
    *ret_value = strtod(text, &end);
    return *end == '\0';
}

/* "64", "4k", "1m": multiples of 1024. */
static bool parse_bytes(const char *text, int64_t *ret_bytes)
{
    static const char units[] = "kmg";
    char digits[16];
    size_t len = strspn(text, "0123456789");
    const char *unit = text[len] != '\0' ? strchr(units, text[len]) : NULL;
    if ((text[len] != '\0' && (unit == NULL || text[len + 1] != '\0')) ||
        text_copy_bytes(digits, sizeof(digits), text, len) != 0 ||
        text_parse_i64(digits, 1, INT64_C(1) << 33, ret_bytes) != 0)
        return false;
    if (unit != NULL)
        *ret_bytes <<= 10 * (unit - units + 1);
    return true;
}

static bool parse_row(const char *line, size_t len, struct fabric_size *ret_size)
{
    char copy[256], *words[COLUMNS + 1], *save = NULL;
    size_t count = 0;
    if (memchr(line, '\0', len) != NULL || text_copy_bytes(copy, sizeof(copy), line, len) != 0)
        return false;
    for (char *word = strtok_r(copy, " ", &save); word != NULL && count <= COLUMNS; word = strtok_r(NULL, " ", &save))
        words[count++] = word;
    if (count != COLUMNS)
        return false;
    const char *acknowledged = words[2] + (words[2][0] == '='); /* as many as were sent */
    return parse_bytes(words[0], &ret_size->bytes) && text_parse_i64(words[1], 1, INT32_MAX, &ret_size->sent) == 0 &&
           text_parse_i64(acknowledged, 0, INT32_MAX, &ret_size->acknowledged) == 0 &&
           parse_decimal(words[5], &ret_size->mb_per_s) && parse_decimal(words[6], &ret_size->latency_us);
}

int fabric_parse_pingpong(const char *text, struct fabric_speed *ret_speed)
{
    struct fabric_speed speed = {.count = 0};
    const char *head = text_starts_with(text, "bytes ") ? text : strstr(text, "\nbytes ");
    size_t len;
    if (head == NULL)
        return STATUS_INVALID;
    for (text = head + (*head == '\n'), text += strcspn(text, "\n"); *text == '\n'; text += len) {
        struct fabric_size *size = &speed.sizes[speed.count];
        len = strcspn(++text, "\n");
        if (len == 0)
            break;
        if (text[len] != '\n' || speed.count == FABRIC_SIZES_MAX || !parse_row(text, len, size))
            return STATUS_INVALID;
        if (size->mb_per_s > speed.max_mb_per_s)
            speed.max_mb_per_s = size->mb_per_s;
        if (speed.count == 0 || size->latency_us < speed.min_latency_us)
            speed.min_latency_us = size->latency_us;
        speed.count++;
    }
    if (speed.count == 0)
        return STATUS_INVALID;
    *ret_speed = speed;
    return 0;
}

char *fabric_path(const char *path)
{
    const char *from = path != NULL ? path : getenv("PATH");
    return own_printf("%s:" INSTALLED, from != NULL ? from : "");
}

/* --- both ends ----------------------------------------------------------------------------------------------- */

struct waiting_end {
    const struct check_context *context;
    const struct fabric_pingpong *test;
    char port[24];
    atomic_bool is_over;
    int status;
    struct child_result result;
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

static int run_end(const struct check_context *context, const struct fabric_pingpong *test, const char *port,
                   bool waits, int64_t timeout_ms, struct child_result *ret_result)
{
    const char *argv[12] = {"fi_pingpong", "-p", test->provider, "-e", test->endpoint, waits ? "-B" : "-P", port};
    size_t count = 7;
    if (test->domain != NULL) {
        argv[count++] = "-d";
        argv[count++] = test->domain;
    }
    if (!waits)
        argv[count++] = HERE;
    return timeout_ms > 0 ? check_tool(context, argv, timeout_ms, OUT_BYTES_MAX, ret_result) : STATUS_TIMEOUT;
}

static void *wait_for_other(void *arg)
{
    struct waiting_end *end = arg;
    end->status = run_end(end->context, end->test, end->port, true, end->test->timeout_ms, &end->result);
    atomic_store(&end->is_over, true);
    return NULL;
}

int64_t fabric_free_port(void)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in old = {.sin_family = AF_INET};
    struct sockaddr *any = (struct sockaddr *)&address;
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        any = (struct sockaddr *)&old;
        len = sizeof(old);
    }
    bool good = fd >= 0 && bind(fd, any, len) == 0 && getsockname(fd, any, &len) == 0;
    if (fd >= 0)
        close(fd);
    return good ? ntohs(any->sa_family == AF_INET6 ? address.sin6_port : old.sin_port) : 0;
}

/* Until the other end listens, or there is nobody to wait for. */
static int run_connecting_end(struct waiting_end *end, int64_t deadline_at, struct child_result *ret_result)
{
    for (;;) {
        bool alone = atomic_load(&end->is_over);
        int status = run_end(end->context, end->test, end->port, false, deadline_at - now_ms(), ret_result);
        if (status != 0 || ret_result->exit_code != ECONNREFUSED || alone)
            return status;
        child_result_free(ret_result);
        *ret_result = (struct child_result){0};
        usleep(AGAIN_MS * 1000);
    }
}

/* One end alone rarely says it: the other's words may be only that it was left. */
static void say_why(const struct child_result *waiting, const struct child_result *connecting,
                    char ret_why[SENTENCE_MAX_BYTES])
{
    char words[2][200];
    const struct child_result *ends[] = {waiting, connecting};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        const char *text = ends[i]->err != NULL ? ends[i]->err : "";
        text_copy_clean(words[i], sizeof(words[i]), text, strcspn(text, "\n"));
    }
    snprintf(ret_why, SENTENCE_MAX_BYTES,
             "fi_pingpong, waiting end: exit code %d, %s; connecting end: exit code %d, %s", waiting->exit_code,
             words[0], connecting->exit_code, words[1]);
}

int fabric_pingpong(const struct check_context *context, const struct fabric_pingpong *test,
                    struct fabric_speed *ret_speed, char ret_why[SENTENCE_MAX_BYTES])
{
    struct waiting_end end = {.context = context, .test = test};
    struct child_result result = {0};
    int64_t deadline_at = now_ms() + test->timeout_ms;
    pthread_t thread;
    ret_why[0] = '\0';
    int64_t port = fabric_free_port();
    snprintf(end.port, sizeof(end.port), "%" PRId64, port);
    if (port == 0 || pthread_create(&thread, NULL, wait_for_other, &end) != 0)
        return STATUS_IO;
    int status = run_connecting_end(&end, deadline_at, &result);
    pthread_join(thread, NULL);
    bool unseen = end.result.exit_code == ENODATA || (status == 0 && result.exit_code == ENODATA);
    if (end.status == STATUS_NOT_FOUND)
        status = STATUS_NOT_FOUND;
    else if (unseen)
        status = STATUS_UNSUPPORTED;
    else if (status == 0 &&
             (result.exit_code != 0 || result.out_cut || fabric_parse_pingpong(result.out, ret_speed) != 0))
        status = STATUS_BACKEND;
    if (status == STATUS_BACKEND || status == STATUS_UNSUPPORTED)
        say_why(&end.result, &result, ret_why);
    else if (status != 0)
        snprintf(ret_why, SENTENCE_MAX_BYTES, "fi_pingpong: %s", status_meaning(status));
    child_result_free(&result);
    child_result_free(&end.result);
    return status;
}
