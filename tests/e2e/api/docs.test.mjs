// /docs as files: where it leads, what is kept by whom. And as pages, in Chromium: they show the operations, take a token, try
// one, and ask nothing of any other server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open } from '../lib/browser.mjs';
import { assertReply, openapiText, operations } from './contract.mjs';
import { Hpd } from './hpd.mjs';

const hpd = new Hpd();
before(() => hpd.start());
after(async () => assert.equal(await hpd.stop(), 0));

async function get(path, headers = {}, method = 'GET') {
  const reply = await fetch(`${hpd.url}${path}`, { method, headers, redirect: 'manual' });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
}

test('/docs leads to its pages, relative to where it was asked for', async () => {
  const reply = await get('/docs');
  assert.equal(reply.status, 302);
  assert.equal(reply.headers.get('location'), 'docs/');
  assertReply(operations.get('openDocs'), reply.status, reply.headers, reply.text);
  assert.equal((await get('/docs', {}, 'HEAD')).status, 302);
  assert.equal((await get('/docs', {}, 'POST')).status, 405);
  const followed = await fetch(`${hpd.url}/docs`);
  assert.equal(followed.url, `${hpd.url}/docs/`);
  assert.match(await followed.text(), /<title>Holdfast<\/title>/);
});

const FILES = {
  '/docs/': ['text/html; charset=utf-8', /^<!doctype html>/],
  '/docs/index.html': ['text/html; charset=utf-8', /^<!doctype html>/],
  '/docs/page.js': ['text/javascript; charset=utf-8', /SwaggerUIBundle\(/],
  '/docs/swagger-ui-bundle.js': ['text/javascript; charset=utf-8', /SwaggerUIBundle/],
  '/docs/swagger-ui.css': ['text/css; charset=utf-8', /\.swagger-ui/],
  '/docs/swagger-ui-bundle.js.LICENSE.txt': ['text/plain; charset=utf-8', /MIT License/],
  '/openapi.yaml': ['application/yaml', /^openapi: 3/],
};
for (const [path, [type, content]] of Object.entries(FILES))
  test(`${path} says what it is, and is not sent again to who has it`, async () => {
    const operation = operations.get(path === '/openapi.yaml' ? 'readOpenapi' : 'readDocs');
    const whole = await get(path);
    assert.equal(whole.status, 200);
    assert.equal(whole.headers.get('content-type'), type);
    assert.equal(whole.headers.get('x-content-type-options'), 'nosniff');
    assert.match(whole.text, content);
    assertReply(operation, whole.status, whole.headers, whole.text);
    const head = await get(path, {}, 'HEAD');
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
    assert.equal(Number(head.headers.get('content-length')), Buffer.byteLength(whole.text));
    const etag = whole.headers.get('etag');
    assert.equal(head.headers.get('etag'), etag);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const kept = await get(path, { 'if-none-match': known });
      assert.equal(kept.status, 304, known);
      assert.equal(kept.text, '');
      assertReply(operation, kept.status, kept.headers, kept.text);
    }
    assert.equal((await get(path, { 'if-none-match': '"other"' })).status, 200);
  });

test('what is not there is not found, and nothing but these files is', async () => {
  for (const path of ['/docs/nothing.js', '/docs/..%2Fopenapi.yaml', '/docs/../main.c', '/docs/swagger-ui.css/', '/docs//'])
    assert.equal((await get(path)).status, 404, path);
  const reply = await get('/docs/nothing.js');
  assertReply(operations.get('readDocs'), reply.status, reply.headers, reply.text);
  // An address cannot make the page show another document.
  assert.equal((await get('/docs/?url=http://127.0.0.1:9/other.yaml')).status, 400);
});

test('the page may do nothing but what it needs', async () => {
  const policy = (await get('/docs/')).headers.get('content-security-policy').split('; ');
  assert.ok(policy.includes("default-src 'none'") && policy.includes("connect-src 'self'") && policy.includes("frame-ancestors 'none'"));
  assert.ok(!/unsafe|\*|http/.test(policy.join()));
});

test('in a browser: the operations, a token typed in, a request and its reply', async (t) => {
  const { page, seen } = await open(t);
  await page.goto(`${hpd.url}/docs`);
  assert.equal(page.url(), `${hpd.url}/docs/`);
  // Collapsed at first: Swagger UI draws a part of them only when all are open at once.
  const subjects = page.locator('.opblock-tag');
  await subjects.first().waitFor();
  assert.equal(await page.locator('.opblock').count(), 0, 'the page opens with its subjects collapsed');
  let shown = 0;
  for (const subject of await subjects.all()) {
    const section = page.locator('.opblock-tag-section').filter({ has: page.locator(`[id="${await subject.getAttribute('id')}"]`) });
    await subject.click();
    await section.locator('.opblock').first().waitFor();
    shown += await section.locator('.opblock').count();
    await subject.click();
    await section.locator('.opblock').first().waitFor({ state: 'detached' });
  }
  assert.equal(shown, operations.size, 'every operation is shown');
  await page.locator('#operations-tag-system').click();

  await page.locator('.btn.authorize').click();
  const box = page.locator('.auth-container', { hasText: 'apiToken' });
  await box.locator('input').fill(hpd.admin);
  await box.locator('button[type=submit]').click();
  await box.getByText('Authorized').first().waitFor();
  await page.locator('.btn-done').first().click();

  const version = page.locator('#operations-system-describeVersion');
  await version.locator('.opblock-summary-control').click();
  await version.locator('.try-out__btn').click();
  await version.locator('.execute').click();
  const live = version.locator('.live-responses-table');
  await live.waitFor();
  assert.match(await live.innerText(), /"faultTableVersion"/);
  assert.equal(await live.locator('.response-col_status').last().innerText().then((text) => parseInt(text, 10)), 200);

  const tried = seen.asked.find((request) => request.url() === `${hpd.url}/v1/version`);
  assert.equal((await tried.allHeaders()).authorization, `Bearer ${hpd.admin}`);
  const elsewhere = seen.asked.map((request) => request.url()).filter((url) => !url.startsWith(`${hpd.url}/`) && !url.startsWith('data:'));
  assert.deepEqual(elsewhere, []);
  assert.ok(seen.asked.some((request) => request.url() === `${hpd.url}/openapi.yaml`));
  assert.deepEqual(seen.complaints, [], 'the page is content, and its policy was in nobody\'s way');
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), [], 'the token is kept nowhere');
});
