/* Directories of logs, and the file in which PyTorch says what ended a worker. */
#include "agents/launcher/logs.h"

#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY_MODE 0755
#define ERROR_BYTES_MAX (1 << 20)
#define MESSAGE_BYTES_MAX 1024

static char *make_unique(const char *base, const char *prefix)
{
    char *path = own_printf("%s/%sXXXXXX", base, prefix);
    if (file_make_dirs(base, DIRECTORY_MODE) == 0 && mkdtemp(path) != NULL && chmod(path, DIRECTORY_MODE) == 0)
        return path;
    log_error("cannot make a directory for logs path=%s error=\"%s\"", path, strerrordesc_np(errno));
    free(path);
    return NULL;
}

int logs_open(struct launcher *launcher)
{
    const struct options *o = launcher->options;
    const char *tmp = getenv("TMPDIR");
    autofree char *prefix = own_printf("%s_", o->run_id);
    for (char *c = prefix; *c != '\0'; c++)
        *c = *c == '/' ? '_' : *c;
    launcher->log_root = o->log_dir != NULL ? make_unique(o->log_dir, prefix)
                                            : make_unique(tmp != NULL && *tmp != '\0' ? tmp : "/tmp", "hprun_");
    return launcher->log_root == NULL ? STATUS_IO : 0;
}

void logs_close(struct launcher *launcher)
{
    if (launcher->log_root != NULL && launcher->options->log_dir == NULL)
        (void)file_remove_tree(launcher->log_root);
    free(TAKE(launcher->log_root));
    free(TAKE(launcher->log_stage));
}

int logs_begin(struct launcher *launcher, int workers)
{
    static const char *const names[] = {"", "pre_train_", "", "post_train_"};
    free(launcher->log_stage);
    launcher->log_stage = own_printf("%s/%sattempt_%lld", launcher->log_root, names[launcher->stage],
                                     (long long)launcher->place.restart_count);
    (void)file_remove_tree(launcher->log_stage);
    for (int i = 0; i < workers; i++) {
        autofree char *path = logs_path(launcher, i, "");
        int rc = file_make_dirs(path, DIRECTORY_MODE);
        if (rc != 0)
            return rc;
    }
    return 0;
}

char *logs_path(const struct launcher *launcher, int local_rank, const char *name)
{
    return own_printf("%s/%d%s%s", launcher->log_stage, local_rank, *name == '\0' ? "" : "/", name);
}

char *logs_error(const struct launcher *launcher, int local_rank)
{
    autofree char *path = logs_path(launcher, local_rank, "error.json"), *data = NULL;
    size_t len;
    char error[JSON_ERROR_MAX];
    AUTO(json) json_t *document = NULL;
    if (file_read_plain(path, ERROR_BYTES_MAX, &data, &len) != 0 ||
        json_parse(data, len, ERROR_BYTES_MAX, &document, error) != 0)
        return NULL;
    json_t *message = json_object_get(document, "message");
    if (json_is_object(message))
        message = json_object_get(message, "message");
    if (!json_is_string(message))
        return NULL;
    char *text = own_calloc(1, MESSAGE_BYTES_MAX);
    text_copy_clean(text, MESSAGE_BYTES_MAX, json_string_value(message), json_string_length(message));
    return text;
}
