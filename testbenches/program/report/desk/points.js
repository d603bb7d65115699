// The points as a table, one of them in detail, and two beside each other.
'use strict';
const points = (() => {
  const {axes, metrics, data, sets, shown, withUnit} = results;
  const pageSize = 100, status = axes.length + metrics.length;
  const columns = axes.map((a) => a.title).concat(metrics.map(withUnit), ['status', 'busiest resource', 'busy %'],
    data.other ? metrics.map((m) => withUnit(m) + ' (' + data.other.name + ')') : []);
  const order = Array.from({length: results.rows}, (_, i) => i);
  const state = {sort: -1, down: false, page: 0, open: -1, chosen: []};
  let onChange = () => {};

  function cell(n, i) {
    if (i >= status + 3) return results.value(sets[1], results.placeOf(n), i - status - 3);
    const v = data.columns[i][n];
    return i < axes.length ? axes[i].labels[v] : i === status ? data.statuses[v] : i === status + 1 ? data.resources[v] ?? '' : v;
  }
  function sort() {
    const i = state.sort;
    if (i < 0) return;
    const key = (n) => i < axes.length ? data.columns[i][n] : cell(n, i);
    order.sort((a, b) => { const x = key(a), y = key(b); return (x === y ? a - b : x === null ? 1 : y === null ? -1 : x < y ? -1 : 1) * (state.down ? -1 : 1); });
  }
  function change(f) {
    f();
    draw();
    onChange();
  }

  function head() {
    const heads = columns.map((c, i) => {
      const sorted = state.sort === i;
      const button = make('button', {type: 'button', onclick: () => change(() => {
        state.down = sorted ? !state.down : false;
        state.sort = i;
        state.page = 0;
        sort();
        document.getElementById('table').querySelectorAll('th button')[i]?.focus();
      })}, c + (sorted ? state.down ? ' \u25be' : ' \u25b4' : ''));
      return make('th', {scope: 'col', 'aria-sort': sorted ? state.down ? 'descending' : 'ascending' : 'none'}, button);
    });
    return make('thead', {}, make('tr', {}, make('th', {scope: 'col'}, 'point'), ...heads));
  }
  function row(n) {
    const name = 'point ' + (n + 1);
    const box = make('input', {type: 'checkbox', 'aria-label': 'compare ' + name, onchange: () => change(() => {
      state.chosen = box.checked ? state.chosen.concat(n).slice(-2) : state.chosen.filter((c) => c !== n);
    })});
    box.checked = state.chosen.includes(n);
    const open = make('button', {type: 'button', class: 'link', 'aria-expanded': state.open === n ? 'true' : 'false', 'aria-label': name + ' in detail', onclick: () => change(() => { state.open = state.open === n ? -1 : n; })}, String(n + 1));
    const line = make('tr', {class: results.status(n) === 'passed' ? undefined : 'failed'}, make('td', {}, box, open));
    columns.forEach((_, i) => { const v = cell(n, i); line.append(make('td', {class: typeof v === 'number' ? 'number' : undefined}, String(shown(v)))); });
    return line;
  }
  function pages() {
    const bar = document.getElementById('pages'), count = Math.ceil(order.length / pageSize);
    bar.textContent = '';
    if (count < 2) return;
    [['\u25c0', -1, 'previous page'], ['\u25b6', 1, 'next page']].forEach(([text, step, label]) => bar.append(make('button', {type: 'button', 'aria-label': label,
      onclick: () => change(() => { state.page = Math.min(count - 1, Math.max(0, state.page + step)); })}, text)));
    bar.append('page ' + (state.page + 1) + ' of ' + count);
  }

  const listed = (rows, heads) => make('div', {class: 'scroll', tabindex: 0}, make('table', {}, make('thead', {}, make('tr', {}, ...heads.map((h) => make('th', {scope: 'col'}, h)))),
    make('tbody', {}, ...rows.map((r) => make('tr', {}, ...r.map((v) => make('td', {class: typeof v === 'number' ? 'number' : undefined}, String(shown(v)))))))));
  // A statistic over time as a line, and in words for who cannot see the line.
  let curves = [];
  function curve(to, name, from, until, values) {
    const known = values.filter((v) => v !== null), place = (i) => (from + (until - from) * (i + 0.5) / values.length) / 1000;
    const words = name + ' from ' + shown(from / 1000) + ' to ' + shown(until / 1000) + ' us: first ' + shown(values[0]) + ', last ' + shown(values.at(-1)) + ', between ' +
      shown(Math.min(...known)) + ' and ' + shown(Math.max(...known));
    const canvas = make('div', {class: 'chart small', role: 'img', 'aria-label': words});
    to.append(make('h4', {}, name), canvas);
    const drawn = echarts.init(canvas, null, {renderer: 'svg'});
    drawn.setOption(charts.overTime(values.map((v, i) => [place(i), v])));
    return drawn;
  }
  function detail() {
    const to = document.getElementById('detail'), n = state.open;
    curves.splice(0).forEach((c) => c.dispose());
    to.textContent = '';
    if (n < 0 || n >= results.rows) return;
    const more = data.details[n] ?? {};
    to.append(make('h3', {}, 'Point ' + (n + 1) + ': ' + results.placeText(results.placeOf(n)) + ', ' + results.status(n)));
    (more.failures ?? []).forEach((f) => to.append(make('p', {class: 'failure'}, f)));
    to.append(make('p', {}, 'Again, with the way of an operation and what binds:'), make('pre', {class: 'command'}, results.command(n) + ' --explain --what-if'));
    if (more.resources?.length) to.append(listed(more.resources.map(([r, u]) => [r, u]), ['resource', 'busy %']));
    if (more.what_if) to.append(make('h4', {}, 'What relieving a resource gains'), more.what_if.length ? listed(more.what_if, ['relieved', 'change', 'gain %']) : make('p', {}, 'no tried change helps'));
    curves = (more.series ?? []).filter(([, , , values]) => values.some((v) => v !== null)).map((s) => curve(to, ...s));
    (more.breakdown ?? []).forEach(([operation, steps]) => to.append(make('h4', {}, operation), waterfall(operation, steps)));
  }
  // Bars one behind the other, and the same as a table for who cannot see them.
  function waterfall(operation, steps) {
    const all = steps.reduce((sum, [, v]) => sum + v, 0) || 1;
    let before = 0;
    return make('div', {class: 'scroll', tabindex: 0}, make('table', {class: 'waterfall'}, make('thead', {}, make('tr', {}, ...['unit', 'ns', 'from the start'].map((h) => make('th', {scope: 'col'}, h)))), make('tbody', {}, ...steps.map(([unit, v]) => {
      const bar = make('span', {class: 'bar', style: 'margin-left: ' + (100 * before / all) + '%; width: ' + (100 * v / all) + '%'});
      before += v;
      return make('tr', {}, make('td', {}, unit), make('td', {class: 'number'}, String(shown(v))), make('td', {class: 'wide'}, bar));
    }))));
  }
  function compare() {
    const to = document.getElementById('compare');
    to.textContent = '';
    if (state.chosen.length !== 2) return;
    const [a, b] = state.chosen, rows = [];
    axes.forEach((x, i) => { if (cell(a, i) !== cell(b, i)) rows.push([x.title, cell(a, i), cell(b, i), '']); });
    metrics.forEach((m, i) => {
      const u = cell(a, axes.length + i), v = cell(b, axes.length + i);
      rows.push([withUnit(m), u, v, u && v !== null ? shown(v / u) : '']);
    });
    rows.push(['busiest resource', cell(a, status + 1), cell(b, status + 1), ''], ['busy %', cell(a, status + 2), cell(b, status + 2), '']);
    to.append(make('h3', {}, 'Points ' + (a + 1) + ' and ' + (b + 1)), listed(rows, ['what differs, and every metric', 'point ' + (a + 1), 'point ' + (b + 1), 'ratio']));
  }

  function draw() {
    const t = document.getElementById('table');
    const focused = document.activeElement?.getAttribute?.('aria-label');
    t.textContent = '';
    t.append(head(), make('tbody', {}, ...order.slice(state.page * pageSize, (state.page + 1) * pageSize).map(row)));
    pages();
    compare();
    detail();
    if (focused) [...document.querySelectorAll('[aria-label]')].find((e) => e.getAttribute('aria-label') === focused)?.focus();
  }
  function begin(restored, changed) {
    Object.assign(state, restored);
    onChange = changed;
    sort();
    draw();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', detail);
    document.getElementById('csv').addEventListener('click', () => saveCsv(data.name.replace(/[^A-Za-z0-9_-]+/g, '_') + '.csv',
      [['point', ...columns], ...order.map((n) => [n + 1, ...columns.map((_, i) => cell(n, i))])]));
  }
  return {begin, state: () => state};
})();
