/* The object goes as text; a boot is known by the kernel's own name for it. */
#include "agents/checks/notes.h"

#include "agents/checks/sysfs.h"
#include "base/own.h"
#include "base/text.h"

#include <string.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

json_t *notes_read(const struct check_context *context)
{
    char error[JSON_ERROR_MAX];
    json_t *memory = NULL;
    if (context->memory_len > 0 &&
        json_parse(context->memory, context->memory_len, CHECK_MEMORY_MAX_BYTES, &memory, error) == 0 &&
        json_is_object(memory))
        return memory;
    json_decref(memory);
    return json_object();
}

bool notes_are_of_this_boot(const struct check_context *context, const json_t *memory)
{
    autofree char *boot_id = sysfs_read(context, BOOT_ID);
    return boot_id != NULL && text_equal(boot_id, json_string_value(json_object_get(memory, "boot")));
}

void notes_write(const struct check_context *context, json_t *memory, struct check_out *out)
{
    autofree char *boot_id = sysfs_read(context, BOOT_ID);
    json_put_text(memory, "boot", boot_id);
    autofree char *text = json_dumps(memory, JSON_COMPACT);
    if (text != NULL)
        check_remember(out, text, strlen(text));
}
