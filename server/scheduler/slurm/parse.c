/*
 * Reading Slurm's one-line records. The shape of them is in parse.h; who may have written what is in here.
 *
 * Two traps decide the code. A reason is free text in the middle of KEY=VALUE pairs, and may contain
 * anything, also " State=IDLE" or a forged "[root@…]": so the true end of a reason is found by the time
 * stamp, whose format we choose at each run (slurm.c) and nobody else knows. And a reason of several lines is
 * printed with its stamp after the first: what follows is added to it, so that it is never taken for an exact text.
 */
#include "server/scheduler/slurm/parse.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The widths of SLURM_JOB_FORMAT; the last column ends the line. */
enum { JOB_ID_WIDTH = 40, HET_WIDTH = 16, FLAG_WIDTH = 8, JOB_STATE_WIDTH = 24 };
#define COLUMN_BYTES_MAX 65 /* the widest of them and its zero */

#define SECONDS_DIGITS 10 /* of a time in seconds, from 2001 to 2286 */
#define MS_OF_S INT64_C(1000)

char *slurm_next_line(char **rest)
{
    char *line = *rest;
    if (line == NULL || *line == '\0')
        return NULL;
    char *end = strchr(line, '\n');
    if (end != NULL)
        *end = '\0';
    *rest = end == NULL ? NULL : end + 1;
    return line;
}

bool slurm_is_node_name(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len >= NODE_NAME_MAX_BYTES || name[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("._-", name[i]) == NULL)
            return false;
    return true;
}

bool slurm_is_line(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || !text_is_utf8(text, len))
        return false;
    for (size_t i = 0; i < len; i++)
        if (iscntrl((unsigned char)text[i]))
            return false;
    return true;
}

bool slurm_is_reason(const char *reason)
{
    return slurm_is_line(reason) && strlen(reason) < REASON_MAX_BYTES;
}

/* --- states ------------------------------------------------------------------------------------------------------- */

/* Base words and flags as scontrol and sinfo of 20.11 to 26.05 write them. Words about how a node came to be
 * (CLOUD, DYNAMIC_NORM) are left out: unknown flags say nothing. */
static const struct {
    const char *word;
    unsigned bits;
} state_words[] = {
    {"IDLE", SLURM_STATE_UP},
    {"ALLOCATED", SLURM_STATE_UP | SLURM_STATE_BUSY},
    {"MIXED", SLURM_STATE_UP | SLURM_STATE_BUSY},
    {"DOWN", SLURM_STATE_DOWN},
    {"ERROR", SLURM_STATE_DOWN},
    {"UNKNOWN", SLURM_STATE_MUTE},
    {"FUTURE", SLURM_STATE_MUTE | SLURM_STATE_AWAY},
    {"COMPLETING", SLURM_STATE_BUSY},
    {"DRAIN", SLURM_STATE_DRAIN},
    {"DRAINED", SLURM_STATE_DRAIN},
    {"DRAINING", SLURM_STATE_DRAIN | SLURM_STATE_BUSY},
    {"FAIL", SLURM_STATE_FAIL},
    {"FAILING", SLURM_STATE_FAIL | SLURM_STATE_BUSY},
    {"FAILG", SLURM_STATE_FAIL | SLURM_STATE_BUSY},
    {"NOT_RESPONDING", SLURM_STATE_MUTE},
    {"NO_RESPOND", SLURM_STATE_MUTE},
    {"MAINT", SLURM_STATE_AWAY | SLURM_STATE_MAINT},
    {"MAINTENANCE", SLURM_STATE_AWAY | SLURM_STATE_MAINT},
    {"RESERVED", SLURM_STATE_RESERVED},
    {"PLANNED", SLURM_STATE_RESERVED},
    {"POWER", SLURM_STATE_MUTE | SLURM_STATE_AWAY | SLURM_STATE_OFF}, /* 20.02: powered off to save power */
    {"POWERED_DOWN", SLURM_STATE_MUTE | SLURM_STATE_AWAY | SLURM_STATE_OFF},
    {"POWERING_DOWN", SLURM_STATE_MUTE | SLURM_STATE_AWAY | SLURM_STATE_OFF},
    {"POWERING_UP", SLURM_STATE_MUTE | SLURM_STATE_AWAY | SLURM_STATE_OFF},
    {"POWER_DOWN", SLURM_STATE_AWAY}, /* asked for, not yet done */
    {"POWER_DRAIN", SLURM_STATE_AWAY},
    {"REBOOT", SLURM_STATE_AWAY},
    {"REBOOT_REQUESTED", SLURM_STATE_AWAY},
    {"REBOOT_ISSUED", SLURM_STATE_AWAY | SLURM_STATE_OFF},
    {"INVAL", SLURM_STATE_AWAY},
    {"INVALID_REG", SLURM_STATE_AWAY},
};

/* Suffixes of one character, as sinfo writes them. */
static unsigned suffix_bits(char c)
{
    switch (c) {
    case '*':
        return SLURM_STATE_MUTE;
    case '~': /* powered down */
    case '#': /* powering up */
    case '%': /* powering down */
        return SLURM_STATE_MUTE | SLURM_STATE_AWAY | SLURM_STATE_OFF;
    case '^': /* reboot under way */
        return SLURM_STATE_AWAY | SLURM_STATE_OFF;
    case '$': /* maintenance */
        return SLURM_STATE_AWAY | SLURM_STATE_MAINT;
    case '-': /* planned */
        return SLURM_STATE_RESERVED;
    case '!': /* power down asked for */
    case '@': /* reboot asked for */
        return SLURM_STATE_AWAY;
    default:
        return 0;
    }
}

static unsigned word_bits(const char *word, size_t len, bool base)
{
    unsigned bits = 0;
    while (len > 0 && strchr("*~#%!$@^-", word[len - 1]) != NULL)
        bits |= suffix_bits(word[--len]);
    for (size_t i = 0; i < ARRAY_LEN(state_words); i++)
        if (strlen(state_words[i].word) == len && strncasecmp(state_words[i].word, word, len) == 0)
            return bits | state_words[i].bits;
    return bits | (base ? SLURM_STATE_OTHER : 0);
}

unsigned slurm_state_parse(const char *text)
{
    unsigned bits = 0;
    for (const char *word = text;;) {
        size_t len = strcspn(word, "+");
        bits |= word_bits(word, len, word == text);
        if (word[len] == '\0')
            return bits;
        word += len + 1;
    }
}

/* --- reasons ------------------------------------------------------------------------------------------------------ */

/* What slurmctld and slurmd of 20.11 to 25.11 write on their own account; the rest of the text varies. */
static const struct {
    const char *beginning;
    bool cured; /* a machine that has come back proven does not have it any more; the others Slurm looks at itself */
} automatic[] = {
    {"Not responding", true},    {"Node unexpectedly rebooted", true},
    {"Kill task failed", true},  {"Prolog error", true},
    {"Epilog error", true},      {"batch job complete failure", true},
    {"Duplicate jobid", true},   {"Low socket*core*thread count", false},
    {"Low CPUs", false},         {"Low RealMemory", false},
    {"Low TmpDisk", false},      {"gres/", false},
    {"reboot timed out", false}, {"ResumeTimeout reached", false},
};

bool slurm_reason_is_automatic(const char *reason)
{
    for (size_t i = 0; i < ARRAY_LEN(automatic); i++)
        if (text_starts_with(reason, automatic[i].beginning))
            return true;
    return false;
}

bool slurm_reason_is_cured(const char *reason)
{
    for (size_t i = 0; i < ARRAY_LEN(automatic); i++)
        if (automatic[i].cured && text_starts_with(reason, automatic[i].beginning))
            return true;
    return false;
}

bool slurm_downed_unsaid(const struct slurm_node *node)
{
    return node->blanked && (node->state & SLURM_STATE_HELD) == SLURM_STATE_DOWN;
}

bool slurm_reason_is_ours(const char *reason)
{
    return text_starts_with(reason, "holdfast:");
}

enum scheduler_request slurm_reason_action(const char *reason)
{
    if (strcmp(reason, SLURM_REASON_REBOOT) == 0)
        return SCHEDULER_REQUEST_REBOOT;
    if (strcmp(reason, SLURM_REASON_REPLACE) == 0)
        return SCHEDULER_REQUEST_REPLACE;
    return SCHEDULER_REQUEST_NONE;
}

/* One letter too many, too few, wrong, or two that changed places. */
static bool is_slip(const char *word, size_t len, const char *meant)
{
    size_t meant_len = strlen(meant);
    while (len > 0 && meant_len > 0 && tolower((unsigned char)*word) == *meant) {
        word++, meant++;
        len--, meant_len--;
    }
    while (len > 0 && meant_len > 0 && tolower((unsigned char)word[len - 1]) == meant[meant_len - 1]) {
        len--;
        meant_len--;
    }
    return (len <= 1 && meant_len <= 1) || (len == 2 && meant_len == 2 && tolower((unsigned char)word[0]) == meant[1] &&
                                            tolower((unsigned char)word[1]) == meant[0]);
}

/* "action:replace", "Action: Reboot", "Action:Rebot", "Action:Restart", "ACTION-REPLACE.", "Action:Reboot (gpu 3)": somebody who meant it and was not heard. */
static bool means_action(const char *reason)
{
    static const char *const verbs[] = {"reboot", "replace"};
    const char *at = reason + strcspn(reason, "Aa");
    if (strncasecmp(at, "action", 6) != 0 || at - reason > 2) /* a quote or a space before it, no more */
        return false;
    at += 6;
    at += strspn(at, " :;=_-.\t");
    size_t word = 0;
    while (isalpha((unsigned char)at[word]))
        word++;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strncasecmp(at, verbs[i], strlen(verbs[i])) == 0 || is_slip(at, word, verbs[i]))
            return true;
    return word == strlen("restart") && strncasecmp(at, "restart", word) == 0;
}

/* Fail or down are a request; a drain with the same words is a mistake, even of a node that was down before. A node in service may
 * show what is over: since 24.05 a resume leaves the reason where there is no accounting. */
static enum scheduler_request request_of(unsigned state, const char *reason)
{
    if ((state & SLURM_STATE_HELD) == 0)
        return SCHEDULER_REQUEST_NONE;
    enum scheduler_request action = slurm_reason_action(reason);
    bool exact =
        (state & SLURM_STATE_FAIL) != 0 || (state & (SLURM_STATE_DOWN | SLURM_STATE_DRAIN)) == SLURM_STATE_DOWN;
    if (action != SCHEDULER_REQUEST_NONE && exact)
        return action;
    return action != SCHEDULER_REQUEST_NONE || means_action(reason) ? SCHEDULER_REQUEST_NEAR_MISS
                                                                    : SCHEDULER_REQUEST_NONE;
}

/* "2026-11-20T15:07:37": what Slurm writes when nobody sets a format. */
static bool is_standard_time(const char *s, size_t len)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:dd";
    if (len != sizeof(shape) - 1)
        return false;
    for (size_t i = 0; i < len; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)s[i]) : s[i] != shape[i])
            return false;
    return true;
}

static bool is_our_time(const char *s, size_t len, const char *stamp)
{
    size_t stamp_len = strlen(stamp);
    if (len != SECONDS_DIGITS + stamp_len || memcmp(s + SECONDS_DIGITS, stamp, stamp_len) != 0)
        return false;
    for (size_t i = 0; i < SECONDS_DIGITS; i++)
        if (!isdigit((unsigned char)s[i]))
            return false;
    return true;
}

/* Finds the first " [user@time]" and cuts the text before it; *ret_user is the user, the result what follows ']'. The time is told
 * where it has our format. */
static char *cut_stamp(char *reason, const char *stamp, char **ret_user, int64_t *ret_at_ms)
{
    for (char *at = strchr(reason, '@'); at != NULL; at = strchr(at + 1, '@')) {
        size_t len = strcspn(at + 1, "]");
        char *open = memrchr(reason, '[', (size_t)(at - reason));
        if (at[1 + len] != ']' || open == NULL || open == reason || open[-1] != ' ')
            continue;
        if (!(stamp == NULL ? is_standard_time(at + 1, len) : is_our_time(at + 1, len, stamp)))
            continue;
        *at = '\0';
        open[-1] = '\0';
        *ret_user = open + 1;
        *ret_at_ms = stamp == NULL ? 0 : strtoll(at + 1, NULL, 10) * MS_OF_S;
        return at + 1 + len + 1;
    }
    return NULL;
}

void slurm_make_printable(char *s)
{
    bool utf8 = text_is_utf8(s, strlen(s));
    for (; *s != '\0'; s++)
        if (iscntrl((unsigned char)*s) || (!utf8 && (unsigned char)*s >= 0x80))
            *s = '?';
}

static void trim_end(char *s)
{
    for (size_t len = strlen(s); len > 0 && s[len - 1] == ' ';)
        s[--len] = '\0';
}

/* Where the reason ends when it carries no stamp: at the keys that follow it. */
static void cut_at_next_key(char *reason)
{
    static const char *const keys[] = {" Comment=", " Extra=", " ReservationName=", " InstanceId=", " InstanceType="};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        char *key = strstr(reason, keys[i]);
        if (key != NULL)
            *key = '\0';
    }
}

/* What slurmctld writes behind a reason when it reboots the node. A person's reason is left as it stands. */
static void cut_reboot(char *reason)
{
    char *said = strstr(reason, " : reboot ");
    if (said == NULL)
        return;
    char held = *said;
    *said = '\0';
    if (!slurm_reason_is_ours(reason) && slurm_reason_action(reason) == SCHEDULER_REQUEST_NONE)
        *said = held;
}

/* A blank is what a resume leaves where Slurm does not forget the reason itself. */
static void take_reason(char *value, char *user, struct slurm_node *node)
{
    node->blanked = value[0] != '\0' && value[strspn(value, " ")] == '\0';
    if (node->blanked) {
        node->seen.reason_at = 0;
        return;
    }
    slurm_make_printable(value);
    cut_reboot(value);
    node->seen.request = request_of(node->state, value);
    node->seen.ours = slurm_reason_is_ours(value);
    node->seen.note = text_starts_with(value, SLURM_REASON_OURS) ? strlen(SLURM_REASON_OURS) : strlen("holdfast:");
    node->seen.annotated = strstr(value, SLURM_REASON_ANNOTATION) != NULL;
    text_copy_cut(node->seen.reason, sizeof(node->seen.reason), value);
    if (user == NULL)
        return;
    slurm_make_printable(user);
    text_copy_cut(node->seen.reason_user, sizeof(node->seen.reason_user), user);
}

/* Takes the reason apart, in place, and tells what it asks for. value: all behind "Reason=" on the line. */
static void read_reason(char *value, const char *stamp, struct slurm_node *node)
{
    char *user = NULL;
    char *rest = cut_stamp(value, stamp, &user, &node->seen.reason_at);
    autofree char *whole = NULL;
    if (rest == NULL) {
        cut_at_next_key(value);
        trim_end(value); /* before a stamp a space is part of the reason: "Action:Reboot " is not exact */
    } else if (text_starts_with(rest, "  ")) { /* the further lines of a reason of several */
        whole = own_printf("%s %s", value, rest + strspn(rest, " "));
        value = whole;
    }
    take_reason(value, user, node);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* The value of a key that holds one word, copied; false when the key is not there or its value does not fit. */
static bool word_of(const char *line, const char *key, char *dst, size_t size)
{
    const char *at = strstr(line, key);
    if (at == NULL)
        return false;
    at += strlen(key);
    return text_copy_bytes(dst, size, at, strcspn(at, " ")) == 0;
}

static int64_t number_of(const char *line, const char *key)
{
    char word[24];
    int64_t number;
    return word_of(line, key, word, sizeof(word)) && text_parse_i64(word, 0, INT64_MAX, &number) == 0 ? number : 0;
}

void slurm_parse_has(char *line, struct slurm_has *ret_has)
{
    static const char *const free_texts[] = {" Reason=", " Comment=", " Extra="};
    static const char *const keys[SLURM_WORDS_MAX] = {" Partitions=", " ActiveFeatures=", " Gres=", " GresUsed="};
    char *end = line + strlen(line);
    for (size_t i = 0; i < ARRAY_LEN(free_texts); i++) {
        char *at = strstr(line, free_texts[i]);
        end = at != NULL && at < end ? at : end;
    }
    char held = *end;
    *end = '\0'; /* whatever somebody wrote there says nothing of the node */
    ret_has->cpus = number_of(line, " CPUTot=");
    ret_has->cpus_used = number_of(line, " CPUAlloc=");
    ret_has->memory_mib = number_of(line, " RealMemory=");
    ret_has->memory_used_mib = number_of(line, " AllocMem=");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        char *word = ret_has->words[i];
        if (!word_of(line, keys[i], word, SLURM_WORD_BYTES_MAX) || strcmp(word, "(null)") == 0)
            word[0] = '\0';
        slurm_make_printable(word);
    }
    *end = held;
}

/* DOWN and nothing else, for having been away, which is over: so slurmctld leaves a node that restarted by itself, and with ReturnToService=0
 * one that did not respond (slurm.conf(5)). */
static bool is_downed(const struct slurm_node *node)
{
    static const char *const absences[] = {"Node unexpectedly rebooted", "Not responding"};
    const char *reason = node->seen.reason;
    if ((node->state & ~(unsigned)(SLURM_STATE_BUSY | SLURM_STATE_RESERVED)) != SLURM_STATE_DOWN)
        return false;
    if (node->blanked)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(absences); i++)
        if (text_starts_with(reason, absences[i]))
            return true;
    return false;
}

static void judge(struct slurm_node *node)
{
    unsigned state = node->state;
    struct scheduler_node *seen = &node->seen;
    bool chosen = seen->reason[0] != '\0' && !slurm_reason_is_automatic(seen->reason);
    seen->responding = (state & (SLURM_STATE_MUTE | SLURM_STATE_OTHER)) == 0;
    seen->down = (state & SLURM_STATE_DOWN) != 0;
    seen->switched_off = (state & SLURM_STATE_OFF) != 0;
    seen->maintenance = (state & SLURM_STATE_MAINT) != 0;
    seen->reserved = (state & SLURM_STATE_RESERVED) != 0;
    seen->busy = (state & SLURM_STATE_BUSY) != 0;
    seen->downed = is_downed(node);
    seen->schedulable = (state & SLURM_STATE_UP) != 0 &&
                        (state & (SLURM_STATE_HELD | SLURM_STATE_MUTE | SLURM_STATE_AWAY | SLURM_STATE_OTHER)) == 0;
    /* A drain without a word is somebody's too; DOWN without one is Slurm's. */
    seen->drained = (state & (SLURM_STATE_DRAIN | SLURM_STATE_FAIL)) != 0 ? chosen || seen->reason[0] == '\0'
                                                                          : (state & SLURM_STATE_DOWN) != 0 && chosen;
}

static int begin_node(const char *name, char *state, struct slurm_node *node)
{
    if (!slurm_is_node_name(name) || state[0] == '\0')
        return STATUS_BACKEND;
    text_copy_cut(node->seen.name, sizeof(node->seen.name), name);
    slurm_make_printable(state);
    node->state = slurm_state_parse(state);
    text_copy_cut(node->seen.state, sizeof(node->seen.state), state);
    return 0;
}

int slurm_node_of_words(const char *name, char *state, char *reason, char *reason_user, struct slurm_node *ret_node)
{
    struct slurm_node node = {0};
    if (begin_node(name, state, &node) != 0)
        return STATUS_BACKEND;
    if (reason[0] != '\0')
        take_reason(reason, reason_user, &node);
    judge(&node);
    *ret_node = node;
    return 0;
}

int slurm_parse_node(char *line, const char *stamp, struct slurm_node *ret_node)
{
    struct slurm_node node = {0};
    char name[NODE_NAME_MAX_BYTES];
    char state[512]; /* every flag there is, joined, has some 300 bytes */
    if (!text_starts_with(line, "NodeName=") || !word_of(line, "NodeName=", name, sizeof(name)) ||
        !word_of(line, " State=", state, sizeof(state)) || begin_node(name, state, &node) != 0)
        return STATUS_BACKEND;
    if (!word_of(line, " NodeAddr=", node.address, sizeof(node.address)))
        node.address[0] = '\0';
    if (!word_of(line, " NodeHostName=", node.host, sizeof(node.host)))
        node.host[0] = '\0';

    char *reason = strstr(line, " Reason=");
    const char *comment = strstr(line, " Comment="), *extra = strstr(line, " Extra=");
    /* comments are free text too, and follow the reason: a "Reason=" inside one is none */
    if (reason != NULL && !(comment != NULL && comment < reason) && !(extra != NULL && extra < reason))
        read_reason(reason + strlen(" Reason="), stamp, &node);
    judge(&node);
    *ret_node = node;
    return 0;
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

/* Takes one padded column off *at; false when the line is too short for it. */
static bool take_column(const char **at, size_t width, char ret_value[COLUMN_BYTES_MAX])
{
    if (strnlen(*at, width) < width)
        return false;
    memcpy(ret_value, *at, width);
    ret_value[width] = '\0';
    trim_end(ret_value);
    *at += width;
    return true;
}

static bool is_job_id(const char *s)
{
    return isdigit((unsigned char)s[0]) && s[strspn(s, "0123456789_+")] == '\0';
}

bool slurm_is_yes(const char *s)
{
    return strcmp(s, "1") == 0 || strcasecmp(s, "yes") == 0;
}

int slurm_job_of_words(const char *id, const char *leader, char *state, char *user, bool requeueable,
                       struct slurm_job *ret_job)
{
    struct slurm_job job = {0};
    if (strcmp(state, "PENDING") == 0)
        return STATUS_NOT_FOUND;
    /* A task of an array goes by its own name: the bare number of the last one is the whole array's. The parts of a
     * heterogeneous job stand and fall with their leader. */
    const char *target = is_job_id(leader) && strcmp(leader, "0") != 0 ? leader : id;
    if (!is_job_id(id) || !is_job_id(target) || text_copy(job.seen.id, sizeof(job.seen.id), id) != 0 ||
        text_copy(job.target, sizeof(job.target), target) != 0 ||
        text_copy(job.seen.state, sizeof(job.seen.state), state) != 0)
        return STATUS_BACKEND;
    job.ending = strcmp(state, "COMPLETING") == 0;
    job.seen.may_be_asked = strcmp(state, "RUNNING") == 0;
    job.seen.requeueable = requeueable;
    slurm_make_printable(user);
    slurm_make_printable(job.seen.state);
    text_copy_cut(job.seen.user, sizeof(job.seen.user), user);
    *ret_job = job;
    return 0;
}

int slurm_parse_job(char *line, struct slurm_job *ret_job)
{
    char id[COLUMN_BYTES_MAX], het[COLUMN_BYTES_MAX], batch[COLUMN_BYTES_MAX], requeue[COLUMN_BYTES_MAX],
        state[COLUMN_BYTES_MAX];
    const char *at = line;
    if (!take_column(&at, JOB_ID_WIDTH, id) || !take_column(&at, HET_WIDTH, het) ||
        !take_column(&at, FLAG_WIDTH, batch) || !take_column(&at, FLAG_WIDTH, requeue) ||
        !take_column(&at, JOB_STATE_WIDTH, state) || state[0] == '\0')
        return STATUS_BACKEND;
    char *user = line + (at - line);
    trim_end(user);
    return slurm_job_of_words(id, het, state, user, slurm_is_yes(batch) && slurm_is_yes(requeue), ret_job);
}
