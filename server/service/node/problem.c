/*
 * Problems: the stable codes with their HTTP status and title, and what the store's statuses mean to who asked.
 *
 * A detail names the thing, the value and what to do about it; it never carries a secret or a path of the server.
 */
#include "server/service/private.h"

#include "base/text.h"

#define X(SYMBOL, status, text, title) [PROBLEM_##SYMBOL] = {status, text, title},
static const struct {
    int http;
    const char *text, *title;
} problems[] = {PROBLEM_LIST(X)};
#undef X

const char *problem_code_text(enum problem_code code)
{
    return (size_t)code < ARRAY_LEN(problems) ? problems[code].text : "?";
}

const char *problem_code_title(enum problem_code code)
{
    return (size_t)code < ARRAY_LEN(problems) ? problems[code].title : "?";
}

int problem_code_http(enum problem_code code)
{
    return (size_t)code < ARRAY_LEN(problems) ? problems[code].http : problems[PROBLEM_INTERNAL].http;
}

void say_vcut(char *dst, size_t size, const char *fmt, va_list ap)
{
    autofree char *whole = own_vprintf(fmt, ap);
    text_copy_cut(dst, size, whole);
}

void say_cut(char *dst, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say_vcut(dst, size, fmt, ap);
    va_end(ap);
}

int problem_say(struct problem *problem, int status, enum problem_code code, const char *fmt, ...)
{
    if (problem == NULL)
        return status;
    va_list ap;
    va_start(ap, fmt);
    problem->code = code;
    say_vcut(problem->detail, sizeof(problem->detail), fmt, ap);
    va_end(ap);
    return status;
}

int problem_of_store(struct problem *problem, int status)
{
    switch (status) {
    case STATUS_FULL:
        return problem_say(problem, status, PROBLEM_STORE_FULL,
                           "Nothing was stored: the disk that holds the store is full, or too many writes wait. "
                           "Free space on it and try again.");
    case STATUS_UNAVAILABLE:
    case STATUS_TIMEOUT:
        return problem_say(problem, status, PROBLEM_UNAVAILABLE, "The store is busy. Try again in a few seconds.");
    case STATUS_UNREADABLE:
        return problem_say(problem, status, PROBLEM_INTERNAL,
                           "The stored description of the cluster or of a group of it cannot be read, and nothing was "
                           "changed. The cluster's timeline and the server's log say which.");
    default:
        return problem_say(problem, status, PROBLEM_INTERNAL,
                           "The store failed (%s) and nothing was changed. The server's log has the details.",
                           status_text(status));
    }
}
