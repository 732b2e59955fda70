/* The part of hpd's configuration that is about webhooks. */
#ifndef HOLDFAST_SERVER_CONFIG_WEBHOOK_H
#define HOLDFAST_SERVER_CONFIG_WEBHOOK_H

#include "base/json.h"
#include "model/webhook.h"

#ifndef CONFIG_ERROR_MAX
#define CONFIG_ERROR_MAX 512
#endif

struct config_webhooks {
    struct webhook list[WEBHOOKS_MAX];
    size_t count;
};

/* json: the list. INVALID with a sentence; ret_error has CONFIG_ERROR_MAX bytes. */
int config_webhooks_read(struct config_webhooks *webhooks, const json_t *json, char *ret_error);

#endif
