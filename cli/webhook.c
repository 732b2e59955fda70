/* hpctl webhook …: whom hpd tells events to, whether they take them, and a secret for a new one. */
#include "cli/cli.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
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
                                                {"SENT", "delivered"}, {"LAST", "~deliveredAt"}, {"WAITING", "waiting"},
                                                {"GIVEN UP", "_left"}, {"WHY", "error"}};
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

/* Messages that were left, of all of them together. */
static int64_t count_left(const json_t *items)
{
    size_t i;
    const json_t *item;
    int64_t left = 0;
    json_array_foreach(items, i, item) left += number(item, "refused") + number(item, "givenUp");
    return left;
}

static size_t count_stopped(const json_t *items)
{
    size_t i, stopped = 0;
    const json_t *item;
    json_array_foreach(items, i, item) stopped +=
        text_equal(json_string_value(json_object_get(item, "state")), "stopped");
    return stopped;
}

/* How many have not got as far as the event. */
static size_t count_behind(const json_t *items, int64_t event_id)
{
    size_t i, behind = 0;
    const json_t *item;
    json_array_foreach(items, i, item) behind += number(item, "position") < event_id;
    return behind;
}

static int tell_outcome(struct cli *cli, json_t *items, size_t behind, int64_t left)
{
    size_t stopped = count_stopped(items), waits = behind > stopped ? behind - stopped : 0;
    if (!cli_print_data(cli, items))
        print_list(cli, items);
    if (left > 0)
        fprintf(cli->err, "hpctl: %" PRId64 " of the messages were refused, and are not sent again\n", left);
    if (stopped > 0)
        fprintf(
            cli->err,
            "hpctl: %zu of %zu webhooks are stopped, as the receiver said that it is gone; hpd has to start again\n",
            stopped, json_array_size(items));
    if (waits > 0)
        fprintf(cli->err, "hpctl: %zu of %zu webhooks have not taken the test yet; it is tried again without us\n",
                waits, json_array_size(items));
    if (left > 0 || stopped > 0)
        return CLI_EXIT_REFUSED;
    return waits > 0 ? CLI_EXIT_TIMEOUT : CLI_EXIT_OK;
}

int cli_webhook_test(struct cli *cli)
{
    auto_json json_t *event = NULL, *before = NULL;
    int64_t timeout_ms = TEST_TIMEOUT_MS;
    int rc = cli->option[CLI_OPTION_TIMEOUT] != NULL ? cli_parse_timeout(cli, &timeout_ms) : CLI_EXIT_OK;
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "GET", "/v1/webhooks", NULL, NULL, &before);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "POST", "/v1/webhooks/test", NULL, NULL, &event);
    for (int64_t until = clock_mono_ms(clock_system()) + timeout_ms; rc == CLI_EXIT_OK;) {
        auto_json json_t *list = NULL;
        rc = cli_ask(cli, "GET", "/v1/webhooks", NULL, NULL, &list);
        json_t *items = json_object_get(list, "items");
        size_t behind = count_behind(items, number(event, "id"));
        bool over = behind <= count_stopped(items) || clock_mono_ms(clock_system()) >= until;
        if (rc == CLI_EXIT_OK && over)
            return tell_outcome(cli, items, behind, count_left(items) - count_left(json_object_get(before, "items")));
        usleep(TEST_POLL_US);
    }
    return rc;
}

int cli_webhook_failed(struct cli *cli)
{
    static const struct cli_column columns[] = {{"WEBHOOK", "webhook"}, {"LEFT", "~at"},    {"EVENT", "eventId"},
                                                {"KIND", "event.kind"}, {"AGAIN", "again"}, {"WHY", "why"}};
    auto_json json_t *list = NULL;
    int rc = cli_ask(cli, "GET", "/v1/webhooks/failed", NULL, NULL, &list);
    json_t *items = json_object_get(list, "items");
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no message was left");
    return rc;
}

int cli_webhook_resend(struct cli *cli)
{
    auto_json json_t *body = json_object(), *reply = NULL;
    json_put_text(body, "webhook", cli->argument_count > 0 ? cli->argument[0] : NULL);
    int rc = cli_ask(cli, "POST", "/v1/webhooks/resend", body, NULL, &reply);
    int64_t count = number(reply, "count");
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, reply))
        fprintf(cli->out, "%" PRId64 " message%s sent again; what is not taken is listed by: hpctl webhook failed\n",
                count, count == 1 ? " is" : "s are");
    return rc;
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
