/* How the providers stand, for people. A test is begun here and run by whoever has the executor's threads. */
#include "server/service/provider/provider.h"

#include "base/text.h"
#include "db/node.h"
#include "server/service/private.h"

struct counting {
    struct service_provider *provider;
};

static int count_read(struct db_tx *tx, void *arg)
{
    struct counting *counting = arg;
    return db_instance_count(tx, counting->provider->status.name, &counting->provider->machines);
}

static int complete(struct service *s, struct service_provider *provider, struct problem *problem)
{
    struct counting counting = {provider};
    return service_read(s, count_read, &counting, problem);
}

int service_provider_list(struct service *s, int (*fn)(const struct service_provider *provider, void *arg), void *arg,
                          struct problem *ret_problem)
{
    autofree struct service_provider *provider = own_calloc(1, sizeof(*provider));
    for (size_t i = 0; provider_registry_get(s->providers, i, &provider->status); i++) {
        int status = complete(s, provider, ret_problem);
        if (status == 0)
            status = fn(provider, arg);
        if (status != 0)
            return status;
    }
    return 0;
}

int service_provider_get(struct service *s, const char *name, struct service_provider *ret_provider,
                         struct problem *ret_problem)
{
    for (size_t i = 0; provider_registry_get(s->providers, i, &ret_provider->status); i++)
        if (text_equal(ret_provider->status.name, name))
            return complete(s, ret_provider, ret_problem);
    return problem_say(ret_problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                       "This hpd has no provider named \"%s\". hpctl provider list shows those that it has.", name);
}

/* Nothing is stored: the audit log has the request. */
static int test_write(struct db_tx *tx, void *arg)
{
    (void)tx, (void)arg;
    return 0;
}

int service_provider_test(struct service *s, const struct actor *actor, const char *name, bool launches,
                          struct service_provider *ret_provider, struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = service_provider_get(s, name, ret_provider, ret_problem);
    if (status != 0)
        return status;
    if (!ret_provider->status.can_test || s->provider_test == NULL)
        return problem_say(
            ret_problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
            "The provider \"%s\" is of the kind %s, which has no contract to test; kind command has one.", name,
            ret_provider->status.kind);
    status = service_write(s, "provider-test", test_write, NULL, ret_problem);
    if (status != 0)
        return status;
    if (!provider_registry_test_begins(s->providers, name, launches, service_now(s)))
        return problem_say(ret_problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "A test of \"%s\" goes on already.", name);
    if (s->provider_test(s->provider_test_arg, name, launches) != 0) {
        provider_registry_test_ended(s->providers, name, service_now(s));
        return problem_say(ret_problem, STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE,
                           "Too many calls to backends are waiting; try again later.");
    }
    return service_provider_get(s, name, ret_provider, ret_problem);
}
