/* hpctl webhook …: whom hpd tells events to, whether they take them, and a secret for a new one. */
#include "cli/cli.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/own.h"
#include "base/text.h"

#include <string.h>
#include <unistd.h>

#define SECRET_BYTES 32
#define TEST_TIMEOUT_MS (30 * MS_PER_S)
#define TEST_POLL_US 200000

static int64_t number(const json_t *json, const char *member)
{
    return (int64_t)json_integer_value(json_object_get(json, member));
}

static void print_list(struct cli *cli, json_t *items)
{
    static const struct cli_column columns[] = {{"NAME", "name"},      {"TO", "origin"},         {"STATE", "state"},
                                                {"SENT", "delivered"}, {"LAST", "~deliveredAt"}, {"GIVEN UP", "_left"},
                                                {"WHY", "error"}};
    json_t *item;
    size_t i;
    json_array_foreach(items, i, item) json_put_i64(item, "_left", number(item, "refused") + number(item, "givenUp"));
    cli_print_table(cli->out, items, columns, ARRAY_LEN(columns),
                    "no webhook is configured; hpd(8) says how, under webhooks");
}

int cli_webhook_list(struct cli *cli)
{
    auto_json json_t *list = NULL;
    int rc = cli_ask(cli, "GET", "/v1/webhooks", NULL, NULL, &list);
    json_t *items = json_object_get(list, "items");
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        print_list(cli, items);
    return rc;
}

/* How many have not got as far as the event. */
static size_t count_behind(const json_t *items, int64_t event_id)
{
    size_t i, behind = 0;
    const json_t *item;
    json_array_foreach(items, i, item) behind += number(item, "position") < event_id;
    return behind;
}

int cli_webhook_test(struct cli *cli)
{
    auto_json json_t *event = NULL;
    int64_t timeout_ms = TEST_TIMEOUT_MS;
    int rc = cli->option[CLI_OPTION_TIMEOUT] != NULL ? cli_parse_timeout(cli, &timeout_ms) : CLI_EXIT_OK;
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "POST", "/v1/webhooks/test", NULL, NULL, &event);
    if (rc != CLI_EXIT_OK)
        return rc;
    int64_t until = clock_mono_ms(clock_system()) + timeout_ms;
    for (;;) {
        auto_json json_t *list = NULL;
        rc = cli_ask(cli, "GET", "/v1/webhooks", NULL, NULL, &list);
        json_t *items = json_object_get(list, "items");
        size_t behind = count_behind(items, number(event, "id"));
        bool late = clock_mono_ms(clock_system()) >= until;
        if (rc == CLI_EXIT_OK && behind > 0 && !late) {
            usleep(TEST_POLL_US);
            continue;
        }
        if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
            print_list(cli, items);
        if (rc == CLI_EXIT_OK && behind > 0)
            fprintf(cli->err, "hpctl: %zu of %zu webhooks have not taken the test yet; it is tried again without us\n",
                    behind, json_array_size(items));
        return rc == CLI_EXIT_OK && behind > 0 ? CLI_EXIT_TIMEOUT : rc;
    }
}

int cli_webhook_new_secret(struct cli *cli)
{
    struct id_source ids = {0};
    uint8_t bytes[SECRET_BYTES];
    char text[BASE64_TEXT_MAX(SECRET_BYTES)];
    auto_json json_t *json = json_object();
    id_bytes(&ids, bytes, sizeof(bytes));
    base64_encode(bytes, sizeof(bytes), text);
    autofree char *secret = own_printf("whsec_%s", text);
    json_put_text(json, "secret", secret);
    if (!cli_print_data(cli, json))
        fprintf(cli->out, "%s\n", secret);
    explicit_bzero(bytes, sizeof(bytes));
    return CLI_EXIT_OK;
}
