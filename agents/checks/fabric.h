/*
 * libfabric's own tools: fi_info, which lists what libfabric can use, and fi_pingpong, which measures between two ends
 * that are here both of this node (HyperPod's deep check of EFA is the same loopback).
 */
#ifndef HOLDFAST_AGENTS_CHECKS_FABRIC_H
#define HOLDFAST_AGENTS_CHECKS_FABRIC_H

#include "agents/checks/check.h"

#define FABRIC_INFOS_MAX 512 /* 32 adapters with a few endpoint types each */
#define FABRIC_SIZES_MAX 32

struct fabric_info {
    char provider[64], domain[64], type[32]; /* "efa", "rdmap0s29-rdm", "FI_EP_RDM" */
};

/* What fi_info prints without -v. Returns how many of ret_infos are filled; more than count_max are not taken. */
size_t fabric_parse_info(const char *text, struct fabric_info *ret_infos, size_t count_max);

struct fabric_size {
    int64_t bytes, sent, acknowledged;
    double mb_per_s, latency_us;
};

struct fabric_speed {
    size_t count;
    struct fabric_size sizes[FABRIC_SIZES_MAX];
    double max_mb_per_s, min_latency_us;
};

/* What fi_pingpong prints at one end. INVALID: there is no table, no row, or a row that is none; a table that was cut off. */
int fabric_parse_pingpong(const char *text, struct fabric_speed *ret_speed);

/* Where libfabric's tools are looked for: path (NULL: $PATH), and where Amazon puts them. Caller frees. */
char *fabric_path(const char *path);
/* A port that nobody uses on this machine at this moment; 0: there is none. */
int64_t fabric_free_port(void);

struct fabric_pingpong {
    const char *provider, *endpoint; /* "efa" and "rdm"; "tcp" and "msg" */
    const char *domain;              /* NULL: any */
    int64_t timeout_ms;              /* both ends together; shorter than the check's deadline */
};

/* Starts both ends on this node and takes the table of the one that connects. NOT_FOUND: no such tool. TIMEOUT.
 * UNSUPPORTED: libfabric has no such provider or domain. BACKEND: the tool failed or printed what is no table; ret_why says it. Both processes are gone when this returns. */
int fabric_pingpong(const struct check_context *context, const struct fabric_pingpong *test,
                    struct fabric_speed *ret_speed, char ret_why[SENTENCE_MAX_BYTES]);

#endif
