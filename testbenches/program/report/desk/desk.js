// Begins the page: the charts of the study, or those that the URL names, and the points. The choice is kept in the URL.
'use strict';
(() => {
  function remembered() {
    try {
      return JSON.parse(decodeURIComponent(location.hash.slice(1))) ?? {};
    } catch {
      return {};
    }
  }
  const known = (p) => p && Array.isArray(p.at) && p.at.length === results.axes.length && p.x < results.axes.length && p.metric < results.metrics.length && p.series < results.axes.length;
  const before = remembered();
  const remember = () => {
    const {sort, down, page, open, chosen} = points.state();
    history.replaceState(null, '', '#' + encodeURIComponent(JSON.stringify({panels: panels.states(), points: {sort, down, page, open, chosen}})));
  };
  const most = 6;  // at once, of a study with many charts
  const asked = results.data.charts.slice(0, most).map(panels.asked);
  const states = Array.isArray(before.panels) && before.panels.every(known) ? before.panels : asked.length ? asked : [panels.own()];
  panels.begin(states, remember);
  points.begin(before.points ?? {}, remember);
  document.getElementById('add').addEventListener('click', () => panels.add(panels.own()));
  document.getElementById('description').textContent = JSON.stringify(results.data.description, null, 2);
  document.body.dataset.rows = results.rows;
  // Behind the first frame that shows all of it.
  requestAnimationFrame(() => setTimeout(() => { document.body.dataset.ready = Math.round(performance.now()); }));
})();
