// SPDX-License-Identifier: Apache-2.0
// Runs before the page is drawn, so that it never shows in another theme or language first. What the visitor chose, else
// what the browser asks for.
(function () {
	'use strict';
	const root = document.documentElement;
	function chosen(name) {
		try {
			return localStorage.getItem('camserver.' + name);
		} catch {
			return null; // storage may be forbidden
		}
	}
	const theme = chosen('theme');
	if (theme === 'light' || theme === 'dark')
		root.dataset.theme = theme;
	const wanted = [chosen('language'), ...(navigator.languages ?? [navigator.language])];
	const language = wanted.map(l => String(l).slice(0, 2)).find(l => l === 'ja' || l === 'en');
	root.lang = language ?? 'en';
})();
