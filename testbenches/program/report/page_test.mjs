// Opens a report in headless Chromium without a network and uses it as a person would: hovers, sorts a column by a click,
// chooses another kind of chart. Prints what it saw as JSON; writes a screenshot.
//   node page_test.mjs PAGE.html SCREENSHOT.png
import {spawn} from 'node:child_process';
import {writeFileSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';

const [page, picture] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), 'hcasim_chromium_'));
const browser = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--remote-debugging-pipe', '--window-size=1250,1000',
  `--user-data-dir=${profile}`, 'about:blank'], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true});
const ended = new Promise((yes) => browser.once('exit', yes));
const failed = new Promise((_, no) => browser.on('error', (e) => no(new Error('no chromium: ' + e.message))));
const waiting = new Map(), requests = [], errors = [];
let number = 0, rest = '', loaded;
browser.stdio[4].on('data', (text) => {
  const parts = (rest + text).split('\0');
  rest = parts.pop();
  for (const part of parts) {
    const m = JSON.parse(part);
    if (m.id) waiting.get(m.id)(m);
    if (m.method === 'Network.requestWillBeSent') requests.push(m.params.request.url);
    if (m.method === 'Runtime.exceptionThrown') errors.push(m.params.exceptionDetails.text + ' ' + (m.params.exceptionDetails.exception?.description ?? ''));
    if (m.method === 'Page.loadEventFired') loaded();
  }
});
const call = (method, params = {}, sessionId) => new Promise((yes, no) => {
  waiting.set(++number, (m) => m.error ? no(new Error(method + ': ' + m.error.message)) : yes(m.result));
  browser.stdio[3].write(JSON.stringify({id: number, method, params, sessionId}) + '\0');
});

async function use() {
  const {targetId} = await call('Target.createTarget', {url: 'about:blank'});
  const {sessionId} = await call('Target.attachToTarget', {targetId, flatten: true});
  const on = (method, params) => call(method, params, sessionId);
  const see = async (expression) => (await on('Runtime.evaluate', {expression, returnByValue: true})).result.value;
  for (const domain of ['Page', 'Runtime', 'Network']) await on(domain + '.enable');
  await on('Network.emulateNetworkConditions', {offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0});
  const done = new Promise((yes) => { loaded = yes; });
  const begin = performance.now();
  await on('Page.navigate', {url: 'file://' + resolve(page)});
  await done;
  const load = performance.now() - begin;
  while (!await see('document.body.dataset.ready')) await new Promise((yes) => setTimeout(yes, 20));
  const seen = {load_ms: load, ready_ms: Number(await see('document.body.dataset.ready')), rows: Number(await see('document.body.dataset.rows'))};
  const mouse = (type, x, y, more = {}) => on('Input.dispatchMouseEvent', {type, x, y, ...more});
  const middle = async (selector) => see(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`);
  const text = (selector) => see(`document.querySelector(${JSON.stringify(selector)}).textContent`);
  seen.title = await text('h1');
  seen.first_lines = await see("document.querySelectorAll('#chart svg path[fill=none][stroke-linejoin]').length");
  if (await see("!!document.getElementById('all')")) {
    await see("(() => { const k = document.getElementById('all'); k.value = 'all'; k.dispatchEvent(new Event('change')); })()");
    seen.all_lines = await see("document.querySelectorAll('#chart svg path[fill=none][stroke-linejoin]').length");
  }
  const [cx, cy] = await middle('#chart');
  await mouse('mouseMoved', cx - 100, cy);
  for (let i = 0; i < 100 && !seen.tooltip; ++i) {  // a busy machine shows it late
    await mouse('mouseMoved', cx - 102 + i % 2, cy);
    await new Promise((yes) => setTimeout(yes, 100));
    seen.tooltip = await see("(document.querySelectorAll('#chart > div')[1] ?? {}).innerText ?? ''");
  }
  seen.first_row = await text('#table tbody tr');
  const [hx, hy] = await middle('#table th');
  for (let i = 0; i < 2; ++i) {  // up, then down
    await mouse('mousePressed', hx, hy, {button: 'left', clickCount: 1});
    await mouse('mouseReleased', hx, hy, {button: 'left', clickCount: 1});
  }
  seen.first_row_down = await text('#table tbody tr');
  seen.lines = await see("document.querySelectorAll('#chart svg path').length");
  await see("(() => { const k = document.getElementById('kind'); k.value = 'heat'; k.dispatchEvent(new Event('change')); })()");
  seen.cells = await see("document.querySelectorAll('#chart svg path').length");
  seen.head = await text('#table thead');
  if (await see("!!document.getElementById('which')")) {
    await see("(() => { const k = document.getElementById('which'); k.value = 2; k.dispatchEvent(new Event('change')); })()");
    seen.ratios = await see("[...document.querySelectorAll('#chart svg text')].map((t) => t.textContent)");
  }
  seen.description = (await text('#description')).length;
  await see('window.scrollTo(0, 0)');
  const {data} = await on('Page.captureScreenshot', {format: 'png'});
  writeFileSync(picture, Buffer.from(data, 'base64'));
  return {...seen, screenshot: Buffer.from(data, 'base64').length, requests, errors};
}

let status = 0;
const late = new Promise((_, no) => setTimeout(() => no(new Error('chromium did not answer within 60 s')), 60000).unref());
try {
  console.log(JSON.stringify(await Promise.race([use(), failed, late])));
} catch (e) {
  console.error(e.message);
  status = 1;
}
// Its helpers are in its group and write into the profile until they are gone as well.
if (browser.pid) {
  process.kill(-browser.pid, 'SIGKILL');
  await ended;
}
for (let i = 0; i < 100; ++i) {
  try {
    rmSync(profile, {recursive: true, force: true});
    break;
  } catch {
    await new Promise((yes) => setTimeout(yes, 50));
  }
}
process.exit(status);
