#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare the counts in findings with the rows of results-final.csv.

usage: tests/golden/counts.py RUN_DIR...

Each bad row is touched by a finding, or forgiven by a note of the verdict.
Each finding about a part of pairs has "cells", the rows that touch the part,
and a sentence such as "30 of 48 tests with this NIC failed (6 have another
cause); the other 192 passed".  Prints what disagrees, by kind.  The rows of a
part are found here from names alone, without the functions of the program.
"""
import collections, csv, json, os, re, sys

BAD = {'error', 'fail', 'timeout', 'crashed', 'corrupt'}
GOOD = {'ok', 'pass', 'slow'}   # pass, slow: the classes of tests/verdict
MEASURED = BAD | GOOD

Row = collections.namedtuple('Row', 'a ag an b bg bn outcome attempt nvlink')


def rows_of(path):
    """The rows of results-final.csv; one size, the one that counts."""
    with open(path, newline='') as f:
        return [Row(r['src_node'], int(r['src_gpu']), r['src_nic'],
                    r['dst_node'], int(r['dst_gpu']), r['dst_nic'],
                    r['outcome'], int(r['attempt'] or 1),
                    'MNNVL' in r['path'])
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
    passed = re.search(r'; (?:([\d,]+) of )?the other ([\d,]+) passed'
                       r'(?:, ([\d,]+) of them slow)?', rest)
    if passed:
        all_others = [r for r in others if r.outcome in MEASURED]
        good = sum(r.outcome in GOOD for r in all_others)
        want = number(passed[2]), number(passed[1] or passed[2])
        if want != (len(all_others), good):
            yield 'the others', f'{passed[0]}: {good} of {len(all_others)}'
        slow = sum(r.outcome == 'slow' for r in all_others)
        if slow and number(passed[3] or '0') != slow:
            yield 'slow others', f'{passed[0]}: {slow} are slow'


def passed_over(verdict, rows):
    """Yields bad rows that no finding touches, if no note forgives them."""
    forgiven = sum(n['tests'] for n in verdict.get('notes', ())
                   if n['kind'] not in ('rails', 'retried'))
    bad = [r for r in rows if r.outcome in BAD | {'slow'}]
    left = sum(not any(touches(f, r) in (True, None)
                       for f in verdict['findings']) for r in bad)
    if left > forgiven:
        yield 'passed over', f'{left} of {len(bad)} bad rows, notes: {forgiven}'
    slow = verdict['cells']['slow']
    if verdict['status'] == 'pass' and slow > forgiven:
        yield 'passed over', f'pass with {slow} slow, notes: {forgiven}'


def check(verdict, rows):
    """All disagreements of a verdict: kind of count, finding, what."""
    return [(kind, f'{f["kind"]} {f["code"]}: {what}: {f["says"]}')
            for f in verdict['findings'] for kind, what in
            disagreements(f, rows)] + list(passed_over(verdict, rows))


def checked(verdict, rows):
    """How many findings can be checked."""
    return sum(bool(rows) and None not in (touches(f, r) for r in rows)
               for f in verdict['findings'])


def main():
    findings, wrong = 0, collections.Counter()
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
