// The console in Chromium, over a real hpd with real agents: it says what hpctl, the event and /v1 say, word for word.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { open } from './lib/browser.mjs';
import { Local } from './lib/local.mjs';
import { hpctlPath } from './lib/programs.mjs';
import { FELL_OFF, until } from './lib/world.mjs';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-console.'));
const world = new Local();
const hpctl = (...words) => {
  const env = { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token, HPCTL_CONFIG: join(dir, 'hpctl.yaml') };
  const run = spawnSync(hpctlPath, words, { encoding: 'utf8', env });
  assert.equal(run.status, 0, run.stderr);
  return run.stdout;
};
const closers = [];
let page;
let seen;
const url = () => `http://127.0.0.1:${world.port}/console/`;
const go = (hash) => page.goto(`${url()}${hash}`);
const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor();

before(async () => {
  writeFileSync(join(dir, 'hpctl.yaml'), '{}\n');
  await world.start();
});
after(async () => {
  for (const close of closers) await close();
  await world.end();
  rmSync(dir, { recursive: true, force: true });
});
before(async () => {
  ({ page, seen } = await open({ after: (close) => closers.push(close) }));
});

test('it leads to a page that asks for a token, and says when one is wrong', async () => {
  const reply = await fetch(url().slice(0, -1), { redirect: 'manual' });
  assert.deepEqual([reply.status, reply.headers.get('location')], [302, 'console/']);
  const policy = (await fetch(url())).headers.get('content-security-policy');
  assert.ok(policy.includes("default-src 'none'") && !/unsafe|\*|http/.test(policy), policy);
  assert.equal((await fetch(`${url()}nothing.js`)).status, 404);
  await page.goto(url().slice(0, -1));
  await page.getByLabel('API token').fill('hfa_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('That token is not valid, or not any more.').waitFor();
  await page.getByLabel('API token').fill(world.token);
  await page.keyboard.press('Enter');
  await heading('Clusters');
  await page.getByText('No clusters yet. Make one with:').waitFor();
});

test('a cluster, its nodes by page and by what is chosen', async () => {
  await world.create(4);
  await world.ready();
  await page.getByRole('link', { name: 'demo' }).click();
  await heading('Cluster demo');
  const rows = page.locator('main table').last().locator('tbody tr');
  await until('its nodes', async () => (await rows.count()) === 4);
  if (process.env.SHOT) await page.screenshot({ path: '/tmp/hf/cluster.png', fullPage: true });
  await page.getByLabel('Words, on this page').fill('w-3');
  await page.getByRole('button', { name: 'Show' }).click();
  await until('one of them', async () => (await rows.count()) === 1);
  assert.match(await rows.first().innerText(), /^w-3\tw\tready\thealthy/);
});

test('a fault: the node, its event, /v1 and hpctl say the same sentence as the console', async () => {
  writeFileSync(join(dir, 'policy.yaml'), 'version: 1\nclasses:\n  gpu: {mode: approve}\n');
  hpctl('policy', 'apply', '-f', join(dir, 'policy.yaml'));
  await world.kernel('w-1', FELL_OFF);
  const { decision, why } = await until('the decision', async () => {
    const said = await world.get('/v1/clusters/demo/nodes/w-1/explanation');
    return said.explanation === 'repair-waits' && said;
  });
  await go('#/clusters/demo/nodes/w-1');
  await heading('w-1 in demo');
  assert.equal(await page.locator('#decision').innerText(), decision.sentence);
  assert.equal(await page.locator('#why').innerText(), why);
  const said = hpctl('node', 'explain', 'w-1').replace(/\s+/g, ' ');
  assert.ok(said.includes(decision.sentence), said);
  assert.ok((await world.events('decision', 'w-1')).some((e) => e.message.includes(decision.sentence)));
  assert.ok((await page.getByRole('row', { name: 'decision' }).first().innerText()).includes(decision.sentence));
  const { reason } = await world.node('w-1');
  assert.ok(reason, JSON.stringify(await world.node('w-1')));
  if (process.env.SHOT) await page.screenshot({ path: '/tmp/hf/node.png', fullPage: true });
  assert.equal(await page.locator('#reason').innerText(), reason);
  assert.match(await page.getByRole('row', { name: /^owner/ }).innerText(), /passed/);
  await page.getByRole('row', { name: /^replace/ }).first().waitFor();
  assert.match(await page.getByRole('row', { name: /^xid\.79/ }).innerText(), /GPU has fallen off the bus/);
});

test('a question is answered, and what comes of it is seen without reading the page anew', async () => {
  const [asked] = (await world.get('/v1/approvals?state=asked')).items;
  await page.getByRole('link', { name: /^Approvals/ }).click();
  await heading('Approvals');
  assert.match(await page.getByRole('link', { name: /^Approvals/ }).innerText(), /\(1\)/);
  await page.getByLabel('Why, for w-1').fill('the day shift says so');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('status').getByText('w-1: reboot approved').waitFor();
  await until('the repair', async () => (await world.repairs('w-1')).some((o) => o.id === asked.id));
  assert.equal((await world.get('/v1/approvals?state=done')).items.find((a) => a.id === asked.id)?.reason ?? 'the day shift says so', 'the day shift says so');
  await go('#/events');
  await page.getByText('token:admin approved the reboot of w-1: the day shift says so').waitFor();
  await page.getByText('operation-succeeded').first().waitFor();
});

test('what a log line or a person wrote is text, whatever it looks like', async () => {
  const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  hpctl('cluster', 'pause', '--reason', evil);
  await go('#/');
  await page.getByText(`PAUSED by token:admin: ${evil}.`).waitFor();
  assert.equal(await page.locator('main img, main script').count(), 0);
  hpctl('cluster', 'resume');
});

test('a viewer is refused in hpd\'s words; a page that is not there, a node that is not there', async () => {
  await go('#/nothing');
  await page.getByText('There is no such page.').waitFor();
  await go('#/clusters/demo/nodes/none');
  await page.getByRole('alert').getByText(/none/).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API token').fill(JSON.parse(hpctl('token', 'create', '--role', 'viewer', '--name', 'look', '-o', 'json')).secret);
  await page.keyboard.press('Enter');
  await world.kernel('w-2', FELL_OFF);
  await until('the question', async () => (await world.get('/v1/approvals?state=asked')).items.length === 1);
  await go('#/approvals');
  await page.getByRole('button', { name: 'Reject' }).click();
  await page.getByRole('status').getByText(/role/).waitFor();
});

test('hpd goes away and comes back: what was seen stays, and it is said', async () => {
  await go('#/clusters/demo');
  await heading('Cluster demo');
  await world.stopHpd();
  await page.getByRole('alert').getByText('hpd does not answer').waitFor();
  await heading('Cluster demo');
  await world.start();
  await until('it is well again', async () => !(await page.getByRole('alert').isVisible()));
  const own = seen.complaints.filter((text) => !/Failed to load resource/.test(text)); // Chromium's own words for 401, 403, 404 and silence
  assert.deepEqual(own, [], 'its policy was in nobody\'s way');
  const elsewhere = seen.asked.map((request) => request.url()).filter((asked) => !asked.startsWith(`http://127.0.0.1:${world.port}/`) && !asked.startsWith('data:'));
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), [], 'the token is kept for the tab only');
});
