#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Each finding of a simulated fault is in the picture, by its name at its rows
# and columns, and every text can be read on what is behind it.  Prints TAP.
# usage: GPUCHECK=PROGRAM tests/page/reach.py [FOLDER]
# FOLDER gets the pictures, to be looked at.
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

gpucheck = os.path.abspath(os.environ['GPUCHECK'])
kept = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None
MIN_CONTRAST = 4.5
SIZES = ['2x8', '16x8'] + ([] if os.environ.get('SMALL') else
                           ['64x8', '256x8'])
# Name of the case, the drill, and how the picture names the finding.
FAULTS = [
    ('gpu', 'dead gpu=1:4', 'GPU 4 of n1'),
    ('nic', 'slow nic=0:3 factor=0.5', 'NIC 3 of n0'),
    ('rail', 'dead rail=3', 'rail 3'),
    ('node_pair', 'dead node_pair=0-1', 'n0 |between nodes|network'),
    ('pair', 'corrupt pair=1-10', 'n0:1 - n1:2|n1:2 -&gt; n0:1'),
    ('flaky', 'flaky pair=1-10 rate=0.5', 'n0:1 - n1:2|n1:2 -&gt; n0:1'),
    ('inside', 'slow intra_node=1 factor=0.5', 'inside n1'),
    ('cross_rail', 'dead cross_rail', 'one rail to another'),
]
TEXT = re.compile(r'<text transform="translate\(([-\d.]+) ([-\d.]+)\)'
                  r'(rotate\(-90\))?" font-size="(\d+)" fill="(#\w+)" '
                  r'text-anchor="(\w+)"[^>]*>([^<]*)')
RECT = re.compile(r'<rect x="([-\d.]+)" y="([-\d.]+)" width="([-\d.]+)" '
                  r'height="([-\d.]+)" fill="(#\w+)"')
number = failed = 0


def ok(good, name, *more):
    global number, failed
    number += 1
    failed += not good
    print(('' if good else 'not ') + f'ok {number} - {name}', flush=True)
    if not good:
        for m in more:
            print('#', str(m)[:300])


def luminance(color):
    digits = color[1:] if len(color) == 7 else ''.join(2 * c
                                                       for c in color[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    parts = [p / 12.92 if p <= .03928 else ((p + .055) / 1.055) ** 2.4
             for p in parts]
    return .2126 * parts[0] + .7152 * parts[1] + .0722 * parts[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + .05) / (low + .05)


def pale(texts, rects):
    """Texts that differ too little from the last shape below them."""
    out = []
    for x, y, _, _, fill, anchor, text in texts:
        x, y, behind = float(x), float(y), '#ffffff'
        for rx, ry, w, h, color in rects if anchor == 'middle' else ():
            if float(rx) <= x <= float(rx) + float(w) and \
                    float(ry) <= y <= float(ry) + float(h):
                behind = color
        if text and contrast(fill, behind) < MIN_CONTRAST:
            out.append(f'{text}: {fill} on {behind}')
    return out


def has_node(label, node):
    """Whether a label of rows, such as n0-n3, has the node n2."""
    first, *last = re.findall(r'n(\d+)', label) or ['-1']
    return int(first) <= node <= int((last or [first])[0])


def at_rows(texts, k, nodes):
    """Whether the name of finding k is beside a row of each of the nodes, and
    below a column of it."""
    rows = {t[6]: float(t[1]) for t in texts
            if t[5] == 'end' and not t[2] and re.match(r'n\d', t[6])}
    columns = {t[6]: float(t[0]) for t in texts
               if re.match(r'n\d', t[6]) and
               (t[5] == 'middle' or t[2] and t[5] == 'start')}
    for places, axis, upright in ((rows, 1, False), (columns, 0, True)):
        apart = sorted(places.values())
        reach = max([b - a for a, b in zip(apart, apart[1:])] or [0]) + 24
        marks = [float(t[axis]) for t in texts if bool(t[2]) == upright and
                 re.match(rf'{k}(: |$)', t[6])]
        for node in nodes:
            here = [p for label, p in places.items() if has_node(label, node)]
            if not here or not any(abs(m - h) <= reach for m in marks
                                   for h in here):
                return False
    return True


def check(size, name, drill, words):
    case = f'{size} {name}'
    out = f'{size}-{name}'
    with open('drill', 'w') as f:
        f.write(drill + '\n')
    subprocess.run([gpucheck, 'p2p', f'--local={size}', '--transport=sim',
                    '--inject=drill', '-q', '-o', out],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(f'{out}/verdict.json') as f:
        findings = json.load(f)['findings']
    with open(f'{out}/heatmap-bw.svg') as f:
        svg = f.read()
    texts, rects = TEXT.findall(svg), RECT.findall(svg)
    ok(findings or size == '256x8', f'{case}: a finding', svg[:100])
    for k, found in enumerate(findings, 1):
        nodes = [int(found[key][1:]) for key in ('node', 'peer_node')
                 if found[key]]
        named = [t[6] for t in texts if t[6].startswith(f'{k}: ')]
        loose = [t[6] for t in texts if 'found, without a row: ' in t[6]]
        ok(any(re.search(words, t) for t in named or loose),
           f'{case}: the name of finding {k}', named, loose)
        if nodes:
            ok(at_rows(texts, k, nodes), f'{case}: its rows and columns',
               found['says'], named)
    wrong = pale(texts, rects)
    ok(not wrong, f'{case}: every text has contrast', *wrong[:5])
    size_B = os.path.getsize(f'{out}/report.html')
    ok(size_B <= 1e6 or size == '256x8', f'{case}: a page of 1 MB at most',
       size_B)
    if kept:
        shutil.copy(f'{out}/heatmap-bw.png', f'{kept}/{out}.png')
    shutil.rmtree(out)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for size in SIZES:
        for fault in FAULTS:
            check(size, *fault)
    os.chdir('/')
print(f'1..{number}')
sys.exit(failed > 0)
