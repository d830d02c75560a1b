// SPDX-License-Identifier: BSD-3-Clause
// report.html: copy buttons, sorted tables, the map, the histograms and the
// table of tests.  All text enters the page by textContent, never as markup.
'use strict';
(async () => {
const began = performance.now();
const $ = id => document.getElementById(id);
const make = (tag, text, parent, name) => {
	const e = document.createElement(tag);
	e.textContent = text || '';
	if (name) e.className = name;
	if (parent) parent.append(e);
	return e;
};
const button = (text, parent, act) => {
	const b = make('button', text, parent);
	b.type = 'button';
	b.onclick = act;
	return b;
};
const ready = () => {
	document.body.dataset.ready = Math.round(performance.now() - began);
};

// ---- copying ----------------------------------------------------------------

// Over http there is no navigator.clipboard, and a browser may refuse either.
const copy = async text => {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = make('textarea', text, document.body);
		area.style.position = 'fixed';
		area.style.opacity = 0;
		area.value = text;
		area.select();
		let done = false;
		try {
			done = document.execCommand('copy');
		} catch { /* stays false */ }
		area.remove();
		return done;
	}
};
const copier = (parent, label, text) => {
	let timer;
	const b = button(label, parent, async () => {
		const done = await copy(text());
		clearTimeout(timer);
		b.textContent = done ? 'copied' : 'not copied: select the text';
		timer = setTimeout(() => { b.textContent = label; }, 3000);
	});
	return b;
};

// A block of advice: commands are the lines that are indented.  Each is one
// block with a button of its own.
for (const pre of [...document.querySelectorAll('pre')]) {
	const text = pre.textContent;
	if (!/^ {4}\S/m.test(text) || !pre.closest('.finding, .next')) {
		copier(pre, 'copy', () => text);
		continue;
	}
	const box = make('div', '', null, 'advice');
	let words = [];
	const flush = () => {
		if (words.length) make('p', words.join(' '), box);
		words = [];
	};
	for (const line of text.split('\n')) {
		const command = /^ {4,}\S/.test(line) ? line.trim() : '';
		if (command) {
			flush();
			const one = make('pre', command, box);
			copier(one, 'copy', () => command);
		} else if (line.trim()) words.push(line.trim());
		else flush();
	}
	flush();
	pre.replaceWith(box);
}

// ---- tables -----------------------------------------------------------------

// Numbers by value, with units of bytes; names with numbers in them by these.
const UNITS = {KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4};
const number = t => {
	const m = /^(-?[\d.,]+)(?: (\S+))?/.exec(t);
	return t === 'unlimited' ? Infinity : !m ? NaN :
		parseFloat(m[1].replace(/,/g, '')) * (UNITS[m[2]] || 1);
};
const order = (a, b) => {
	const x = number(a), y = number(b);
	return isNaN(x) || isNaN(y) ? a.localeCompare(b, 'en', {numeric: true}) :
		x === y ? 0 : x - y;
};
for (const table of document.querySelectorAll('table')) {
	const heads = [...(table.rows[0]?.cells || [])];
	heads.forEach((th, i) => {
		const name = th.textContent;
		th.textContent = '';
		th.scope = 'col';
		button(name, th, () => {
			const up = th.ariaSort === 'ascending' ? -1 : 1;
			heads.forEach(h => h.removeAttribute('aria-sort'));
			th.ariaSort = up > 0 ? 'ascending' : 'descending';
			const rows = [...table.rows].slice(1);
			rows.sort((a, b) => up * order(a.cells[i]?.textContent
				|| '', b.cells[i]?.textContent || ''));
			rows[0]?.parentNode.append(...rows);
		});
	});
}

// Folded sections that belong on paper.
const folds = [...document.querySelectorAll('details.run')];
onbeforeprint = () => folds.forEach(d => { d.open = true; });
onafterprint = () => folds.forEach(d => { d.open = false; });

// ---- findings ---------------------------------------------------------------

const boxes = [...document.querySelectorAll('.finding')];
boxes.forEach((box, i) => {
	box.id = 'finding-' + (i + 1);
	const bar = make('div', '', box, 'bar');
	copier(bar, 'copy as text', () => document.title + '\n\n' +
		[...box.querySelectorAll('p, li, pre')].filter(e =>
			!e.parentNode.closest('pre')).map(e => {
			const c = e.cloneNode(true);
			c.querySelectorAll('button').forEach(b => b.remove());
			const t = c.textContent.trim();
			return e.tagName === 'PRE' ? '    ' + t :
				e.tagName === 'LI' ? '- ' + t : t;
		}).join('\n'));
	const link = make('a', 'link', bar);
	link.href = '#' + box.id;
});

// ---- the data: a header of JSON, then columns of bytes ----------------------

const packed = $('data');
if (!packed) {
	ready();
	return;
}
const text = atob(packed.textContent);
const bytes = new Uint8Array(text.length);
for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
const stream = new Blob([bytes]).stream()
	.pipeThrough(new DecompressionStream('deflate'));
const all = new Uint8Array(await new Response(stream).arrayBuffer());
packed.remove();
let at = 4 + new DataView(all.buffer).getUint32(0, true);
const run = JSON.parse(new TextDecoder().decode(all.subarray(4, at)));
const {n, ranks, colors: paints} = run;
const nodes = [];
for (let i = 0; i < run.nodes.length; i += 2)
	nodes.push({first: run.nodes[i], gpus: run.nodes[i + 1]});
const side = ranks.length;
const column = size => all.subarray(at, at += size);
const wide = () => {
	const low = column(n), high = column(n), v = new Uint16Array(n);
	for (let i = 0; i < n; i++) v[i] = low[i] | high[i] << 8;
	return v;
};
const cls = column(n), path = column(n), tries = column(n);
const bw = wide(), lat = wide(), want = wide(), code = wide();
const src = run.square ? null : wide(), dst = run.square ? null : wide();
const touched = run.findings.map(() => column((n + 7) >> 3));
// Figures are stored as logarithms.
const real = v => v ? Math.exp((v - 1) * run.step) * run.least : NaN;
const from = i => src ? src[i] : Math.floor(i / side);
const to = i => dst ? dst[i] : i % side;
const show = (v, unit) => isNaN(v) ? '-' : (v >= 1000 ?
	Math.round(v).toLocaleString('en-US') : v.toPrecision(3)) + unit;
const count = v => v.toLocaleString('en-US');
const planned = run.classes.length;	// the class of cells not planned
const SLOW = run.classes.indexOf('slow');
const has = (f, i) => touched[f][i >> 3] >> (i & 7) & 1;
const nodeOf = new Uint16Array(side);
nodes.forEach((node, k) => nodeOf.fill(k, node.first, node.first + node.gpus));
const nodeName = k => ranks[nodes[k].first].replace(/:[^:]*$/, '');
const gpuName = r => ranks[r].slice(nodeName(nodeOf[r]).length + 1);
const find = (r, c) => {
	if (!src) return r * side + c;
	let low = 0, high = n;		// sorted by sender, then by receiver
	while (low < high) {
		const m = (low + high) >> 1;
		if (src[m] < r || src[m] === r && dst[m] < c) low = m + 1;
		else high = m;
	}
	return low < n && src[low] === r && dst[low] === c ? low : -1;
};
const cellAt = (r, c) => {
	const i = r >= 0 && c >= 0 && r < side && c < side ? find(r, c) : -1;
	return i >= 0 && cls[i] < planned ? i : -1;
};

let cells = new Uint32Array(0);		// rows of the table of tests
let chosen = -1;			// finding that is shown
let cursor = null, pinned = -1;		// [row, column] under the pointer; cell

// ---- colours ----------------------------------------------------------------

// Each class of paths has its own scale, as in report/draw/view.c, anchored on
// its median, which is bright.  The dark end is some robust deviations below it,
// or a least share: noise is calm, and a few fast tests darken nothing.
const levels = values => run.slow.map((_, p) => {
	const v = [];
	for (let i = 0; i < n; i += Math.max(1, n >> 14))
		if (path[i] === p && values[i] && cls[i] === run.pass)
			v.push(values[i]);
	if (!v.length) return {middle: 1, range: paints.least_range};
	v.sort((a, b) => a - b);
	const known = values === bw && run.slow[p].median;
	const middle = known ? 1.5 + Math.log(known / run.least) / run.step :
		v[v.length >> 1];
	const far = v.map(x => Math.abs(x - middle)).sort((a, b) => a - b);
	return {middle, range: Math.min(1, Math.max(paints.least_range, Math.expm1(
		paints.deviations * 1.4826 * far[far.length >> 1] * run.step)))};
});
const ratio = (a, b) => Math.exp((a - b) * run.step);
const values = [bw, lat, want];
const bwLevels = levels(bw), latLevels = levels(lat);
const shade = (values, levels, sign) => i => {
	const l = levels[path[i]];
	return values[i] ? paints.median_at * (1 + sign *
		(ratio(values[i], l.middle) - 1) / l.range) : NaN;
};
const metrics = [
	{name: 'bandwidth', of: shade(bw, bwLevels, 1), levels: bwLevels,
	 unit: ' GB/s', ends: ['slower', '']},
	run.ping ? {name: 'round trip', of: i => lat[i] ?
		1 - Math.log10(real(lat[i]) / 10) / 3 : NaN,
	 ends: ['10 ms or more', '10 us or less']} :
	{name: 'latency', levels: latLevels, unit: ' us',
	 of: shade(lat, latLevels, -1), ends: ['longer', '']},
	{name: 'share of the expected rate', of: i => want[i] && bw[i] ?
		(ratio(bw[i], want[i]) - .5) * 2 : NaN,
	 ends: ['50 % or less', '100 %']},
];
let metric = Math.max(0, values.findIndex(v => v.some(x => x)));
const hex = c => '#' + c.toString(16).padStart(6, '0');
const rgb = c => [c >> 16 & 255, c >> 8 & 255, c & 255];
const luminance = c => rgb(c).map(v => v / 255).map(v => v <= .03928 ?
	v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, k) =>
	s + v * [.2126, .7152, .0722][k], 0);
const inkOn = c => luminance(c) > .18 ? '#000' : '#fff';
// How far a slow test is below the median of its class, 0 to 1.
const loss = i => bw[i] ? Math.min(1, Math.max(0,
	1 - ratio(bw[i], bwLevels[path[i]].middle))) : 0;
// Slow is its colour, lighter for 20 % and darker for 95 %.
const slowColor = by => paints.slow[Math.round(by *
	(paints.slow.length - 1))];
const colorOf = i => {
	if (cls[i] === SLOW && metric === 0) return slowColor(loss(i));
	if (cls[i] !== run.pass && (cls[i] !== SLOW || metric === 0))
		return paints.classes[cls[i]];
	const v = metrics[metric].of(i), last = paints.scale.length - 1;
	return isNaN(v) ? paints.no_figure :
		paints.scale[Math.round(last * Math.min(1, Math.max(0, v)))];
};
const picture = document.createElement('canvas');
const paint = () => {
	const image = new ImageData(side, side);
	const px = new Uint32Array(image.data.buffer);
	for (let i = 0; i < n; i++) {
		if (cls[i] >= planned) continue;
		const c = colorOf(i), dim = chosen >= 0 && !has(chosen, i);
		px[from(i) * side + to(i)] = (dim ? 0x38000000 : 0xff000000) |
			c >> 16 & 255 | c & 0xff00 | (c & 255) << 16;
	}
	picture.width = picture.height = side;
	picture.getContext('2d').putImageData(image, 0, 0);
	describe();
};

// ---- the map: controls ------------------------------------------------------

const home = $('map');
const css = name => getComputedStyle(document.body).getPropertyValue(name);
make('h2', 'Map', home);
const frame = make('div', '', home, 'frame');
const left = make('div', '', frame, 'left');
const right = make('div', '', frame, 'side');
const canvas = make('canvas', '', left);
canvas.id = 'cells';
canvas.tabIndex = 0;
canvas.setAttribute('role', 'application');
canvas.setAttribute('aria-label', 'Map of ' + side + ' senders by ' + side +
	' receivers. Arrow keys move, Enter pins a test, plus and minus zoom, ' +
	'0 shows everything, Escape ends.');
const bar = make('div', '', right, 'bar');
const pick = make('select', '', bar);
pick.id = 'metric';
pick.ariaLabel = 'What the colours show';
metrics.forEach((m, i) => {
	if (values[i].some(v => v)) make('option', m.name, pick).value = i;
});
pick.hidden = !pick.length;
for (const [word, label, by] of [['+', 'zoom in', 2],
		['\u2212', 'zoom out', .5], ['show all', 'show all', 0]])
	button(word, bar, () => by ? zoom(by, view.x + span() / 2,
		view.y + span() / 2) : reset()).ariaLabel = label;
const scaleBar = make('canvas', '', right);
scaleBar.id = 'scale';
const key = make('div', '', right);
key.id = 'tints';
const tip = make('div', '', right);
tip.id = 'tip';
tip.setAttribute('aria-live', 'polite');
make('p', 'Rows send, columns receive. Ctrl+wheel or pinch: zoom. Drag: ' +
	'move. Click or Enter: pin a test. Numbers at the edge: findings.',
	right, 'note');

// The legend has every colour and kind of white that the map shows.
const describe = () => {
	const m = metrics[metric], g = scaleBar.getContext('2d');
	scaleBar.hidden = !pick.length;
	scaleBar.width = 300;
	scaleBar.height = 14;
	paints.scale.forEach((c, k) => {
		g.fillStyle = hex(c);
		g.fillRect(Math.floor(k * 300 / paints.scale.length), 0,
			Math.ceil(300 / paints.scale.length), 14);
	});
	scaleBar.setAttribute('role', 'img');
	scaleBar.ariaLabel = m.ends[0] + ' is dark';
	key.textContent = '';
	if (pick.length) {
		const ends = make('div', '', key, 'ends');
		make('span', m.ends[0], ends);
		make('span', m.levels ? 'median' : m.ends[1], ends);
		(m.levels || []).forEach((l, p) => {
			if (path.includes(p) && l.middle > 1)
				make('div', run.slow[p].words + ': median ' +
					show(real(l.middle), m.unit) + ', dark end ' +
					show(real(l.middle) * (1 + (m.ends[0] ===
					'slower' ? -1 : 1) * l.range), m.unit), key);
		});
	}
	const entry = (color, words, border) => {
		const line = make('div', '', key);
		const b = make('b', '', line, 'swatch');
		b.style.background = color;
		if (border) b.style.borderColor = border;
		make('span', ' ' + words, line);
	};
	const counts = new Uint32Array(planned + 1);
	let blank = 0;
	for (let i = 0; i < n; i++) {
		counts[Math.min(cls[i], planned)]++;
		blank += cls[i] === run.pass && isNaN(m.of(i));
	}
	// the heading counts without the follow-up
	const tally = c => count(run.counts[c]) + (counts[c] > run.counts[c] ?
		', ' + count(counts[c] - run.counts[c]) + ' in the follow-up' : '');
	run.classes.forEach((name, c) => {
		if (!counts[c] || c === run.pass) return;
		if (c === SLOW && metric === 0) {
			entry(hex(slowColor(.2)), 'slow, 20 % below the median');
			entry(hex(slowColor(.95)), 'slow, 95 % below (' +
				tally(c) + ' slow)');
		} else if (c !== SLOW)
			entry(hex(paints.classes[c]), name + ' (' + tally(c) + ')');
	});
	if (blank) entry(hex(paints.no_figure), (pick.length ? 'passed, without this ' +
		'figure' : 'passed') + ' (' + count(blank) + ')');
	const rest = side * side - side - (n - counts[planned]) +
		(run.square ? side : 0);
	if (rest > 0 || run.square && counts[planned] > side)
		entry('transparent', 'empty: not planned, or the diagonal',
			'currentColor');
};

// ---- the map: geometry ------------------------------------------------------

const view = {x: 0, y: 0, s: 1};	// left and top cell, CSS pixels a cell
let inner = 300, margin = {x: 60, y: 60};
const span = () => inner / view.s;
const clamp = () => {
	view.s = Math.max(Math.min(view.s, 96), inner / side);
	for (const k of ['x', 'y'])
		view[k] = Math.min(Math.max(view[k], 0), side - span());
	canvas.style.touchAction = view.s > inner / side * 1.01 ? 'none' :
		'pan-x pan-y';
};
const reset = () => {
	view.x = view.y = 0;
	view.s = inner / side;
	cursor = null;
	pinned = -1;
	if (chosen >= 0) choose(chosen);
	link('');
	draw();
};
const zoom = (by, x, y) => {
	const old = view.s;
	view.s *= by;
	clamp();
	view.x = x - (x - view.x) * old / view.s;
	view.y = y - (y - view.y) * old / view.s;
	draw();
};
const reveal = (r, c, least) => {
	view.s = Math.max(view.s, least || 0);
	clamp();
	for (const [k, v] of [['x', c], ['y', r]])
		if (v < view[k] || v + 1 > view[k] + span())
			view[k] = v + .5 - span() / 2;
};
const resize = () => {
	const wide = Math.max(220, Math.min(left.clientWidth, innerHeight * .9));
	const x = view.x + span() / 2, y = view.y + span() / 2;
	const full = view.s <= inner / side * 1.01, k = view.s * side / inner;
	const g = canvas.getContext('2d'), dpr = devicePixelRatio || 1;
	g.font = '12px sans-serif';
	const name = Math.min(120, Math.max(...nodes.map((_, i) =>
		g.measureText(nodeName(i)).width)));
	margin = {x: Math.ceil(name) + 44, y: Math.ceil(name) + 44};
	inner = Math.floor(wide - margin.x);
	canvas.dataset.margin = margin.x;
	canvas.style.width = inner + margin.x + 'px';
	canvas.style.height = inner + margin.y + 'px';
	canvas.width = Math.round((inner + margin.x) * dpr);
	canvas.height = Math.round((inner + margin.y) * dpr);
	view.s = full ? inner / side : k * inner / side;
	view.x = full ? 0 : x - span() / 2;
	view.y = full ? 0 : y - span() / 2;
	draw();
};

// ---- the map: drawing -------------------------------------------------------

// The rows, or columns, that are a finding's: at least half of their tests.
const edges = touched.map((_, f) => [from, to].map(end => {
	const of = new Uint32Array(side), some = new Uint32Array(side);
	for (let i = 0; i < n; i++) {
		if (cls[i] >= planned) continue;
		of[end(i)]++;
		some[end(i)] += has(f, i);
	}
	const out = [];
	for (let r = 0; r < side; r++)
		if (some[r] && some[r] * 2 >= of[r]) out.push(r);
	if (out.length && out.length < side) return out;
	const few = [];
	for (let r = 0; r < side; r++) if (some[r]) few.push(r);
	return few.length <= 2 ? few : [];
}));
const warns = boxes.map(b => !!b.querySelector('.badge.warn'));

// One edge of the map, seen from the map: @out pixels outwards, @along it.  The
// names of nodes and GPUs, and the numbers of findings.
const edge = (g, which) => {
	const s = view.s, first = which ? view.x : view.y, deep = margin.x;
	const rect = (out, along, wide, high) => which ?
		g.fillRect(along, -out - wide, high, wide) :
		g.fillRect(-out - wide, along, wide, high);
	const write = (text, out, along, upright) => {
		g.save();
		if (which) {
			g.translate(along, -out);
			if (!upright) g.rotate(-Math.PI / 2);
			g.textAlign = upright ? 'center' : 'left';
		} else {
			g.translate(-out, along);
			g.textAlign = upright ? 'center' : 'right';
		}
		g.textBaseline = 'middle';
		g.fillText(text, 0, 0, upright ? 1e3 : deep - 44);
		g.restore();
	};
	let last = -1e9;
	nodes.forEach((node, k) => {
		const a = Math.max(0, (node.first - first) * s);
		const b = Math.min(inner, (node.first + node.gpus - first) * s);
		if (b - a < 1) return;
		g.fillStyle = css('--ink');
		g.globalAlpha = .5;
		rect(1, a + .5, 3, Math.max(1, b - a - 1));
		g.globalAlpha = 1;
		const y = (a + b) / 2;
		if (y - last < 13) return;
		g.font = '12px sans-serif';
		const name = nodeName(k);
		const lies = which && g.measureText(name).width < b - a;
		write(name, lies ? 34 : 28, y, lies);
		last = y;
	});
	g.font = Math.min(11, s - 1) + 'px sans-serif';
	for (let r = Math.max(0, Math.floor(first)); s >= 9 && r < side; r++) {
		const y = (r + .5 - first) * s;
		if (y > inner) break;
		if (y > 0) write(gpuName(r), 11, y, true);
	}
	g.font = 'bold 11px sans-serif';
	const taken = [];
	edges.forEach((e, f) => {
		for (let k = 0; k < e[which].length; k++) {
			let end = k;
			while (e[which][end + 1] === e[which][end] + 1) end++;
			const a = Math.max(0, (e[which][k] - first) * s);
			const b = Math.min(inner, (e[which][end] + 1 - first) * s);
			k = end;
			if (b <= a) continue;
			g.fillStyle = warns[f] ? '#b45309' : '#c5102e';
			rect(21, a, 4, Math.max(3, b - a));
			const y = (a + b) / 2;
			if (taken.some(t => Math.abs(t - y) < 15)) continue;
			taken.push(y);
			rect(deep - 15, y - 7, 14, 14);
			g.fillStyle = '#fff';
			write(f + 1, deep - 8, y, true);
		}
	});
};
const mark = (g, i, x, y, s) => {
	const bad = cls[i] !== run.pass, slow = cls[i] === SLOW;
	g.fillStyle = g.strokeStyle = inkOn(colorOf(i));
	if (s >= 34 && bw[i]) {
		g.fillText(metric === 1 ? show(real(lat[i]), '') :
			show(real(bw[i]), ''), x + s / 2, y + s / 2 - (slow ?
			s / 8 : 0));
		if (slow) g.fillText('\u2212' + Math.round(100 * loss(i)) +
			' %', x + s / 2, y + s / 2 + s / 6);
	} else if (bad) {
		g.lineWidth = Math.max(1, s / 10);
		g.beginPath();
		g.moveTo(x + s * .28, y + s * (slow ? .5 : .28));
		g.lineTo(x + s * .72, y + s * (slow ? .5 : .72));
		if (!slow) {
			g.moveTo(x + s * .72, y + s * .28);
			g.lineTo(x + s * .28, y + s * .72);
		}
		g.stroke();
	}
};
const draw = () => {
	const g = canvas.getContext('2d'), dpr = devicePixelRatio || 1;
	clamp();
	const s = view.s, ink = css('--ink');
	g.setTransform(dpr, 0, 0, dpr, 0, 0);
	g.fillStyle = css('--back');
	g.fillRect(0, 0, inner + margin.x, inner + margin.y);
	g.save();
	g.translate(margin.x, margin.y);
	edge(g, 0);
	edge(g, 1);
	g.restore();
	g.save();
	g.translate(margin.x, margin.y);
	g.beginPath();
	g.rect(0, 0, inner, inner);
	g.clip();
	g.imageSmoothingEnabled = s < 1;
	g.drawImage(picture, view.x, view.y, span(), span(), 0, 0, inner, inner);
	g.strokeStyle = ink;
	g.lineWidth = 1;
	g.globalAlpha = .4;
	for (const node of nodes) {
		if (node.gpus * s < 16) break;
		const x = Math.round((node.first - view.x) * s) + .5;
		const y = Math.round((node.first - view.y) * s) + .5;
		g.strokeRect(x, -1, node.gpus * s, inner + 2);
		g.strokeRect(-1, y, inner + 2, node.gpus * s);
	}
	g.globalAlpha = 1;
	if (s >= 7) {
		g.textAlign = 'center';
		g.textBaseline = 'middle';
		g.font = Math.min(14, s / 3.4) + 'px sans-serif';
		for (let r = Math.floor(view.y); r < view.y + span() && r < side; r++)
			for (let c = Math.floor(view.x); c < view.x + span() &&
			     c < side; c++) {
				const i = cellAt(r, c);
				if (i >= 0) mark(g, i, (c - view.x) * s,
					(r - view.y) * s, s);
			}
	}
	const box = (r, c, color, width) => {
		g.strokeStyle = color;
		g.lineWidth = width;
		g.strokeRect((c - view.x) * s, (r - view.y) * s, s, s);
	};
	if (cursor) {
		g.fillStyle = ink;
		g.globalAlpha = .14;
		g.fillRect(0, (cursor[0] - view.y) * s, inner, s);
		g.fillRect((cursor[1] - view.x) * s, 0, s, inner);
		g.globalAlpha = 1;
		box(...cursor, ink, 2);
	}
	if (pinned >= 0) box(from(pinned), to(pinned), css('--mark'), 3);
	g.restore();
	g.strokeStyle = ink;
	g.lineWidth = 1;
	g.strokeRect(margin.x - .5, margin.y - .5, inner + 1, inner + 1);
	g.fillStyle = css('--soft');
	g.font = '12px sans-serif';
	g.textAlign = 'left';
	g.textBaseline = 'top';
	g.fillText('to \u2192', 2, 2);
	g.fillText('from \u2193', 2, 18);
};

// ---- the map: a test --------------------------------------------------------

const words = i => ranks[from(i)] + ' \u2192 ' + ranks[to(i)] + ': ' +
	run.classes[cls[i]] + (bw[i] ? ', ' + show(real(bw[i]), ' GB/s') : '') +
	(cls[i] === SLOW && bw[i] ? ', ' + Math.round(100 * loss(i)) +
		' % below the median' : '') +
	(lat[i] ? ', ' + show(real(lat[i]), ' us') : '') +
	(want[i] ? ', expected ' + show(real(want[i]), ' GB/s') : '') +
	(tries[i] > 1 ? ', attempt ' + tries[i] : '') +
	(code[i] ? ', ' + run.codes[code[i]] : '') +
	(run.details[i] ? ': ' + run.details[i] : '');
const tell = (r, c) => {
	const i = cellAt(r, c);
	tip.textContent = i >= 0 ? words(i) : pinned >= 0 ? words(pinned) :
		r >= 0 && r < side && c >= 0 && c < side ? ranks[r] + ' \u2192 ' +
		ranks[c] + ': ' + (r === c ? 'the diagonal' : 'not planned') : '';
};
const link = hash => {
	history.replaceState(null, '', hash || location.pathname +
		location.search);
};
const pin = i => {
	pinned = i;
	if (i < 0) {
		tip.textContent = '';
		link('');
	} else {
		tip.textContent = words(i);
		link('#pair=' + encodeURIComponent(ranks[from(i)] + '-' +
			ranks[to(i)]));
	}
	draw();
};
const under = e => {
	const box = canvas.getBoundingClientRect();
	const k = (inner + margin.x) / box.width;
	return [view.x + ((e.clientX - box.left) * k - margin.x) / view.s,
		view.y + ((e.clientY - box.top) * k - margin.y) / view.s];
};
const inside = (x, y) => x >= view.x && y >= view.y &&
	x < Math.min(side, view.x + span()) && y < Math.min(side, view.y + span());
canvas.addEventListener('wheel', e => {
	if (!e.ctrlKey && !e.metaKey) return;
	e.preventDefault();
	zoom(Math.exp(-e.deltaY / 400), ...under(e));
}, {passive: false});
const fingers = new Map();
let moved = 0;
canvas.onpointerdown = e => {
	if (!fingers.size) moved = 0;
	fingers.set(e.pointerId, e);
	if (e.pointerType === 'mouse') canvas.setPointerCapture(e.pointerId);
};
canvas.onpointerup = e => {
	fingers.delete(e.pointerId);
	if (fingers.size || moved > 6) return;
	const [x, y] = under(e);
	if (!inside(x, y)) return;
	const i = cellAt(Math.floor(y), Math.floor(x));
	cursor = [Math.floor(y), Math.floor(x)];
	pin(i === pinned ? -1 : i);
	if (i < 0) tell(...cursor);
};
canvas.onpointercancel = e => { fingers.delete(e.pointerId); };
canvas.onpointerleave = () => {
	cursor = null;
	tell(-1, -1);
	draw();
};
canvas.onpointermove = e => {
	const [x, y] = under(e), old = fingers.get(e.pointerId);
	if (!old) {
		cursor = inside(x, y) ? [Math.floor(y), Math.floor(x)] : null;
		tell(...(cursor || [-1, -1]));
		draw();
		return;
	}
	const [ox, oy] = under(old);
	const others = [...fingers.values()].filter(f =>
		f.pointerId !== e.pointerId);
	moved += Math.hypot(e.clientX - old.clientX, e.clientY - old.clientY);
	fingers.set(e.pointerId, e);
	if (others.length) {
		const far = p => Math.hypot(p.clientX - others[0].clientX,
			p.clientY - others[0].clientY);
		zoom(far(e) / (far(old) || 1), ...under(others[0]));
	} else if (view.s > inner / side * 1.01) {
		view.x += ox - x;
		view.y += oy - y;
		draw();
	}
};
const STEPS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
	ArrowRight: [0, 1]};
canvas.onkeydown = e => {
	const step = STEPS[e.key];
	if (e.ctrlKey || e.metaKey || e.altKey) return;
	if (step) {
		cursor = cursor ? cursor.map((v, k) => Math.min(side - 1,
			Math.max(0, v + step[k]))) : [Math.floor(view.y),
			Math.floor(view.x)];
		reveal(...cursor);
		tell(...cursor);
		draw();
	} else if (e.key === 'Enter') {
		if (cursor && cellAt(...cursor) >= 0) pin(cellAt(...cursor));
	}
	else if (e.key === '+' || e.key === '=') zoom(2, ...(cursor ?
		[cursor[1] + .5, cursor[0] + .5] : [view.x + span() / 2,
		view.y + span() / 2]));
	else if (e.key === '-') zoom(.5, view.x + span() / 2,
		view.y + span() / 2);
	else if (e.key === '0' || e.key === 'Escape') reset();
	else return;
	e.preventDefault();
};
pick.onchange = () => {
	metric = +pick.value;
	paint();
	draw();
};

// ---- findings: the tests of each --------------------------------------------

const choose = f => {
	chosen = chosen === f || f >= touched.length ? -1 : f;
	boxes.forEach((b, i) => {
		b.classList.toggle('on', i === chosen);
		const s = b.querySelector('.show');
		if (s) s.ariaPressed = i === chosen;
	});
	link(chosen >= 0 ? '#' + boxes[chosen].id : '');
	paint();
	list();
	draw();
};
boxes.forEach((box, i) => {
	make('b', (i + 1) + ' ', null, 'number');
	box.querySelector('p')?.prepend(make('b', (i + 1) + '. '));
	if (i >= touched.length) return;
	const b = button('show on the map', null, () => {
		choose(i);
		if (chosen >= 0) home.scrollIntoView({block: 'nearest'});
	});
	b.className = 'show';
	b.ariaPressed = false;
	box.querySelector('.bar').prepend(b);
});

// ---- histograms, one per class of paths -------------------------------------

const speed = bw.some(x => x) ? bw : lat;
const ticks = (low, high, most) => {
	const step = 10 ** Math.floor(Math.log10((high - low) / most || 1));
	const by = [1, 2, 5, 10].find(k => (high - low) / (k * step) <= most);
	const out = [];
	for (let v = Math.ceil(low / (by * step)) * by * step; v <= high;
	     v += by * step) out.push(+v.toPrecision(12));
	return out;
};
const HEIGHT = 130, BARS = 80, AXIS = 46;
const svg = (tag, attributes, parent) => {
	const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
	for (const k in attributes) e.setAttribute(k, attributes[k]);
	parent.append(e);
	return e;
};
const bins = (p, slow) => {
	const unit = speed === bw ? ' GB/s' : ' us';
	const limit = speed === bw ? slow.limit : 0;
	const list = [];
	for (let i = 0; i < n; i++)
		if (path[i] === p && speed[i] && cls[i] < planned)
			list.push(real(speed[i]));
	if (list.length < 2) return;
	const high = list.reduce((a, b) => Math.max(a, b));
	const least = list.reduce((a, b) => Math.min(a, b));
	const low = Math.min(least, limit > 0 ? limit * .98 : least) -
		(high - least) / 50 - high * 1e-6;
	const top = high + high * 1e-6, many = new Uint32Array(BARS);
	for (const v of list)
		many[Math.min(BARS - 1, Math.floor((v - low) / (top - low) *
			BARS))]++;
	const most = Math.max(...many), where = $('bins');
	if (!where.childElementCount) make('h2', 'Distribution', where);
	const median = speed === bw ? slow.median : real(latLevels[p].middle);
	make('p', slow.words + ': ' + count(list.length) + ' tests, ' +
		show(least, '') + ' to ' + show(high, unit) + ', median ' +
		show(median, unit) + (limit > 0 ? '; slow below ' +
		show(limit, unit) + ' (red line)' : ''), where);
	// SVG, whose colours follow the page onto paper and into the dark
	const wide = Math.min(810, where.clientWidth || 810), g = svg('svg', {viewBox: `0 0 ${wide} ${HEIGHT + 34}`,
		class: 'bins', role: 'img', 'aria-label': 'Histogram of ' +
		slow.words}, where);
	const words = (text, x, y, anchor) => {
		svg('text', {x, y, 'text-anchor': anchor}, g).textContent = text;
	};
	const bar = (x, y, width, height, name) => svg('rect',
		{x: +x.toFixed(2), y: +y.toFixed(2), width: +width.toFixed(2),
		 height: +height.toFixed(2), class: name}, g);
	const x = v => AXIS + (v - low) / (top - low) * (wide - AXIS - 10);
	// A single bad test must be seen beside 100,000 good ones.
	const y = k => k ? HEIGHT - 3 - (HEIGHT - 13) * Math.log10(k) /
		Math.max(1, Math.log10(most)) : HEIGHT;
	for (let k = 1; k <= most; k *= 10) {
		words(count(k), AXIS - 6, y(k) + 4, 'end');
		bar(AXIS, y(k), wide - AXIS - 10, 1, 'grid');
	}
	for (const v of ticks(low, top, Math.max(3, wide / 100))) {
		bar(x(v), HEIGHT, 1, 4, 'tick');
		words(+v.toPrecision(6), x(v), HEIGHT + 15, 'middle');
	}
	words('tests (logarithmic) by' + (unit === ' us' ? ' microseconds' :
		unit), AXIS, HEIGHT + 30, 'start');
	many.forEach((k, b) => {
		if (k) bar(x(low + b * (top - low) / BARS), y(k),
			(wide - AXIS - 10) / BARS - 1, HEIGHT - y(k), 'many');
	});
	if (limit > 0) bar(x(limit), 0, 2, HEIGHT, 'limit');
};

// ---- the table of tests: only rows in view are elements ---------------------

const columns = [
	['from', 150, i => ranks[from(i)], i => from(i), 1],
	['to', 150, i => ranks[to(i)], i => to(i), 1],
	['outcome', 90, i => run.classes[cls[i]], i => cls[i], 1],
	['GB/s', 80, i => show(real(bw[i]), ''), i => bw[i], bw.some(x => x)],
	['us', 80, i => show(real(lat[i]), ''), i => lat[i], lat.some(x => x)],
	['expected', 90, i => show(real(want[i]), ''), i => want[i],
	 want.some(x => x)],
	['attempts', 90, i => tries[i] || '-', i => tries[i],
	 tries.some(x => x > 1)],
	['code', 160, i => run.codes[code[i]], i => code[i], code.some(x => x)],
	['detail', 500, i => run.details[i] || '', i => run.details[i] ? 1 : 0,
	 Object.keys(run.details).length],
].filter(c => c[4]);
const NUMBERS = ['GB/s', 'us', 'expected', 'attempts'];
const HIGH = 24;
const part = $('tests');
make('h2', 'Tests', part);
const tools = make('div', '', part, 'bar');
const which = make('select', '', tools);
which.id = 'which';
which.ariaLabel = 'Outcome';
['not good', 'all', ...run.classes].forEach(w =>
	make('option', w, which).value = w);
const search = make('input', '', tools);
search.id = 'search';
search.type = 'search';
search.ariaLabel = 'Filter by node, GPU or code';
search.placeholder = 'node, GPU or code; -x leaves x out';
const many = make('span', '', tools);
many.setAttribute('role', 'status');
button('CSV', tools, () => {
	const quote = t => /[",\n]/.test(t) ? '"' + t.replace(/"/g, '""') + '"' :
		t;
	let out = columns.map(c => c[0]).join() + '\n';
	for (const i of cells)
		out += columns.map(c => quote(String(c[2](i)))).join() + '\n';
	const a = document.createElement('a');
	a.href = URL.createObjectURL(new Blob([out], {type: 'text/csv'}));
	a.download = 'tests.csv';
	a.click();
	URL.revokeObjectURL(a.href);
}).ariaLabel = 'Save these tests as CSV';
const box = make('div', '', part, 'rows');
box.tabIndex = 0;
box.setAttribute('role', 'table');
box.ariaLabel = 'Tests';
const head = make('div', '', box, 'head');
head.setAttribute('role', 'row');
const space = make('div', '', box);
space.setAttribute('role', 'presentation');
let shown = [], sortBy = -1, up = 1;
const cell = (row, k, text, role) => {
	const s = make('span', text, row);
	s.setAttribute('role', role);
	s.style.flex = '0 0 ' + columns[k][1] + 'px';
	if (NUMBERS.includes(columns[k][0])) s.style.textAlign = 'right';
	return s;
};
const heads = columns.map(([name], k) => {
	const h = cell(head, k, '', 'columnheader');
	button(name, h, () => {
		up = sortBy === k ? -up : 1;
		sortBy = k;
		heads.forEach((e, j) => {
			e.ariaSort = j !== k ? 'none' : up > 0 ? 'ascending' :
				'descending';
		});
		list();
	});
	return h;
});
const rows = () => {
	shown.forEach(r => r.remove());
	shown = [];
	const first = Math.max(0, Math.floor(box.scrollTop / HIGH) - 5);
	const end = Math.min(cells.length, first + box.clientHeight / HIGH + 12);
	for (let k = first; k < end; k++) {
		const row = make('div', '', box), i = cells[k];
		row.setAttribute('role', 'row');
		row.style.top = (k + 1) * HIGH + 'px';
		row.classList.toggle('picked', i === pinned);
		columns.forEach((c, j) => cell(row, j, c[2](i), 'cell'));
		row.onclick = () => {
			cursor = [from(i), to(i)];
			reveal(from(i), to(i), 34);
			pin(i);
			home.scrollIntoView({block: 'nearest'});
			rows();
		};
		shown.push(row);
	}
};
const list = () => {
	const terms = search.value.trim().toLowerCase().split(/\s+/)
		.filter(t => t && t !== '-');
	const w = which.value;
	const take = run.classes.map((c, k) => w === 'all' || w === c ||
		w === 'not good' && k !== run.pass);
	const names = ranks.map(r => r.toLowerCase());
	const codes = run.codes.map(c => c.toLowerCase());
	const tests = terms.map(t => {
		const not = t[0] === '-', word = not ? t.slice(1) : t;
		const by = names.map(r => r.includes(word));
		const byCode = codes.map(c => c.includes(word));
		return i => (by[from(i)] || by[to(i)] || byCode[code[i]]) !== not;
	});
	const found = new Uint32Array(n);
	let k = 0;
	for (let i = 0; i < n; i++)
		if (cls[i] < planned && take[cls[i]] &&
		    (chosen < 0 || has(chosen, i)) && tests.every(t => t(i)))
			found[k++] = i;
	cells = found.subarray(0, k);
	if (sortBy >= 0) {
		const of = columns[sortBy][3];
		cells.sort((a, b) => up * (of(a) - of(b)));
	}
	many.textContent = count(cells.length) + ' tests';
	space.style.top = cells.length * HIGH + 'px';
	box.scrollTop = 0;
	rows();
};
box.onscroll = rows;
which.onchange = search.oninput = list;

// ---- start: what a link asks for --------------------------------------------

const follow = () => {
	const hash = decodeURIComponent(location.hash);
	const f = /^#finding-(\d+)$/.exec(hash), p = /^#pair=(.+)$/.exec(hash);
	if (f && boxes[f[1] - 1]) {
		if (chosen !== f[1] - 1) choose(f[1] - 1);
		boxes[f[1] - 1].scrollIntoView();
	}
	for (let k = p ? p[1].indexOf('-') : -1; k > 0;
	     k = p[1].indexOf('-', k + 1)) {
		const r = ranks.indexOf(p[1].slice(0, k));
		const c = ranks.indexOf(p[1].slice(k + 1));
		const i = cellAt(r, c);
		if (i < 0) continue;
		reveal(r, c, 34);
		pin(i);
		home.scrollIntoView();
	}
};
if (!cls.some(c => c < planned && c !== run.pass)) which.value = 'all';
for (const still of document.querySelectorAll('.still'))
	still.style.display = 'none';
run.slow.forEach((s, p) => bins(p, s));
paint();
list();
resize();
view.s = inner / side;
draw();
follow();
onhashchange = follow;
onresize = resize;
matchMedia('(prefers-color-scheme: dark)').onchange = draw;
ready();
})();
