/* A copy of the store, for who keeps backups. */
#include "api/call.h"
#include "api/v1/v1.h"
#include "server/service/access/store.h"

#include <stdio.h>

void api_backup_create(struct api_call *call)
{
    struct problem problem;
    struct service_backup backup;
    char schema[16];
    if (service_backup_create(call->service, &call->actor, &backup, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    snprintf(schema, sizeof(schema), "%d", backup.schema);
    const char *const headers[] = {"X-Key-Fingerprint", backup.key, "X-Schema-Version", schema, NULL};
    api_reply_descriptor(call, "application/vnd.sqlite3", backup.fd, backup.bytes, headers);
}
