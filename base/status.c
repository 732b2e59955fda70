/* Texts of the statuses; the list itself is in status.h. */
#include "base/status.h"

#include <errno.h>

const char *status_text(int status)
{
    switch (status) {
    case STATUS_OK:
        return "ok";
#define X(name, number, text, meaning) \
    case STATUS_##name:                \
        return text;
        STATUS_LIST(X)
#undef X
    default:
        return "unknown";
    }
}

const char *status_meaning(int status)
{
    switch (status) {
    case STATUS_OK:
        return "it worked";
#define X(name, number, text, meaning) \
    case STATUS_##name:                \
        return meaning;
        STATUS_LIST(X)
#undef X
    default:
        return "a status that this version does not know";
    }
}

int status_of_write(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG ? STATUS_FULL : STATUS_IO;
}
