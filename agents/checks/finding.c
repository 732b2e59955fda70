/* The id of a log is a digest of what identifies it. */
#include "agents/checks/finding.h"

#include "base/id.h"

#include <string.h>

int64_t log_id(const void *data, size_t len)
{
    uint8_t digest[ID_SHA256_BYTES];
    int64_t id;
    id_sha256(data, len, digest);
    memcpy(&id, digest, sizeof(id));
    id &= INT64_MAX;
    return id > LOG_RESERVED ? id : LOG_RESERVED + 1;
}
