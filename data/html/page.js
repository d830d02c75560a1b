// SPDX-License-Identifier: BSD-3-Clause
// report.html: the map, the histograms and the table of tests.  All text comes
// into the page by textContent, which takes none of it for markup.
'use strict';
(async () => {
const began = performance.now();
const $ = id => document.getElementById(id);
const make = (tag, text, parent) => {
	const e = document.createElement(tag);
	e.textContent = text || '';
	if (parent) parent.append(e);
	return e;
};

// ---- every probe: commands are copied, tables sorted ----------------------

for (const pre of document.querySelectorAll('pre')) {
	const text = pre.textContent;
	make('button', 'copy', pre).onclick = e => {
		navigator.clipboard?.writeText(text);
		e.target.textContent = 'copied';
	};
}
const order = (a, b) => {
	const x = parseFloat(a), y = parseFloat(b);
	return isNaN(x) || isNaN(y) ? a.localeCompare(b) : x - y;
};
for (const table of document.querySelectorAll('table')) {
	[...(table.rows[0]?.cells || [])].forEach((th, i) => {
		let up = -1;
		th.tabIndex = 0;
		th.onclick = () => {
			const rows = [...table.rows].slice(1);
			up = -up;
			rows.sort((a, b) => up * order(a.cells[i]?.textContent
				|| '', b.cells[i]?.textContent || ''));
			rows[0]?.parentNode.append(...rows);
		};
	});
}

// ---- the data: a header of JSON, then a column of bytes after the other ----

const packed = $('data');
if (!packed) {
	document.body.dataset.ready = Math.round(performance.now() - began);
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
const {n, ranks, nodes} = run;
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
// figures travel as logarithms
const real = v => v ? Math.exp((v - 1) * run.step) * run.least : NaN;
const from = i => src ? src[i] : Math.floor(i / ranks.length);
const to = i => dst ? dst[i] : i % ranks.length;
const show = (v, unit) => isNaN(v) ? '-' : v.toPrecision(3) + unit;
const planned = run.classes.length;		// that class: not planned
const has = (f, i) => touched[f][i >> 3] >> (i & 7) & 1;
let cells = new Uint32Array(0);			// that are rows of the table
let chosen = -1;				// finding

// ---- colours ---------------------------------------------------------------

// Each against the median of its class: a tenth is seen, a class is not.
const middle = values => run.slow.map((_, p) => {
	const v = [];
	for (let i = 0; i < n; i += Math.max(1, n >> 14))
		if (path[i] === p && values[i]) v.push(values[i]);
	return v.sort((a, b) => a - b)[v.length >> 1] || 1;
});
const bwMiddle = middle(bw), latMiddle = middle(lat);
const ratio = (a, b) => Math.exp((a - b) * run.step);
const metrics = [
	{name: 'bandwidth', of: i => bw[i] ?
		(ratio(bw[i], bwMiddle[path[i]]) - 0.8) * 4 : NaN,
	 legend: 'dark: 20 % below the median of its class, or more'},
	run.ping ? {name: 'round trip', of: i => lat[i] ?
		(3 - Math.log2(ratio(lat[i], latMiddle[path[i]]))) / 4 : NaN,
	 legend: 'dark: eight times the median of its class, or more'} :
	{name: 'latency', of: i => lat[i] ?
		(1.5 - ratio(lat[i], latMiddle[path[i]])) / 0.6 : NaN,
	 legend: 'dark: 1.5 times the median of its class, or more'},
	{name: 'share of what is expected', of: i => want[i] && bw[i] ?
		(ratio(bw[i], want[i]) - 0.5) * 2 : NaN,
	 legend: 'dark: half of it, or less'},
];
const values = [bw, lat, want];
let metric = Math.max(0, values.findIndex(v => v.some(x => x)));
const side = ranks.length;
const picture = document.createElement('canvas');
const paint = () => {
	const image = new ImageData(side, side);
	const px = new Uint32Array(image.data.buffer);
	const bgr = c => c >> 16 & 255 | c & 0xff00 | (c & 255) << 16;
	const scale = run.scale.map(bgr), off = run.colors.map(bgr);
	const last = scale.length - 1, of = metrics[metric].of;
	for (let i = 0; i < n; i++) {
		if (cls[i] >= planned) continue;
		let c = off[cls[i]];
		if (run.good[cls[i]]) {
			const v = of(i);
			c = isNaN(v) ? 0xb0b0b0 : scale[Math.round(last *
				Math.min(1, Math.max(0, v)))];
		}
		const dim = chosen >= 0 && !has(chosen, i);
		px[from(i) * side + to(i)] = (dim ? 0x30000000 : 0xff000000) | c;
	}
	legend.textContent = pick.length ? metrics[metric].legend : '';
	picture.width = picture.height = side;
	picture.getContext('2d').putImageData(image, 0, 0);
};

// ---- the map ---------------------------------------------------------------

const home = $('map');
make('h2', 'Map', home);
const bar = make('div', '', home);
bar.className = 'bar';
const pick = make('select', '', bar);
pick.id = 'metric';
metrics.forEach((m, i) => {
	if (values[i].some(v => v)) make('option', m.name, pick).value = i;
});
pick.hidden = !pick.length;		// nothing was measured
const legend = make('span', '', bar);
const canvas = make('canvas', '', home);
canvas.id = 'cells';
const tints = make('div', '', home);
tints.id = 'tints';
run.classes.forEach((name, c) => {
	if (run.good[c] || c >= planned || !cls.includes(c)) return;
	make('b', '\u25a0', tints).style.color =
		'#' + run.colors[c].toString(16).padStart(6, '0');
	make('span', ' ' + name + ' ', tints);
});
const tip = make('div', 'Rows send, columns receive. Wheel or pinch: zoom; ' +
	'drag: move; a finding above: its part.', home);
tip.id = 'tip';
const view = {x: 0, y: 0, s: 1};
let size = 0;
const fit = () => {
	view.x = view.y = 0;
	view.s = size / side;
};
const clamp = () => {
	view.s = Math.max(Math.min(view.s, 96), size / side);
	for (const k of ['x', 'y'])
		view[k] = Math.min(Math.max(view[k], 0), side - size / view.s);
};
const css = name => getComputedStyle(document.body).getPropertyValue(name);
const draw = () => {
	const g = canvas.getContext('2d'), s = view.s;
	clamp();
	g.imageSmoothingEnabled = s < 1;
	g.fillStyle = css('--back');
	g.fillRect(0, 0, size, size);
	g.drawImage(picture, view.x, view.y, size / s, size / s, 0, 0, size,
		size);
	g.strokeStyle = g.fillStyle = css('--ink');
	g.lineWidth = 1;
	for (const node of nodes) {
		const x = (node.first - view.x) * s, y = (node.first - view.y) * s;
		if (node.gpus * s < 24) break;
		g.globalAlpha = 0.35;
		g.strokeRect(x, -1, node.gpus * s, size + 2);
		g.strokeRect(-1, y, size + 2, node.gpus * s);
		g.globalAlpha = 1;
	}
	if (s < 12) return;
	const span = Math.ceil(size / s) + 1;
	g.textAlign = 'center';
	g.textBaseline = 'middle';
	g.font = Math.min(14, s / 4) + 'px sans-serif';
	for (let r = Math.floor(view.y); r < view.y + span && r < side; r++)
		for (let c = Math.floor(view.x); c < view.x + span && c < side; c++)
			mark(g, r, c, (c - view.x) * s, (r - view.y) * s, s);
};
const find = (r, c) => {
	if (!src) return r * side + c;
	let low = 0, high = n;		// by sender, then by receiver
	while (low < high) {
		const m = (low + high) >> 1;
		if (src[m] < r || src[m] === r && dst[m] < c) low = m + 1;
		else high = m;
	}
	return low < n && src[low] === r && dst[low] === c ? low : -1;
};
const mark = (g, r, c, x, y, s) => {
	const i = find(r, c);
	if (i < 0 || cls[i] >= planned) return;
	g.fillStyle = g.strokeStyle = run.good[cls[i]] ? '#000' : '#fff';
	if (s >= 40 && bw[i])
		g.fillText(show(real(bw[i]), ''), x + s / 2, y + s / 2);
	else if (!run.good[cls[i]]) {
		g.beginPath();
		g.moveTo(x + s * .3, y + s * .3);
		g.lineTo(x + s * .7, y + s * .7);
		g.moveTo(x + s * .7, y + s * .3);
		g.lineTo(x + s * .3, y + s * .7);
		g.stroke();
	}
};
const words = i => ranks[from(i)] + ' \u2192 ' + ranks[to(i)] + ': ' +
	run.classes[cls[i]] + (bw[i] ? ', ' + show(real(bw[i]), ' GB/s') : '') +
	(lat[i] ? ', ' + show(real(lat[i]), ' us') : '') +
	(want[i] ? ', expected ' + show(real(want[i]), ' GB/s') : '') +
	(tries[i] > 1 ? ', attempt ' + tries[i] : '') +
	(code[i] ? ', ' + run.codes[code[i]] : '') +
	(run.details[i] ? ': ' + run.details[i] : '');
const under = e => {
	const box = canvas.getBoundingClientRect(), k = size / box.width;
	return [view.x + (e.clientX - box.left) * k / view.s,
		view.y + (e.clientY - box.top) * k / view.s];
};
const zoom = (by, x, y) => {
	const old = view.s;
	view.s *= by;
	clamp();
	view.x = x - (x - view.x) * old / view.s;
	view.y = y - (y - view.y) * old / view.s;
	draw();
};
canvas.onwheel = e => {
	e.preventDefault();
	zoom(Math.exp(-e.deltaY / 400), ...under(e));
};
const fingers = new Map();
canvas.onpointerdown = e => {
	fingers.set(e.pointerId, e);
	canvas.setPointerCapture(e.pointerId);
};
canvas.onpointerup = canvas.onpointercancel = e => fingers.delete(e.pointerId);
canvas.onpointermove = e => {
	const [x, y] = under(e);
	const i = x >= 0 && y >= 0 && x < side && y < side ?
		find(Math.floor(y), Math.floor(x)) : -1;
	if (i >= 0 && cls[i] < planned) tip.textContent = words(i);
	const old = fingers.get(e.pointerId);
	if (!old) return;
	const [ox, oy] = under(old), others = [...fingers.values()]
		.filter(f => f.pointerId !== e.pointerId);
	fingers.set(e.pointerId, e);
	if (others.length) {
		const o = others[0], far = p => Math.hypot(p.clientX - o.clientX,
			p.clientY - o.clientY);
		zoom(far(e) / (far(old) || 1), ...under(o));
	} else {
		view.x += ox - x;
		view.y += oy - y;
		draw();
	}
};
for (const [word, by] of [['+', 2], ['\u2212', 0.5], ['all of it', 0]])
	make('button', word, bar).onclick = () => by ? zoom(by,
		view.x + size / view.s / 2, view.y + size / view.s / 2) :
		(choose(-1), fit(), draw());
pick.onchange = () => {
	metric = +pick.value;
	paint();
	draw();
};
const resize = () => {
	const wide = Math.max(200, Math.min(home.clientWidth,
		innerHeight * 0.85));
	canvas.style.width = canvas.style.height = wide + 'px';
	size = canvas.width = canvas.height =
		Math.round(wide * (devicePixelRatio || 1));
	fit();
	draw();
};

// ---- findings: what they are about ------------------------------------------

const boxes = [...document.querySelectorAll('.finding')];
const choose = f => {
	chosen = chosen === f || f >= touched.length ? -1 : f;
	if (chosen >= 0) home.scrollIntoView({block: 'nearest'});
	boxes.forEach((b, i) => b.classList.toggle('on', i === chosen));
	paint();
	list();
	draw();
};
boxes.forEach((box, i) => {
	if (i >= touched.length) return;
	box.tabIndex = 0;
	box.onclick = e => e.target.closest('pre, a') || choose(i);
	box.onkeydown = e => e.key === 'Enter' && choose(i);
});

// ---- histograms, a class of paths each --------------------------------------

const speed = bw.some(x => x) ? bw : lat;
const bins = (p, slow) => {
	const unit = speed === bw ? ' GB/s' : ' us', each = new Uint32Array(65536);
	const limit = speed === bw ? slow.limit : 0;
	let low = 65535, high = 0, all = 0;
	for (let i = 0; i < n; i++)
		if (path[i] === p && speed[i] && cls[i] < planned) {
			each[speed[i]]++;
			all++;
			low = Math.min(low, speed[i]);
			high = Math.max(high, speed[i]);
		}
	if (all < 2) return;
	const top = limit > 0 ? 1 + Math.log(limit / run.least) / run.step : low;
	const left = Math.min(low, top - 10), bars = 80;
	const width = Math.max(1, (high - left) / bars);
	const count = new Uint32Array(bars + 1);
	for (let x = low; x <= high; x++)
		count[Math.floor((x - left) / width)] += each[x];
	const most = Math.max(...count), where = $('bins');
	if (!where.childElementCount) make('h2', 'How fast', where);
	make('p', slow.words + ': ' + all + ' tests, ' +
		show(real(low), '') + ' to ' + show(real(high), unit) +
		', median ' + show(real((speed === bw ? bwMiddle :
		latMiddle)[p]), unit) + (limit > 0 ? ', slow below ' +
		show(limit, unit + ' (red line)') : ''), where);
	const c = make('canvas', '', where), g = c.getContext('2d');
	c.className = 'bins';
	c.width = 810;
	c.height = 120;
	g.fillStyle = css('--mark');
	count.forEach((k, b) => {
		const h = k ? 3 + 115 * Math.log1p(k) / Math.log1p(most) : 0;
		g.fillRect(b * 10, 120 - h, 9, h);
	});
	g.fillStyle = '#c5102e';
	if (limit > 0) g.fillRect((top - left) / width * 10, 0, 2, 120);
};

// ---- the table: only rows that are seen are there ----------------------------

const columns = [
	['from', 170, i => ranks[from(i)], i => from(i)],
	['to', 170, i => ranks[to(i)], i => to(i)],
	['outcome', 80, i => run.classes[cls[i]], i => cls[i]],
	['GB/s', 80, i => show(real(bw[i]), ''), i => bw[i]],
	['us', 80, i => show(real(lat[i]), ''), i => lat[i]],
	['expected', 80, i => show(real(want[i]), ''), i => want[i]],
	['attempts', 80, i => tries[i] || '-', i => tries[i]],
	['code', 160, i => run.codes[code[i]], i => code[i]],
	['detail', 500, i => run.details[i] || '', i => run.details[i] ? 1 : 0],
];
const HIGH = 24;
const part = $('tests');
make('h2', 'Tests', part);
const tools = make('div', '', part);
tools.className = 'bar';
const which = make('select', '', tools);
which.id = 'which';
['not good', 'all', ...run.classes].forEach(w =>
	make('option', w, which).value = w);
const search = make('input', '', tools);
search.id = 'search';
search.placeholder = 'node, GPU or code';
const many = make('span', '', tools);
const box = make('div', '', part);
box.className = 'rows';
box.tabIndex = 0;
const head = make('div', '', box);
head.className = 'head';
const space = make('div', '', box);
let shown = [], key = -1, up = 1;
const cell = (row, k, text) => {
	const s = make('span', text, row);
	s.style.flex = '0 0 ' + columns[k][1] + 'px';
	return s;
};
columns.forEach(([name], k) => cell(head, k, name).onclick = () => {
	up = key === k ? -up : 1;
	key = k;
	list();
});
const rows = () => {
	shown.forEach(r => r.remove());
	shown = [];
	const first = Math.max(0, Math.floor(box.scrollTop / HIGH) - 5);
	const end = Math.min(cells.length, first + box.clientHeight / HIGH + 12);
	for (let k = first; k < end; k++) {
		const row = make('div', '', box);
		row.style.top = (k + 1) * HIGH + 'px';
		columns.forEach((c, j) => cell(row, j, c[2](cells[k])));
		row.onclick = () => {
			const i = cells[k];
			view.s = 40;
			view.x = to(i) - size / 80;
			view.y = from(i) - size / 80;
			tip.textContent = words(i);
			row.className = 'picked';
			draw();
		};
		shown.push(row);
	}
};
const list = () => {
	const want = search.value.trim().toLowerCase(), w = which.value;
	const name = want ? ranks.map(r => r.toLowerCase().includes(want)) : [];
	const codes = run.codes.map(c => want && c.toLowerCase().includes(want));
	const take = run.classes.map((c, k) => w === 'all' || w === c ||
		w === 'not good' && k !== run.pass);
	const found = new Uint32Array(n);
	let k = 0;
	for (let i = 0; i < n; i++)
		if (cls[i] < planned && take[cls[i]] &&
		    (chosen < 0 || has(chosen, i)) && (!want ||
		    name[from(i)] || name[to(i)] || codes[code[i]]))
			found[k++] = i;
	cells = found.subarray(0, k);
	if (key >= 0) {
		const of = columns[key][3];
		cells.sort((a, b) => up * (of(a) - of(b)));
	}
	many.textContent = cells.length + ' tests';
	space.style.top = cells.length * HIGH + 'px';
	box.scrollTop = 0;
	rows();
};
box.onscroll = rows;
which.onchange = search.oninput = list;

if (!cls.some(c => c < planned && c !== run.pass)) which.value = 'all';
for (const still of document.querySelectorAll('.still'))
	still.style.display = 'none';
run.slow.forEach((s, p) => bins(p, s));
paint();
list();
resize();
onresize = resize;
matchMedia('(prefers-color-scheme: dark)').onchange = draw;
document.body.dataset.ready = Math.round(performance.now() - began);
})();
