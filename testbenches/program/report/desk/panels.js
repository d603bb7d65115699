// Panels: a chart each, with its controls, its numbers as a table, and buttons to save it.
'use strict';
const panels = (() => {
  const {axes, metrics, data, withUnit, mean} = results;
  const list = [];
  let onChange = () => {};

  const isSeed = (a) => (a.name === 'seed' || a.name === data.repeats) && a.labels.length > 1;
  const firstPlace = () => axes.map((a) => isSeed(a) ? mean : 0);
  const own = () => ({kind: axes.length && !results.isNumeric(axes[0]) ? 'bar' : 'line', x: 0, series: axes.findIndex((a, i) => i > 0 && !isSeed(a)), metric: 0, second: Math.min(1, metrics.length - 1), several: null,
    all: false, at: firstPlace(), which: 0, yLog: false, xScale: axes[0]?.logarithmic ? 'log' : 'category', title: ''});

  // A chart that the study asks for.
  function asked(c) {
    const p = own();
    p.title = c.title;
    p.x = axes.findIndex((a) => a.name === c.x);
    p.series = axes.findIndex((a) => a.name === c.series);
    const wanted = c.metrics.map((n) => metrics.findIndex((m) => m.name === n));
    p.metric = wanted[0];
    p.several = wanted.length > 1 || c.kind === 'stacked' ? wanted : null;
    p.kind = c.kind === 'line' && !results.isNumeric(axes[p.x]) && axes[p.x].labels.length <= 40 ? 'bar' : c.kind;
    p.xScale = axes[p.x].logarithmic && results.isNumeric(axes[p.x]) ? 'log' : 'category';
    p.at = axes.map((a, i) => a.name in c.at ? Math.max(0, a.labels.indexOf(c.at[a.name])) : isSeed(a) && i !== p.x && i !== p.series ? mean : 0);
    return p;
  }

  class panel {
    constructor(state) {
      this.state = state;
      this.number = panel.made = (panel.made ?? 0) + 1;
      this.controls = make('div', {class: 'controls'});
      this.canvas = make('div', {class: 'chart', id: 'chart' + this.number, role: 'img'});
      this.heading = make('h3');
      this.numbers = make('table');
      this.details = make('details', {ontoggle: () => this.fillNumbers()}, make('summary', {}, 'numbers of this chart'), make('div', {class: 'scroll', tabindex: 0}, this.numbers));
      const button = (text, what, act) => make('button', {type: 'button', onclick: act, 'aria-label': text + ' of this chart', title: what}, text);
      this.element = make('section', {class: 'panel', 'aria-label': 'chart ' + this.number}, this.heading, this.controls, this.canvas,
        make('div', {class: 'buttons'}, button('PNG', 'save the picture', () => this.savePng()), button('CSV', 'save the numbers', () => saveCsv(this.fileName('csv'), this.drawn.rows)),
          make('button', {type: 'button', onclick: () => remove(this), 'aria-label': 'remove chart ' + this.number}, 'remove')), this.details);
    }
    show() {
      this.chart = echarts.init(this.canvas, null, {renderer: 'svg'});
      this.draw();
    }
    change(f) {
      f(this.state);
      this.state.title = '';
      this.draw();
      onChange();
    }
    select(title, id, options, chosen, change) {
      const box = make('select', {id: id + this.number, onchange: () => this.change((p) => change(p, box.value))});
      options.forEach(([v, t]) => box.append(make('option', {value: v, selected: String(v) === String(chosen)}, t)));
      this.controls.append(make('label', {}, title, box));
    }
    fillControls() {
      const p = this.state;
      const focused = this.controls.contains(document.activeElement) ? document.activeElement.id : '';
      this.controls.textContent = '';
      const kinds = [['line', 'lines'], ['bar', 'bars'], ['stacked', 'stacked bars'], ['heat', 'heat map'], ['scatter', 'scatter, with its front'], ['tornado', 'tornado']];
      this.select('kind', 'kind', kinds.filter(([k]) => (k !== 'heat' || axes.length > 1) && (k !== 'scatter' || metrics.length > 1)), p.kind, (q, v) => {
        q.kind = v;
        q.several = v === 'stacked' ? metrics.map((_, i) => i).filter((i) => metrics[i].unit === metrics[q.metric].unit) : null;
        if (v === 'heat' && q.series < 0) q.series = axes.findIndex((_, i) => i !== q.x);
      });
      const ofMetrics = metrics.map((m, i) => [i, withUnit(m)]);
      if (!p.several) this.select(p.kind === 'scatter' ? 'x' : 'metric', 'metric', ofMetrics, p.metric, (q, v) => { q.metric = Number(v); });
      if (p.kind === 'scatter') this.select('y', 'second', ofMetrics, p.second, (q, v) => { q.second = Number(v); });
      const overAxis = p.kind !== 'scatter' && p.kind !== 'tornado';
      if (overAxis) {
        this.select('x axis', 'x', axes.map((a, i) => [i, a.title]), p.x, (q, v) => {
          q.x = Number(v);
          if (q.series === q.x) q.series = axes.findIndex((_, i) => i !== q.x);
          if (!results.isNumeric(axes[q.x])) q.xScale = 'category';
        });
      }
      if (!p.several && p.kind !== 'tornado') {
        const other = axes.map((a, i) => [i, a.title]).filter(([i]) => !overAxis || i !== p.x);
        this.select(p.kind === 'heat' ? 'y axis' : p.kind === 'scatter' ? 'colours' : 'series', 'series', p.kind === 'heat' ? other : [[-1, 'one']].concat(other), p.series, (q, v) => { q.series = Number(v); });
      }
      if (!p.several && p.kind !== 'heat' && p.kind !== 'tornado' && p.series >= 0 && axes[p.series].labels.length > charts.fewLines) {
        const n = axes[p.series].labels.length;
        this.select('shown', 'all', [['', charts.fewLines + ' of ' + n], ['all', 'all ' + n]], p.all ? 'all' : '', (q, v) => { q.all = v === 'all'; });
      }
      if (p.kind === 'heat' && data.other) this.select('results', 'which', [data.name, data.other.name, 'other / first'].map((t, i) => [i, t]), p.which, (q, v) => { q.which = Number(v); });
      if ((p.kind === 'line' && results.isNumeric(axes[p.x])) || p.kind === 'scatter') {
        this.select('x scale', 'xScale', [...(p.kind === 'line' ? [['category', 'values in a row']] : []), ['linear', 'linear'], ['log', 'logarithmic']], p.xScale, (q, v) => { q.xScale = v; });
      }
      if (['line', 'bar', 'scatter'].includes(p.kind)) this.select('y scale', 'yLog', [['', 'linear'], ['log', 'logarithmic']], p.yLog ? 'log' : '', (q, v) => { q.yLog = v === 'log'; });
      if (p.kind !== 'scatter') {
        axes.forEach((a, i) => {
          if (overAxis && (i === p.x || (!p.several && i === p.series))) return;
          this.select(a.title, 'at_' + a.name, [[mean, 'mean, with 95 %'], ...a.labels.map((l, j) => [j, l])], p.at[i], (q, v) => { q.at[i] = Number(v); });
        });
      }
      if (focused) document.getElementById(focused)?.focus();
    }
    draw() {
      this.fillControls();
      const p = this.state;
      this.drawn = charts.draw(p, this.canvas.clientWidth < 640);
      const subject = p.kind === 'scatter' ? withUnit(metrics[p.second]) + ' against ' + withUnit(metrics[p.metric])
        : p.several ? p.several.map((m) => metrics[m].title).join(', ') : withUnit(metrics[p.metric]);
      const title = p.title || (p.kind === 'scatter' || p.kind === 'tornado' ? subject : subject + ' over ' + axes[p.x].title);
      this.heading.textContent = title;
      this.canvas.setAttribute('aria-label', title + '. ' + this.drawn.words + '. The numbers are in the table below.');
      this.chart.setOption(this.drawn.option, true);
      if (this.details.open) this.fillNumbers();
      document.body.dataset.drawn = this.drawn.option.series.length;
    }
    fillNumbers() {
      this.numbers.textContent = '';
      if (!this.details.open) return;
      const [heads, ...rows] = this.drawn.rows;
      this.numbers.append(make('thead', {}, make('tr', {}, ...heads.map((h) => make('th', {scope: 'col'}, String(h))))));
      this.numbers.append(make('tbody', {}, ...rows.slice(0, 500).map((r) => make('tr', {}, ...r.map((v) => make('td', {class: typeof v === 'number' ? 'number' : undefined}, String(results.shown(v))))))));
    }
    fileName(ending) {
      return data.name.replace(/[^A-Za-z0-9_-]+/g, '_') + '_' + this.number + '.' + ending;
    }
    savePng() {
      const picture = new Image(), scale = 2;
      picture.onload = () => {
        const canvas = make('canvas', {width: this.canvas.clientWidth * scale, height: this.canvas.clientHeight * scale}), to = canvas.getContext('2d');
        to.fillStyle = getComputedStyle(document.body).backgroundColor;
        to.fillRect(0, 0, canvas.width, canvas.height);
        to.drawImage(picture, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((blob) => { document.body.dataset.png = blob.size; save(this.fileName('png'), blob); });
      };
      picture.src = this.chart.getDataURL({type: 'svg'});
    }
  }

  function add(state) {
    const p = new panel(state);
    list.push(p);
    document.getElementById('charts').append(p.element);
    p.show();
  }
  function remove(p) {
    list.splice(list.indexOf(p), 1);
    p.element.remove();
    onChange();
  }
  function begin(states, changed) {
    onChange = changed;
    states.forEach(add);
    const again = () => list.forEach((p) => { p.chart.resize(); p.draw(); });
    window.addEventListener('resize', again);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  }
  return {begin, add: (state) => { add(state); onChange(); }, own, asked, states: () => list.map((p) => p.state)};
})();
