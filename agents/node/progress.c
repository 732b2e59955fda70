/* An invalid file counts as missing: the log is read again, and its verdicts have the same keys. */
#include "agents/node/progress.h"

#include "agents/node/message.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_NAME "kernel-log"
#define POSITION_NAME "position" /* of older versions: "BOOT FILE OFFSET [CURSOR]" */
#define LINE_BYTES_MAX 16384     /* a verdict with every byte escaped is under 8 KiB */
#define PROGRESS_BYTES_MAX ((WINDOW_COUNT_MAX + 1) * LINE_BYTES_MAX)

/* --- reading ------------------------------------------------------------------------------------------------- */

/* Numbers: FILE and OFFSET, and EMPTIED where the file has one. */
static int read_position(char *line, const char *boot_id, bool has_emptied, struct kmsg_position *ret_position)
{
    struct kmsg_position position = {0};
    int64_t *const numbers[] = {&position.file, &position.offset, &position.emptied};
    char *rest = line, *boot = strtok_r(line, " ", &rest);
    for (size_t i = 0; i < (has_emptied ? 3 : 2); i++) {
        const char *word = strtok_r(NULL, " ", &rest);
        if (word == NULL || text_parse_i64(word, 0, INT64_MAX, numbers[i]) != 0)
            return STATUS_NOT_FOUND;
    }
    const char *cursor = strtok_r(NULL, " ", &rest);
    if (text_copy(position.cursor, sizeof(position.cursor), cursor != NULL ? cursor : "") != 0)
        return STATUS_NOT_FOUND;
    position.earlier_boot = strcmp(boot, boot_id) != 0;
    if (position.earlier_boot && position.file == 0)
        return STATUS_NOT_FOUND;
    *ret_position = position;
    return 0;
}

static void read_window(const char *line, struct windows *windows, int64_t now_ms)
{
    struct verdict verdict;
    struct reach reach;
    bool grew = text_starts_with(line, "grew ");
    if ((grew || text_starts_with(line, "told ")) &&
        message_read_record(line + 5, strlen(line + 5), &verdict, &reach) == 0)
        windows_restore(windows, &verdict, &reach, grew, now_ms);
}

int progress_load(const struct state *state, const char *boot_id, struct windows *windows, int64_t now_ms,
                  struct kmsg_position *ret_position)
{
    autofree char *path = state_path(state, PROGRESS_NAME), *before = state_path(state, POSITION_NAME), *data = NULL;
    char *rest = NULL;
    size_t len;
    bool is_before = file_read(path, PROGRESS_BYTES_MAX, &data, &len) != 0;
    if (is_before && file_read(before, PROGRESS_BYTES_MAX, &data, &len) != 0)
        return STATUS_NOT_FOUND;
    char *first = strtok_r(data, "\n", &rest);
    if (first == NULL || read_position(first, boot_id, !is_before, ret_position) != 0)
        return STATUS_NOT_FOUND;
    for (const char *line; !ret_position->earlier_boot && (line = strtok_r(NULL, "\n", &rest)) != NULL;)
        read_window(line, windows, now_ms);
    return 0;
}

/* --- writing ------------------------------------------------------------------------------------------------- */

int progress_save(const struct state *state, const char *boot_id, const struct kmsg_position *position,
                  const struct windows *windows)
{
    autofree char *path = state_path(state, PROGRESS_NAME), *before = state_path(state, POSITION_NAME);
    AUTO(text) struct text out = {0};
    text_printf(&out, "%s %" PRId64 " %" PRId64 " %" PRId64 " %s\n", boot_id, position->file, position->offset,
                position->emptied, position->cursor);
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++) {
        const struct window *window = &windows->slots[i];
        if (!window->used)
            continue;
        text_add(&out, window->grew || !window->reported ? "grew " : "told ");
        message_write_record(&out, &window->verdict, &window->reach);
        text_add_char(&out, '\n');
    }
    int status = file_write(path, out.data, out.len, 0600);
    if (status == 0)
        (void)unlink(before);
    return status;
}
