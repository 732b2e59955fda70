/*
 * The requests of the load generator: the agents' real messages, and what the peers are asked for comparison. Written
 * piece by piece into the connection's own buffer, since every cycle spent here is taken from the server that is
 * measured.
 */
#ifndef HOLDFAST_BENCH_MESSAGE_H
#define HOLDFAST_BENCH_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#define MESSAGE_BYTES_MAX 4096
#define MESSAGE_ADDRESS "10.20.1.23" /* of every agent, in the store as well: no news */

enum message_kind { MESSAGE_HEARTBEAT, MESSAGE_VERDICT, MESSAGE_GET, MESSAGE_ETCD, MESSAGE_AWS };

/* An agent, as bench/seed made it. */
struct message_node {
    int64_t row;
    char secret[64], instance[32], boot[48];
};

struct message_options {
    enum message_kind kind;
    int body_bytes;                  /* of a verdict's or a put's body: the raw line or the value is filled up */
    int xid;                         /* of verdicts: 43 is a program's fault, 79 costs the node */
    const char *path;                /* of GET */
    const char *token;               /* of GET: a bearer token; NULL for none */
    const char *target, *input;      /* of the AWS API: "SageMaker.DescribeCluster", and the body */
    const char *access_key, *secret; /* that it is signed with */
    uint64_t run_id;                 /* makes what this run sends different from what earlier ones sent */
};

/* Writes the whole request into ret_request (MESSAGE_BYTES_MAX) and returns its length. seq grows with each. */
size_t message_write(const struct message_options *options, const struct message_node *node, int64_t seq,
                     char *ret_request);

#endif
