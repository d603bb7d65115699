// The results of a study: the numbers stand in the page as JSON, column by column (testbenches/program/report/page.cpp).
'use strict';
const results = (() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const axes = data.axes, metrics = data.metrics;
  function expand(column) {
    if (Array.isArray(column)) return column;
    const values = [];
    for (let i = 0; i < column.runs.length; i += 2) {
      for (let n = 0; n < column.runs[i + 1]; ++n) values.push(column.runs[i]);
    }
    return values;
  }
  for (const set of [data, data.other ?? {columns: []}]) set.columns = set.columns.map(expand);
  const mean = -1;  // in a place: the mean over the values of this axis

  // Row of each combination of axis values, by the number that the values' indices make; -1 = there is none.
  const strides = axes.map(() => 1);
  for (let i = axes.length - 2; i >= 0; --i) strides[i] = strides[i + 1] * axes[i + 1].labels.length;
  function indexed(columns) {
    const rows = new Int32Array(axes.length ? strides[0] * axes[0].labels.length : 1).fill(-1);
    for (let n = 0; n < columns[0].length; ++n) {
      let number = 0;
      for (let i = 0; i < axes.length; ++i) number += columns[i][n] * strides[i];
      rows[number] = n;
    }
    return rows;
  }
  const sets = [{name: data.name, columns: data.columns, rows: indexed(data.columns)}];
  if (data.other) sets.push({name: data.other.name, columns: data.other.columns, rows: indexed(data.other.columns)});

  // Of Student's distribution: half the width of the 95 % interval in standard errors, for 1, 2, ... degrees of freedom.
  const student = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086];

  // Calls `use` with each value of a column at a place; with several where the place has means.
  function eachValue(set, column, at, use, axis = 0, number = 0) {
    if (axis === at.length) {
      const row = set.rows[number], value = row < 0 ? null : column[row];
      if (value !== null) use(value);
      return;
    }
    const [first, last] = at[axis] === mean ? [0, axes[axis].labels.length - 1] : [at[axis], at[axis]];
    for (let v = first; v <= last; ++v) eachValue(set, column, at, use, axis + 1, number + v * strides[axis]);
  }
  // Returns {value, error}: error is half the 95 % interval of a mean; both null where there is nothing.
  function reading(set, at, metric) {
    const column = set.columns[axes.length + metric];
    let count = 0, sum = 0, squares = 0;
    eachValue(set, column, at, (v) => { ++count, sum += v; });
    if (!count) return {value: null, error: null};
    const average = sum / count;
    if (count < 2) return {value: average, error: null};
    eachValue(set, column, at, (v) => { squares += (v - average) ** 2; });
    return {value: average, error: (student[count - 2] ?? 1.96) * Math.sqrt(squares / (count - 1)) / Math.sqrt(count)};
  }
  const value = (set, at, metric) => reading(set, at, metric).value;
  const placeOf = (row) => axes.map((_, i) => data.columns[i][row]);

  const hasUnit = (unit) => unit && unit !== '1';
  const withUnit = (m) => m.title + (hasUnit(m.unit) ? ' [' + m.unit + ']' : '');
  const shown = (v) => v === null || v === undefined ? '-' : typeof v === 'number' ? String(Number(v.toPrecision(5))) : v;
  const lessIsBetter = (m) => /^(ps|ns|us|ms|s|cycles|B|KiB|MiB|GiB|bits?)$/.test(m.unit);
  const isNumeric = (axis) => axis.numbers.length > 1 && axis.numbers.every((v) => v !== null);
  const placeText = (at) => axes.map((a, i) => a.title + ' ' + (at[i] === mean ? '(mean)' : a.labels[at[i]])).join(', ');
  const status = (row) => data.statuses[data.columns[axes.length + metrics.length][row]];
  const command = (row) => 'hcasim run ' + data.file + ' --point ' + (row + 1);

  return {data, axes, metrics, sets, mean, reading, value, placeOf, placeText, hasUnit, withUnit, shown, lessIsBetter, isNumeric, status, command,
    rows: data.columns[0].length};
})();

// Elements, made in one call: make('button', {type: 'button'}, 'text', child).
function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  Object.entries(attributes).forEach(([k, v]) => {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== false) e.setAttribute(k, v === true ? '' : v);
  });
  e.append(...children);
  return e;
}

function save(name, blob) {
  const link = make('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csvOf(rows) {
  const cell = (v) => v === null || v === undefined ? '' : /[",\n]/.test(String(v)) ? '"' + String(v).replaceAll('"', '""') + '"' : String(v);
  return rows.map((r) => r.map(cell).join(',')).join('\n') + '\n';
}
const saveCsv = (name, rows) => save(name, new Blob([csvOf(rows)], {type: 'text/csv'}));
