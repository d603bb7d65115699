// The page of `hcasim report`: charts, a table and the description of one study, and of a second one to compare with.
// Their numbers stand in the page as JSON, column by column; see testbenches/program/report/page.cpp.
'use strict';
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const axes = data.axes, metrics = data.metrics, axisCount = axes.length;
  const byId = (id) => document.getElementById(id);
  const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#8b8000'];
  const withUnit = (m) => m.title + (m.unit && m.unit !== '1' ? ' [' + m.unit + ']' : '');
  const shown = (v) => v === null || v === undefined ? '-' : typeof v === 'number' ? String(Number(v.toPrecision(5))) : v;
  const state = {kind: 'line', x: 0, series: axisCount > 1 ? 1 : -1, metric: 0, several: null, all: false, at: axes.map(() => 0), which: 0, page: 0, sort: -1, down: false};

  // Row of each combination of axis values, by the number that the values' indices make; -1: there is none.
  const strides = axes.map(() => 1);
  for (let i = axisCount - 2; i >= 0; --i) strides[i] = strides[i + 1] * axes[i + 1].labels.length;
  const numberOf = (at) => at.reduce((sum, v, i) => sum + v * strides[i], 0);
  function indexed(columns) {
    const count = columns[0].length, rows = new Int32Array(axisCount ? strides[0] * axes[0].labels.length : 1).fill(-1);
    for (let n = 0; n < count; ++n) {
      let number = 0;
      for (let i = 0; i < axisCount; ++i) number += columns[i][n] * strides[i];
      rows[number] = n;
    }
    return rows;
  }
  const rowCount = data.columns[0].length;
  const sets = [{name: data.name, columns: data.columns, rows: indexed(data.columns)}];
  if (data.other) sets.push({name: data.other.name, columns: data.other.columns, rows: indexed(data.other.columns)});
  // Of a heat map: the first results, the others, or how they relate.
  const choices = data.other ? [data.name, data.other.name, 'other / first'] : [];
  const value = (set, at, m) => { const n = set.rows[numberOf(at)]; return n < 0 ? null : set.columns[axisCount + m][n]; };
  // More lines than can be told apart: some of them, evenly chosen, unless all are asked for.
  const fewLines = 12;
  const someOf = (list) => state.all || list.length <= fewLines ? list : Array.from({length: fewLines}, (_, i) => list[Math.round(i * (list.length - 1) / (fewLines - 1))]);

  function chosen(at, m) {
    const v = sets.map((set) => value(set, at, m));
    return state.which < 2 ? v[state.which] : v[0] && v[1] !== null ? v[1] / v[0] : null;
  }

  function select(parent, title, id, options, chosen, change) {
    const label = document.createElement('label');
    label.textContent = title;
    const box = document.createElement('select');
    box.id = id;
    options.forEach(([v, t]) => { const o = document.createElement('option'); o.value = v; o.textContent = t; o.selected = String(v) === String(chosen); box.append(o); });
    box.addEventListener('change', () => change(box.value));
    label.append(box);
    parent.append(label);
  }

  function controls() {
    const c = byId('controls');
    c.textContent = '';
    if (data.charts.length) {
      select(c, 'chart of the study', 'preset', [['', 'own choice']].concat(data.charts.map((x, i) => [i, x.title])), state.preset ?? '', (v) => { preset(v); draw(); });
    }
    const own = (f) => (v) => { state.preset = ''; f(v); draw(); };
    select(c, 'kind', 'kind', [['line', 'lines'], ['heat', 'heat map'], ['stacked', 'stacked bars']], state.kind, own((v) => {
      state.kind = v;
      state.several = v === 'stacked' ? metrics.map((_, i) => i).filter((i) => metrics[i].unit === metrics[state.metric].unit) : null;
      if (v === 'heat' && state.series < 0 && axisCount > 1) state.series = axes.findIndex((_, i) => i !== state.x);
    }));
    if (!state.several) select(c, 'metric', 'metric', metrics.map((m, i) => [i, withUnit(m)]), state.metric, own((v) => { state.metric = Number(v); }));
    select(c, 'x axis', 'x', axes.map((a, i) => [i, a.title]), state.x, own((v) => {
      state.x = Number(v);
      if (state.series === state.x) state.series = axes.findIndex((_, i) => i !== state.x);
    }));
    if (!state.several) {
      const other = axes.map((a, i) => [i, a.title]).filter(([i]) => i !== state.x);
      select(c, state.kind === 'heat' ? 'y axis' : 'lines', 'series', state.kind === 'heat' ? other : [[-1, 'one']].concat(other), state.series,
        own((v) => { state.series = Number(v); }));
    }
    if (state.kind === 'line' && !state.several && state.series >= 0 && axes[state.series].labels.length > fewLines) {
      const n = axes[state.series].labels.length;
      select(c, 'shown', 'all', [['', fewLines + ' of ' + n + ' lines'], ['all', 'all ' + n + ' lines']], state.all ? 'all' : '', own((v) => { state.all = v === 'all'; }));
    }
    if (state.kind === 'heat' && choices.length) select(c, 'results', 'which', choices.map((t, i) => [i, t]), state.which, own((v) => { state.which = Number(v); }));
    axes.forEach((a, i) => {
      if (i === state.x || (!state.several && i === state.series)) return;
      select(c, a.title, 'at_' + a.name, a.labels.map((l, j) => [j, l]), state.at[i], own((v) => { state.at[i] = Number(v); }));
    });
  }

  function preset(i) {
    state.preset = i;
    if (i === '') return;
    const c = data.charts[i];
    state.kind = c.kind;
    state.x = axes.findIndex((a) => a.name === c.x);
    state.series = axes.findIndex((a) => a.name === c.series);
    const list = c.metrics.map((n) => metrics.findIndex((m) => m.name === n));
    state.metric = list[0];
    state.several = list.length > 1 || c.kind === 'stacked' ? list : null;
    state.at = axes.map((a) => Math.max(0, a.labels.indexOf(c.at[a.name])));
  }

  const chart = echarts.init(byId('chart'), null, {renderer: 'svg'});
  window.addEventListener('resize', () => chart.resize());

  function place(x, s) {
    const at = state.at.slice();
    at[state.x] = x;
    if (!state.several && state.series >= 0) at[state.series] = s;
    return at;
  }

  function draw() {
    controls();
    const x = axes[state.x];
    const title = state.preset !== undefined && state.preset !== '' ? data.charts[state.preset].title : withUnit(metrics[state.metric]);
    const option = {animation: false, color: colours, title: {text: title, left: 8, textStyle: {fontSize: 15}}, toolbox: {right: 12, feature: {saveAsImage: {title: 'save'}}},
      grid: {left: 70, right: 190, top: 60, bottom: 60}, xAxis: {type: 'category', data: x.labels, name: x.title, nameLocation: 'middle', nameGap: 34}};
    if (state.kind === 'heat' && state.series >= 0) {
      const y = axes[state.series], cells = [];
      x.labels.forEach((_, i) => y.labels.forEach((_, j) => { const v = chosen(place(i, j), state.metric); if (v !== null && v !== undefined) cells.push([i, j, v]); }));
      option.yAxis = {type: 'category', data: y.labels, name: y.title};
      option.visualMap = {min: cells.reduce((low, c) => Math.min(low, c[2]), Infinity), max: cells.reduce((high, c) => Math.max(high, c[2]), -Infinity), right: 10, top: 'middle', calculable: true, inRange: {color: ['#f0f6fc', '#08458a']}, formatter: shown};
      option.tooltip = {formatter: (p) => x.title + ' ' + x.labels[p.value[0]] + ', ' + y.title + ' ' + y.labels[p.value[1]] + ': <b>' + shown(p.value[2]) + '</b> ' + (state.which < 2 ? metrics[state.metric].unit : '')};
      option.series = [{type: 'heatmap', data: cells, label: {show: cells.length <= 400, formatter: (p) => shown(p.value[2])}}];
    } else {
      const lines = [];
      sets.forEach((set, k) => {
        const groups = state.several ? state.several.map((m) => [metrics[m].title, m, 0])
          : state.series >= 0 ? someOf(axes[state.series].labels.map((l, s) => [l, state.metric, s])) : [[metrics[state.metric].title, state.metric, 0]];
        groups.forEach(([name, m, s], g) => lines.push({name: sets.length > 1 ? name + ' (' + set.name + ')' : name, type: state.kind === 'stacked' ? 'bar' : 'line',
          stack: state.kind === 'stacked' ? 'set' + k : undefined, symbolSize: 7, showSymbol: x.labels.length * groups.length <= 2000, itemStyle: {color: colours[g % colours.length], opacity: k ? 0.6 : 1},
          lineStyle: {type: k ? 'dashed' : 'solid'}, data: x.labels.map((_, i) => value(set, place(i, s), m))}));
      });
      const unit = metrics[state.several ? state.several[0] : state.metric].unit;
      option.yAxis = {type: 'value', name: unit === '1' ? '' : unit, nameTextStyle: {align: 'right'}};
      option.legend = {orient: 'vertical', right: 10, top: 60, type: 'scroll'};
      option.tooltip = {trigger: 'axis', valueFormatter: (v) => shown(v) + (unit && unit !== '1' ? ' ' + unit : '')};
      option.series = lines;
    }
    chart.setOption(option, true);
    document.body.dataset.drawn = option.series.length;
  }

  const pageSize = 200;
  let order = Array.from({length: rowCount}, (_, i) => i);
  function table() {
    const t = byId('table');
    t.textContent = '';
    const head = t.createTHead().insertRow();
    const columns = axes.map((a) => a.title).concat(metrics.map(withUnit), ['status', 'busiest resource', 'busy %']);
    if (data.other) columns.push(...metrics.map((m) => withUnit(m) + ' (' + data.other.name + ')'));
    columns.forEach((c, i) => {
      const th = document.createElement('th');
      th.textContent = c + (state.sort === i ? state.down ? ' \u25be' : ' \u25b4' : '');
      th.addEventListener('click', () => { sort(i); table(); });
      head.append(th);
    });
    const body = t.createTBody();
    order.slice(state.page * pageSize, (state.page + 1) * pageSize).forEach((n) => {
      const row = body.insertRow();
      if (cellValue(n, axisCount + metrics.length) !== 'passed') row.className = 'failed';
      columns.forEach((_, i) => {
        const cell = row.insertCell(), v = cellValue(n, i);
        if (typeof v === 'number') cell.className = 'number';
        cell.textContent = shown(v);
      });
    });
    const pages = Math.ceil(order.length / pageSize), bar = byId('pages');
    bar.textContent = '';
    if (pages < 2) return;
    [['\u25c0', -1], ['\u25b6', 1]].forEach(([text, step]) => {
      const b = document.createElement('button');
      b.textContent = text;
      b.addEventListener('click', () => { state.page = Math.min(pages - 1, Math.max(0, state.page + step)); table(); });
      bar.append(b);
    });
    bar.append('page ' + (state.page + 1) + ' of ' + pages);
  }
  function cellValue(n, i) {
    const status = axisCount + metrics.length;
    if (i >= status + 3) return value(sets[1], axes.map((_, k) => data.columns[k][n]), i - status - 3);
    const v = data.columns[i][n];
    return i < axisCount ? axes[i].labels[v] : i === status ? data.statuses[v] : i === status + 1 ? data.resources[v] ?? '' : v;
  }
  function sort(i) {
    state.down = state.sort === i ? !state.down : false;
    state.sort = i;
    state.page = 0;
    const key = (n) => i < axisCount ? data.columns[i][n] : cellValue(n, i);
    order.sort((a, b) => { const x = key(a), y = key(b); return (x === y ? a - b : x === null ? 1 : y === null ? -1 : x < y ? -1 : 1) * (state.down ? -1 : 1); });
  }

  byId('description').textContent = JSON.stringify(data.description, null, 2);
  if (data.charts.length) preset(0);
  draw();
  table();
  document.body.dataset.rows = rowCount;
  // Behind the first frame that shows all of it.
  requestAnimationFrame(() => setTimeout(() => { document.body.dataset.ready = Math.round(performance.now()); }));
})();
