/* Slurm's records: what is read holds its promises, and no reason can pass for another one. */
// ROOMS: base model server
#include "tests/fuzz/fuzz.h"

#include "base/own.h"
#include "base/text.h"
#include "server/scheduler/slurm/parse.h"
#include "server/scheduler/slurm/topology.h"

#include <ctype.h>

#define STAMP "~0badcafe"

static void require_text(const char *s)
{
    REQUIRE(text_is_utf8(s, strlen(s)));
    for (; *s != '\0'; s++)
        REQUIRE(!iscntrl((unsigned char)*s));
}

static void require_node(const struct slurm_node *node)
{
    const struct scheduler_node *seen = &node->seen;
    bool held = (node->state & SLURM_STATE_HELD) != 0;
    REQUIRE(slurm_is_node_name(seen->name));
    REQUIRE(seen->state[0] != '\0');
    require_text(seen->state);
    require_text(seen->reason);
    require_text(seen->reason_user);
    REQUIRE(!seen->schedulable || (seen->responding && !seen->drained && !held));
    REQUIRE(!seen->drained || held);
    if (seen->request == SCHEDULER_REQUEST_REBOOT || seen->request == SCHEDULER_REQUEST_REPLACE) {
        REQUIRE(slurm_reason_action(seen->reason) == seen->request);
        REQUIRE((node->state & (SLURM_STATE_FAIL | SLURM_STATE_DOWN)) != 0);
        REQUIRE(seen->drained);
    }
}

/* A reason that somebody wrote, in a record as Slurm prints it to us: it comes back as it went in. */
static void require_reason(const char *reason)
{
    struct slurm_node node;
    if (!slurm_is_line(reason) || strlen(reason) >= REASON_MAX_BYTES || strstr(reason, STAMP) != NULL)
        return;
    autofree char *line = own_printf("NodeName=n1 NodeAddr=n1 State=IDLE+FAIL Weight=1 Reason=%s [root@1795188254" STAMP
                                     "] Comment=Reason=Action:Reboot [root@1795188254" STAMP "]",
                                     reason);
    REQUIRE(slurm_parse_node(line, STAMP, &node) == 0);
    REQUIRE(strcmp(node.seen.reason, reason) == 0);
    REQUIRE(strcmp(node.seen.reason_user, "root") == 0);
    REQUIRE((node.seen.request == SCHEDULER_REQUEST_REBOOT) == (strcmp(reason, "Action:Reboot") == 0));
    REQUIRE((node.seen.request == SCHEDULER_REQUEST_REPLACE) == (strcmp(reason, "Action:Replace") == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const stamps[] = {NULL, STAMP};
    for (size_t i = 0; i < ARRAY_LEN(stamps); i++) {
        autofree char *text = fuzz_text(data, size);
        char *rest = text;
        for (char *line; (line = slurm_next_line(&rest)) != NULL;) {
            struct slurm_node node;
            if (slurm_parse_node(line, stamps[i], &node) == 0)
                require_node(&node);
        }
    }
    autofree char *jobs = fuzz_text(data, size);
    char *rest = jobs;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;) {
        struct slurm_job job;
        if (slurm_parse_job(line, &job) != 0)
            continue;
        REQUIRE(isdigit((unsigned char)job.target[0]));
        REQUIRE(job.target[strspn(job.target, "0123456789_+")] == '\0');
        require_text(job.seen.user);
        require_text(job.seen.state);
    }
    autofree char *topology = fuzz_text(data, size);
    autofree struct scheduler_place *places = NULL;
    size_t place_count = 0;
    rest = topology;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;)
        (void)slurm_parse_places(line, &places, &place_count);
    for (size_t i = 0; i < place_count; i++) {
        REQUIRE(slurm_is_node_name(places[i].node));
        REQUIRE(slurm_is_node_name(places[i].domain));
        REQUIRE(places[i].level == TOPOLOGY_LEVEL_SWITCH || places[i].level == TOPOLOGY_LEVEL_ULTRASERVER);
    }
    autofree char *reason = fuzz_text(data, size);
    require_reason(reason);
    return 0;
}
