/*
 * The tables of the network's checks. What is not in them is measured and never judged: port_xmit_discards and
 * port_xmit_wait are congestion, local_ack_timeout_err and rnr_nak_retry_err come when the program at the other end dies,
 * reg_mr_err and create_*_err when the one at this end asks for too much. How many are too many model/agent_settings.h says, since
 * a site may say otherwise; here is by whom.
 */
#include "agents/checks/network_limits.h"

#include "base/own.h"
#include "base/text.h"

#include <string.h>

/* [V] The limits of NVSentinel's NIC monitor (docs/nic-health-monitor/link-counter-detection.md): symbol errors after
 * IBTA's bit error rate of 10E-12, the others by the rate at which retries no longer hide them. */
const struct counter_limit infiniband_limits[INFINIBAND_LIMITS] = {
    {"counters/symbol_error", "sy", "net.ib.errors", AGENT_LIMIT_IB_SYMBOL, MS_PER_HOUR},
    {"counters/link_error_recovery", "re", "net.ib.errors", AGENT_LIMIT_IB_RECOVERY, MS_PER_MIN},
    {"counters/port_rcv_errors", "rx", "net.ib.errors", AGENT_LIMIT_IB_RECEIVE, MS_PER_MIN},
    {"counters/local_link_integrity_errors", "in", "net.ib.errors", AGENT_LIMIT_IB_INTEGRITY, MS_PER_MIN},
    {"counters/excessive_buffer_overrun_errors", "ov", "net.ib.errors", AGENT_LIMIT_IB_OVERRUN,
     MS_PER_HOUR}, /* [P] there: any */
};

/* [V] EKS' node-monitoring-agent (monitors/networking/efa/efa.go): a hundred at once and then one a second, ten times that
 * for packets sent again, as events that repair nothing. */
const struct counter_limit efa_limits[EFA_LIMITS] = {
    {"hw_counters/rx_drops", "dr", "efa.drops", AGENT_LIMIT_EFA_DROPS, MS_PER_MIN},
    {"hw_counters/rdma_read_wr_err", "rr", "efa.errors", AGENT_LIMIT_EFA_ERRORS, MS_PER_MIN},
    {"hw_counters/rdma_write_wr_err", "rw", "efa.errors", AGENT_LIMIT_EFA_ERRORS, MS_PER_MIN},
    {"hw_counters/no_completion_cmds", "nc", "efa.errors", AGENT_LIMIT_EFA_COMMANDS,
     MS_PER_MIN}, /* [P] the device did not answer */
    {"hw_counters/unresponsive_remote_events", "ur", "efa.unresponsive", AGENT_LIMIT_EFA_UNRESPONSIVE, MS_PER_MIN},
    {"hw_counters/impaired_remote_conn_events", "im", "efa.unresponsive", AGENT_LIMIT_EFA_UNRESPONSIVE, MS_PER_MIN},
    {"hw_counters/retrans_timeout_events", "rt", "efa.retransmits", AGENT_LIMIT_EFA_TIMEOUTS, MS_PER_MIN},
    {"hw_counters/retrans_pkts", "rp", "efa.retransmits", AGENT_LIMIT_EFA_RETRANSMITS, MS_PER_MIN},
};

/* [P] after NVSentinel's ten a second for received errors. rx_dropped counts also what nobody here wanted (LLDP, other
 * VLANs), which is a few a second in any network, so it has to be many. */
const struct counter_limit link_limits[LINK_LIMITS] = {
    {"statistics/rx_crc_errors", "cr", "net.errors", AGENT_LIMIT_NET_CRC, MS_PER_MIN},
    {"statistics/rx_errors", "re", "net.errors", AGENT_LIMIT_NET_ERRORS, MS_PER_MIN},
    {"statistics/tx_errors", "te", "net.errors", AGENT_LIMIT_NET_ERRORS, MS_PER_MIN},
    {"statistics/rx_dropped", "rd", "net.drops", AGENT_LIMIT_NET_DROPS, MS_PER_MIN},
    {"statistics/tx_dropped", "td", "net.drops", AGENT_LIMIT_NET_DROPS, MS_PER_MIN},
};

/* [V] aws/sagemaker-hyperpod-cli, src/sagemaker/hyperpod/training/constants.py: what HyperPod gives a task of that type;
 * p4d to p6-b200 also in awsome-distributed-training's health check. Types without an adapter are left out: none has
 * nothing to lose. p6e-gb200 stands there with 0, which is not a count, and is left out too. */
static const struct {
    const char *type;
    int count;
} efa_counts[] = {
    {"c5n.18xlarge", 1},   {"c5n.9xlarge", 1},      {"c6i.32xlarge", 1},      {"g5.12xlarge", 1},
    {"g5.16xlarge", 1},    {"g5.24xlarge", 1},      {"g5.48xlarge", 1},       {"g5.8xlarge", 1},
    {"g6.12xlarge", 1},    {"g6.16xlarge", 1},      {"g6.24xlarge", 1},       {"g6.48xlarge", 1},
    {"g6.8xlarge", 1},     {"g6e.12xlarge", 1},     {"g6e.16xlarge", 1},      {"g6e.24xlarge", 2},
    {"g6e.48xlarge", 4},   {"g6e.8xlarge", 1},      {"g7e.12xlarge", 1},      {"g7e.24xlarge", 2},
    {"g7e.48xlarge", 4},   {"g7e.8xlarge", 1},      {"gr6.8xlarge", 1},       {"i3en.12xlarge", 1},
    {"i3en.24xlarge", 1},  {"m6i.32xlarge", 1},     {"m7i.48xlarge", 1},      {"p4d.24xlarge", 4},
    {"p4de.24xlarge", 4},  {"p5.48xlarge", 32},     {"p5.4xlarge", 1},        {"p5e.48xlarge", 32},
    {"p5en.48xlarge", 16}, {"p6-b200.48xlarge", 8}, {"p6-b300.48xlarge", 16}, {"r6i.32xlarge", 1},
    {"r7i.48xlarge", 1},   {"trn1.32xlarge", 8},    {"trn1n.32xlarge", 16},   {"trn2.3xlarge", 1},
    {"trn2.48xlarge", 16},
};

int efa_count_of_type(const char *instance_type)
{
    if (text_starts_with(instance_type, "ml."))
        instance_type += 3;
    for (size_t i = 0; i < ARRAY_LEN(efa_counts); i++)
        if (strcmp(efa_counts[i].type, instance_type) == 0)
            return efa_counts[i].count;
    return -1;
}
