/*
 * The lines are our own, in the kernel's form: '~' is a digit that differs from line to line. A fault is a row of the
 * agent's table with its parts filled in, row after row, so that every row has its turn.
 */
#include "bench/kmsg_corpus.h"

#include "agents/checks/kmsg_pattern.h"
#include "base/own.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const ordinary[] = {
    "IPv6: ADDRCONF(NETDEV_CHANGE): veth~~~~: link becomes ready",
    "docker0: port ~~(veth~~~~) entered blocking state",
    "docker0: port ~~(veth~~~~) entered disabled state",
    "docker0: port ~~(veth~~~~) entered forwarding state",
    "device veth~~~~ entered promiscuous mode",
    "eth0: renamed from veth~~~~",
    "audit: type=1400 audit(17000~~~~~.~~~:~~~~): apparmor=\"STATUS\" operation=\"profile_load\" "
    "profile=\"unconfined\" "
    "name=\"cri-containerd.apparmor.d\" pid=~~~~~ comm=\"apparmor_parser\"",
    "audit: type=1326 audit(17000~~~~~.~~~:~~~~): auid=~~~~~~~ uid=~~~~~~~ gid=~~~~~~~ ses=~~ pid=~~~~~ "
    "comm=\"pt_main_thread\" "
    "exe=\"/usr/bin/python3.10\" sig=0 arch=c000003e syscall=~~~ compat=0 ip=0x7f~~~~~~~~~~ code=0x7ffc0000",
    "systemd[1]: Starting Cleanup of Temporary Directories...",
    "systemd-journald[~~~]: Received client request to flush runtime journal.",
    "IPVS: rr: TCP 10.~~.~~.~~:443 - no destination available",
    "TCP: request_sock_TCP: Possible SYN flooding on port ~~~~. Sending cookies.  Check SNMP counters.",
    "IN=ens5 OUT= MAC=0a:~~:~~:~~:~~:~~:0a:~~:~~:~~:~~:~~:08:00 SRC=10.~~.~~.~~ DST=10.~~.~~.~~ LEN=60 TOS=0x00 "
    "PREC=0x00 TTL=63 "
    "ID=~~~~~ DF PROTO=TCP SPT=~~~~~ DPT=22 WINDOW=62727 RES=0x00 SYN URGP=0",
    "perf: interrupt took too long (~~~~ > ~~~~), lowering kernel.perf_event_max_sample_rate to ~~~~~",
    "EXT4-fs (nvme~n1p1): mounted filesystem with ordered data mode. Opts: (null). Quota mode: none.",
    "XFS (nvme~n1): Mounting V5 Filesystem",
    "XFS (nvme~n1): Ending clean mount",
    "nvme nvme~: ~~/0/0 default/read/poll queues",
    "overlayfs: upper fs does not support RENAME_WHITEOUT.",
    "Lustre: 4~~~:0:(client.c:2~~~:ptlrpc_expire_one_request()) Skipped ~~ previous similar messages",
    "Lustre: fsx-OST00~~-osc-ffff9~~~~~~~~~~~~~: Connection restored to 10.~~.~~.~~@tcp (at 10.~~.~~.~~@tcp)",
    "nfs: server 10.~~.~~.~~ OK",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.~~  Fri May 31 09:35:42 UTC 2024",
    "NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number ~~~",
    "nvidia-nvswitch~: open (major=5~~)",
    "nvidia 0000:~~:00.0: enabling device (0140 -> 0142)",
    "nvidia-uvm: Loaded the UVM driver, major device number ~~~.",
    "mlx5_core 0000:~~:00.~: Port module event: module ~, Cable plugged",
    "mlx5_core 0000:~~:00.~ ens1f1np1: Link up",
    "mlx5_core 0000:~~:00.~: Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps",
    "infiniband rdmap~~s0: ib_query_port failed (-19)",
    "efa 0000:~~:1b.0: enabling device (0000 -> 0002)",
    "ena 0000:00:05.0 ens5: Local page cache is disabled for less than 16 channels",
    "pci 0000:~~:~~.~: BAR 15: assigned [mem 0x~~~~~~~~-0x~~~~~~~~ 64bit pref]",
    "pci 0000:~~:~~.~: PCI bridge to [bus ~~-~~]",
    "acpiphp: Slot [~~] registered",
    "EDAC MC~: Giving out device to module skx_edac controller Skylake Socket~~: DEV 0000:~~:~~.0 (INTERRUPT)",
    "mce: CPU~~: Core temperature/speed normal",
    "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x~~~~~~~~~~, max_idle_ns: ~~~~~~~~~~~~ ns",
    "rcu: \t(detected by ~~, t=~~~~~ jiffies, g=~~~~~~~, q=~~~~ ncpus=192)",
    "usb 1-~~: New USB device found, idVendor=1d6b, idProduct=0002, bcdDevice= 5.~~",
    "cgroup: Setting release_agent not allowed",
    "python3 (~~~~): drop_caches: 3",
    "[drm] [nvidia-drm] [GPU ID 0x0000~~00] Loading driver",
    "workqueue: nv_queue_~~~~~ hogged CPU for >10000us ~~ times, consider switching to WQ_UNBOUND",
    "Call Trace:",
    " <TASK>",
    " ? __schedule+0x2~~/0x5~~",
    " do_syscall_64+0x~~/0x~~",
    " entry_SYSCALL_64_after_hwframe+0x~~/0xd8",
    "RIP: 0033:0x7f~~~~~~~~~~",
    "RSP: 002b:00007ffd~~~~~~~~ EFLAGS: 00000246 ORIG_RAX: 00000000000000~~",
    "RAX: ffffffffffffffda RBX: 00007f~~~~~~~~~~ RCX: 00007f~~~~~~~~~~",
    "oom_reaper: reaped process ~~~~~ (python3), now anon-rss:0kB, file-rss:~~~~kB, shmem-rss:~~~~kB",
    "[~~~~~~~]  1000 ~~~~~~~  ~~~~~~  ~~~~~~   ~~~~~~~        0             0 pt_main_thread",
};

static const char *const xids[] = {
    "NVRM: Xid (PCI:0000:~~:00): 79, pid=~~~~~, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:~~:00): 13, pid=~~~~~, Graphics Exception: ESR 0x50~~~~=0x~~~~~~~~",
    "nvidia-nvswitch~: SXid (PCI:0000:~~:00.0): 20034, Fatal, Link ~~ LTSSM Fault Up",
};

static uint64_t scramble(uint64_t x) /* splitmix64 */
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Row number i of those that have a pattern of text, with its parts filled in. */
static void write_row(struct text *text, size_t i)
{
    static const struct {
        const char *part, *filled;
    } parts[] = {{"{}", "x1 "}, {"{word}", "w1"}, {"{device}", "0000:b~:00.0"}, {"{n}", "1~~"}};
    const char *code, *pattern, *brace;
    (void)kmsg_patterns_row(i, &code, &pattern);
    for (; (brace = strchr(pattern, '{')) != NULL; pattern = strchr(brace, '}') + 1) {
        text_add_bytes(text, pattern, (size_t)(brace - pattern));
        for (size_t k = 0; k < ARRAY_LEN(parts); k++)
            if (text_starts_with(brace, parts[k].part))
                text_add(text, parts[k].filled);
    }
    text_printf(text, "%s and what follows", pattern);
}

static void write_fault(struct text *text, uint64_t i)
{
    const char *code, *pattern;
    size_t rows = 0;
    while (kmsg_patterns_row(rows, &code, &pattern))
        rows++;
    size_t row = i % rows;
    (void)kmsg_patterns_row(row, &code, &pattern);
    if (code != NULL && text_equal(code, KMSG_XID))
        text_add(text, xids[i / rows % ARRAY_LEN(xids)]);
    else
        write_row(text, row);
}

size_t corpus_record(uint64_t i, char ret_record[CORPUS_LINE_MAX])
{
    AUTO(text) struct text text = {0};
    uint64_t random = scramble(i);
    text_printf(&text, "%d,%" PRIu64 ",%" PRIu64 ",-;", (int)(random % 7), i, i * 12345);
    size_t head = text.len;
    if (i % CORPUS_FAULT_EVERY == 0)
        write_fault(&text, i / CORPUS_FAULT_EVERY);
    else
        text_add(&text, ordinary[(random >> 8) % ARRAY_LEN(ordinary)]);
    text_add(&text, "\n");
    assert(text.len <= CORPUS_LINE_MAX);
    for (size_t at = head; at < text.len; at++)
        if (text.data[at] == '~')
            text.data[at] = (char)('0' + (random = scramble(random)) % 10);
    memcpy(ret_record, text.data, text.len);
    return text.len;
}
