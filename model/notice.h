/* What a provider says of a machine of its own. */
#ifndef HOLDFAST_MODEL_NOTICE_H
#define HOLDFAST_MODEL_NOTICE_H

#include "base/enum.h"
#include "model/model.h"

#define NOTICE_ID_MAX_BYTES 128
#define NOTICE_WORDS_MAX_BYTES 256

/* What a provider announces of a machine, or knows of its hardware. The policy has a row for each (provider.KIND). */
#define PROVIDER_NOTICE_LIST(X)                                                 \
    X(RETIREMENT, "retirement")   /* it takes the machine away */               \
    X(MAINTENANCE, "maintenance") /* it interrupts it, and nobody else can */   \
    X(REBOOT, "reboot")           /* it reboots it; another may do so before */ \
    X(DEGRADED, "degraded")       /* its hardware is not well */
enum provider_notice_kind {
#define X(SYMBOL, text) PROVIDER_NOTICE_##SYMBOL,
    PROVIDER_NOTICE_LIST(X)
#undef X
};
ENUM_DECLARE(provider_notice_kind);

struct provider_notice {
    char id[NOTICE_ID_MAX_BYTES]; /* the provider's; the same for as long as it says it */
    char ref[PROVIDER_REF_MAX_BYTES], instance_id[ID_INSTANCE_MAX]; /* of the machine, as in a list */
    enum provider_notice_kind kind;
    int64_t due_at;                     /* the date of what it announces; 0: there is none */
    char words[NOTICE_WORDS_MAX_BYTES]; /* the provider's own, one line; "" for none */
};
#define PROVIDER_NOTICES_MAX 100000 /* a longer list is an error */

#endif
