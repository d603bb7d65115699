// What a panel draws. Each kind returns {option, rows, summary}: for ECharts, as a table (first row: heads), and in words.
'use strict';
const charts = (() => {
  const {axes, metrics, sets, shown, withUnit, hasUnit, mean} = results;
  const fewLines = 12;  // more cannot be told apart
  const ink = () => getComputedStyle(document.body).color;
  const faint = () => getComputedStyle(document.documentElement).getPropertyValue('--line').trim();
  const colours = () => ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', ink(), '#8b8000'];
  const unitText = (m) => hasUnit(m.unit) ? ' ' + m.unit : '';
  const named = (axis, i) => axis.title + ' ' + axis.labels[i];

  function someOf(list, all) {
    if (all || list.length <= fewLines) return list;
    return Array.from({length: fewLines}, (_, i) => list[Math.round(i * (list.length - 1) / (fewLines - 1))]);
  }
  function placeIn(panel, x, s) {
    const at = panel.at.slice();
    at[panel.x] = x;
    if (!panel.several && panel.series >= 0) at[panel.series] = s;
    return at;
  }
  function base(panel, narrow) {
    const text = {color: ink()}, line = {lineStyle: {color: faint()}};
    return {animation: false, color: colours(), textStyle: text, grid: {left: 76, right: narrow ? 16 : 200, top: 24, bottom: narrow ? 110 : 60},
      legend: {textStyle: text, type: 'scroll', ...(narrow ? {bottom: 4, left: 8, right: 8} : {orient: 'vertical', right: 10, top: 24})},
      axisStyle: {axisLabel: text, nameTextStyle: text, axisLine: line, splitLine: line, nameLocation: 'middle'}};
  }
  const yAxis = (style, unit, log) => ({...style, type: log ? 'log' : 'value', name: hasUnit(unit) ? unit : '', nameGap: 56, scale: false});

  // Lines, bars and stacked bars over the values of an axis.
  function overAxis(panel, narrow) {
    const x = axes[panel.x], {axisStyle, ...option} = base(panel, narrow);
    const numeric = panel.kind === 'line' && panel.xScale !== 'category' && results.isNumeric(x);
    const groups = panel.several ? panel.several.map((m) => ({name: metrics[m].title, m, s: 0}))
      : panel.series >= 0 ? someOf(axes[panel.series].labels.map((_, s) => ({name: named(axes[panel.series], s), m: panel.metric, s})), panel.all)
        : [{name: metrics[panel.metric].title, m: panel.metric, s: 0}];
    const unit = metrics[groups[0].m].unit, bars = panel.kind !== 'line';
    const rows = [[numeric && hasUnit(x.unit) ? x.title + ' [' + x.unit + ']' : x.title]].concat(x.labels.map((l) => [l]));  // labels have their units
    option.series = [];
    const gaps = {barGap: '10%', barCategoryGap: '20%'}, beside = panel.kind === 'bar' ? sets.length * groups.length : 0;
    sets.forEach((set, k) => groups.forEach(({name, m, s}, g) => {
      const full = (sets.length > 1 ? name + ' (' + set.name + ')' : name) + (panel.several && hasUnit(metrics[m].unit) ? ' [' + metrics[m].unit + ']' : '');
      const readings = x.labels.map((_, i) => results.reading(set, placeIn(panel, i, s), m));
      const colour = option.color[g % option.color.length];
      const place = (i) => numeric ? x.numbers[i] : i;
      option.series.push({name: full, type: bars ? 'bar' : 'line', stack: panel.kind === 'stacked' ? 'set' + k : undefined, ...(bars ? {...gaps, large: true} : {}), symbolSize: 7,
        showSymbol: x.labels.length * groups.length <= 2000, itemStyle: {color: colour, opacity: k ? 0.6 : 1}, lineStyle: {type: k ? 'dashed' : 'solid'},
        data: readings.map((r, i) => numeric ? [place(i), r.value] : r.value)});
      rows[0].push(full);
      readings.forEach((r, i) => rows[i + 1].push(r.value));
      if (panel.kind === 'stacked' || !readings.some((r) => r.error !== null)) return;
      rows[0].push('+- of ' + full);
      readings.forEach((r, i) => rows[i + 1].push(r.error));
      option.series.push({name: full, type: 'custom', silent: true, z: 5, itemStyle: {color: colour}, tooltip: {show: false},
        data: readings.map((r, i) => r.error === null ? null : [place(i), r.value - r.error, r.value + r.error]).filter((d) => d),
        renderItem: (_, api) => {
          const low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
          const at = low[0] + (beside ? api.barLayout({...gaps, count: beside})[k * groups.length + g].offsetCenter : 0);
          const style = {stroke: bars ? ink() : colour, lineWidth: 1.5};
          const line = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2}, style});
          return {type: 'group', children: [line(at - 4, low[1], at + 4, low[1]), line(at - 4, high[1], at + 4, high[1]), line(at, low[1], at, high[1])]};
        }});
    }));
    option.xAxis = numeric ? {...axisStyle, type: panel.xScale === 'log' ? 'log' : 'value', name: rows[0][0], nameGap: 34, scale: true}
      : {...axisStyle, type: 'category', data: x.labels, name: rows[0][0], nameGap: 34};
    option.yAxis = yAxis(axisStyle, unit, panel.yLog);
    option.tooltip = {trigger: 'axis', valueFormatter: (v) => shown(Array.isArray(v) ? v[1] : v) + unitText({unit})};
    return {option, rows, words: (bars ? 'bars' : 'lines') + ': ' + groups.map((g) => g.name).join(', ')};
  }

  // One metric over two axes. With two results: the first, the other, or how they relate.
  function heat(panel, narrow) {
    const x = axes[panel.x], y = axes[panel.series], m = metrics[panel.metric], {axisStyle, ...option} = base(panel, narrow);
    const chosen = (at) => {
      const v = sets.map((set) => results.value(set, at, panel.metric));
      return panel.which < 2 ? v[panel.which] : v[0] && v[1] !== null ? v[1] / v[0] : null;
    };
    const cells = [], rows = [[x.title, y.title, withUnit(m)]];
    x.labels.forEach((l, i) => y.labels.forEach((k, j) => {
      const v = chosen(placeIn(panel, i, j));
      if (v !== null && v !== undefined) cells.push([i, j, v]), rows.push([l, k, v]);
    }));
    option.xAxis = {...axisStyle, type: 'category', data: x.labels, name: x.title, nameGap: 34};
    option.yAxis = {...axisStyle, type: 'category', data: y.labels, name: y.title, nameGap: 56};
    option.legend = undefined;
    option.visualMap = {min: cells.reduce((low, c) => Math.min(low, c[2]), Infinity), max: cells.reduce((high, c) => Math.max(high, c[2]), -Infinity), right: 10, top: 'middle', calculable: true,
      textStyle: {color: ink()}, inRange: {color: ['#f0f6fc', '#08458a']}, formatter: shown, show: !narrow};
    option.tooltip = {formatter: (p) => named(x, p.value[0]) + ', ' + named(y, p.value[1]) + ': <b>' + shown(p.value[2]) + '</b>' + (panel.which < 2 ? unitText(m) : '')};
    option.series = [{type: 'heatmap', data: cells, label: {show: cells.length <= 400, formatter: (p) => shown(p.value[2])}}];
    return {option, rows, words: 'heat map of ' + cells.length + ' cells'};
  }

  // Points of two metrics. A point is on the front when no other one is better in both.
  function scatter(panel, narrow) {
    const mx = metrics[panel.metric], my = metrics[panel.second], {axisStyle, ...option} = base(panel, narrow);
    const columns = results.data.columns, cx = columns[axes.length + panel.metric], cy = columns[axes.length + panel.second];
    const all = Array.from({length: results.rows}, (_, n) => n).filter((n) => cx[n] !== null && cy[n] !== null);
    const better = (m, a, b) => results.lessIsBetter(m) ? a - b : b - a;
    const front = [];
    all.slice().sort((a, b) => better(mx, cx[a], cx[b]) || better(my, cy[a], cy[b])).forEach((n) => {
      if (!front.length || better(my, cy[n], cy[front.at(-1)]) < 0) front.push(n);
    });
    const most = 4000, drawn = all.length <= most ? all : Array.from({length: most}, (_, i) => all[Math.round(i * (all.length - 1) / (most - 1))]);
    const by = panel.series >= 0 ? axes[panel.series] : null;
    const point = (n) => ({value: [cx[n], cy[n]], row: n});
    const groups = by ? someOf(by.labels.map((_, s) => s), panel.all) : [0];
    option.series = groups.map((s) => ({name: by ? named(by, s) : 'points', type: 'scatter', symbolSize: 8,
      data: drawn.filter((n) => !by || columns[panel.series][n] === s).map(point)}));
    option.series.push({name: 'front', type: 'line', z: 1, symbol: 'emptyCircle', symbolSize: 13, lineStyle: {color: ink(), width: 1}, itemStyle: {color: ink()}, data: front.map(point)});
    option.xAxis = {...axisStyle, type: panel.xScale === 'log' ? 'log' : 'value', name: withUnit(mx), nameGap: 34, scale: true};
    option.yAxis = {...axisStyle, type: panel.yLog ? 'log' : 'value', name: withUnit(my), nameGap: 56, scale: true};
    option.tooltip = {formatter: (p) => 'point ' + (p.data.row + 1) + ': ' + results.placeText(results.placeOf(p.data.row)) + '<br>' + withUnit(mx) + ' <b>' + shown(p.value[0]) + '</b>, ' +
      withUnit(my) + ' <b>' + shown(p.value[1]) + '</b>'};
    const rows = [['point', ...axes.map((a) => a.title), withUnit(mx), withUnit(my), 'on the front']];
    const inFront = new Set(front);
    drawn.forEach((n) => rows.push([n + 1, ...results.placeOf(n).map((v, i) => axes[i].labels[v]), cx[n], cy[n], inFront.has(n) ? 'yes' : '']));
    const aim = (m) => results.lessIsBetter(m) ? 'less ' + m.title : 'more ' + m.title;
    return {option, rows, words: 'scatter of ' + all.length + ' points; ' + front.length + ' of them on the front of ' + aim(mx) + ' and ' + aim(my)};
  }

  // How far each axis alone moves a metric from where the others stand.
  function tornado(panel, narrow) {
    const m = metrics[panel.metric], at = panel.at, {axisStyle, ...option} = base(panel, narrow);
    const here = results.value(sets[0], at, panel.metric);
    const effects = axes.map((a, i) => {
      const values = a.labels.map((l, k) => [results.value(sets[0], at.map((v, j) => j === i ? k : v), panel.metric), l]).filter(([v]) => v !== null);
      const sorted = values.sort((x, y) => x[0] - y[0]);
      return {axis: a, low: sorted[0], high: sorted.at(-1)};
    }).filter((e) => at[axes.indexOf(e.axis)] !== mean && e.low && e.high[0] !== e.low[0]).sort((a, b) => (a.high[0] - a.low[0]) - (b.high[0] - b.low[0]));
    option.xAxis = {...axisStyle, type: 'value', name: withUnit(m), nameGap: 34, scale: true};
    option.yAxis = {...axisStyle, type: 'category', data: effects.map((e) => e.axis.title)};
    option.grid.left = 120;
    option.tooltip = {formatter: (p) => p.data.words};
    const bar = (name, pick) => ({name, type: 'custom', itemStyle: {}, encode: {x: [1, 2], y: 0},
      data: effects.map((e, i) => ({value: [i, here, pick(e)[0]], words: named(e.axis, e.axis.labels.indexOf(pick(e)[1])) + ': <b>' + shown(pick(e)[0]) + '</b>' + unitText(m)})),
      renderItem: (params, api) => {
        const from = api.coord([api.value(1), api.value(0)]), to = api.coord([api.value(2), api.value(0)]), high = api.size([0, 1])[1] * 0.6;
        return {type: 'rect', shape: {x: Math.min(from[0], to[0]), y: from[1] - high / 2, width: Math.abs(to[0] - from[0]), height: high}, style: {fill: api.visual('color')}};
      }});
    option.series = [bar('lowest', (e) => e.low), bar('highest', (e) => e.high)];
    const rows = [['axis', 'at', 'lowest', withUnit(m), 'highest', withUnit(m)]];
    effects.slice().reverse().forEach((e) => rows.push([e.axis.title, e.axis.labels[at[axes.indexOf(e.axis)]], e.low[1], e.low[0], e.high[1], e.high[0]]));
    return {option, rows, words: 'tornado around ' + shown(here) + unitText(m) + '; the largest effect first: ' + effects.map((e) => e.axis.title).reverse().join(', ')};
  }

  // One line over time in microseconds.
  function overTime(data) {
    const {axisStyle, ...option} = base({}, true);
    return {...option, legend: undefined, grid: {left: 76, right: 16, top: 12, bottom: 44}, tooltip: {trigger: 'axis', valueFormatter: shown},
      xAxis: {...axisStyle, type: 'value', name: 'time [us]', nameGap: 26, min: 'dataMin', max: 'dataMax'}, yAxis: {...axisStyle, type: 'value', scale: true},
      series: [{type: 'line', data, symbolSize: 5}]};
  }

  function draw(panel, narrow) {
    const kind = panel.kind === 'heat' && panel.series < 0 ? 'line' : panel.kind;
    return kind === 'heat' ? heat(panel, narrow) : kind === 'scatter' ? scatter(panel, narrow) : kind === 'tornado' ? tornado(panel, narrow) : overAxis({...panel, kind}, narrow);
  }
  return {draw, overTime, fewLines};
})();
