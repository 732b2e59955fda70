/*
 * Documents made from the model's tables: a value of any shape, with everything in it or with the least, and the
 * values at its limits, each said to be inside or outside of them.
 *
 * For a pattern no value can be made from the table alone, so each shape with one has a row here: how a value is
 * stretched to a wanted length, and a value of good length that does not match.
 */
#ifndef HOLDFAST_TESTS_AWS_SAMPLES_H
#define HOLDFAST_TESTS_AWS_SAMPLES_H

#include "api/aws/model.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define SAMPLE_LENGTH_MAX 8193
#define SAMPLE_LENGTH_PLAIN 24 /* of a text that has no longest */

struct sample_text {
    const char *shape;
    const char *head;
    char filler; /* 0: cannot be stretched */
    const char *tail;
    const char *bad;
};

static const struct sample_text sample_texts[] = {
    {"AlarmName", "", 'a', "", "   "},
    {"BatchAddClusterNodesRequestClientTokenString", "", '~', "", "a b"},
    {"ClusterArn", "arn:aws:sagemaker:", 'a', ":012345678901:cluster/abcdefghij12",
     "arn:aws:sagemaker:a:01234567890:cluster/abcdefghij12"},
    {"ClusterAvailabilityZone", "hp-", 'l', "-1a", "hp-local-aa"},
    {"ClusterAvailabilityZoneId", "hpl1-az1", 0, "", "hpl-az1"},
    {"ClusterDnsName", "fs-01234567", 'd', ".storage.example", "fs-0123456.storage.example"},
    {"ClusterFsxMountPath", "/", 'm', "", "fsx/data"},
    {"ClusterInstanceGroupName", "", '7', "", "-g"},
    {"ClusterKubernetesLabelKey", "example.com/", 'k', "", "example.com/-k"},
    {"ClusterKubernetesLabelValue", "", 'v', "", "v-"},
    {"ClusterKubernetesTaintKey", "", 'k', "", "Example.com/k/"},
    {"ClusterKubernetesTaintValue", "", 'v', "", ".v"},
    {"ClusterLifeCycleConfigFileName", "", '\n', "", NULL}, /* anything goes */
    {"ClusterMountName", "", '_', "", "a.b"},
    {"ClusterName", "", 'c', "", "c_1"},
    {"ClusterNameOrArn", "arn:aws:sagemaker:", 'a', ":012345678901:cluster/abcdefghij12", "under_score"},
    {"ClusterNetworkInterfaceAttachmentId", "eni-attach-01234567", 0, "", "eni-attach-0123456"},
    {"ClusterNetworkInterfaceId", "eni-0123456789abcdef0", 0, "", "eni-0123456789abcdeg0"},
    {"ClusterNodeId", "i-0123456789abcdef0", 0, "", "i-0123456789abcdef"},
    {"ClusterNodeLogicalId", "n", '-', "1", "n"},
    {"ClusterPartitionName", "p", '-', "1", "p-"},
    {"ClusterPrivateDnsHostname", "ip-10-0-255-1.", 'x', "", "ip-10-0-256-1.x"},
    {"ClusterPrivatePrimaryIp", "10.0.255.1", 0, "", "10.0.256.1"},
    {"ClusterSchedulerConfigArn", "arn:aws:sagemaker:hp-local-1:012345678901:cluster-scheduler-config/abcdefghij12", 0,
     "", "arn:aws:sagemaker:short:012345678901:cluster-scheduler-config/abcdefghij12"},
    {"ClusterSchedulerConfigId", "abcdefghij12", 0, "", "abcdefghij1"},
    {"ClusterSchedulerPriorityClassName", "p", 'q', "", "p-"},
    {"ComputeQuotaArn", "arn:aws:sagemaker:", 'r', ":012345678901:compute-quota/abcdefghij12",
     "arn:aws:sagemaker:r:012345678901:compute-quota/ABCDEFGHIJ12"},
    {"ComputeQuotaId", "abcdefghij12", 0, "", "abcdefghij123"},
    {"ComputeQuotaTargetTeamName", "t", 'e', "", "Team"},
    {"EksClusterArn", "arn:aws:eks:", 'r', ":012345678901:cluster/k8s", "arn:aws:eks:r:012345678901:cluster/-k8s"},
    {"EntityDescription", "", 'd', "", "a\tb"},
    {"EntityName", "", '5', "", "e-"},
    {"EventId", "01234567-89ab-cdef-0123-456789abcdef", 0, "", "01234567-89AB-cdef-0123-456789abcdef"},
    {"ImageId", "default", 0, "", "ami-0123456"},
    {"ImageReleaseVersion", "1.20.", '3', "", "1.20"},
    {"InstanceGroupName", "", 'g', "", "g\ng"},
    {"KmsKeyId", "", 'k', "", "k.k"},
    {"NameContains", "", 'n', "", "n_n"},
    {"NextToken", "", 't', "", "t\nt"},
    {"ResourceArn", "arn:aws:sagemaker:r:012345678901:", 'x', "", "arn:aws:sagemaker:r:012345678901:"},
    {"RoleArn", "arn:aws:iam::012345678901:role/", 'r', "", "arn:aws:iam::012345678901:user/r"},
    {"S3Uri", "s3://bucket/", 'k', "", "file://host/path"},
    {"SecurityGroupId", "sg-", '0', "", "sg_0"},
    {"SubnetId", "subnet-", '0', "", "subnet.0"},
    {"TagKey", "", 'k', "", "k\nk"},
    {"TagValue", "", 'v', "", "v\"v"},
    {"TrainingPlanArn", "arn:aws:sagemaker:hp-local-1:012345678901:training-plan/", 'p', "",
     "arn:aws:sagemaker:hp-local-1:012345678901:training-plans/p"},
    {"VolumeDeviceName", "/dev/sdf1", 0, "", "/dev/sda"},
    {"VolumeId", "vol-01234567", 0, "", "vol-0123456g"},
};

/* Other branches of the patterns, and what looks like one. Lengths are within the shape's. */
static const __attribute__((unused)) struct sample_other {
    const char *shape, *text;
    bool fits;
} sample_others[] = {
    {"ClusterNameOrArn", "c", true},
    {"ClusterNameOrArn", "a--b", true},
    {"ClusterNameOrArn", "-a", false},
    {"ClusterNameOrArn", "a-", false},
    {"ClusterNameOrArn", "arn:aws:sagemaker:r:012345678901:cluster/abcdefghij123", false},
    {"ClusterNameOrArn", "arn:aws:sagemaker:r:012345678901:cluster/Abcdefghij12", false},
    {"ClusterArn", "arn:aws-cn:sagemaker::012345678901:cluster/abcdefghij12", true},
    {"ClusterArn", "arn:aws:sagemaker:r:012345678901:cluster/abcdefghij123", false},
    {"ClusterArn", " arn:aws:sagemaker:r:012345678901:cluster/abcdefghij12", false},
    {"ImageId", "ami-01234567", true},
    {"ImageId", "ami-0123456789abcdefA", true},
    {"ImageId", "ami-0123456g", false},
    {"ImageId", "defaults", false},
    {"ImageId", "Default", false},
    {"ClusterNodeId", "i-01234567", true},
    {"ClusterNodeId", "i-012345678", false},
    {"ClusterNodeId", "i-0123456789abcdeF0", false},
    {"ClusterNodeId", "i-0123456789abcdef01", false},
    {"VolumeId", "vol-0123456789abcdef0", true},
    {"VolumeId", "vol-012345678", false},
    {"VolumeDeviceName", "/dev/xvda", true},
    {"VolumeDeviceName", "/dev/sdb", true},
    {"VolumeDeviceName", "/dev/sdz", true},
    {"VolumeDeviceName", "/dev/sdp6", true},
    {"VolumeDeviceName", "/dev/sdf7", false},
    {"VolumeDeviceName", "/dev/sde1", false},
    {"VolumeDeviceName", "/dev/xvdA", false},
    {"ClusterNetworkInterfaceAttachmentId", "eni-attach-0123456789abcdef0", true},
    {"ClusterNetworkInterfaceAttachmentId", "eni-attach-012345678", false},
    {"ClusterNetworkInterfaceId", "eni-01234567", true},
    {"ClusterNetworkInterfaceId", "eni-012345678", false},
    {"ClusterPrivatePrimaryIp", "255.255.255.255", true},
    {"ClusterPrivatePrimaryIp", "0.0.0.0", true},
    {"ClusterPrivatePrimaryIp", "1.2.3", false},
    {"ClusterPrivatePrimaryIp", "1.2.3.4.5", false},
    {"ClusterDnsName", "fci-01234567.abcd", true},
    {"ClusterDnsName", "fx-01234567.abcde", false},
    {"ClusterKubernetesLabelKey", "A_b.c", true},
    {"ClusterKubernetesLabelKey", "a.b/c", true},
    {"ClusterKubernetesLabelKey", "a/b/c", false},
    {"ClusterKubernetesLabelKey", "A/b", false},
    {"ClusterKubernetesLabelKey", ".a", false},
    {"ClusterKubernetesLabelKey", "a/", false},
    {"ClusterKubernetesLabelValue", "0_-.z", true},
    {"ClusterKubernetesLabelValue", "a_", false},
    {"ClusterAvailabilityZone", "us-west-2a", true},
    {"ClusterAvailabilityZone", "us-west-2", false},
    {"ClusterAvailabilityZone", "us-gov-west-1a", false},
    {"ClusterSchedulerConfigArn", "arn:aws:sagemaker:nine-char:012345678901:cluster-scheduler-config/abcdefghij12",
     true},
    {"ClusterSchedulerConfigArn",
     "arn:aws:sagemaker:sixteen-characte:012345678901:cluster-scheduler-config/abcdefghij12", true},
    {"ClusterSchedulerConfigArn", "arn:aws:sagemaker:eight-ch:012345678901:cluster-scheduler-config/abcdefghij12",
     false},
    {"ClusterSchedulerConfigArn",
     "arn:aws:sagemaker:seventeen-charact:012345678901:cluster-scheduler-config/abcdefghij12", false},
    {"ClusterSchedulerPriorityClassName", "a", true},
    {"ClusterSchedulerPriorityClassName", "A", false},
    {"ClusterSchedulerPriorityClassName", "", false},
    {"S3Uri", "https://host", true},
    {"S3Uri", "s3://b", true},
    {"S3Uri", "http://host", false},
    {"S3Uri", "s3://", false},
    {"S3Uri", "s3:///k", false},
    {"RoleArn", "arn:aws-us-gov:iam::012345678901:role/a/b", true},
    {"RoleArn", "arn:aws:iam::01234567890:role/name", false},
    {"RoleArn", "arn:aws:iam::012345678901:role/a b", false},
    {"ImageReleaseVersion", "0.0.0", true},
    {"ImageReleaseVersion", "1.2.3.4", false},
    {"ImageReleaseVersion", "v1.2.3", false},
    {"ImageReleaseVersion", "1..3", false},
    {"TagKey", "\xc3\xa9:/=+-@_. 1", true},
    {"TagKey", "a;b", false},
    {"TagValue", "", true},
    {"TagValue", "a#b", false},
    {"EntityDescription", "", true},
    {"EntityDescription", "\xc3\xa9 \xe2\x80\x94 <b>!", true},
    {"KmsKeyId", "", true},
    {"KmsKeyId", "arn:aws:kms:r:1:key/a-b_c", true},
    {"KmsKeyId", "a b", false},
    {"AlarmName", " a", true},
    {"AlarmName", " ", false},
    {"ClusterInstanceGroupName", "a--b", true},
    {"ClusterInstanceGroupName", "a-", false},
    {"ClusterInstanceGroupName", "a_b", false},
    {"EksClusterArn", "arn:aws:eks::012345678901:cluster/0_-", true},
    {"EksClusterArn", "arn:aws:eks:r:012345678901:cluster/", false},
    {"ResourceArn", "arn:aws:sagemaker::012345678901: ", true},
    {"ResourceArn", "arn:aws:s3:r:012345678901:x", false},
    {"EventId", "01234567-89ab-cdef-0123-456789abcde", false},
    {"ComputeQuotaId", "abcdefghij1", false},
    {"ComputeQuotaId", "Abcdefghij12", false},
    {"BatchAddClusterNodesRequestClientTokenString", "!~", true},
    {"BatchAddClusterNodesRequestClientTokenString", "\x7f", false},
};

static inline const struct sample_text *sample_text_of(const struct aws_shape *shape)
{
    static const struct sample_text free_text = {"", "", 'x', "", NULL};

    if (shape->pattern == NULL)
        return &free_text;
    for (size_t i = 0; i < ARRAY_LEN(sample_texts); i++)
        if (strcmp(sample_texts[i].shape, shape->name) == 0)
            return &sample_texts[i];
    fail_msg("%s has a pattern and no row in sample_texts", shape->name);
    return NULL;
}

/* A matching text of so many characters, or the nearest that the pattern lets be. */
static inline json_t *sample_string(const struct aws_shape *shape, int64_t length)
{
    const struct sample_text *sample = sample_text_of(shape);
    char text[SAMPLE_LENGTH_MAX + 256];
    size_t fixed = strlen(sample->head) + strlen(sample->tail);
    size_t fill = sample->filler != 0 && length > (int64_t)fixed ? (size_t)length - fixed : 0;

    if (fill == 0 && sample->filler != 0 && shape->pattern != NULL)
        fill = 1; /* most patterns want at least one */
    snprintf(text, sizeof(text), "%s", sample->head);
    memset(text + strlen(sample->head), sample->filler, fill);
    snprintf(text + strlen(sample->head) + fill, sizeof(text) - strlen(sample->head) - fill, "%s", sample->tail);
    return json_string(text);
}

static inline json_t *sample_plain_string(const struct aws_shape *shape)
{
    const struct sample_text *sample = sample_text_of(shape);
    int64_t least = (int64_t)(strlen(sample->head) + strlen(sample->tail)) + (sample->filler != 0);
    int64_t length = least > shape->min ? least : shape->min;

    if (sample->filler != 0 && length < SAMPLE_LENGTH_PLAIN && shape->max >= SAMPLE_LENGTH_PLAIN)
        length = SAMPLE_LENGTH_PLAIN;
    return sample_string(shape, length);
}

enum sample_kind { SAMPLE_LEAST, SAMPLE_FULL };

static inline json_t *sample(const struct aws_shape *shape, enum aws_spelling spelling, enum sample_kind kind);

/* chosen: the member of a union. */
static inline json_t *sample_structure(const struct aws_shape *shape, enum aws_spelling spelling, enum sample_kind kind,
                                       size_t chosen)
{
    const struct aws_member *members = aws_shape_members(shape);
    json_t *json = json_object();

    for (size_t i = 0; i < shape->count; i++) {
        bool wanted = shape->type == AWS_TYPE_UNION ? i == chosen : kind == SAMPLE_FULL || members[i].required;
        if (wanted)
            json_put(json, members[i].name[spelling], sample(aws_shape(members[i].shape), spelling, kind));
    }
    return json;
}

/* A list of so many of the same. */
static inline json_t *sample_list(const struct aws_shape *shape, enum aws_spelling spelling, enum sample_kind kind,
                                  int64_t count)
{
    json_t *json = json_array();
    auto_json json_t *item = sample(aws_shape(shape->of), spelling, kind);

    for (int64_t i = 0; i < count; i++)
        json_array_append_new(json, json_deep_copy(item));
    return json;
}

/* A map of so many keys: the values of an enum, or texts that grow. */
static inline json_t *sample_map(const struct aws_shape *shape, enum aws_spelling spelling, enum sample_kind kind,
                                 int64_t count)
{
    const struct aws_shape *key = aws_shape(shape->key);
    json_t *json = json_object();

    for (int64_t i = 0; i < count; i++) {
        auto_json json_t *text = key->type == AWS_TYPE_ENUM ? json_string(aws_shape_values(key)[i % key->count])
                                                            : sample_string(key, 20 + i);
        json_put(json, json_string_value(text), sample(aws_shape(shape->of), spelling, kind));
    }
    return json;
}

static inline json_t *sample(const struct aws_shape *shape, enum aws_spelling spelling, enum sample_kind kind)
{
    switch (shape->type) {
    case AWS_TYPE_STRUCTURE:
    case AWS_TYPE_UNION:
        return sample_structure(shape, spelling, kind, 0);
    case AWS_TYPE_LIST:
        return sample_list(shape, spelling, kind, shape->min > 0 ? shape->min : kind == SAMPLE_FULL ? 1 : 0);
    case AWS_TYPE_MAP:
        return sample_map(shape, spelling, kind, 1);
    case AWS_TYPE_STRING:
        return sample_plain_string(shape);
    case AWS_TYPE_ENUM:
        return json_string(aws_shape_values(shape)[0]);
    case AWS_TYPE_INTEGER:
    case AWS_TYPE_LONG:
        return json_integer(shape->min != AWS_NO_MIN ? shape->min : 3);
    case AWS_TYPE_FLOAT:
        return json_real(0.5);
    case AWS_TYPE_BOOLEAN:
        return json_true();
    case AWS_TYPE_TIMESTAMP:
        return spelling == AWS_SPELLING_PASCAL ? json_real(1700000000.123) : json_string("2023-11-14T22:13:20.123Z");
    case AWS_TYPE_NONE:
        break;
    }
    fail_msg("%s is of no type", shape->name);
    return NULL;
}

#endif
