/*
 * The programs run with the rights of the agent. A program that other users than root and the agent's user could have written, or whose
 * directory they could write to, is not run; its result is unknown. Permissions and header are checked before each run, so an edit
 * takes effect at once. New and removed programs, and new periods, are noticed within half a minute.
 */
#include "agents/checks/custom.h"

#include "agents/checks/lines.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 4096
#define HEAD_LINES 30
#define OUT_BYTES_MAX 16384
#define PERIOD_DEFAULT_MS MS_PER_MIN
#define PERIOD_MIN_MS (10 * MS_PER_S)
#define PERIOD_MAX_MS MS_PER_DAY
#define TIMEOUT_DEFAULT_MS (10 * MS_PER_S)
#define TIMEOUT_MAX_MS (10 * MS_PER_MIN)
#define AFTER_TIMEOUT_MS (10 * MS_PER_S) /* for us to say that it was one */

enum { EXIT_GOOD, EXIT_WARNING, EXIT_CRITICAL, EXIT_NOT_FOUND_OUT };

struct custom {
    char *dir, *path;
    char name[CHECK_NAME_MAX_BYTES], about[CUSTOM_REASON_MAX_BYTES];
};

/* --- the head ------------------------------------------------------------------------------------------------ */

static int take_duration(struct word value, int64_t min_ms, int64_t max_ms, int64_t *ret_ms)
{
    char text[24];
    int64_t ms;
    if (!word_copy(value, text, sizeof(text)) || clock_parse_duration(text, &ms) != 0 || ms < min_ms || ms > max_ms)
        return STATUS_INVALID;
    *ret_ms = ms;
    return 0;
}

static int take_severity(struct word value, struct custom_header *header)
{
    if (!word_is(value, "warn") && !word_is(value, "critical"))
        return STATUS_INVALID;
    header->severity = word_is(value, "warn") ? CUSTOM_WARN : CUSTOM_CRITICAL;
    return 0;
}

/* "key=value key=value reason=all the rest". */
static int take_words(struct word rest, struct custom_header *header)
{
    struct word word;
    int status = 0;
    while (status == 0 && lines_words(rest, &word, 1) > 0) {
        const char *equals = memchr(word.at, '=', word.len), *end = rest.at + rest.len;
        if (equals == NULL)
            return STATUS_INVALID;
        struct word key = {word.at, (size_t)(equals - word.at)};
        struct word value = {equals + 1, (size_t)(word.at + word.len - equals - 1)};
        rest = (struct word){word.at + word.len, (size_t)(end - word.at) - word.len};
        if (word_is(key, "reason")) {
            text_copy_clean(header->reason, sizeof(header->reason), value.at, (size_t)(end - value.at));
            return 0;
        }
        if (word_is(key, "period"))
            status = take_duration(value, PERIOD_MIN_MS, PERIOD_MAX_MS, &header->period_ms);
        else if (word_is(key, "timeout"))
            status = take_duration(value, MS_PER_S, TIMEOUT_MAX_MS, &header->timeout_ms);
        else
            status = word_is(key, "severity") ? take_severity(value, header) : STATUS_INVALID;
    }
    return status;
}

int custom_parse_header(const char *data, size_t len, struct custom_header *ret_header)
{
    static const char mark[] = "holdfast:";
    const struct custom_header plain = {.period_ms = PERIOD_DEFAULT_MS, .timeout_ms = TIMEOUT_DEFAULT_MS};
    struct custom_header header = plain;
    struct lines lines;
    struct word line;
    int status = 0;
    lines_start(&lines, data, len);
    for (int i = 0; status == 0 && i < HEAD_LINES && lines_next(&lines, &line); i++) {
        struct word words[2];
        if (line.len == 0 || line.at[0] != '#' || lines_words(line, words, 2) < 2 || !word_is(words[0], "#") ||
            !word_is(words[1], mark))
            continue;
        const char *rest = words[1].at + words[1].len;
        status = take_words((struct word){rest, (size_t)(line.at + line.len - rest)}, &header);
    }
    *ret_header = status == 0 ? header : plain;
    return status;
}

/* It becomes the source of verdicts, and these sources are others': what the kernel log said is never taken back. */
static bool is_taken(const char *name)
{
    return strcmp(name, "kmsg") == 0 || strcmp(name, "deep") == 0;
}

bool custom_is_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return !is_taken(name) && isalnum((unsigned char)name[0]) && name[len] == '\0' && len < CHECK_NAME_MAX_BYTES;
}

/* --- whose it is --------------------------------------------------------------------------------------------- */

/* Why it is not to be trusted, or NULL. */
static const char *distrust(const char *path, bool is_dir)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return "is not there any more";
    if (is_dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
        return is_dir ? "is no directory" : "is no plain file";
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return "belongs neither to root nor to the agent's user";
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "can be written by others";
    return !is_dir && (st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0 ? "is not executable" : NULL;
}

static int read_header(const char *path, struct custom_header *ret_header)
{
    char data[HEAD_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, data, sizeof(data)) : -1;
    if (fd >= 0)
        close(fd);
    return custom_parse_header(data, n > 0 ? (size_t)n : 0, ret_header); /* what may be run and not read has no head */
}

/* --- a run --------------------------------------------------------------------------------------------------- */

/* The first line that is one, without what plugins write for graphs behind "|". */
static struct word first_line(const char *out, size_t len)
{
    struct lines lines;
    struct word line, word;
    lines_start(&lines, out, len);
    while (lines_next(&lines, &line)) {
        const char *bar = line.len > 0 ? memchr(line.at, '|', line.len) : NULL;
        if (bar != NULL)
            line.len = (size_t)(bar - line.at);
        if (lines_words(line, &word, 1) > 0)
            return line;
    }
    return (struct word){"", 0};
}

static void tell(struct check_out *out, const struct custom *custom, const struct custom_header *header,
                 const struct child_result *result)
{
    struct word line = first_line(result->out, result->out_len);
    if (line.len == 0)
        line = first_line(result->err, strlen(result->err));
    int len = line.len < RAW_LINE_MAX_BYTES ? (int)line.len : RAW_LINE_MAX_BYTES;
    const char *between = line.len > 0 && header->reason[0] != '\0' ? "; " : "";
    bool found = result->exit_code == EXIT_WARNING || result->exit_code == EXIT_CRITICAL;
    bool critical =
        header->severity == CUSTOM_AS_SAID ? result->exit_code == EXIT_CRITICAL : header->severity == CUSTOM_CRITICAL;
    if (found)
        check_found(out, critical ? "custom.critical" : "custom.warning", custom->name, 1, "%.*s%s%s", len, line.at,
                    between, header->reason);
    else if (result->exit_code == EXIT_NOT_FOUND_OUT)
        check_unknown(out, "%.*s", len, line.len > 0 ? line.at : "it could not find out");
    else if (result->exit_code != EXIT_GOOD)
        check_unknown(out, "it ended with exit code %d%s%.*s", result->exit_code, len > 0 ? ": " : "", len, line.at);
}

static void run(const struct check_context *context, struct check_out *out)
{
    const struct custom *custom = context->own;
    const char *const argv[] = {custom->path, NULL};
    struct custom_header header;
    struct child_result result;
    const char *why_dir = distrust(custom->dir, true), *why = distrust(custom->path, false);
    if (why_dir != NULL || why != NULL) {
        check_unknown(out, "not run: %s %s", why_dir != NULL ? custom->dir : custom->path,
                      why_dir != NULL ? why_dir : why);
        return;
    }
    if (read_header(custom->path, &header) != 0) {
        check_unknown(out, "not run: its line \"# holdfast:\" has a word that is not known, or a value out of bounds");
        return;
    }
    header.timeout_ms = agent_settings_of(context->settings, CUSTOM_PREFIX, custom->name, "timeout", header.timeout_ms);
    const struct child_options options = {
        .timeout_ms = header.timeout_ms, .out_bytes_max = OUT_BYTES_MAX, .directory = "/", .in_our_group = true};
    int status = child_run(argv, &options, &result);
    if (status == STATUS_TIMEOUT)
        check_unknown(out, "it did not answer within %" PRId64 " s", header.timeout_ms / MS_PER_S);
    else if (status != 0)
        check_unknown(out, "it cannot be run: %s", status_meaning(status));
    if (status != 0)
        return;
    tell(out, custom, &header, &result);
    child_result_free(&result);
}

int64_t custom_deadline_ms(const struct check *check, const struct agent_settings *settings)
{
    int64_t own_ms = check->deadline_ms - AFTER_TIMEOUT_MS;
    return agent_settings_of(settings, CUSTOM_PREFIX, check->name, "timeout", own_ms) + AFTER_TIMEOUT_MS;
}

/* --- the directory ------------------------------------------------------------------------------------------- */

static struct check *make(const char *dir, const char *name)
{
    struct custom *custom = own_calloc(1, sizeof(*custom));
    struct check *check = own_calloc(1, sizeof(*check));
    struct custom_header header;
    custom->dir = own_strdup(dir);
    custom->path = own_printf("%s/%s", dir, name);
    text_copy_cut(custom->name, sizeof(custom->name), name);
    (void)read_header(custom->path, &header); /* when it is wrong, each run says so */
    snprintf(custom->about, sizeof(custom->about), "%.*s", (int)sizeof(custom->about) - 1,
             header.reason[0] != '\0' ? header.reason : "a check of this site");
    *check = (struct check){.name = custom->name,
                            .about = custom->about,
                            .period_ms = header.period_ms,
                            .deadline_ms = header.timeout_ms + AFTER_TIMEOUT_MS,
                            .run = run,
                            .own = custom};
    return check;
}

static int by_name(const void *left, const void *right)
{
    return strcmp((*(struct check *const *)left)->name, (*(struct check *const *)right)->name);
}

static void free_one(struct check *check)
{
    struct custom *custom = (struct custom *)(uintptr_t)check->own;
    free(custom->dir);
    free(custom->path);
    free(custom);
    free(check);
}

void custom_free(struct custom_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_one(list->checks[i]);
    list->count = 0;
}

static void note_file(struct custom_list *list, const char *dir, const char *name)
{
    if (name[0] == '.' || text_ends_with(name, "~"))
        return;
    if (!custom_is_name(name) || list->count == CUSTOM_MAX)
        list->passed_over++;
    else
        list->checks[list->count++] = make(dir, name);
}

/* No descriptor left, a network that hiccups: only ENOENT says that the checks are gone. */
void custom_load(const char *dir, struct custom_list *ret_list)
{
    DIR *files = opendir(dir);
    struct custom_list list = {.is_missing = files == NULL && errno == ENOENT};
    list.is_unread = files == NULL && !list.is_missing;
    for (struct dirent *entry = NULL; files != NULL;) {
        errno = 0;
        if ((entry = readdir(files)) == NULL)
            break;
        note_file(&list, dir, entry->d_name);
    }
    list.is_unread |= files != NULL && errno != 0;
    if (files != NULL)
        closedir(files);
    if (list.is_unread) {
        custom_free(&list);
        list.passed_over = 0;
    }
    if (list.count > 1)
        qsort(list.checks, list.count, sizeof(list.checks[0]), by_name);
    *ret_list = list;
}

static struct check *find(const struct custom_list *list, const char *name, size_t *ret_at)
{
    for (*ret_at = 0; *ret_at < list->count; ++*ret_at)
        if (strcmp(list->checks[*ret_at]->name, name) == 0)
            return list->checks[*ret_at];
    return NULL;
}

/* Those that were gone before this merge, and did not come back in it. */
static void forget(struct custom_list *list, const bool was_there[2 * CUSTOM_MAX])
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->is_there[i] && !was_there[i]) {
            free_one(list->checks[i]);
            continue;
        }
        list->is_there[kept] = list->is_there[i];
        list->checks[kept++] = list->checks[i];
    }
    list->count = kept;
}

void custom_merge(struct custom_list *list, struct custom_list *found)
{
    bool was_there[2 * CUSTOM_MAX];
    size_t at;
    list->is_unread = found->is_unread;
    if (found->is_unread)
        return;
    memcpy(was_there, list->is_there, sizeof(was_there));
    memset(list->is_there, 0, sizeof(list->is_there));
    list->passed_over = found->passed_over;
    list->is_missing = found->is_missing;
    for (size_t i = 0; i < found->count; i++) {
        struct check *check = found->checks[i], *known = find(list, check->name, &at);
        if (known == NULL)
            continue;
        list->is_there[at] = true;
        known->period_ms = check->period_ms;
        known->deadline_ms = check->deadline_ms;
        free_one(check);
        found->checks[i] = NULL;
    }
    forget(list, was_there);
    for (size_t i = 0; i < found->count; i++) {
        if (found->checks[i] == NULL)
            continue;
        list->is_there[list->count] = true;
        list->checks[list->count++] = found->checks[i];
    }
    found->count = 0;
}
