#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# report.html in a real browser.  Prints TAP.
# usage: GPUCHECK=PROGRAM tests/page/page.py [FOLDER]
# FOLDER gets screenshots, to be looked at.
import csv
import os
import subprocess
import sys
import tempfile

from browser import Browser

gpucheck = os.path.abspath(os.environ['GPUCHECK'])
shots = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None
number = failed = 0


def ok(good, name, *more):
    global number, failed
    number += 1
    failed += not good
    print(('' if good else 'not ') + f'ok {number} - {name}', flush=True)
    if not good:
        for m in more:
            print('#', str(m)[:300])


def run(*words):
    return subprocess.run([gpucheck, *words], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode


def shot(b, name, whole=False):
    if shots:
        b.shot(f'{shots}/{name}.png', whole)


def clean(b, name):
    said = b.complaints()
    ok(not said, f'{name}: no error, nothing asked of the network', *said)
    b.seen.clear()


def middle(b, what):
    return b.js(f'(() => {{ const r = {what}.getBoundingClientRect(); '
                'return [r.x + r.width / 2, r.y + r.height / 2] })()')


def rows(b):
    return b.js('[...document.querySelectorAll(".rows > div:not(.head)")]'
                '.filter(d => d.childElementCount).sort((a, b) => '
                'parseInt(a.style.top) - parseInt(b.style.top)).map(d => '
                '[...d.children].map(s => s.textContent))')


def cell(b, row, column, ranks):
    """Where the cell is on the screen."""
    b.js('document.querySelector("#cells").scrollIntoView()')
    x, y, w = b.js('(() => { const r = document.querySelector("#cells")'
                   '.getBoundingClientRect(); return [r.x, r.y, r.width] })()')
    return (x + (column + .5) * w / ranks, y + (row + .5) * w / ranks)


def drill(b):
    with open('drill', 'w') as f:
        f.write('dead gpu=1:2\nslow nic=0:1 factor=0.5\n')
    run('p2p', '--local=2x8', '--transport=sim', '--faults=drill', '-o', 'run')
    b.open('run/report.html')
    clean(b, 'load')
    shot(b, 'drill', True)
    ok(not b.js('[...document.querySelectorAll(".still")]'
                '.some(e => e.offsetHeight)'), 'the still map gives way')

    key = b.js('document.querySelector("#tints").textContent')
    ok(key.strip() == '\u25a0 fail', 'what is not good has its colour said',
       key)

    b.mouse('mouseMoved', *cell(b, 0, 10, 16))
    tip = b.js('document.querySelector("#tip").textContent')
    ok(tip.startswith('n0:0 \u2192 n1:2: fail') and 'drill_dead' in tip and
       'does not respond' in tip, 'hover: both ends, outcome, code', tip)
    b.mouse('mouseMoved', *cell(b, 3, 4, 16))
    tip = b.js('document.querySelector("#tip").textContent')
    ok('GB/s' in tip and ' us' in tip and 'expected' in tip,
       'hover: figures and what is expected', tip)

    image = 'document.querySelector("#cells").toDataURL()'
    before = b.js(image)
    x, y = cell(b, 3, 4, 16)
    b.mouse('mouseWheel', x, y, deltaX=0, deltaY=-600)
    b.wait(f'{image}.length && {image} !== {before!r}')
    b.mouse('mouseMoved', x, y)
    ok(b.js('document.querySelector("#tip").textContent') == tip,
       'zoom: the cell stays under the pointer')
    shot(b, 'zoom')
    b.js('[...document.querySelectorAll("#map button")].at(-1).click()')
    ok(b.js(image) == before, 'and back')

    ok(all(r[2] != 'pass' for r in rows(b)), 'table: first what is not good')
    b.js('which.value = "all"; which.onchange()')
    ok(b.js('document.querySelector("#tests .bar span").textContent') ==
       '240 tests', 'table: all of it')
    ok(len(rows(b)) < 60, 'table: rows that nobody sees are not there')
    for _ in range(2):
        b.js('document.querySelectorAll(".rows .head span")[3].click()')
    speeds = [float(r[3]) for r in rows(b)]
    ok(speeds == sorted(speeds, reverse=True) and speeds[0] > 300,
       'table: sorted by bandwidth', speeds[:5])
    b.js('search.value = "n1:2"; search.oninput()')
    ok(all('n1:2' in r[:2] for r in rows(b)) and len(rows(b)) == 30,
       'table: filtered by a GPU')
    b.js('search.value = ""; search.oninput()')

    b.js('window.scrollTo(0, 0)')
    b.js('document.querySelector(".finding").scrollIntoView()')
    b.click(*middle(b, 'document.querySelector(".finding p")'))
    ok(b.js('document.querySelector(".finding").className').endswith(' on') and
       b.js('document.querySelector("#tests .bar span").textContent') ==
       '30 tests' and b.js(image) != before, 'a finding shows its part')
    cell(b, 0, 0, 16)
    shot(b, 'finding')
    ok(b.js('document.querySelectorAll("#bins canvas").length') == 2,
       'a histogram for each class')
    ok(b.js('document.querySelectorAll("pre button").length > 2'),
       'commands have a button')

    b.call('Emulation.setDeviceMetricsOverride', width=390, height=800,
           deviceScaleFactor=2, mobile=True)
    b.open('run/report.html')
    ok(b.js('document.documentElement.scrollWidth <= innerWidth'),
       'a phone need not scroll sideways',
       b.js('document.documentElement.scrollWidth'))
    shot(b, 'phone')
    b.call('Emulation.clearDeviceMetricsOverride')
    b.call('Emulation.setEmulatedMedia', features=[
        {'name': 'prefers-color-scheme', 'value': 'dark'}])
    b.open('run/report.html')
    ok(b.js('getComputedStyle(document.body).backgroundColor') ==
       'rgb(13, 17, 23)', 'dark where that is wanted')
    shot(b, 'dark')
    b.call('Emulation.setEmulatedMedia', media='print')
    ok(b.js('document.querySelector(".still svg").getBoundingClientRect()'
            '.height > 100 && !document.querySelector("#map").offsetHeight'),
       'on paper the still map')
    b.call('Emulation.setEmulatedMedia', media='', features=[])
    clean(b, 'all of that')

    b.open('run/report.html', script=False)
    shot(b, 'no-script')
    b.call('Emulation.setScriptExecutionDisabled', value=False)
    ok(b.js('document.querySelector(".still svg").getBoundingClientRect()'
            '.height > 100 && document.body.textContent.includes("GPU 2")'),
       'without script: the words and a map')


def hostile(b):
    """Names and texts of files are text, and no other script runs."""
    bad = '<img src=x onerror=done()></script><script>done()</script>'
    with open('run/results.csv') as f:
        lines = list(csv.reader(f))
    for line in lines[1:]:
        if line[24] != 'ok':
            line[25], line[26] = '<b>"&amp;', bad
    with open('run/results.csv', 'w') as f:
        csv.writer(f, lineterminator='\n').writerows(lines)
    run('report', 'run')
    b.open('run/report.html')
    ok('<img src=x' in b.js('document.body.textContent') and
       b.js('document.images.length') == 0 and
       b.js('document.scripts.length') == 1, 'hostile text stays text')
    clean(b, 'hostile text')
    with open('run/report.html') as f:
        page = f.read()
    with open('run/worse.html', 'w') as f:
        f.write(page.replace('<h2>', '<script>window.hit = 1</script>'
                             '<img src="http://192.0.2.1/x"><h2>', 1))
    b.open('run/worse.html')
    ok(b.js('window.hit') is None and any('violates' in s or 'Refused' in s
       for s in b.complaints()), 'what got in all the same does nothing',
       *b.complaints())
    b.seen.clear()


def others(b):
    for name, words in {
            'allreduce': ('allreduce', '--local=2x2', '--transport=sim'),
            'ping': ('ping', '--local=3x2'), 'info': ('info', '--local=2x2'),
            'memlock': ('memlock', '--local=2x1'),
            'sample': ('p2p', '--local=16x8', '--transport=sim', '--quick'),
            'all': ('all', '--local=2x2', '--transport=sim')}.items():
        run(*words, '-o', name)
        b.open(f'{name}/report.html')
        shot(b, name, True)
        clean(b, name)
    with open('drill', 'w') as f:
        f.write('dead node=0\ndead node=1\n')
    run('p2p', '--local=2x2', '--transport=sim', '--faults=drill', '-o', 'dead')
    b.open('dead/report.html')
    ok(b.js('document.querySelector("#metric").offsetHeight') == 0,
       'nothing was measured: there is nothing to choose from')
    clean(b, 'dead')


def large(b):
    run('p2p', '--local=128x8', '--transport=sim', '-o', 'large')
    size = os.path.getsize('large/report.html')
    ok(size <= 3e6, '1,024 ranks are 3 MB at most', size)
    b.open('large/report.html')
    ready = min(int(b.js('document.body.dataset.ready'))
                for _ in range(3) if b.open('large/report.html') is None)
    print(f'#| 1,024 ranks: {size / 1e6:.2f} MB, usable in {ready} ms')
    ok(ready < 10000, 'and usable at once', ready)
    shot(b, 'large')
    clean(b, '1,024 ranks')


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    browser = Browser()
    try:
        drill(browser)
        hostile(browser)
        others(browser)
        if not os.environ.get('SMALL'):
            large(browser)
    finally:
        browser.close()
        os.chdir('/')
print(f'1..{number}')
sys.exit(failed > 0)
