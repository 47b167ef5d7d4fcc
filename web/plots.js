// SPDX-License-Identifier: Apache-2.0
// The last hour as lines, drawn by Chart.js, in the colours of the theme.
import { h } from './dom.js';
import { t, word } from './i18n.js';
import { onTheme } from './shell.js';

const KINDS = ['analyze', 'archive', 'notify', 'escalate'];
const kinds = prefix => KINDS.map((k, i) => ({ series: `${prefix}.${k}`, label: word('ops.kind', k), color: i, only: true }));

const PLOTS = [
	{ title: 'load', max: 100, lines: [{ series: 'cpu', label: t('ops.cpu'), color: 0 }, { series: 'memory', label: t('ops.series.memory'), color: 1 }] },
	{ title: 'units', lines: [{ series: 'units_used', label: t('ops.used'), color: 0 }, { series: 'modal_budget', label: t('ops.series.budget'), color: 4, dashed: true },
		{ series: 'viewers', label: t('ops.series.viewers'), color: 1 }] },
	{ title: 'requests', lines: [{ series: 'requests', label: t('ops.series.requests'), color: 0 }, { series: 'refusals', label: t('ops.series.refusals'), color: 3 }] },
	{ title: 'jobs', lines: kinds('jobs_done'), zero: true },
	{ title: 'queue', lines: [{ series: 'queue_depth', label: t('ops.series.depth'), color: 2 }] },
	{ title: 'latency', lines: kinds('job_p95_sec') },
];

const COLORS = {
	light: ['#0b63ce', '#0c8a72', '#9a5b00', '#c02634', '#7a8594'],
	dark: ['#6cb2ff', '#4fd6b4', '#f2b84b', '#ff8a8a', '#8796a8'],
};

const charts = [];
let history = null;

/** Builds the plots in place. Without Chart.js it says so. */
export function buildPlots(place) {
	if (!globalThis.Chart) {
		place.append(h('p', { class: 'muted' }, t('ops.plots_off')));
		return;
	}
	Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
	for (const plot of PLOTS) {
		const canvas = h('canvas', { role: 'img' });
		const legend = h('p', { class: 'legend' });
		place.append(h('figure', { class: 'plot' }, h('figcaption', {}, h('h3', {}, t(`ops.plot.${plot.title}`)), legend), h('div', { class: 'plot-canvas' }, canvas)));
		charts.push({ plot, canvas, legend, chart: new Chart(canvas, options(plot)) });
	}
	onTheme(dark => {
		for (const entry of charts)
			color(entry, dark ? 'dark' : 'light');
		draw();
	});
}

function options(plot) {
	return {
		type: 'line',
		data: { labels: [], datasets: [] },
		options: {
			responsive: true, maintainAspectRatio: false, animation: false, spanGaps: false,
			interaction: { mode: 'index', intersect: false },
			elements: { point: { radius: 0, hitRadius: 8 }, line: { borderWidth: 2, tension: 0.25 } },
			plugins: { legend: { display: false }, tooltip: { boxPadding: 4 } },
			scales: {
				x: { grid: { display: false }, ticks: { maxTicksLimit: 5, maxRotation: 0 } },
				y: { beginAtZero: true, max: plot.max, suggestedMax: plot.max ? undefined : 1, grid: {}, ticks: { maxTicksLimit: 5, precision: 0 } },
			},
		},
	};
}

function color({ chart }, theme) {
	const style = getComputedStyle(document.documentElement);
	const muted = style.getPropertyValue('--muted').trim();
	const line = style.getPropertyValue('--line').trim();
	chart.colors = COLORS[theme];
	for (const axis of Object.values(chart.options.scales))
		axis.ticks.color = muted;
	chart.options.scales.y.grid.color = line;
}

/** history: as console_history() gives it. */
export function showHistory(value) {
	history = value;
	draw();
}

function draw() {
	if (history === null)
		return;
	const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
	const labels = history.minutes.map(m => clock.format(new Date(m)));
	for (const { plot, canvas, legend, chart } of charts) {
		const lines = plot.lines.filter(l => history[l.series] || !l.only);
		chart.data.labels = labels;
		// The datasets stay the same objects: Chart.js keeps what it knows of them.
		chart.data.datasets.length = Math.min(chart.data.datasets.length, lines.length);
		lines.forEach((l, i) => {
			const dataset = chart.data.datasets[i] ??= {};
			dataset.label = l.label;
			dataset.data = numbers(history[l.series] ?? labels.map(() => null), plot.zero);
			dataset.borderColor = dataset.backgroundColor = chart.colors[l.color];
			dataset.borderDash = l.dashed ? [5, 4] : [];
		});
		chart.update('none');
		legend.replaceChildren(...lines.map(l => h('span', { class: 'key', vars: { color: chart.colors[l.color] } }, l.label)));
		canvas.setAttribute('aria-label', `${t(`ops.plot.${plot.title}`)}: ${lines.map(l => `${l.label} ${last(history[l.series])}`).join(', ')}`);
	}
}

/** Of what is counted, a minute without anything is 0. */
const numbers = (list, zero) => (zero ? list.map(n => n ?? 0) : list);
const last = list => list?.findLast(n => n !== null) ?? '–';
