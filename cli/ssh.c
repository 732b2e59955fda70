/*
 * hpctl node ssh and hpctl node ssh-config: OpenSSH with what hpd knows of a node, which is its machine's address and host key of now. hpd
 * is not in between: who may log in is the node's own matter, and so is its record of it.
 */
#include "cli/cli.h"

#include "base/json.h"
#include "base/status.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SSH_WORDS_MAX (CLI_POSITIONAL_MAX + 16)
#define TARGET "sagemaker-cluster:" /* HyperPod's: <cluster id>_<group>-<instance id> */

int cli_node_target(const char *node, char **ret_cluster, char **ret_node)
{
    const char *id = node + strlen(TARGET), *instance = NULL;
    if (!text_starts_with(node, TARGET))
        return STATUS_NOT_FOUND;
    size_t len = strcspn(id, "_");
    for (const char *at = id + len; (at = strstr(at, "-i-")) != NULL; at++)
        instance = at + 1;
    if (len == 0 || instance == NULL)
        return STATUS_INVALID;
    *ret_cluster = own_printf("id:%.*s", (int)len, id);
    *ret_node = own_printf("instance:%s", instance);
    return 0;
}

/* A word of ssh's configuration, of which % is a letter of a pattern. */
static void add_quoted(struct text *out, const char *word)
{
    text_add(out, " \"");
    for (; *word != '\0'; word++) {
        if (*word == '"')
            continue; /* cannot be written there */
        text_add_char(out, *word);
        if (*word == '%')
            text_add_char(out, '%');
    }
    text_add_char(out, '"');
}

/* What ssh runs to learn the key of the node's machine: this program, asking the same server. The token is in the environment or in the
 * configuration file, and never in what every user of this machine can read. */
static char *known_hosts_command(struct cli *cli, const char *cluster, const char *node)
{
    static const enum cli_option kept[] = {CLI_OPTION_SERVER, CLI_OPTION_CONTEXT, CLI_OPTION_CA_FILE,
                                           CLI_OPTION_FINGERPRINT};
    static const char *const names[] = {"--server", "--context", "--ca-file", "--fingerprint"};
    char self[PATH_MAX];
    struct text out = {0};
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[len > 0 ? len : 0] = '\0';
    text_printf(&out, "\"%s\" node known-hosts --cluster \"%s\"", len > 0 ? self : "/usr/bin/hpctl", cluster);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        if (cli->option[kept[i]] != NULL) {
            text_printf(&out, " %s", names[i]);
            add_quoted(&out, cli->option[kept[i]]);
        }
    }
    text_printf(&out, " \"%s\"", node);
    return text_take(&out);
}

static const char *address_of(const json_t *node)
{
    const char *address = json_member_text(node, "address");
    return *address != '\0' ? address : json_member_text(node, "name");
}

/* Of the node's machine as it is now: an earlier machine's key in a file of known hosts must not count. */
static const char *const options[][2] = {
    {"StrictHostKeyChecking", "yes"}, {"UserKnownHostsFile", "none"}, {"GlobalKnownHostsFile", "none"}};

int cli_node_ssh(struct cli *cli)
{
    const char *words[SSH_WORDS_MAX + 1] = {"ssh"};
    size_t count = 1;
    autofree char *path = NULL;
    auto_json json_t *node = NULL;
    int rc = cli_node_path(cli, cli->argument[0], "", &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "GET", path, NULL, NULL, &node);
    if (rc != CLI_EXIT_OK)
        return rc;
    const char *name = json_member_text(node, "name"), *token = cli->option[CLI_OPTION_TOKEN];
    autofree char *command = known_hosts_command(cli, json_member_text(node, "cluster"), name);
    autofree char *host = own_printf("HostName=%s", address_of(node)), *alias = own_printf("HostKeyAlias=%s", name);
    autofree char *known = own_printf("KnownHostsCommand=%s", command);
    const char *const own[] = {
        host, alias, known, "StrictHostKeyChecking=yes", "UserKnownHostsFile=none", "GlobalKnownHostsFile=none"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        words[count++] = "-o";
        words[count++] = own[i];
    }
    words[count++] = name;
    for (int i = 1; i < cli->argument_count; i++)
        words[count++] = cli->argument[i];
    if (token != NULL)
        setenv("HPCTL_TOKEN", token, 1);
    fflush(cli->out);
    execvp("ssh", (char *const *)(uintptr_t)words);
    fprintf(cli->err, "hpctl: ssh cannot be run: %s; install openssh-client\n", strerror(errno));
    return CLI_EXIT_REFUSED;
}

static void print_host(struct cli *cli, const char *cluster_id, const json_t *node)
{
    struct text out AUTO(text) = {0};
    const char *name = json_member_text(node, "name"), *instance = json_member_text(node, "instanceId");
    autofree char *command = known_hosts_command(cli, json_member_text(node, "cluster"), name);
    text_printf(&out, "Host %s", name);
    if (*instance != '\0')
        text_printf(&out, " " TARGET "%s_%s-%s", cluster_id, json_member_text(node, "group"), instance);
    text_printf(&out, "\n    HostName %s\n    HostKeyAlias %s\n    KnownHostsCommand %s\n", address_of(node), name,
                command);
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        text_printf(&out, "    %s %s\n", options[i][0], options[i][1]);
    cli_print_harmless(cli->out, text_get(&out));
}

int cli_node_ssh_config(struct cli *cli)
{
    autofree char *cluster = NULL;
    auto_json json_t *view = NULL, *nodes = NULL;
    size_t i;
    json_t *node;
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster), *path = own_printf("/v1/clusters/%s", encoded);
    autofree char *list = own_printf("%s/nodes", path);
    rc = cli_ask(cli, "GET", path, NULL, NULL, &view);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask_list(cli, list, 0, &nodes);
    json_array_foreach(nodes, i, node) print_host(cli, json_member_text(view, "id"), node);
    return rc;
}
