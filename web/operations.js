// SPDX-License-Identifier: Apache-2.0
// The operator's page: how it is, how it was in the last hour, and what can be changed.
import { $, h, reconcile, s, setText, setVars } from './dom.js';
import { duration, moment, number, t, word } from './i18n.js';
import { Poller, post, put } from './api.js';
import { button } from './dialogs.js';
import { confirm, edit } from './changes.js';
import { setHealth, setTrouble, setWho, shell, trouble } from './shell.js';
import { makeTable } from './tables.js';
import { buildPlots, showHistory } from './plots.js';

const LIMIT_FIELDS = ['requests', 'window_ms', 'concurrent'];
const BUDGET_FIELDS = ['total_units', 'baseline_units', 'max_ui_users', 'sub_cost', 'main_cost', 'modal_ttl_sec'];

let data = null;
const changed = () => poller.now();
const small = (text, action, name) => button(text, action, { kind: 'small', name });
const sum = list => list.reduce((a, b) => a + b, 0);
const state = (name, kind) => h('span', { class: `chip ${kind ?? { up: 'good', ok: 'good', ejected: 'bad', failing: 'bad', draining: 'warn', off: 'warn' }[name] ?? ''}` }, word('state', name));

// --- the numbers on top

const lastOf = series => data.history[series]?.findLast(n => n !== null) ?? null;

function perMinute() { // of the last whole minute
	return sum(Object.keys(data.history).filter(k => k.startsWith('jobs_done.')).map(k => data.history[k].at(-2) ?? 0));
}

function numbers() {
	const queued = data.queue.filter(q => q.status === 'queued' || q.status === 'waiting');
	const age = Math.max(0, ...queued.map(q => q.oldest_age_sec));
	const latency = lastOf('job_p95_sec.analyze');
	const { modal_usage: used, modal_budget: budget } = data.status;
	const dead = sum(data.queue.filter(q => q.status === 'dead').map(q => q.jobs));
	const refused = sum(Object.values(data.history.refused));
	const alive = data.dispatchers.filter(d => d.state === 'alive').length;
	return [
		{ key: 'units', title: t('ops.budget'), value: `${number(used)} / ${number(budget)}`, part: budget > 0 ? used / budget : 1 },
		{ key: 'queue', title: t('ops.queue'), value: number(sum(queued.map(q => q.jobs))), note: age > 0 ? `${t('ops.oldest')} ${duration(age)}` : '', kind: age > 60 ? 'warn' : '' },
		{ key: 'throughput', title: t('ops.throughput'), value: number(perMinute()), unit: t('ops.per_minute') },
		{ key: 'latency', title: t('ops.latency'), value: latency === null ? '–' : number(Math.round(latency * 10) / 10), unit: t('seconds') },
		{ key: 'refused', title: t('ops.refused_hour'), value: number(refused), kind: refused > 0 ? 'warn' : '' },
		{ key: 'dead', title: t('ops.dead_jobs'), value: number(dead), kind: dead > 0 ? 'bad' : '' },
		{ key: 'dispatchers', title: t('ops.dispatchers'), value: t('ops.alive', { n: alive }), kind: alive === 0 ? 'bad' : '' },
	];
}

function showNumbers() {
	reconcile($('#numbers'), numbers(), { key: n => n.key,
		make: n => h('div', { class: 'number-card', data: { name: n.key } }, h('h2', {}, n.title), h('p', { class: 'value' }, h('span', {}), h('small', {})), h('p', { class: 'note' }), n.part !== undefined && h('div', { class: 'meter' })),
		update(element, n) {
			setText($('.value span', element), n.value);
			setText($('.value small', element), n.unit ?? '');
			setText($('.note', element), n.note ?? '');
			element.dataset.kind = n.kind ?? '';
			if (n.part !== undefined)
				setVars($('.meter', element), { part: Math.min(1, n.part) });
		} });
}

// --- load and budget

function level(value, name) {
	if (value > data.thresholds[`overload_${name}`])
		return 'bad';
	return value > data.thresholds[`warning_${name}`] ? 'warn' : 'good';
}

function makeRing(title) {
	const arc = s('circle', { class: 'ring-value', cx: 50, cy: 50, r: 42, pathLength: 100 });
	const ring = h('div', { class: 'ring' }, s('svg', { viewBox: '0 0 100 100', 'aria-hidden': 'true' }, s('circle', { class: 'ring-track', cx: 50, cy: 50, r: 42 }), arc),
		h('div', { class: 'ring-text' }, h('strong', {}), h('span', {}, title)));
	ring.show = (part, text, kind) => {
		setVars(arc, { part: Math.min(100, Math.max(0, part)) });
		setText($('strong', ring), text);
		ring.dataset.kind = kind;
		ring.dataset.part = Math.round(part);
	};
	return ring;
}

function showHealthList() {
	reconcile($('#health-list'), data.status.servers, { key: v => v.stream_server_id,
		make(v) {
			const host = h('div', { class: 'host' }, h('div', { class: 'host-name' }, h('strong', {}, v.stream_server_id), h('span', { class: 'muted' }), h('span', { class: 'chip' })),
				h('div', { class: 'rings' }), h('p', { class: 'muted host-reason' }));
			host.rings = ['cpu', 'memory', 'swap'].map(n => makeRing(t(`ops.${n}`)));
			$('.rings', host).append(...host.rings);
			return host;
		},
		update(host, v) {
			const known = v.cpu_percent !== null;
			setText($('.host-name .muted', host), v.host ?? '');
			setText($('.chip', host), word('level', v.level));
			$('.chip', host).className = `chip ${{ normal: 'good', warning: 'warn', overload: 'bad' }[v.level] ?? ''}`;
			setText($('.host-reason', host), v.reason ?? '');
			$('.rings', host).hidden = !known;
			if (!known)
				return;
			host.rings[0].show(v.cpu_percent, `${Math.round(v.cpu_percent)}%`, level(v.cpu_percent, 'cpu_percent'));
			host.rings[1].show(v.memory_percent, `${Math.round(v.memory_percent)}%`, level(v.memory_percent, 'memory_percent'));
			host.rings[2].show(v.swap_mb / data.thresholds.overload_swap_mb * 100, `${number(Math.round(v.swap_mb))} MB`, level(v.swap_mb, 'swap_mb'));
		} });
}

function showBudgets() {
	reconcile($('#budget-list'), data.status.servers, { key: v => v.stream_server_id,
		make: v => h('div', { class: 'budget' },
			h('div', { class: 'host-name' }, h('strong', {}, v.stream_server_id), h('span', { class: 'muted number' }),
				small(t('ops.change'), () => editBudget(v.stream_server_id), 'edit')),
			h('div', { class: 'stack', 'aria-hidden': 'true' }, ['baseline', 'suggest', 'used', 'free'].map(n => h('span', { class: `part ${n}` }))),
			h('dl', { class: 'parts' }, ['baseline', 'suggest', 'used', 'free'].map(n => h('div', { class: n }, h('dt', {}, t(`ops.${n}`)), h('dd', { class: 'number' }))))),
		update(element, v) {
			const parts = [v.baseline_units, v.suggest_units, v.modal_usage, Math.max(0, v.modal_budget - v.modal_usage)];
			setText($('.host-name .muted', element), t('units', { n: number(v.total_units) }));
			element.querySelectorAll('.part').forEach((p, i) => setVars(p, { grow: parts[i] }));
			element.querySelectorAll('dd').forEach((d, i) => setText(d, number(parts[i])));
		} });
}

function editBudget(id) {
	const server = data.servers.find(v => v.stream_server_id === id);
	edit({ title: `${t('ops.budget')}: ${id}`, fields: BUDGET_FIELDS.map(name => ({ name, value: server[name], min: /cost|ttl/.test(name) ? 1 : 0 })),
		apply: changes => put(`servers/${encodeURIComponent(id)}`, changes), done: changed });
}

// --- tables

function buildTables() {
	const col = (title, cell, numeric = false) => ({ title: t(title), cell, numeric });
	const when = at => h('span', { class: 'nowrap number' }, moment(at));
	const counts = ['queued', 'waiting', 'running', 'dead'];
	return {
		queue: makeTable($('#queue'), [col('ops.kind', r => word('ops.kind', r.kind)), ...counts.map(c => col(`ops.${c}`, r => number(r[c] ?? 0), true)),
			col('ops.oldest', r => (r.oldest > 0 ? duration(r.oldest) : '–'), true)], { key: r => r.kind, empty: t('none'), label: t('ops.queue') }),
		refusals: makeTable($('#refusals'), [col('ops.reason', r => [r.text, ' ', h('code', {}, r.reason)]), col('ops.hour', r => number(r.hour), true), col('ops.total', r => (r.total === null ? '' : number(r.total)), true)],
			{ key: r => r.reason, empty: t('none'), label: t('ops.refusals') }),
		dead: makeTable($('#dead'), [col('ops.job', r => h('span', { class: 'number' }, `#${r.job_id}`)), col('ops.kind', r => word('ops.kind', r.kind)), col('events.camera', r => r.camera_id),
			col('ops.attempts', r => `${r.attempt}/${r.max_attempt}`, true), col('ops.error', r => h('span', { class: 'error-text' }, r.last_error ?? '')), col('ops.when', r => when(r.finished_at)),
			col('ops.action', r => h('span', { class: 'actions' }, small(t('ops.retry'), () => jobAction(r.job_id, 'retry'), 'retry'), small(t('ops.cancel_job'), () => jobAction(r.job_id, 'cancel'), 'close')))],
		{ key: r => r.job_id, empty: t('ops.no_dead'), label: t('ops.dead_jobs') }),
		limits: makeTable($('#limits'), [col('ops.model', r => [h('strong', {}, r.name), h('span', { class: 'muted block' }, r.note)]), col('ops.rate', r => [h('span', { class: 'nowrap number' }, r.rate), r.from && h('span', { class: 'muted block' }, t('ops.from', { level: r.from }))]),
			col('ops.tokens', r => (r.tokens === null ? '' : h('span', { class: 'token-cell' }, h('span', { class: 'mini', vars: { part: r.part } }), h('span', { class: 'number' }, number(Math.floor(r.tokens))))), true),
			col('ops.running', r => (r.running === null ? '' : `${number(r.running)} / ${number(r.concurrent)}`), true), col('ops.waiters', r => (r.waiting === null ? '' : number(r.waiting)), true),
			col('ops.refused_minute', r => (r.refused === null ? '' : number(r.refused)), true), col('ops.action', r => small(t('ops.change'), () => editLimit(r), 'edit'))],
		{ key: r => r.path, empty: t('ops.no_limits'), label: t('ops.limits') }),
		nodes: makeTable($('#nodes'), [col('ops.node', r => [h('strong', {}, r.name), h('span', { class: 'muted block' }, r.base_url), r.last_error && h('span', { class: 'error-text block' }, r.last_error)]),
			col('ops.state', r => state(r.state)), col('ops.inflight', r => `${number(r.inflight ?? 0)} / ${number(r.max_inflight)}`, true),
			col('ops.latency_ms', r => (r.latency_ms === null || r.latency_ms === undefined ? '–' : `${number(Math.round(r.latency_ms))} ms`), true), col('ops.failures', r => `${number(r.failures ?? 0)} / ${number(r.requests ?? 0)}`, true),
			col('ops.action', r => small(t(r.draining ? 'ops.undrain' : 'ops.drain'), () => drain(r)))],
		{ key: r => r.name, empty: t('ops.no_nodes'), label: t('ops.nodes') }),
		pools: makeTable($('#pools'), [col('ops.pool', r => [h('strong', {}, r.name), r.last_error && r.fail_streak > 0 && h('span', { class: 'error-text block' }, r.last_error)]),
			col('ops.state', r => state(poolState(r))), col('ops.in_use', r => number(r.in_use), true), col('ops.idle', r => number(r.idle), true), col('ops.starting', r => number(r.starting), true),
			col('ops.waiters', r => number(r.waiting), true), col('ops.capacity', r => number(r.max_capacity), true), col('ops.action', r => small(t('ops.change'), () => editPool(r), 'edit'))],
		{ key: r => r.name, empty: t('ops.no_pools'), label: t('ops.pools') }),
		audit: makeTable($('#audit'), [col('ops.when', r => when(r.at)), col('ops.who', r => r.actor), col('ops.action', r => h('code', {}, r.action)), col('ops.subject', r => r.subject),
			col('ops.changes', r => changes(r))], { key: r => `${r.at}${r.action}${r.subject}`, empty: t('ops.no_audit'), label: t('ops.audit') }),
	};
}

const poolState = p => (p.draining ? 'draining' : p.max_capacity === 0 ? 'off' : p.fail_streak > 0 ? 'failing' : 'ok');

function changes({ before, after }) {
	const text = v => (v === null || v === undefined ? '–' : typeof v === 'object' ? JSON.stringify(v) : String(v));
	if (!after)
		return '–';
	const names = Object.keys(after);
	const shown = before ? names : names.slice(0, 4); // of what is new, its beginning will do
	return [shown.map(n => h('span', { class: 'change-text' }, `${n}: `, before && `${text(before[n])} → `, h('strong', {}, text(after[n])))), shown.length < names.length && '…'];
}

function queueRows() {
	const rows = new Map();
	for (const { kind, status, jobs, oldest_age_sec: age } of data.queue) {
		const row = rows.get(kind) ?? { kind, oldest: 0 };
		row[status] = jobs;
		if (status === 'queued' || status === 'waiting')
			row.oldest = Math.max(row.oldest, age);
		rows.set(kind, row);
	}
	return ['analyze', 'archive', 'notify', 'escalate'].map(kind => rows.get(kind) ?? { kind, oldest: 0 });
}

function refusalRows() {
	const rows = Object.entries(data.refusals).map(([reason, total]) => ({ reason, text: word('reason', reason), total, hour: data.history.refused[reason] ?? 0 }));
	for (const name of Object.keys(data.history).filter(k => k.startsWith('calls.') && k !== 'calls.released'))
		rows.push({ reason: `model ${name.slice(6)}`, text: `${t('ops.model')}: ${word('calls', name.slice(6))}`, total: null, hour: sum(data.history[name].map(n => n ?? 0)) });
	return rows;
}

const rateText = l => [l?.requests && number(l.requests), l?.window_ms && duration(l.window_ms / 1000)].filter(Boolean).join(' / ') || '–';

function limitRows() {
	const { global, providers, models } = data.limits;
	const none = { tokens: null, running: null, waiting: null, refused: null };
	return [
		{ ...none, path: 'global', name: 'global', note: t('all'), rate: rateText(global), own: global ?? {} },
		...providers.map(p => ({ ...none, path: `provider/${encodeURIComponent(p.provider)}`, name: p.provider, note: 'provider', rate: rateText(p.rate_limit), own: p.rate_limit ?? {} })),
		...models.map(m => ({ path: `model/${encodeURIComponent(m.model)}`, name: m.model, note: m.provider, rate: rateText(m), from: m.requests_from, tokens: m.tokens, part: m.tokens / m.requests,
			running: m.running, concurrent: m.concurrent, waiting: m.waiting, refused: m.refused_per_minute, effective: { requests: m.requests, window_ms: m.window_ms, concurrent: m.concurrent },
			own: Object.fromEntries(LIMIT_FIELDS.map(f => [f, m[`${f}_from`] === 'model' ? m[f] : null])) })),
	];
}

// --- changes

function editLimit(row) {
	edit({ title: `${t('ops.limits')}: ${row.name}`, fields: LIMIT_FIELDS.map(name => ({ name, min: 1, optional: true, value: row.own[name] ?? null, placeholder: row.effective?.[name] })),
		apply: changes => put(`limits/${row.path}`, changes), done: changed });
}

function editPool(pool) {
	edit({ title: `${t('ops.pool')}: ${pool.name}`, fields: ['max_capacity', 'min_idle'].map(name => ({ name, value: pool[name] })),
		apply: changes => put(`pools/${encodeURIComponent(pool.name)}`, changes), done: changed });
}

function drain(node) {
	confirm({ title: t('ops.confirm_title'), lines: [h('p', {}, t(node.draining ? 'ops.undrain_q' : 'ops.drain_q', { id: node.name }))], danger: !node.draining,
		apply: () => put(`nodes/${encodeURIComponent(node.name)}`, { draining: !node.draining }), done: changed });
}

function jobAction(id, action) {
	confirm({ title: t('ops.confirm_title'), lines: [h('p', {}, t(`ops.${action}_q`, { id }))], danger: action === 'cancel', apply: () => post(`jobs/${id}/${action}`), done: changed });
}

// --- all of it

shell('operations');
const tables = buildTables();
let plotted = false;

function show(answer) {
	data = answer;
	setWho(answer.who);
	setHealth(answer.status);
	$('#board').hidden = false;
	if (!plotted) { // a plot needs to know its width
		plotted = true;
		buildPlots($('#plots'));
	}
	showNumbers();
	showHealthList();
	showBudgets();
	tables.queue(queueRows());
	tables.refusals(refusalRows());
	tables.dead(answer.dead_jobs);
	tables.limits(limitRows());
	tables.nodes(answer.nodes ?? []);
	tables.pools(answer.pools);
	tables.audit(answer.audit);
	showHistory(answer.history);
}

const poller = new Poller(() => 'console/operations', { onData: show, onError: trouble, onAlive: () => setTrouble(null) });
