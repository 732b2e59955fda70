/* The texts of lifecycle.h. */
#include "model/lifecycle.h"

#include "base/text.h"

#include <string.h>

ENUM_DEFINE(script_state, SCRIPT_STATE_LIST)

bool lifecycle_is_script_name(const char *name)
{
    if (!text_is_clean(name))
        return false;
    for (const char *at = name; at != NULL;) {
        size_t len = strcspn(at, "/");
        if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return false;
        at = at[len] == '\0' ? NULL : at + len + 1;
    }
    return true;
}
