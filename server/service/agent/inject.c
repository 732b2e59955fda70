/*
 * A genuine kernel line for a test, handed to one node's agent with its next heartbeat reply. Everything after that is
 * real: the line stands in a kernel log, the agent reads it, the policy decides, a machine may be taken away. So it
 * needs an administrator, it is written into the timeline before it is sent, and the agent itself obeys only
 * when it was started to.
 */
#include "server/service/node/node.h"
#include "server/service/private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PCI_DEFAULT "0000:b9:00"
#define XID_CODE_MAX 999 /* NVIDIA's list ends below 200 */

/* What follows "NVRM: Xid (PCI:…): ": the driver's own form for the codes that people try out. */
static const struct {
    int code;
    const char *text;
} xid_texts[] = {
    {13, "pid=4242, name=python, Graphics Exception: ESR 0x5047b0=0x101000e 0x5047b4=0x4 0x5047a8=0xf81eb60 "
         "0x5047ac=0x1174"},
    {31, "pid=4242, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ "
         "0x7f12_34560000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"},
    {43, "pid=4242, name=python, Ch 00000008"},
    {45, "pid=4242, name=python, Ch 00000008"},
    {48, "pid=<unknown>, name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the "
         "framebuffer at physical address 0x1a2b3c000 partition 4, subpartition 0."},
    {63, "pid=<unknown>, name=<unknown>, Row Remapper: New row (0x000000001a2b3c00) marked for remapping, reset gpu "
         "to activate."},
    {64, "pid=<unknown>, name=<unknown>, Row Remapper: Failed to record the row for remapping."},
    /* Bit 16 of the first register, as in the public HyperPod exercise: not one of the bits that may be ignored. */
    {74,
     "pid=<unknown>, name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"},
    {79, "GPU has fallen off the bus."},
    {94, "pid=4242, name=python, Contained: CE User Channel (0x9). RST: No, D-RST: No"},
    {95, "pid=4242, name=python, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No"},
    {119, "pid=4242, name=python, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 "
          "(GSP_RM_CONTROL) (0x20803032 0x58c)."},
    {145, "RLW_SRC_TRACK Nonfatal XC0 i0 Link 00 (0x00000007 0x00000002 0x00000000 0x00000000)"},
    {149, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 00 (0x021405c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"},
    {154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"},
};

static const char *xid_text(int code)
{
    for (size_t i = 0; i < ARRAY_LEN(xid_texts); i++)
        if (xid_texts[i].code == code)
            return xid_texts[i].text;
    return "pid=<unknown>, name=<unknown>, injected by hpctl";
}

/* "0000:b9:00", and with a function "0000:b9:00.0": hexadecimal, as the driver prints it. */
static bool is_pci(const char *text)
{
    static const char shape[] = "hhhh:hh:hh.h";
    size_t len = strlen(text);
    if (len != strlen("hhhh:hh:hh") && len != strlen(shape))
        return false;
    for (size_t i = 0; i < len; i++)
        if (shape[i] == 'h' ? !isxdigit((unsigned char)text[i]) : text[i] != shape[i])
            return false;
    return true;
}

struct injection {
    struct service *s;
    const struct actor *actor;
    const char *cluster, *node, *line;
    struct problem *problem;
    int64_t node_id;
};

/* Somebody has to be there who will fetch it. */
static int check_alive(const struct injection *injection, const struct place *place)
{
    struct fleet_view live;
    int status = fleet_get(injection->s->fleet, place->node.id, &live);
    bool speaks = status == 0 && live.slot.instance_id[0] != '\0' && live.last_heartbeat_at != 0 && !live.silent;
    if (speaks && live.directed)
        return problem_say(injection->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "Another line still waits for the next heartbeat of \"%s\". Try again when it was written.",
                           place->node.name);
    if (speaks)
        return 0;
    return problem_say(injection->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                       "The agent of \"%s\" is not connected. Wait until it is seen.", place->node.name);
}

static int inject_write(struct db_tx *tx, void *arg)
{
    struct injection *injection = arg;
    struct place place;
    int status = place_find(tx, injection->cluster, injection->node, &place, injection->problem);
    if (status == 0)
        status = check_alive(injection, &place);
    if (status < 0)
        return status;
    injection->node_id = place.node.id;
    return place_event(tx, &place, NULL, EVENT_LEVEL_WARN, EVENT_KIND_INJECTED,
                       "%s sends a kernel line to %s as a test: %s", injection->actor->name, place.node.name,
                       injection->line);
}

int service_node_inject_xid(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                            int code, const char *pci, char ret_line[RAW_LINE_MAX_BYTES], struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    if (code < 1 || code > XID_CODE_MAX)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "xid is %d; it must be 1 to %d.", code,
                           XID_CODE_MAX);
    if (pci == NULL || pci[0] == '\0')
        pci = PCI_DEFAULT;
    if (!is_pci(pci))
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "pci is \"%s\"; it must look like " PCI_DEFAULT ".", pci);
    char line[RAW_LINE_MAX_BYTES];
    snprintf(line, sizeof(line), "NVRM: Xid (PCI:%s): %d, %s", pci, code, xid_text(code));
    struct injection injection = {
        .s = s, .actor = actor, .cluster = cluster, .node = node, .line = line, .problem = ret_problem};
    status = service_write(s, "node-inject", inject_write, &injection, ret_problem);
    if (status < 0)
        return status;
    service_events_added(s);
    if (fleet_direct(s->fleet, injection.node_id, line) < 0)
        return problem_say(ret_problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The node \"%s\" went away just now, or somebody else was quicker; the line was not sent.",
                           node);
    memcpy(ret_line, line, sizeof(line));
    return 0;
}
