#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare the counts in findings with the rows of results-final.csv.

usage: tests/golden/counts.py RUN_DIR...
       tests/golden/counts.py --places RUN_DIR WORDS

With --places, compare all places that have counts with the cells of
verdict.json: WORDS, the text of "gpucheck report RUN_DIR", its heading and last
line, report.html and its data, the legends of its pictures, and its CSV.

Each bad row is touched by a finding, or forgiven by a note of the verdict; of a
drill, at most 5 % are in findings without a part.
Each finding about a part of pairs has "cells", the rows that touch the part,
and a sentence such as "30 of 48 tests with this NIC failed (6 have another
cause); the other 192 passed".  Prints what disagrees, by kind.  The rows of a
part are found here from names alone, without the functions of the program.
"""
import base64, collections, csv, glob, json, os, re, sys, zlib

BAD = {'error', 'fail', 'timeout', 'crashed', 'corrupt'}
GOOD = {'ok', 'pass', 'slow'}   # pass, slow: the classes of tests/verdict
MEASURED = BAD | GOOD

Row = collections.namedtuple(
    'Row', 'a ag an b bg bn outcome attempt nvlink follow', defaults=[False])


def rows_of(path):
    """The rows of results-final.csv; one size, the one that counts."""
    with open(path, newline='') as f:
        return [Row(r['src_node'], int(r['src_gpu']), r['src_nic'],
                    r['dst_node'], int(r['dst_gpu']), r['dst_nic'],
                    r['outcome'], int(r['attempt'] or 1),
                    'MNNVL' in r['path'], r.get('schedule') == 'follow-up')
                for r in csv.DictReader(f)]


def rail(name):
    """The number of the model's NIC "nic2", or None."""
    found = re.fullmatch(r'nic(\d+)', name)
    return int(found[1]) if found else None


def ends(p, direction, src, dst):
    """True for a row whose end that @direction names is at the part."""
    return (direction != 'rx' and src) or (direction != 'tx' and dst)


def touches(f, r):
    """True if the row touches the part; None if names alone do not tell."""
    kind, node, index = f['kind'], f['node'], f['index']
    peer, peer_index, way = f['peer_node'], f['peer_index'], f['direction']
    inter = r.a != r.b and not r.nvlink     # NVLink of a rack uses no NIC
    there = (r.a == node, r.b == node)

    if kind == 'inter_node':
        return inter
    if kind == 'intra_node':
        return not inter and (node is None or ends(f, way, *there) and
                              (index is None or r.ag == index or
                               r.bg == index))
    if kind == 'cross_rail':
        return inter and (None if rail(r.an) is None else r.an != r.bn)
    if kind == 'node':
        return ends(f, way, *there)
    if kind == 'node_network':
        return inter and ends(f, way, *there)
    if kind in ('gpu', 'gpu_nvlink'):
        return (kind == 'gpu' or not inter) and ends(
            f, way, there[0] and r.ag == index, there[1] and r.bg == index)
    if kind in ('nic', 'rail'):
        if not inter:
            return False
        if rail(r.an) is None or rail(r.bn) is None:
            return None
        s, d = rail(r.an) == index, rail(r.bn) == index
        if kind == 'nic':
            s, d = s and there[0], d and there[1]
        return ends(f, way, s, d)
    if kind in ('node_pair', 'pair'):
        gpus = kind == 'pair'
        tx = there[0] and r.b == peer and (
            not gpus or (r.ag == index and r.bg == peer_index))
        rx = there[1] and r.a == peer and (
            not gpus or (r.bg == index and r.ag == peer_index))
        return (gpus or inter) and ends(f, way, tx, rx)
    return None


COUNT = r'(?:(all) ([\d,]+)|(both)|(the only)|([\d,]+) of ([\d,]+)) tests?\b'


def number(text):
    return int(text.replace(',', ''))


def first_count(says):
    """What a sentence says of the part's tests: N, M; None if nothing."""
    found = re.search(COUNT, says)
    if not found:
        return None
    if found[1]:
        return number(found[2]), number(found[2]), found
    if found[3] or found[4]:
        n = 2 if found[3] else 1
        return n, n, found
    return number(found[5]), number(found[6]), found


def noted(says, what):
    """The number before @what in the brackets of a sentence."""
    found = re.search(r'([\d,]+) ' + what, says)
    return number(found[1]) if found else 0


def disagreements(f, rows):
    """Yields what of a finding disagrees with the rows, in a few words."""
    mine = [touches(f, r) for r in rows]
    if f.get('code', '').startswith('retest') or None in mine or not rows:
        return
    if f.get('members') and f['kind'] == 'inter_node':
        return                  # of some nodes only
    here = [r for r, x in zip(rows, mine) if x]
    others = [r for r, x in zip(rows, mine) if not x]
    says = f['says']
    count = first_count(says)
    if f['cells'] and f['cells'] != len(here):
        yield 'cells', f'cells {f["cells"]}, rows {len(here)}'
    if not count:
        return
    n, m, found = count
    rest = says[found.end():]
    if m != len(here):
        yield 'M of the sentence', f'M {m}, rows {len(here)}'
    bad = sum(r.outcome in BAD for r in here)
    ok = sum(r.outcome in GOOD for r in here)
    again = sum(r.outcome in GOOD and r.attempt > 1 for r in here)
    if 'failed at first and passed' in rest:
        if n != again:
            yield 'N tried again', f'N {n}, rows {again}'
    elif 'fails intermittently' in says:
        if n + noted(rest, 'ha(?:s|ve) another cause') != bad + again:
            yield 'N now and then', f'N {n}, rows {bad + again}'
    elif re.search(r'^.* (are|is) slow', rest):
        if n + noted(rest, 'without a speed') > len(here) or n > ok:
            yield 'N slow', f'N {n}, good rows {ok}'
        elif n + noted(rest, 'without a speed') == m and \
                noted(rest, 'without a speed') != len(here) - ok:
            yield 'N without a speed', f'rows {len(here) - ok}'
    elif 'gave no result' in rest:
        if n != len(here) - ok:
            yield 'N without result', f'N {n}, rows {len(here) - ok}'
    elif 'no part fails more often' in says:
        if n > bad + again:
            yield 'N of no part', f'N {n}, rows {bad + again}'
    elif re.search(r'^[^;]* failed', rest):
        told = n + noted(rest, 'ha(?:s|ve) another cause')
        # a test that was skipped as the part is gone counts as failed
        skipped = sum(r.outcome == 'skipped' for r in here)
        if not bad <= told <= bad + skipped:
            yield 'N failed', f'N {n}, told {told}, rows {bad}'
    passed = re.search(r'; (?:([\d,]+) of )?the other ([\d,]+)'
                       r'(?: \(([\d,]+) follow-up tests?\))? passed'
                       r'(?:, ([\d,]+) of them slow)?', rest)
    if passed:
        all_others = [r for r in others if r.outcome in MEASURED]
        good = sum(r.outcome in GOOD for r in all_others)
        want = number(passed[2]), number(passed[1] or passed[2])
        if want != (len(all_others), good):
            yield 'the others', f'{passed[0]}: {good} of {len(all_others)}'
        follow = sum(r.follow for r in all_others)
        if number(passed[3] or '0') != follow:
            yield 'follow-up', f'{passed[0]}: {follow} are of the follow-up'
        slow = sum(r.outcome == 'slow' for r in all_others)
        if slow and number(passed[4] or '0') != slow:
            yield 'slow others', f'{passed[0]}: {slow} are slow'


def passed_over(verdict, rows):
    """Yields bad rows that no finding touches, if no note forgives them."""
    forgiven = sum(n['tests'] for n in verdict.get('notes', ())
                   if n['kind'] not in ('rails', 'retried'))
    bad = [r for r in rows if r.outcome in BAD | {'slow'}]
    # whose sentence is about tests inside nodes too
    of_all = any(f['says'].startswith('No test passed')
                 for f in verdict['findings'])
    left = 0 if of_all else sum(
        not any(touches(f, r) in (True, None)
                for f in verdict['findings']) for r in bad)
    if left > forgiven:
        yield 'passed over', f'{left} of {len(bad)} bad rows, notes: {forgiven}'
    slow = verdict['cells']['slow']
    if verdict['status'] == 'pass' and slow > forgiven:
        yield 'passed over', f'pass with {slow} slow, notes: {forgiven}'


def without_part(verdict, rows):
    """Yields the bad rows of a drill that no part explains, if more than 5 %
    are left."""
    bad = sum(r.outcome in BAD | {'slow'} or r.attempt > 1 for r in rows)
    left = sum(f['explained'] for f in verdict['findings'] if re.search(
        'no part (explains them|fails more often)', f['says']))
    if verdict['drill'] and left > 0.05 * bad:
        yield 'without a part', f'{left} of {bad} bad rows'


def check(verdict, rows):
    """All disagreements of a verdict: kind of count, finding, what."""
    # a planned test that the follow-up repeated is in the heading's count
    measured = sum(r.outcome in MEASURED for r in rows)
    if measured <= sum(verdict['cells'][name] for name in MADE):
        rows = [r._replace(follow=False) for r in rows]
    return [(kind, f'{f["kind"]} {f["code"]}: {what}: {f["says"]}')
            for f in verdict['findings'] for kind, what in
            disagreements(f, rows)] + list(passed_over(verdict, rows)) + list(
                without_part(verdict, rows))


def checked(verdict, rows):
    """How many findings can be checked."""
    return sum(bool(rows) and None not in (touches(f, r) for r in rows)
               for f in verdict['findings'])


# ---- all places with counts --------------------------------------------------

CLASSES = ('pass', 'slow', 'fail', 'timeout', 'corrupt', 'skipped', 'not_run')
MADE = CLASSES[:5]              # those that have a result
OF_OUTCOME = {'ok': 'pass', 'error': 'fail', 'crashed': 'fail'}


def listed(text):
    """Counts such as "210 pass, 30 fail", without zeros."""
    return {name: number(n) for n, name in
            re.findall(r'([\d,]+) (%s)\b' % '|'.join(CLASSES), text)}


def heading(words):
    """Total and counts of "240 tests: 210 pass, 30 fail"; None if none."""
    found = re.search(r'(?:^ *|<p[^>]*>)([\d,]+) (?:test|row)s?: '
                      r'(\d[^<\n]*(?:\n {6}\d[^<\n]*)*)', words, re.M)
    return found and (number(found[1]), listed(found[2]))


def of_words(words, cells):
    found = heading(words)
    if found:
        yield 'total of the heading', found[0], sum(cells.values())
        yield 'heading', found[1], cells
    found = re.search(r'^ *([\d,]+) of ([\d,]+) nodes responded|'
                      r'([\d,]+)\s+of\s+([\d,]+)\s+limits\s+and\s+tests',
                      words, re.M)
    if found:
        good, of = [number(x) for x in found.groups() if x]
        yield 'heading', (good, of), (cells.get('pass', 0),
                                      sum(cells.values()))
    steps = re.findall(r'^  \w+ +\w+ +(\d.*?),\s+[\d.]+ s$', words, re.M)
    if steps:                   # of "gpucheck all"
        total = collections.Counter()
        for step in steps:
            total.update(listed(step))
        yield 'steps', dict(total), cells
    found = re.search(r', ([\d,]+) tests?\. Report:', words)
    if found:
        yield 'last line', number(found[1]), sum(
            n for name, n in cells.items() if name in MADE)


def of_page(page, cells):
    found = heading(page)
    if found:
        yield 'page', found[1], cells
    found = re.search(r'id="data">([^<]*)<', page)
    if not found:
        return
    raw = zlib.decompress(base64.b64decode(found[1]))
    size = int.from_bytes(raw[:4], 'little')
    data = json.loads(raw[4:4 + size])
    yield 'legend of the page', {
        name: n for name, n in zip(data['classes'], data['counts'])
        if n}, cells
    drawn = collections.Counter(raw[4 + size:4 + size + data['n']])
    for i, name in enumerate(data['classes']):
        if drawn[i] < cells.get(name, 0):
            yield f'tests of the page, {name}', drawn[i], cells[name]


def of_picture(name, svg, cells):
    """The legend: what it has is what was counted; squares are others."""
    of = {'failed': 'fail', 'not run': 'not_run'}
    for word, n in re.findall(r'>([a-z ]+) \(([\d,]+)(?:, [^)]*)?\)<', svg):
        word = of.get(word, word)
        if word in CLASSES:
            yield f'{name}, {word}', number(n), cells.get(word, 0)


def of_rows(path, cells):
    """Rows that count, by outcome, without the follow-up."""
    with open(path, newline='') as f:
        rows = collections.Counter(
            OF_OUTCOME.get(r['outcome'], r['outcome'])
            for r in csv.DictReader(f) if r.get('schedule') != 'follow-up')
    want = collections.Counter(cells)
    want['pass'] += want.pop('slow', 0)     # no column has that
    yield os.path.basename(path), +rows, +want


def places(run, words):
    """Yields each place that has counts: its name, they, those expected."""
    with open(f'{run}/verdict.json') as f:
        verdict = json.load(f)
    cells = {name: n for name, n in verdict['cells'].items() if n}
    yield from of_words(words, cells)
    with open(f'{run}/report.html') as f:
        yield from of_page(f.read(), cells)
    for path in sorted(glob.glob(f'{run}/heatmap-*.svg')):
        with open(path) as f:
            yield from of_picture(os.path.basename(path), f.read(), cells)
    # a limit of memlock has several rows, a probe of "all" only one
    name = 'results-final.csv' if os.path.exists(
        f'{run}/results-final.csv') else 'results.csv'
    if verdict['probe'] not in ('memlock', 'all'):
        yield from of_rows(f'{run}/{name}', cells)


def check_places(run, words):
    with open(words) as f:
        seen = list(places(run, f.read()))
    wrong = [x for x in seen if x[1] != x[2]]
    for name, has, want in wrong:
        print(f'{run}: {name}: {has}, verdict.json: {want}')
    print(f'# {len(seen)} places')
    return 1 if wrong or not seen else 0


def main():
    findings, wrong = 0, collections.Counter()
    if sys.argv[1:2] == ['--places']:
        return check_places(*sys.argv[2:])
    for run in sys.argv[1:]:
        with open(f'{run}/verdict.json') as f:
            verdict = json.load(f)
        path = f'{run}/results-final.csv'
        rows = rows_of(path) if os.path.exists(path) else []
        findings += checked(verdict, rows)
        for kind, what in check(verdict, rows):
            wrong[kind] += 1
            print(f'{run}: {kind}: {what}')
    for kind, n in wrong.most_common():
        print(f'# {n} {kind}')
    print(f'# {sum(wrong.values())} disagree in {findings} findings')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
