// Every operation for clusters and nodes with full, minimal and wrong input, and every class of error that is declared, through the
// real AWS SDK. Nothing runs here but one cluster of the local provider, whose machines nobody speaks for: what is written is
// enough.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { aws } from '../lib/aws.mjs';
import { Local } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const world = new Local({ speakers: true });
const ROLE = 'arn:aws:iam::000000000000:role/node';
let client, arn;

before(async () => {
  await world.start();
  client = await aws(world, 'admin');
});
after(() => world.end());

const send = (name, input) => client.send(new sdk[`${name}Command`](input));
const group = (more = {}) => ({ InstanceGroupName: 'gpu', InstanceCount: 1, InstanceType: 'ml.p5.48xlarge', ExecutionRole: ROLE, ...more });
const is = (type, pattern = /./) => (error) => {
  if (typeof type === 'string') assert.equal(error.name, type, error.message);
  else assert.ok(error instanceof type, `${error.name}: ${error.message}`);
  assert.match(error.message, pattern);
  return true;
};
// Each [input, part of the message]; a message that is a class of errors stands for it.
async function wrong(name, base, cases) {
  for (const [input, expected] of cases) {
    const [type, pattern] = expected instanceof RegExp ? ['ValidationException', expected] : [expected];
    await assert.rejects(send(name, { ...base, ...input }), is(type, pattern), `${name} ${JSON.stringify(input)}`);
  }
}

const KEPT = {
  LifeCycleConfig: { SourceS3Uri: 'https://files.example/forge/', OnCreate: 'on_create.sh', OnInitComplete: 'after/init.sh' },
  ExecutionRole: ROLE,
  ThreadsPerCore: 2,
  InstanceStorageConfigs: [{ EbsVolumeConfig: { VolumeSizeInGB: 500, VolumeKmsKeyId: 'key', RootVolume: true } }, { FsxLustreConfig: { DnsName: 'fs-0123456789abcdef0.storage.example', MountName: 'scratch', MountPath: '/fsx' } }, { FsxOpenZfsConfig: { DnsName: 'fs-0123456789abcdef1.storage.example' } }],
  OnStartDeepHealthChecks: ['InstanceStress', 'InstanceConnectivity'],
  OverrideVpcConfig: { SecurityGroupIds: ['sg-1'], Subnets: ['subnet-1', 'subnet-2'] },
  CapacityRequirements: { OnDemand: {} },
  NetworkInterface: { InterfaceType: 'efa' },
};

test('CreateCluster with all that it can be given, and what comes back', async () => {
  const reply = await send('CreateCluster', {
    ClusterName: 'full',
    NodeProvisioningMode: 'Continuous',
    NodeRecovery: 'None',
    ClusterRole: ROLE,
    AutoScaling: { Mode: 'Disable' },
    TieredStorageConfig: { Mode: 'Disable', InstanceMemoryAllocationPercentage: 20 },
    VpcConfig: { SecurityGroupIds: ['sg-2'], Subnets: ['subnet-3'] },
    Tags: [{ Key: 'team', Value: 'a' }, { Key: 'cost', Value: '' }],
    InstanceGroups: [group({ InstanceCount: 2, MinInstanceCount: 1, ImageId: 'ami-0123456789abcdef0', ImageReleaseVersion: '1.4.2', ...KEPT }), group({ InstanceGroupName: 'one', InstanceType: undefined, InstanceRequirements: { InstanceTypes: ['ml.p5e.48xlarge'] }, InstanceCount: 0, ImageId: 'default' })],
  });
  arn = reply.ClusterArn;
  const { $metadata, CreationTime, ClusterStatus, InstanceGroups, ...rest } = await send('DescribeCluster', { ClusterName: arn });
  assert.ok(CreationTime instanceof Date && ['Creating', 'InService'].includes(ClusterStatus));
  assert.deepEqual(rest, {
    ClusterArn: arn, ClusterName: 'full', NodeProvisioningMode: 'Continuous', NodeRecovery: 'None', ClusterRole: ROLE,
    AutoScaling: { Mode: 'Disable', Status: 'InService' },
    TieredStorageConfig: { Mode: 'Disable', InstanceMemoryAllocationPercentage: 20 },
    VpcConfig: { SecurityGroupIds: ['sg-2'], Subnets: ['subnet-3'] },
  });
  const { CurrentCount, Status, ActiveOperations, ...gpu } = InstanceGroups[0];
  assert.ok(CurrentCount <= 2 && Status && ActiveOperations.Scaling >= 1);
  assert.deepEqual(gpu, {
    InstanceGroupName: 'gpu', InstanceType: 'ml.p5.48xlarge', TargetCount: 2, MinCount: 1, ...KEPT,
    CurrentImageId: 'ami-0123456789abcdef0', DesiredImageId: 'ami-0123456789abcdef0', CurrentImageReleaseVersion: '1.4.2', DesiredImageReleaseVersion: '1.4.2', ImageVersionStatus: 'UpToDate',
  });
  assert.deepEqual(InstanceGroups[1].InstanceRequirements, { CurrentInstanceTypes: ['ml.p5e.48xlarge'], DesiredInstanceTypes: ['ml.p5e.48xlarge'] });
  assert.deepEqual(InstanceGroups[1].InstanceTypeDetails, [{ InstanceType: 'ml.p5e.48xlarge', CurrentCount: 0 }]);
  const { NodeDetails } = await send('DescribeClusterNode', { ClusterName: 'full', NodeLogicalId: 'gpu-1' });
  for (const name of ['LifeCycleConfig', 'ThreadsPerCore', 'InstanceStorageConfigs', 'OverrideVpcConfig', 'NetworkInterface']) assert.deepEqual(NodeDetails[name], KEPT[name], name);
  assert.equal(NodeDetails.CapacityType, 'OnDemand');
  const { Events } = await send('ListClusterEvents', { ClusterName: 'full', ResourceType: 'Cluster' });
  assert.ok(Events.some((e) => e.EventLevel === 'Warn' && /no effect here: ThreadsPerCore, InstanceStorageConfigs/.test(e.Description)), JSON.stringify(Events));
});

test('CreateCluster with the least', async () => {
  const { ClusterArn } = await send('CreateCluster', { ClusterName: 'least', InstanceGroups: [group({ InstanceCount: 0 })] });
  const { ClusterStatus, NodeRecovery, NodeProvisioningMode, Orchestrator, VpcConfig, InstanceGroups } = await send('DescribeCluster', { ClusterName: 'least' });
  assert.deepEqual([ClusterStatus, NodeRecovery, NodeProvisioningMode, Orchestrator, VpcConfig], ['InService', 'Automatic', undefined, undefined, undefined]);
  assert.deepEqual(InstanceGroups, [{ InstanceGroupName: 'gpu', InstanceType: 'ml.p5.48xlarge', CurrentCount: 0, TargetCount: 0, Status: 'InService', ExecutionRole: ROLE }]);
  assert.deepEqual((await send('ListTags', { ResourceArn: ClusterArn })).Tags, []);
});

test('CreateCluster that is refused', async () => {
  const groups = (...list) => ({ InstanceGroups: list });
  await wrong('CreateCluster', { ClusterName: 'wrong', ...groups(group()) }, [
    [{ ClusterName: undefined }, /'clusterName'.*must not be null/],
    [{ ClusterName: '-a' }, /'clusterName'.*pattern/],
    [{ ClusterName: 'full' }, sdk.ResourceInUse],
    [{ InstanceGroups: undefined }, /instanceGroups/],
    [{ InstanceGroups: [] }, /'instanceGroups'.*length/],
    [groups(group({ InstanceCount: undefined })), /'instanceGroups\.1\.member\.instanceCount'.*must not be null/],
    [groups(group({ InstanceCount: -1 })), /instanceCount/],
    [groups(group({ InstanceCount: 6759 })), /instanceCount/],
    [groups(group({ MinInstanceCount: 2 })), /minInstanceCount is 2/],
    [groups(group(), group()), /"gpu" comes twice/],
    [groups(group({ InstanceType: 'ml.none' })), /instanceType/],
    [groups(group({ InstanceType: undefined })), /exactly one of InstanceType and InstanceRequirements/],
    [groups(group({ InstanceRequirements: { InstanceTypes: ['ml.p5.48xlarge'] } })), /exactly one of/],
    [groups(group({ InstanceType: undefined, InstanceRequirements: { InstanceTypes: ['ml.p5.48xlarge', 'ml.p5e.48xlarge'] } })), /several/],
    [groups(group({ ExecutionRole: 'me' })), /executionRole/],
    [groups(group({ ThreadsPerCore: 3 })), /threadsPerCore/],
    [groups(group({ InstanceStorageConfigs: [{ EbsVolumeConfig: {}, FsxOpenZfsConfig: { DnsName: 'fs-0123456789abcdef1.storage.example' } }] })), /instanceStorageConfigs/],
    [groups(group({ LifeCycleConfig: { SourceS3Uri: 'http://a/b', OnCreate: 'x' } })), /sourceS3Uri/],
    [groups(group({ LifeCycleConfig: { SourceS3Uri: 'https://a/b', OnCreate: '../x' } })), /OnCreate/],
    [groups(group({ SlurmConfig: { NodeType: 'Compute' } })), /SlurmConfig/],
    [groups(group({ KubernetesConfig: { Labels: { a: 'b' } } })), /KubernetesConfig/],
    [groups(group({ TrainingPlanArn: 'arn:aws:sagemaker:us-west-2:000000000000:training-plan/x' })), /TrainingPlanArn/],
    [groups(group({ ScheduledUpdateConfig: { ScheduleExpression: 'cron(0 3 ? * SUN *)' } })), /ScheduledUpdateConfig/],
    [groups(group({ AutoPatchConfig: { PatchingStrategy: 'WhenIdle' } })), /AutoPatchConfig/],
    [groups(group({ CapacityRequirements: { Spot: {} } })), /Spot/],
    [{ Orchestrator: { Slurm: {} } }, /drives no scheduler/],
    [{ Orchestrator: { Eks: { ClusterArn: 'arn:aws:eks:us-west-2:000000000000:cluster/k' } } }, /Orchestrator\.Eks\.ClusterArn: no scheduler/],
    [{ AutoScaling: { Mode: 'Enable', AutoScalerType: 'Karpenter' } }, /AutoScaling/],
    [{ TieredStorageConfig: { Mode: 'Enable' } }, /TieredStorageConfig/],
    [{ RestrictedInstanceGroups: [group()] }, /RestrictedInstanceGroups/],
    [{ NodeRecovery: 'Maybe' }, /nodeRecovery/],
    [{ NodeProvisioningMode: 'Slow' }, /nodeProvisioningMode/],
    [{ Tags: [{ Key: 'a', Value: '1' }, { Key: 'a', Value: '2' }] }, /twice/],
    [{ Tags: Array.from({ length: 51 }, (_, i) => ({ Key: `k${i}`, Value: '' })) }, /'tags'.*less than or equal to 50/],
    [{ VpcConfig: { Subnets: ['subnet-1'] } }, /securityGroupIds/],
  ]);
  await assert.rejects(send('DescribeCluster', { ClusterName: 'wrong' }), is(sdk.ResourceNotFound));
});

test('UpdateCluster: with the least it changes nothing, with everything all of it', async () => {
  assert.equal((await send('UpdateCluster', { ClusterName: arn })).ClusterArn, arn);
  await send('UpdateCluster', {
    ClusterName: 'full', NodeRecovery: 'Automatic', NodeProvisioningMode: 'Continuous', ClusterRole: `${ROLE}s`,
    AutoScaling: { Mode: 'Disable' }, TieredStorageConfig: { Mode: 'Disable' },
    InstanceGroups: [group({ InstanceCount: 3, ThreadsPerCore: 1 }), group({ InstanceGroupName: 'new', InstanceCount: 1 })],
    InstanceGroupsToDelete: ['one'],
  });
  const cluster = await send('DescribeCluster', { ClusterName: 'full' });
  assert.deepEqual([cluster.NodeRecovery, cluster.ClusterRole, cluster.TieredStorageConfig], ['Automatic', `${ROLE}s`, { Mode: 'Disable' }]);
  assert.deepEqual(cluster.VpcConfig, { SecurityGroupIds: ['sg-2'], Subnets: ['subnet-3'] }); // which is not named, and stays
  const gpu = cluster.InstanceGroups.find((g) => g.InstanceGroupName === 'gpu');
  assert.deepEqual([gpu.TargetCount, gpu.ThreadsPerCore, gpu.NetworkInterface], [3, 1, undefined]); // a group is described in full
  assert.ok(cluster.InstanceGroups.some((g) => g.InstanceGroupName === 'new'));
  await wrong('UpdateCluster', { ClusterName: 'full' }, [
    [{ ClusterName: 'nobody' }, sdk.ResourceNotFound],
    [{ ClusterName: undefined }, /'clusterName'/],
    [{ InstanceGroups: [group({ InstanceType: 'ml.c5.large' })] }, /cannot be changed to "ml\.c5\.large"/],
    [{ InstanceGroups: [group()], InstanceGroupsToDelete: ['gpu'] }, /both described and to be deleted/],
    [{ InstanceGroupsToDelete: ['nothing'] }, /no group "nothing"/],
    [{ Orchestrator: { Slurm: { SlurmConfigStrategy: 'Merge' } } }, /Orchestrator/],
    [{ AutoScaling: { Mode: 'Enable' } }, /AutoScaling/],
    [{ InstanceGroups: Array.from({ length: 100 }, (_, i) => group({ InstanceGroupName: `g${i}`, InstanceCount: 0 })) }, sdk.ResourceLimitExceeded],
  ]);
});

test('nodes: each operation with the least, and with wrong input', async () => {
  const NodeId = await until('a machine', async () => (await send('ListClusterNodes', { ClusterName: 'full' })).ClusterNodeSummaries[0]?.InstanceId);
  const nobody = { ClusterName: 'nobody' };
  await wrong('ListClusterNodes', { ClusterName: 'full' }, [[nobody, sdk.ResourceNotFound], [{ MaxResults: 101 }, /maxResults/], [{ SortBy: 'AGE' }, /sortBy/], [{ CreationTimeAfter: new Date('+010000-01-01') }, 'ValidationException']]);
  await wrong('DescribeClusterNode', { ClusterName: 'full', NodeId }, [[nobody, sdk.ResourceNotFound], [{ NodeId: 'i-01234567' }, sdk.ResourceNotFound], [{ NodeLogicalId: 'gpu-1' }, /Exactly one/], [{ NodeId: 'gpu-1' }, /nodeId/]]);
  await wrong('BatchAddClusterNodes', { ClusterName: 'full', NodesToAdd: [{ InstanceGroupName: 'gpu', IncrementTargetCountBy: 1 }] }, [
    [nobody, sdk.ResourceNotFound], [{ NodesToAdd: undefined }, /nodesToAdd/], [{ NodesToAdd: [] }, /nodesToAdd/],
    [{ NodesToAdd: [{ InstanceGroupName: 'gpu', IncrementTargetCountBy: 51 }] }, /incrementTargetCountBy/],
    [{ NodesToAdd: Array.from({ length: 6 }, () => ({ InstanceGroupName: 'gpu', IncrementTargetCountBy: 1 })) }, /nodesToAdd/],
    [{ NodesToAdd: [{ InstanceGroupName: 'gpu', IncrementTargetCountBy: 50 }, { InstanceGroupName: 'new', IncrementTargetCountBy: 1 }] }, sdk.ResourceLimitExceeded],
    [{ ClientToken: 'a b' }, /clientToken/], [{ ClusterName: 'least' }, /all or nothing/],
  ]);
  for (const name of ['BatchDeleteClusterNodes', 'BatchRebootClusterNodes', 'BatchReplaceClusterNodes'])
    await wrong(name, { ClusterName: 'full' }, [[{}, /At least one/], [{ ...nobody, NodeIds: [NodeId] }, sdk.ResourceNotFound], [{ NodeIds: ['x'] }, /nodeIds/], [{ NodeLogicalIds: [] }, /nodeLogicalIds/]]);
  const ids = (n) => Array.from({ length: n }, (_, i) => `i-${String(i).padStart(8, '0')}`);
  await wrong('BatchDeleteClusterNodes', { ClusterName: 'full' }, [[{ NodeIds: ids(3001) }, /'nodeIds'.*less than or equal to 3000/], [{ NodeLogicalIds: ids(100) }, /'nodeLogicalIds'.*less than or equal to 99/], [{ NodeIds: ids(50), NodeLogicalIds: ['a-1'] }, /51 items together/]]);
});

test('software and checks: with the least, and with wrong input', async () => {
  const policy = (Type, Value) => ({ DeploymentConfig: { RollingUpdatePolicy: { MaximumBatchSize: { Type, Value } } } });
  await wrong('UpdateClusterSoftware', { ClusterName: 'least' }, [
    [{ ClusterName: 'nobody' }, sdk.ResourceNotFound],
    [{ ClusterName: 'full' }, sdk.ConflictException], // which is still made
    [policy('CAPACITY_PERCENTAGE', 101), /101 percent/], [policy('INSTANCE_COUNT', 0), /value/], [policy('ALL', 1), /type/],
    [{ DeploymentConfig: { WaitIntervalInSeconds: 3601 } }, /waitIntervalInSeconds/],
    [{ DeploymentConfig: { AutoRollbackConfiguration: [{ AlarmName: 'a' }] } }, /AutoRollbackConfiguration/],
    [{ InstanceGroups: [{ InstanceGroupName: 'none' }] }, sdk.ResourceNotFound],
    [{ InstanceGroups: [{ InstanceGroupName: 'gpu' }, { InstanceGroupName: 'gpu' }] }, /twice/],
    [{ ImageId: 'image' }, /imageId/],
  ]);
  const { ClusterArn } = await send('UpdateClusterSoftware', { ClusterName: 'least' });
  assert.equal(ClusterArn, (await send('DescribeCluster', { ClusterName: 'least' })).ClusterArn);
  await until('nothing was to be done', async () => (await send('DescribeCluster', { ClusterName: 'least' })).InstanceGroups[0].SoftwareUpdateStatus === 'Succeeded');
  await send('CreateCluster', { ClusterName: 'own', InstanceGroups: [group({ InstanceCount: 0, ImageId: 'ami-01234567' })] });
  await until('in service', async () => (await send('DescribeCluster', { ClusterName: 'own' })).ClusterStatus === 'InService');
  await wrong('UpdateClusterSoftware', { ClusterName: 'own' }, [[{}, /image of its own, ami-01234567/]]);
  await send('UpdateClusterSoftware', { ClusterName: 'own', ImageId: 'default' });
  assert.equal((await send('DescribeCluster', { ClusterName: 'own' })).InstanceGroups[0].DesiredImageId, 'default');
  const check = (more = {}) => ({ DeepHealthCheckConfigurations: [{ InstanceGroupName: 'gpu', DeepHealthChecks: ['InstanceStress'], ...more }] });
  assert.equal((await send('StartClusterHealthCheck', { ClusterName: 'least', ...check() })).ClusterArn, ClusterArn);
  await wrong('StartClusterHealthCheck', { ClusterName: 'least', ...check() }, [
    [{ ClusterName: 'nobody' }, sdk.ResourceNotFound], [{ DeepHealthCheckConfigurations: undefined }, /deepHealthCheckConfigurations/],
    [check({ InstanceGroupName: 'none' }), sdk.ResourceNotFound], [check({ InstanceIds: ['i-01234567'] }), sdk.ResourceNotFound],
    [check({ DeepHealthChecks: [] }), /deepHealthChecks/], [check({ DeepHealthChecks: ['All'] }), /deepHealthChecks/],
  ]);
});

test('deleted while it is made, and named by its ARN', async () => {
  await send('DeleteCluster', { ClusterName: arn });
  await assert.rejects(send('UpdateCluster', { ClusterName: 'full', NodeRecovery: 'None' }).then(() => send('UpdateCluster', { ClusterName: 'full', NodeRecovery: 'None' })), (error) => error instanceof sdk.ConflictException || error instanceof sdk.ResourceNotFound);
  await until('gone', () => send('DescribeCluster', { ClusterName: arn }).then(() => false, is(sdk.ResourceNotFound)));
});

test('a paginator of clusters ends while clusters come and go', async () => {
  for (const name of ['p1', 'p2', 'p3', 'p4']) await send('CreateCluster', { ClusterName: name, InstanceGroups: [group({ InstanceCount: 0 })] });
  const seen = [];
  for await (const page of sdk.paginateListClusters({ client, pageSize: 1 }, { SortBy: 'NAME', NameContains: 'p' })) {
    seen.push(...page.ClusterSummaries.map((c) => c.ClusterName));
    if (seen.length === 1) await send('DeleteCluster', { ClusterName: 'p1' });
    if (seen.length === 2) await send('DeleteCluster', { ClusterName: 'p3' });
    for (const name of seen.length === 2 ? ['p0', 'p5'] : []) await send('CreateCluster', { ClusterName: name, InstanceGroups: [group({ InstanceCount: 0 })] });
  }
  assert.deepEqual(seen, ['p1', 'p2', 'p4', 'p5']); // each once, none twice, in order
});
