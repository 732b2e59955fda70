/* The certificate that hpd made for itself: what other clients than ours need to verify it. */
#include "cli/cli.h"

int cli_ca(struct cli *cli)
{
    auto_json json_t *reply = NULL;
    int rc = cli_ask(cli, "GET", "/v1/certificate", NULL, NULL, &reply);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, reply))
        return rc;
    const char *pem = json_string_value(json_object_get(reply, "certificate"));
    if (pem != NULL) {
        fputs(pem, cli->out);
        return CLI_EXIT_OK;
    }
    if (text_equal(json_string_value(json_object_get(reply, "source")), "configured"))
        fprintf(cli->err,
                "hpctl: the server has a certificate of the site (tls.certificate); use the file of the authority "
                "that issued it\n");
    else
        fprintf(cli->err, "hpctl: the server speaks plain HTTP and has no certificate\n");
    return CLI_EXIT_NOT_FOUND;
}
