// Opens a report in headless Chromium without a network and uses it as a person would: hovers, sorts a column by a click and by keys,
// chooses kinds of charts, compares and opens points, goes away and comes back, on dark, narrow and printed pages. Asks axe-core, if it
// is given, about accessibility. Prints what it saw as JSON; writes a screenshot.
//   node page_test.mjs PAGE.html SCREENSHOT.png [axe.min.js]
import {spawn} from 'node:child_process';
import {readFileSync, writeFileSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';

const [page, picture, axe] = process.argv.slice(2);
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

// Waits for the pages of its own that the browser loads when it starts: until it uses less than a tenth of a core, or for 10 s.
async function idleBrowser() {
  const used = async () => (await call('SystemInfo.getProcessInfo')).processInfo.reduce((sum, p) => sum + p.cpuTime, 0);
  for (let i = 0, before = -1, now = await used(); i < 50 && now - before >= 0.02; ++i) {
    await new Promise((yes) => setTimeout(yes, 200));
    [before, now] = [now, await used()];
  }
}

async function use() {
  await idleBrowser();
  const {targetId} = await call('Target.createTarget', {url: 'about:blank'});
  const {sessionId} = await call('Target.attachToTarget', {targetId, flatten: true});
  const on = (method, params) => call(method, params, sessionId);
  const see = async (expression, awaitPromise = false) => (await on('Runtime.evaluate', {expression, returnByValue: true, awaitPromise})).result.value;
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
  const choose = (id, v) => see(`(() => { const k = document.getElementById('${id}'); k.value = '${v}'; k.dispatchEvent(new Event('change')); })()`);
  const click = (selector) => see(`document.querySelector(${JSON.stringify(selector)}).click()`);
  seen.charts = await see("document.querySelectorAll('.panel').length");
  seen.first_lines = await see("document.querySelectorAll('#chart1 svg path[fill=none][stroke-linejoin]').length");
  if (await see("!!document.getElementById('all1')")) {
    await choose('all1', 'all');
    seen.all_lines = await see("document.querySelectorAll('#chart1 svg path[fill=none][stroke-linejoin]').length");
    await choose('all1', '');
  }
  const [cx, cy] = await middle('#chart1');
  await mouse('mouseMoved', cx - 100, cy);
  for (let i = 0; i < 100 && !seen.tooltip; ++i) {  // a busy machine shows it late
    await mouse('mouseMoved', cx - 102 + i % 2, cy);
    await new Promise((yes) => setTimeout(yes, 100));
    seen.tooltip = await see("(document.querySelectorAll('#chart1 > div')[1] ?? {}).innerText ?? ''");
  }
  seen.first_row = await text('#table tbody tr td:nth-child(2)');
  const [hx, hy] = await middle('#table th:nth-child(2) button');
  for (let i = 0; i < 2; ++i) {  // up, then down
    await mouse('mousePressed', hx, hy, {button: 'left', clickCount: 1});
    await mouse('mouseReleased', hx, hy, {button: 'left', clickCount: 1});
  }
  seen.first_row_down = await text('#table tbody tr td:nth-child(2)');
  for (let i = 0; i < 2; ++i) {  // up again, by keys
    await see("document.querySelector('#table th:nth-child(2) button').focus()");
    for (const type of ['rawKeyDown', 'char', 'keyUp']) await on('Input.dispatchKeyEvent', {type, key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: type === 'char' ? '\r' : undefined});
    if (await see("document.querySelector('#table th:nth-child(2)').getAttribute('aria-sort')") === 'ascending') break;
  }
  seen.sorted = await see("document.querySelector('#table th:nth-child(2)').getAttribute('aria-sort')");
  seen.lines = await see("document.querySelectorAll('#chart1 svg path').length");
  const legend = "[...document.querySelectorAll('#chart1 svg text')].map((t) => t.textContent)";
  seen.legend = await see(legend);
  await choose('kind1', 'heat');
  seen.cells = await see("document.querySelectorAll('#chart1 svg path').length");
  seen.head = await text('#table thead');
  if (await see("!!document.getElementById('which1')")) {
    await choose('which1', 2);
    seen.ratios = await see(legend);
  }
  const large = seen.rows > 10000;  // drawing takes seconds there
  if (!large) {
    seen.words = {};
    for (const kind of ['bar', 'stacked', 'tornado', 'scatter', 'line']) {
      if (!await see(`[...document.getElementById('kind1').options].some((o) => o.value === '${kind}')`)) continue;
      await choose('kind1', kind);
      seen.words[kind] = await see("document.getElementById('chart1').getAttribute('aria-label')");
      if (await see("!!document.getElementById('yLog1')")) await choose('yLog1', 'log');
      if (kind === 'scatter') await choose('xScale1', 'log');
    }
    await see("document.querySelectorAll('#table tbody input').forEach((e, i) => { if (i < 2) document.querySelectorAll('#table tbody input')[i].click(); })");
    seen.compared = await text('#compare');
    await click('#table tbody button');
    seen.detail = await text('#detail');
    seen.curves = await see("[...document.querySelectorAll('#detail .chart')].map((c) => [c.getAttribute('aria-label'), c.querySelectorAll('svg path').length])");
    await see("(() => { const d = document.querySelector('.panel details'); d.open = true; })()");
    await new Promise((yes) => setTimeout(yes, 50));
    seen.numbers = await text('.panel details table');
    seen.csv = await see("csvOf([['a', 'b,c'], [1, null], ['d\"e', 2]])");
    await click('.panel .buttons button');
    for (let i = 0; i < 50 && !seen.png; ++i) {
      await new Promise((yes) => setTimeout(yes, 50));
      seen.png = Number(await see('document.body.dataset.png ?? 0'));
    }
    await click('#add');
    // Away and back: the choice is in the URL.
    const told = "JSON.stringify([document.querySelectorAll('.panel').length, document.getElementById('kind1').value, document.querySelector('#detail h3').textContent, document.querySelectorAll('#compare table').length])";
    seen.before = await see(told);
    const back = new Promise((yes) => { loaded = yes; });
    await on('Page.reload');
    await back;
    while (!await see('document.body.dataset.ready')) await new Promise((yes) => setTimeout(yes, 20));
    seen.after = await see(told);
    const colours = "(() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor, getComputedStyle(document.querySelector('#chart1 svg text')).fill]; })()";
    const axed = async () => axe ? see("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + v.nodes.map((n) => n.target + ' ' + n.failureSummary).slice(0, 3).join('; ')))", true) : [];
    if (axe) await see(readFileSync(axe, 'utf8') + ';0');
    seen.accessibility = await axed();
    seen.light = await see(colours);
    await on('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: 'dark'}]});
    for (let i = 0; i < 50 && (!seen.dark || seen.dark[0] !== seen.dark[2]); ++i) {  // a busy machine draws charts again late
      await new Promise((yes) => setTimeout(yes, 100));
      seen.dark = await see(colours);
    }
    seen.accessibility_dark = await axed();
    await on('Emulation.setEmulatedMedia', {media: 'print', features: []});
    seen.printed_controls = await see("getComputedStyle(document.querySelector('.controls')).display");
    await on('Emulation.setEmulatedMedia', {media: '', features: []});
    await on('Emulation.setDeviceMetricsOverride', {width: 420, height: 900, deviceScaleFactor: 1, mobile: false});
    for (let i = 0; i < 50 && !(seen.narrow_width <= 420); ++i) {
      await new Promise((yes) => setTimeout(yes, 100));
      seen.narrow_width = await see('document.documentElement.scrollWidth');
    }
    await on('Emulation.clearDeviceMetricsOverride');
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
