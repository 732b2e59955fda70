// The console over a real Kubernetes: a fault appears, is explained, approved beside the pods that it hits, and repaired, all on one page that is
// never loaded again, and the node is Schedulable again as kubectl shows it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { open, serious } from '../lib/browser.mjs';
import { HEALTH, KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const why = cannot();
const closers = [];
let world, page, seen;

before(async () => {
  if (why) return;
  world = await new KubernetesWorld().start();
  ({ page, seen } = await open({ after: (close) => closers.push(close) }));
}, { timeout: 300000 });
after(async () => {
  for (const close of closers) await close();
  await world?.end();
});

const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor();
const marked = () => page.evaluate(() => globalThis.marked === true);
const explained = async () => {
  const said = await (await fetch(`${world.url}/v1/clusters/demo/nodes/gpu-1/explanation`, { headers: { authorization: `Bearer ${world.token}` } })).json();
  return said.explanation === 'repair-waits' && said;
};

test('the cluster is shown, with all nodes in service', { skip: why, timeout: 300000 }, async () => {
  writeFileSync(join(world.dir, 'policy.yaml'), 'version: 1\nclasses:\n  gpu: {mode: approve}\n');
  assert.equal(world.hpctl('policy', 'apply', '-f', join(world.dir, 'policy.yaml')).code, 0);
  await page.goto(`${world.url}/console/#/clusters/demo`);
  await page.getByLabel('API token').fill(world.token);
  await page.keyboard.press('Enter');
  await heading('3 of 3 nodes in service');
  await page.evaluate(() => (globalThis.marked = true));
});

test('a fault appears, and is explained', { skip: why, timeout: 300000 }, async () => {
  const object = world.kubeNode('gpu-1').metadata.name;
  world.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'train-0', namespace: 'default' }, spec: { nodeSelector: { 'kubernetes.io/hostname': object }, containers: [{ name: 'c', image: 'none' }], terminationGracePeriodSeconds: 1 } });
  await until('the pod runs', () => JSON.parse(world.kubectl('get', 'pod', 'train-0', '-n', 'default', '-o', 'json')).status.phase === 'Running');
  await until('hpd knows it', () => world.json('job', 'list').some((job) => /train-0/.test(job.id) && job.nodes === 'gpu-1'));
  world.kernel('gpu-1', FELL_OFF);
  await page.getByText('Reboot gpu-1?').waitFor();
  await heading('2 of 3 nodes in service');
  const { decision } = await until('the decision', explained);
  await page.locator('#waiting').getByRole('link', { name: 'gpu-1' }).click();
  await heading('gpu-1 is held');
  const shown = await page.locator('#decision').innerText();
  assert.ok(decision.sentence.length > 20 && shown.replace(/\s+/g, ' ').includes(decision.sentence.split(/\d\d:\d\d/)[0].trim()), `${shown}\n${decision.sentence}`);
  assert.notEqual(world.health('gpu-1'), 'Schedulable');
  assert.deepEqual(await serious(page), []);
});

test('it is approved beside the pod that it hits, and repaired, without a reload', { skip: why, timeout: 300000 }, async () => {
  await page.getByRole('link', { name: /^Approvals/ }).click();
  const [{ id }] = world.json('operation', 'approvals', '--state', 'asked');
  const card = page.locator(`#approval-${id}`);
  await card.getByText(/train-0/).first().waitFor();
  await card.getByRole('button', { name: 'Approve' }).click();
  await page.locator('#said').getByText('gpu-1: reboot approved').waitFor();
  await world.repaired('gpu-1', 'reboot');
  await page.getByText('No repair waits for you.').waitFor();
  await page.getByRole('link', { name: 'Clusters' }).first().click();
  await page.getByText('3 of 3 nodes in service').waitFor();
  assert.equal(world.health('gpu-1'), 'Schedulable');
  assert.ok(await marked(), 'the page was loaded again');
  assert.deepEqual(seen.complaints, []);
});
