/* The texts of lifecycle.h. */
#include "model/lifecycle.h"

#include <string.h>

ENUM_DEFINE(script_state, SCRIPT_STATE_LIST)

bool lifecycle_is_script_name(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    for (const char *at = name; at != NULL;) {
        size_t len = strcspn(at, "/");
        if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return false;
        at = at[len] == '\0' ? NULL : at + len + 1;
    }
    return true;
}
