/*
 * Limits of the vocabulary: each has a name, a unit and a reason.
 */
#ifndef HOLDFAST_MODEL_LIMITS_H
#define HOLDFAST_MODEL_LIMITS_H

#define NAME_MAX_BYTES 64        /* HyperPod's names have 63 characters (botocore ClusterName) */
#define NODE_NAME_MAX_BYTES 64   /* Slurm's node names are host names: 63 characters */
#define BOOT_ID_MAX_BYTES 40     /* a UUID, /proc/sys/kernel/random/boot_id */
#define DEVICE_MAX_BYTES 64      /* "GPU-" and a UUID, or a PCI address */
#define SOURCE_MAX_BYTES 24      /* "kmsg", "dcgm", "operator" */
#define CODE_MAX_BYTES 40        /* "xid.79" */
#define RAW_LINE_MAX_BYTES 1024  /* a printk record is at most 1024 bytes (LOG_LINE_MAX) */
#define VERDICT_KEY_MAX_BYTES 72 /* a SHA-256 in hex */
#define TABLE_VERSION_MAX_BYTES 24
#define REASON_MAX_BYTES 192                     /* what sinfo and people read */
#define SENTENCE_MAX_BYTES 512                   /* one sentence of an explanation */
#define JOB_ID_MAX_BYTES 64                      /* a job of the scheduler: "123_4", "123+0" */
#define ACCESS_KEY_MAX_BYTES 24                  /* 20 characters, as AWS writes them */
#define KEY_MAX_BYTES 80                         /* idempotency keys */
#define IMAGE_ID_MAX_BYTES 24                    /* botocore ImageId: 7..21 characters */
#define RELEASE_VERSION_MAX_BYTES 72             /* botocore ImageReleaseVersion: up to 64 characters */
#define ZONE_MAX_BYTES 32                        /* "us-west-2a" */
#define TOPOLOGY_NAME_MAX_BYTES 64               /* a rack, a switch; EC2's network nodes have 20 characters */
#define CLUSTER_DOCUMENT_BYTES_MAX (1024 * 1024) /* as large as a request */
#define POLICY_TEXT_MAX_BYTES (32 * 1024)        /* the policy document: hundreds of groups */
#define SCRIPT_STATE_MAX_BYTES 16
#define ADDRESS_MAX_BYTES 128        /* host:port of an instance */
#define AUDIT_WORD_MAX_BYTES 64      /* an operation or a code of the audit log */
#define AUDIT_RESOURCE_MAX_BYTES 512 /* names; those that have no room are counted */
#define PROVIDER_REF_MAX_BYTES 128   /* a machine's id of its provider */
#define PEER_MAX_BYTES 48            /* INET6_ADDRSTRLEN is 46 */
#define SCHEDULER_ARN_MAX_BYTES 256  /* an EKS cluster's: 12 digits, a name of 100, partition and region */

#define CLUSTER_GROUPS_MAX 100       /* botocore: 1..100 groups */
#define GROUP_NODES_MAX 6758         /* botocore: InstanceCount 0..6758 */
#define GROUP_NODES_MAX_LOCAL 100000 /* without a scheduler */
#define VERDICTS_PER_POST_MAX 64     /* keeps a report under AGENT_BODY_BYTES_MAX */
#define AGENT_BODY_BYTES_MAX (128 * 1024)
#define REQUEST_BODY_BYTES_MAX (1024 * 1024)
#define PAGE_SIZE_DEFAULT 100
#define PAGE_SIZE_MAX 1000

#endif
