// Debian's Chromium, driven by Playwright.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const PATIENCE_MS = 120000; // a browser that starts on a busy machine

// A page in a browser of its own, with all it asked for and all it complained of. t: a test, or a suite's after.
export async function open(t, options = {}) {
  assert.ok(existsSync(CHROMIUM), `${CHROMIUM} is not there: scripts/deps test installs it`);
  const profile = mkdtempSync(join(tmpdir(), 'holdfast-browser.'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM, headless: true, timeout: PATIENCE_MS, ...options,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  t.after(async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const seen = { asked: [], complaints: [] };
  context.on('request', (request) => seen.asked.push(request));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && seen.complaints.push(message.text()));
  page.on('pageerror', (error) => seen.complaints.push(String(error)));
  return { page, seen };
}

// What axe finds on a page that keeps people out: its rules of the impact serious and critical, with the elements.
export async function serious(page) {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary.replace(/\s+/g, ' ')}`));
}
