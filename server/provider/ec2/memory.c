/* Small files of JSON. One that cannot be read counts as "sent": whatever it was about may have been done. */
#include "server/provider/ec2/memory.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ENUM_DEFINE(ec2_step, EC2_STEP_LIST)

#define BYTES_MAX 4096
#define PRUNE_AFTER_MS (30 * MS_PER_DAY)

void ec2_key_hash(const char *key, char ret_hash[EC2_HASH_MAX])
{
    id_sha256_hex(key, strlen(key), ret_hash);
}

static char *path_of(const char *state_dir, const char *action, const char *key)
{
    char hash[EC2_HASH_MAX];
    autofree char *name = own_printf("%s %s", action, key);
    ec2_key_hash(name, hash);
    return own_printf("%s/calls/%s", state_dir, hash);
}

static void read_memory(const char *path, struct ec2_memory *ret_memory)
{
    autofree char *data = NULL;
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX], step[16] = "";
    size_t len;
    struct ec2_memory memory = {.step = EC2_STEP_NONE};
    const struct json_field fields[] = {
        {.name = "step", .type = JSON_FIELD_TEXT, .required = true, .target = step, .size = sizeof(step)},
        {.name = "at", .type = JSON_FIELD_I64, .target = &memory.at, .max = INT64_MAX},
        {.name = "subnet", .type = JSON_FIELD_TEXT, .target = memory.subnet, .size = sizeof(memory.subnet)},
        {.name = "ref", .type = JSON_FIELD_TEXT, .target = memory.ref, .size = sizeof(memory.ref)},
        {.name = "startedAt", .type = JSON_FIELD_TEXT, .target = memory.started_at, .size = sizeof(memory.started_at)}};
    *ret_memory = (struct ec2_memory){.step = EC2_STEP_NONE};
    int status = file_read(path, BYTES_MAX, &data, &len);
    if (status == STATUS_NOT_FOUND)
        return;
    if (status != 0 || json_parse(data, len, BYTES_MAX, &json, error) != 0 ||
        json_read(json, fields, ARRAY_LEN(fields), error) != 0 || ec2_step_parse(step, &memory.step) != 0) {
        ret_memory->step = EC2_STEP_SENT;
        ret_memory->damaged = true;
        return;
    }
    *ret_memory = memory;
}

int ec2_memory_open(const char *state_dir, const char *action, const char *key, struct ec2_entry *ret_entry,
                    struct ec2_memory *ret_memory)
{
    struct ec2_entry entry = {.path = path_of(state_dir, action, key), .lock = -1};
    autofree char *lock = own_printf("%s.lock", entry.path), *dir = own_printf("%s/calls", state_dir);
    int status = file_make_dirs(dir, 0700);
    if (status == 0)
        status = file_lock(lock, &entry.lock);
    if (status != 0) {
        free(entry.path);
        return status;
    }
    read_memory(entry.path, ret_memory);
    *ret_entry = entry;
    return 0;
}

int ec2_memory_write(const struct ec2_entry *entry, const struct ec2_memory *memory)
{
    auto_json json_t *json = json_object();
    json_put_text(json, "step", ec2_step_text(memory->step));
    json_put_i64(json, "at", memory->at);
    json_put_text(json, "subnet", memory->subnet);
    json_put_text(json, "ref", memory->ref);
    json_put_text(json, "startedAt", memory->started_at);
    autofree char *text = json_dumps(json, 0);
    return text == NULL ? STATUS_IO : file_write(entry->path, text, strlen(text), 0600);
}

void ec2_memory_close(struct ec2_entry *entry)
{
    if (entry->lock >= 0)
        close(entry->lock);
    free(TAKE(entry->path));
}

void ec2_memory_look(const char *state_dir, const char *action, const char *key, struct ec2_memory *ret_memory)
{
    autofree char *path = path_of(state_dir, action, key);
    read_memory(path, ret_memory);
}

void ec2_memory_prune(const char *state_dir)
{
    autofree char *calls = own_printf("%s/calls", state_dir);
    DIR *list = opendir(calls);
    time_t before = (time_t)((clock_wall_ms(clock_system()) - PRUNE_AFTER_MS) / MS_PER_S);
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        struct stat st;
        autofree char *path = own_printf("%s/%s", calls, entry->d_name);
        if (strlen(entry->d_name) >= EC2_HASH_MAX - 1 && stat(path, &st) == 0 && st.st_mtime < before)
            (void)unlink(path);
    }
    if (list != NULL)
        closedir(list);
}
