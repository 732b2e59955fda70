/*
 * Small files that are replaced atomically (base/file.h). An invalid file counts as missing: the agent enrols, or reads, again.
 */
#include "agents/node/state.h"

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SMALL_FILE_BYTES_MAX 4096

int state_open(const char *dir, struct state *ret_state)
{
    struct state state = {.dir = own_strdup(dir), .lock_fd = -1};
    int status = file_make_dirs(dir, 0700);
    if (status == 0) {
        autofree char *lock = state_path(&state, "lock");
        status = file_lock_within(lock, FILE_LOCK_KILLED_MS, &state.lock_fd);
    }
    if (status != 0) {
        free(state.dir);
        return status;
    }
    *ret_state = state;
    return 0;
}

void state_close(struct state *state)
{
    if (state->dir == NULL)
        return;
    close(state->lock_fd);
    free(TAKE(state->dir));
}

char *state_path(const struct state *state, const char *name)
{
    return own_printf("%s/%s", state->dir, name);
}

int state_read_line(const char *path, char *dst, size_t size)
{
    autofree char *data = NULL;
    size_t len;
    int status = file_read(path, SMALL_FILE_BYTES_MAX, &data, &len);
    if (status != 0)
        return status;
    size_t line = strcspn(data, "\r\n");
    if (line == 0 || data[line + strspn(data + line, "\r\n")] != '\0' || strlen(data) != len)
        return STATUS_INVALID;
    for (size_t i = 0; i < line; i++)
        if (data[i] <= ' ' || data[i] >= 0x7f)
            return STATUS_INVALID;
    return text_copy_bytes(dst, size, data, line) == 0 ? 0 : STATUS_INVALID;
}

#define WORDS_MAX 3
#define WORD_MAX_BYTES 256
_Static_assert(CREDENTIAL_MAX_BYTES <= WORD_MAX_BYTES, "a word of a file");

/* Reads a small file of three words. */
static int read_words(const struct state *state, const char *name, char words[WORDS_MAX][WORD_MAX_BYTES])
{
    autofree char *path = state_path(state, name), *data = NULL;
    size_t len;
    int status = file_read(path, SMALL_FILE_BYTES_MAX, &data, &len);
    if (status != 0)
        return status;
    char *rest = data;
    for (int i = 0; i < WORDS_MAX; i++) {
        char *word = strtok_r(rest, " \n", &rest);
        if (word == NULL || text_copy(words[i], WORD_MAX_BYTES, word) != 0)
            return STATUS_NOT_FOUND;
    }
    return 0;
}

int state_load_credential(const struct state *state, const char *instance_id, struct message_enrolled *ret_enrolled)
{
    char words[WORDS_MAX][WORD_MAX_BYTES];
    struct message_enrolled enrolled = {0};
    int status = read_words(state, "credential", words);
    if (status != 0)
        return status;
    if (strcmp(words[1], instance_id) != 0 || text_copy(enrolled.credential, CREDENTIAL_MAX_BYTES, words[0]) != 0 ||
        text_parse_i64(words[2], 1, INT32_MAX, &enrolled.heartbeat_interval_ms) != 0)
        return STATUS_NOT_FOUND;
    *ret_enrolled = enrolled;
    return 0;
}

int state_save_credential(const struct state *state, const char *instance_id, const struct message_enrolled *enrolled)
{
    autofree char *path = state_path(state, "credential");
    autofree char *data =
        own_printf("%s %s %" PRId64 "\n", enrolled->credential, instance_id, enrolled->heartbeat_interval_ms);
    return file_write(path, data, strlen(data), 0600);
}

/* --- a machine that a site owns -------------------------------------------------------------------------------- */

void state_load_machine(const struct state *state, char ret_credential[CREDENTIAL_MAX_BYTES])
{
    autofree char *path = state_path(state, "machine-credential");
    if (state_read_line(path, ret_credential, CREDENTIAL_MAX_BYTES) != 0)
        ret_credential[0] = '\0';
}

int state_save_machine(const struct state *state, const char *credential)
{
    autofree char *path = state_path(state, "machine-credential");
    return file_write(path, credential, strlen(credential), 0600);
}

/* The id last: until it is stored the machine asks again, and is told the same. */
int state_become(const struct state *state, const char *instance_id)
{
    autofree char *standing = state_path(state, "standing"), *path = state_path(state, "instance-id");
    if (unlink(standing) != 0 && errno != ENOENT)
        return STATUS_IO;
    return file_write(path, instance_id, strlen(instance_id), 0600);
}

/* --- whose id it is ------------------------------------------------------------------------------------------ */

/* The ids that distinguish machines. Only root can read product_uuid. machine-id is made by systemd once for each installation;
 * published images have none. An id that cannot be read is ignored. */
static const struct {
    const char *name, *path;
} identities[] = {{"product_uuid", "/sys/class/dmi/id/product_uuid"}, {"machine-id", "/etc/machine-id"}};

/* The value of name in the file "machine"; "" if it has none. */
static void find_identity(const char *kept, const char *name, char value[WORD_MAX_BYTES])
{
    size_t len = strlen(name);
    value[0] = '\0';
    for (const char *at = kept; at != NULL && *at != '\0'; at = strchr(at, '\n'), at += at != NULL)
        if (strncmp(at, name, len) == 0 && at[len] == ' ' &&
            text_copy_bytes(value, WORD_MAX_BYTES, at + len + 1, strcspn(at + len + 1, "\n")) != 0)
            value[0] = '\0';
}

/* True when one id differs. ret_identities gets the current ids, and the kept value of an id that cannot be read. */
static bool is_another_machine(const char *root, const char *kept, struct text *ret_identities)
{
    bool differs = false;
    for (size_t i = 0; i < ARRAY_LEN(identities); i++) {
        char now[WORD_MAX_BYTES], before[WORD_MAX_BYTES];
        autofree char *path = own_printf("%s%s", root, identities[i].path);
        find_identity(kept, identities[i].name, before);
        if (state_read_line(path, now, sizeof(now)) != 0)
            memcpy(now, before, sizeof(now));
        differs |= before[0] != '\0' && strcmp(before, now) != 0;
        if (now[0] != '\0')
            text_printf(ret_identities, "%s %s\n", identities[i].name, now);
    }
    return differs;
}

int state_own_instance_id(const struct state *state, const char *root, char ret_id[ID_INSTANCE_MAX])
{
    autofree char *path = state_path(state, "instance-id"), *machine = state_path(state, "machine"), *kept = NULL;
    AUTO(text) struct text now = {0};
    size_t len;
    bool has_kept = file_read(machine, SMALL_FILE_BYTES_MAX, &kept, &len) == 0;
    bool has_id = state_read_line(path, ret_id, ID_INSTANCE_MAX) == 0;
    if (is_another_machine(root, has_kept && has_id ? kept : "", &now))
        return STATUS_CONFLICT;
    if (!has_id)
        id_instance(NULL, ret_id);
    int status = has_id ? 0 : file_write(path, ret_id, strlen(ret_id), 0600);
    bool same = has_kept && strcmp(kept, text_get(&now)) == 0;
    return status != 0 || same || now.len == 0 ? status : file_write(machine, now.data, now.len, 0600);
}
