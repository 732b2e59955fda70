/*
 * One list of statuses for the whole house.
 *
 * A function that can fail returns 0 or one of these negative numbers. Three
 * kinds: ours (a bug: assert, never a status), theirs (client, agent, backend
 * sent something wrong: answered, counted, survived) and the world's (disk,
 * memory, network: handed up to the boundary and reported there once).
 */
#ifndef HOLDFAST_BASE_STATUS_H
#define HOLDFAST_BASE_STATUS_H

#define STATUS_LIST(X)                                                             \
    X(INVALID, -1, "invalid", "the input breaks a rule")                           \
    X(NOT_FOUND, -2, "not-found", "no such thing")                                 \
    X(CONFLICT, -3, "conflict", "the thing is in a state that forbids this")       \
    X(EXISTS, -4, "exists", "the name is taken")                                   \
    X(DENIED, -5, "denied", "the caller may not do this")                          \
    X(TOO_LARGE, -6, "too-large", "a limit was passed")                            \
    X(TIMEOUT, -7, "timeout", "the deadline passed")                               \
    X(UNAVAILABLE, -8, "unavailable", "the other side does not answer; try again") \
    X(BACKEND, -9, "backend", "a backend answered something that cannot be used")  \
    X(IO, -10, "io", "disk or network failed")                                     \
    X(FULL, -11, "full", "the disk or a bounded queue is full")                    \
    X(VERSION, -12, "version", "made by a newer version")                          \
    X(STALE, -13, "stale", "about an earlier boot, instance or revision")          \
    X(UNAUTHENTICATED, -14, "unauthenticated", "no valid credential")              \
    X(UNSUPPORTED, -15, "unsupported", "this backend cannot do that")              \
    X(UNREADABLE, -16, "unreadable", "what is stored of it cannot be read")

enum status {
    STATUS_OK = 0,
#define STATUS_ENUM(name, number, text, meaning) STATUS_##name = (number),
    STATUS_LIST(STATUS_ENUM)
#undef STATUS_ENUM
};

/* Stable short text ("not-found"); "ok" for 0, "unknown" for anything else. Never NULL. */
const char *status_text(int status);
/* One sentence for people. Never NULL. */
const char *status_meaning(int status);
/* Of an errno that a write failed with: FULL where the disk, a quota or the limit of a file's size has no room for it, else IO. */
int status_of_write(int error);

#endif
