/*
 * What is said of a Slurm before it is spoken to: whether it can be reached so, whether two say the same one, and what of it is not
 * there yet.
 */
#include "server/scheduler/slurm/rest.h"
#include "server/scheduler/slurm/slurm.h"

#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

int slurm_rest_options_check(const struct slurm_rest_options *rest, char *ret_error)
{
    const char *why = "";
    if (!slurm_rest_is_url(rest->url, &why)) {
        snprintf(ret_error, SCHEDULER_ERROR_MAX, ".url, where slurmrestd listens: %s", why);
        return STATUS_INVALID;
    }
    if (!text_starts_with(rest->url, "unix:") && text_or_empty(rest->token_file)[0] == '\0') {
        snprintf(ret_error, SCHEDULER_ERROR_MAX,
                 " needs tokenFile, a file with what 'scontrol token' prints; only a Unix socket does without");
        return STATUS_INVALID;
    }
    return 0;
}

/* Where a Slurm's programs are run, and with which slurm.conf. slurmrestd does only a part, so these count beside it. */
static bool has_same_programs(const struct slurm_options *a, const struct slurm_options *b)
{
    if (!text_equal(text_or_empty(a->conf), text_or_empty(b->conf)) || (a->ssh == NULL) != (b->ssh == NULL))
        return false;
    return a->ssh == NULL || (strcasecmp(a->ssh->host, b->ssh->host) == 0 && a->ssh->port == b->ssh->port);
}

/* slurmrestd of one runs where the programs of the other do. Two slurmctlds of one machine have two files. */
static bool meet_on_one_host(const struct slurm_options *by_rest, const struct slurm_options *by_ssh)
{
    struct url url;
    const char *why, *conf = text_or_empty(by_rest->conf), *other = text_or_empty(by_ssh->conf);
    if (by_rest->rest == NULL || by_ssh->ssh == NULL || text_starts_with(by_rest->rest->url, "unix:") ||
        url_parse(by_rest->rest->url, &url, &why) != 0)
        return false;
    return strcasecmp(url.host, by_ssh->ssh->host) == 0 &&
           (conf[0] == '\0' || other[0] == '\0' || text_equal(conf, other));
}

bool slurm_options_are_alike(const struct slurm_options *a, const struct slurm_options *b)
{
    if (a->rest != NULL && b->rest != NULL && text_equal(a->rest->url, b->rest->url))
        return true;
    return has_same_programs(a, b) || meet_on_one_host(a, b) || meet_on_one_host(b, a);
}

void slurm_options_warn(const struct slurm_options *options, const char *path)
{
    if (options->ssh != NULL)
        return;
    if (options->bin_dir != NULL) {
        autofree char *scontrol = own_printf("%s/scontrol", options->bin_dir);
        if (access(scontrol, X_OK) != 0)
            log_warn("%s.binDir has no scontrol that could be run path=%s error=%s", path, scontrol, strerror(errno));
    }
    if (options->conf != NULL && access(options->conf, R_OK) != 0)
        log_warn("%s.conf cannot be read path=%s error=%s", path, options->conf, strerror(errno));
}
