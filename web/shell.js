// SPDX-License-Identifier: Apache-2.0
// What all pages have around them: the bar on top, sign-in, theme and language, and the word that the server is away.
import { $, h, setText } from './dom.js';
import { icon } from './icons.js';
import { t, translate, word } from './i18n.js';
import { get, hasToken, setToken } from './api.js';
import { button, openDialog } from './dialogs.js';

const PAGES = [
	{ name: 'live', href: './', icon: 'live' },
	{ name: 'events', href: 'events.html', icon: 'list' },
	{ name: 'operations', href: 'operations.html', icon: 'gauge', role: 'operator' },
];

let who = null;
let asking = null;

function remember(name, value) {
	try {
		localStorage.setItem(`camserver.${name}`, value);
	} catch {
		// forbidden: it lasts as long as the page
	}
}

function isDark() {
	const theme = document.documentElement.dataset.theme;
	return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

/** Calls back when the theme changes, and now. */
export function onTheme(callback) {
	callback(isDark());
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => callback(isDark()));
	document.addEventListener('camserver:theme', () => callback(isDark()));
}

function themeButton() {
	const b = h('button', { class: 'icon-button', type: 'button', 'aria-label': t('shell.theme'), title: t('shell.theme') });
	onTheme(dark => b.replaceChildren(icon(dark ? 'sun' : 'moon')));
	b.addEventListener('click', () => {
		const theme = isDark() ? 'light' : 'dark';
		document.documentElement.dataset.theme = theme;
		remember('theme', theme);
		document.dispatchEvent(new CustomEvent('camserver:theme'));
	});
	return b;
}

function languageButton() {
	return h('button', {
		class: 'text-button', type: 'button', title: t('shell.language'),
		lang: document.documentElement.lang === 'ja' ? 'en' : 'ja',
		onclick() {
			remember('language', document.documentElement.lang === 'ja' ? 'en' : 'ja');
			location.reload();
		},
	}, t('shell.language_short'));
}

/** Asks for a token; tries it before it is kept. why: what the visitor cannot see without. */
export function signIn(why) {
	if (asking)
		return;
	const field = h('input', { id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true, maxlength: 256 });
	const keep = h('input', { id: 'remember', type: 'checkbox', checked: true });
	const fault = h('p', { class: 'field-error', role: 'alert' });
	const form = h('form', { id: 'signin', class: 'form', async onsubmit(e) {
		e.preventDefault();
		setToken(field.value.trim(), keep.checked);
		try {
			await get('console/live');
			location.reload();
		} catch (error) {
			setToken(null);
			setText(fault, error.status === 401 || error.status === 403 ? t('signin.bad') : error.message);
		}
	} },
	h('p', {}, why ?? t('signin.intro')),
	h('label', { for: 'token' }, t('signin.token')), field,
	h('label', { class: 'check', for: 'remember' }, keep, ' ', t('signin.remember')), fault);
	asking = openDialog({ title: t('signin.title'), kind: 'narrow', body: form, onClose: () => { asking = null; },
		buttons: [h('button', { class: 'button primary', type: 'submit', form: 'signin' }, t('signin.go'))] });
	field.focus();
}

function account() {
	if (!who) {
		signIn();
		return;
	}
	const how = { web: 'signin.web', token: 'signin.with_token' }[who.sign_in] ?? 'signin.as_guest';
	const dialog = openDialog({ title: who.name ?? t('shell.anonymous'), kind: 'narrow',
		body: [h('p', {}, h('span', { class: 'chip' }, word('role', who.role))), h('p', { class: 'muted' }, t(how))],
		buttons: [
			hasToken() ? button(t('signin.out'), () => { setToken(null); location.href = './'; })
				: who.sign_in === 'anonymous' && button(t('signin.go'), () => { dialog.close(); signIn(); }, { kind: 'primary' }),
		].filter(Boolean) });
}

/** Builds the bar; page: which of the pages this is. */
export function shell(page) {
	const nav = h('nav', { class: 'nav', 'aria-label': t('nav.main') }, PAGES.map(p => h('a', {
		href: p.href, class: 'nav-link', 'aria-current': p.name === page && 'page', data: { page: p.name }, hidden: p.role && p.name !== page,
	}, icon(p.icon), h('span', {}, t(`nav.${p.name}`)))));
	$('.bar').append(
		h('a', { class: 'skip', href: '#main' }, t('nav.skip')),
		h('a', { class: 'brand', href: './' }, h('img', { src: 'icon.svg', alt: '', width: 26, height: 26 }), h('span', {}, 'camserver')),
		nav,
		h('div', { class: 'bar-end' }, h('span', { id: 'health', class: 'health', role: 'status' }), languageButton(), themeButton(),
			h('button', { id: 'account', class: 'account', type: 'button', title: t('shell.account'), onclick: account },
				icon('user'), h('span', { class: 'account-name' }))));
	document.title = `${t(`nav.${page}`)} · camserver`;
	translate();
}

/** Who the server says is here: what they may not do, they are not offered. */
export function setWho(value) {
	who = value;
	document.documentElement.dataset.role = value.role;
	setText($('.account-name'), value.name ?? t('shell.anonymous'));
	for (const p of PAGES)
		if (p.role)
			$(`[data-page=${p.name}]`).hidden = p.role !== value.role;
}

export const isOperator = () => who?.role === 'operator';

export function setHealth(health) {
	const element = $('#health');
	element.dataset.level = health.level;
	setText(element, word('level', health.level));
}

/** What a page does with a failed request. */
export function trouble(error) {
	if (error.status === 401)
		signIn(t('signin.needed'));
	else if (error.status === 403)
		signIn(t('signin.operators'));
	else
		setTrouble(error.code === 'NETWORK' ? t('shell.offline') : error.message);
}

export function setTrouble(text) {
	const place = $('#trouble');
	place.hidden = !text;
	setText(place, text ?? '');
}
