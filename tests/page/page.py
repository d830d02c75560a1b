#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# report.html in a real browser.  Prints TAP.
# usage: GPUCHECK=PROGRAM tests/page/page.py [FOLDER]
# FOLDER gets screenshots, to be looked at.
import base64
import csv
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading

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
    """The middle of a cell on the screen; the map has as much margin on the
    left as above it."""
    b.js('document.querySelector("#cells").scrollIntoView()')
    x, y, w, margin = b.js(
        '(() => { const c = document.querySelector("#cells"), '
        'r = c.getBoundingClientRect(), g = c.getContext("2d"); '
        'return [r.x, r.y, r.width, +c.dataset.margin] })()')
    inner = w - margin
    return (x + margin + (column + .5) * inner / ranks,
            y + margin + (row + .5) * inner / ranks)


def key(b, name, **more):
    codes = {'Tab': 9, 'Enter': 13, 'Escape': 27, 'PageDown': 34,
             'ArrowDown': 40, 'ArrowRight': 39, ' ': 32}
    for kind in ('rawKeyDown', 'char' if name == 'Enter' else None, 'keyUp'):
        if kind:
            b.call('Input.dispatchKeyEvent', type=kind, key=name, code=name,
                   windowsVirtualKeyCode=codes.get(name, 0),
                   text='\r' if kind == 'char' else '', **more)


def tip(b):
    return b.js('document.querySelector("#tip").textContent')


def keyboard(b):
    """Everything without a mouse, and no place that keeps the focus."""
    b.open('run/report.html')
    seen = []
    for _ in range(400):
        key(b, 'Tab')
        seen.append(b.js('(() => { const a = document.activeElement; return '
                         'a === document.body ? "" : a.id || a.ariaLabel || '
                         'a.textContent })()'))
        if not seen[-1]:
            break
    ok('' in seen and 'cells' in seen and 'show on the map' in seen and
       'search' in seen, 'Tab reaches everything and leaves the page',
       len(seen), seen[-5:])
    b.js('document.querySelector(".finding .show").focus()')
    key(b, 'Enter')
    ok(b.js('document.querySelector(".finding").className').endswith(' on'),
       'Enter on a finding shows its part')
    ok(b.js('location.hash') == '#finding-1', 'its link is in the address')
    key(b, 'Enter')
    b.js('document.querySelector("#cells").focus()')
    for name in ('ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight',
                 'Enter'):
        key(b, name)
    said = tip(b)
    ok(said.startswith('n0:2 \u2192 n0:1: pass'),
       'arrows move over the map and say which test', said)
    key(b, 'Escape')
    b.js('window.scrollTo(0, 0)')
    b.js('document.querySelector(".finding .show").focus()')
    before = b.js('scrollY')
    key(b, 'PageDown')
    b.wait(f'scrollY > {before}')
    ok(True, 'keys of the browser work on a finding')


def links(b):
    b.open('run/report.html#pair=n0:0-n1:2')
    ok(tip(b).startswith('n0:0 \u2192 n1:2'), 'a link to a pair pins it',
       tip(b))
    b.open('run/report.html#finding-2')
    ok(b.js('document.querySelectorAll(".finding")[1].className')
       .endswith(' on'), 'a link to a finding shows it')


def touch(b):
    b.call('Emulation.setDeviceMetricsOverride', width=390, height=800,
           deviceScaleFactor=2, mobile=True)
    b.call('Emulation.setTouchEmulationEnabled', enabled=True)
    b.open('run/report.html')
    ok(b.js('document.documentElement.scrollWidth <= innerWidth'),
       'a phone need not scroll sideways',
       b.js('document.documentElement.scrollWidth'))
    x, y = cell(b, 0, 10, 16)
    b.call('Input.dispatchTouchEvent', type='touchStart',
           touchPoints=[{'x': x, 'y': y}])
    b.call('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])
    ok(tip(b).startswith('n0:0 \u2192 n1:2: fail'), 'a tap shows the test',
       tip(b))
    ok(b.js('document.querySelector("#cells").style.touchAction') ==
       'pan-x pan-y', 'a finger on the map scrolls the page')
    shot(b, 'phone', True)
    b.call('Emulation.setTouchEmulationEnabled', enabled=False)
    b.call('Emulation.clearDeviceMetricsOverride')


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a):
        pass


def copying(b):
    """Over http, by a name that is not the loopback's, there is no clipboard
    of the browser: what was copied is what is pasted."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f'http://page.test:{server.server_port}/run/report.html'
    b.call('Page.navigate', url=place)
    b.wait('document.readyState === "complete" && '
           '!!document.body.dataset.ready')
    ok(not b.js('isSecureContext') and not b.js('!!navigator.clipboard'),
       'no clipboard over http')
    b.js('document.querySelector(".finding pre button").scrollIntoView()')
    b.click(*middle(b, 'document.querySelector(".finding pre button")'))
    b.wait('document.querySelector(".finding pre button").textContent !== '
           '"copy"')
    said = b.js('document.querySelector(".finding pre button").textContent')
    b.js('which.outerHTML; search.focus(); search.value = ""')
    key(b, 'v', modifiers=2, commands=['paste'])
    pasted = b.js('search.value')
    ok(said == 'copied' and pasted.startswith(('ssh ', 'gpucheck ')),
       'a command is copied over http, alone', said, pasted)
    b.js('document.execCommand = () => false; '
         'document.querySelector(".finding pre button").scrollIntoView()')
    b.click(*middle(b, 'document.querySelector(".finding pre button")'))
    b.wait('document.querySelector(".finding pre button").textContent'
           '.startsWith("not copied")')
    ok(True, 'what could not be copied is not said to be')
    server.shutdown()
    b.seen.clear()


def steady(b):
    """What changes the window's size changes no zoom."""
    b.open('run/report.html#pair=n0:0-n1:2')
    image = 'document.querySelector("#cells").toDataURL()'
    before = b.js(image)
    b.js('window.dispatchEvent(new Event("resize"))')
    ok(b.js(image) == before, 'a resize event keeps the zoom')
    b.mouse('mouseWheel', *cell(b, 3, 4, 16), deltaX=0, deltaY=200)
    b.wait('scrollY > 0')
    ok(True, 'the wheel scrolls the page over the map')


def media(b, **features):
    b.call('Emulation.setEmulatedMedia', media='', features=[
        {'name': 'prefers-' + k.replace('_', '-'), 'value': v}
        for k, v in features.items()])


def top(b):
    """The finding, four figures, then the rest; what was run is folded up."""
    b.open('run/report.html')
    title = b.js('document.querySelector("h1").innerText').replace('\n', ' ')
    ok(title.startswith('FAIL') and 'GPU 2 of n1 is dead' in title,
       'the headline is the finding', title)
    tiles = b.js('[...document.querySelectorAll(".tiles div")].map(d => '
                 'd.innerText.replace(/\\s+/g, " "))')
    ok(len(tiles) == 4 and tiles[:2] == ['tests 240', 'bad 44'] and
       tiles[2].startswith('median inside nodes 33') and
       tiles[3].startswith('median between nodes 4'), 'four figures', tiles)
    sections = b.js('[...document.querySelectorAll("h2")].filter(h => '
                    'h.offsetHeight).map(h => h.textContent)')
    ok(sections == ['Findings', 'Map', 'Distribution', 'Tests',
                    'Run details'], 'sections in their order', sections)
    ok(b.js('[...document.querySelectorAll("details")].every(d => !d.open)'),
       'the run details are folded up')


def paper(b):
    """Printed on A4, from a light and a dark window: all sections are there,
    with what is in them."""
    if not shutil.which('pdftotext'):
        print('#| pdftotext is not here (poppler-utils)')
        return
    for scheme in ('light', 'dark'):
        media(b, color_scheme=scheme)
        b.open('run/report.html')
        data = b.call('Page.printToPDF', paperWidth=8.27, paperHeight=11.69,
                      printBackground=False)['data']
        with open('run.pdf', 'wb') as f:
            f.write(base64.b64decode(data))
        text = ' '.join(subprocess.run(
            ['pdftotext', '-layout', 'run.pdf', '-'], capture_output=True,
            text=True).stdout.split())
        missing = [w for w in (
            'GPU 2 of n1 is dead', 'DRILL', 'median inside', 'Findings',
            "ssh n1 'nvidia-smi", 'Heat map', 'receiver',
            '1: GPU 2 of n1 (dead)', '2: NIC 1 of n0', 'failed (30)',
            'Distribution', 'tests (logarithmic)', 'Failed and slow tests',
            'GPU 2 of n1 does not respond', 'Run details',
            'gpucheck p2p --local=2x8', 'all in facts.csv') if w not in text]
        ok(not missing, f'{scheme}: the PDF is whole', *missing)
        ok('copy as text' not in text and 'show on the map' not in text,
           f'{scheme}: no buttons on paper')
    media(b)


def tables(b):
    """Tables of other probes sort by their headings, sizes by value."""
    order = ('[...document.querySelectorAll("table")[0].rows].slice(1)'
             '.map(r => r.cells[%d].textContent)')
    for page, column, sizes in (('gpu', 2, False), ('memlock', 1, True),
                                ('diff', 5, False)):
        b.open(f'{page}/report.html')
        at = b.js('[...document.querySelectorAll("table")].findIndex(t => '
                  f't.rows[0].cells.length > {column})')
        place = order.replace('[0]', f'[{at}]', 1) % column
        press = (f'document.querySelectorAll("table")[{at}].rows[0]'
                 f'.cells[{column}].querySelector("button").click()')
        b.js(press)
        up = b.js(place)
        b.js(press)
        down = b.js(place)
        key = (lambda t: float('inf') if t == 'unlimited' else
               float(t.split()[0]) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].index(
                   t.split()[1])) if sizes else float
        ok([key(t) for t in up] == sorted(key(t) for t in up) and
           [key(t) for t in down] == sorted((key(t) for t in up),
                                            reverse=True),
           f'{page}: a heading sorts', up, down)
        b.call('Emulation.setDeviceMetricsOverride', width=390, height=800,
               deviceScaleFactor=2, mobile=True)
        b.open(f'{page}/report.html')
        ok(b.js('document.documentElement.scrollWidth <= innerWidth'),
           f'{page}: a phone need not scroll sideways')
        shot(b, f'{page}-phone', True)
        b.call('Emulation.clearDeviceMetricsOverride')
        ok(b.js('![...document.querySelectorAll("pre")].some(p => '
                '/^ *(node|context) +/m.test(p.textContent))'),
           f'{page}: no table of a terminal')


def accessible(b, scheme='light'):
    """axe-core, if npm has it on this machine."""
    axe = os.environ.get('AXE') or subprocess.run(
        ['npm', 'root', '-g'], capture_output=True, text=True
    ).stdout.strip() + '/axe-core/axe.min.js'
    if not os.path.exists(axe):
        print('#| axe-core is not here: AXE=FILE')
        return
    with open(axe) as f:
        source = f.read()
    media(b, color_scheme=scheme)
    for page in ('run', 'allreduce', 'ping', 'all', 'gpu', 'memlock', 'info',
                 'diff'):
        if not os.path.exists(f'{page}/report.html'):
            continue
        b.open(f'{page}/report.html')
        b.js(source + ';0')
        wrong = b.js('axe.run().then(r => r.violations.map(v => v.impact + '
                     '" " + v.id + " " + v.nodes.length + " " + '
                     'v.nodes[0].html.slice(0, 160)))')
        ok(not wrong, f'{page}: axe finds nothing ({scheme})', *wrong)
    media(b)


def drill(b):
    with open('drill', 'w') as f:
        f.write('dead gpu=1:2\nslow nic=0:1 factor=0.5\n')
    run('p2p', '--local=2x8', '--transport=sim', '--faults=drill', '-o', 'run')
    b.open('run/report.html')
    clean(b, 'load')
    shot(b, 'drill', True)
    ok(not b.js('[...document.querySelectorAll(".still")]'
                '.some(e => e.offsetHeight)'), 'the still map gives way')

    legend = b.js('document.querySelector("#tints").textContent')
    for word in ('median', 'slow, 20 %', 'slow, 95 %', 'fail (30)', 'empty'):
        ok(word in legend, f'the legend has "{word}"', legend)

    b.mouse('mouseMoved', *cell(b, 0, 10, 16))
    said = tip(b)
    ok(said.startswith('n0:0 \u2192 n1:2: fail') and 'drill_dead' in said and
       'does not respond' in said, 'hover: both ends, outcome, code', said)
    b.mouse('mouseMoved', *cell(b, 3, 4, 16))
    said = tip(b)
    ok('GB/s' in said and ' us' in said and 'expected' in said,
       'hover: figures and what is expected', said)

    image = 'document.querySelector("#cells").toDataURL()'
    before = b.js(image)
    x, y = cell(b, 3, 4, 16)
    b.mouse('mouseWheel', x, y, deltaX=0, deltaY=-600, modifiers=2)
    b.wait(f'{image}.length && {image} !== {before!r}')
    b.mouse('mouseMoved', x, y)
    ok(tip(b) == said, 'zoom: the cell stays under the pointer')
    shot(b, 'zoom')
    b.mouse('mouseMoved', 1, 1)
    b.js('[...document.querySelectorAll("#map button")].at(-1).click()')
    ok(b.js('document.querySelector("#tip").textContent') == '',
       'and back')

    ok(all(r[2] != 'pass' for r in rows(b)), 'table: first what is not good')
    b.js('which.value = "all"; which.onchange()')
    ok(b.js('document.querySelector("#tests .bar span").textContent') ==
       '240 tests', 'table: all of it')
    ok(len(rows(b)) < 60, 'table: rows that nobody sees are not there')
    for _ in range(2):
        b.js('document.querySelectorAll(".rows .head button")[3].click()')
    speeds = [float(r[3]) for r in rows(b)]
    ok(speeds == sorted(speeds, reverse=True) and speeds[0] > 300,
       'table: sorted by bandwidth', speeds[:5])
    b.js('search.value = "n1:2"; search.oninput()')
    ok(all('n1:2' in r[:2] for r in rows(b)) and len(rows(b)) == 30,
       'table: filtered by a GPU')
    b.js('search.value = ""; search.oninput()')

    b.js('window.scrollTo(0, 0)')
    b.js('document.querySelector(".finding").scrollIntoView()')
    before = b.js(image)
    b.click(*middle(b, 'document.querySelector(".finding .show")'))
    ok(b.js('document.querySelector(".finding").className').endswith(' on') and
       b.js('document.querySelector("#tests .bar span").textContent') ==
       '30 tests' and b.js(image) != before, 'a finding shows its part')
    cell(b, 0, 0, 16)
    shot(b, 'finding')
    ok(b.js('document.querySelectorAll("#bins svg").length') == 2,
       'a histogram for each class')
    ok(b.js('document.querySelectorAll("pre button").length > 2'),
       'commands have a button')

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
            'gpu': ('gpu', '--local=2x4', '--transport=sim'),
            'sample': ('p2p', '--local=16x8', '--transport=sim', '--quick'),
            'all': ('all', '--local=2x2', '--transport=sim')}.items():
        run(*words, '-o', name)
        b.open(f'{name}/report.html')
        shot(b, name, True)
        clean(b, name)
    with open('drill', 'w') as f:
        f.write('dead node=0\ndead node=1\n')
    run('p2p', '--local=2x8', '--transport=sim', '-o', 'healthy')
    run('diff', 'healthy', 'run', '-o', 'diff')
    b.open('diff/report.html')
    shot(b, 'diff', True)
    clean(b, 'diff')
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
        top(browser)
        paper(browser)
        keyboard(browser)
        links(browser)
        touch(browser)
        steady(browser)
        copying(browser)
        hostile(browser)
        others(browser)
        tables(browser)
        accessible(browser)
        accessible(browser, 'dark')
        if not os.environ.get('SMALL'):
            large(browser)
    finally:
        browser.close()
        os.chdir('/')
print(f'1..{number}')
sys.exit(failed > 0)
