#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the commands that gpucheck prints: each works when it is pasted.

In words and messages, a command is a line of its own below a heading, or stands
in "" if it is one of gpucheck; in verdict.json it is a line of "do" that begins
with four blanks.  Each is read by the shell (bash -n), has no placeholder for a
value that the run knows, and if it is one of gpucheck, is run in an empty
directory beside the run that printed it: what measures with --dry-run.
"""
import json, os, re, shlex, subprocess, sys, tempfile

# Names of a finding: known where there is a run, printed as they are only by
# 'explain' of a log that does not name them.
NAMES = {'NODE', 'PEER', 'GPU', 'NIC', 'RAIL', 'PID', 'LOGS', 'RUN',
         'REFERENCE'}
# Values that only the user knows.
USER = set("""ADDRESS BDF COMMAND DIR GROUP HH IMAGE INDEX INTERFACE JOBID
JOBSCRIPT LAUNCHER LID LOGDIR MM MODEL NAME NEW OTHER_LID PATH PEER_LID PORT PROGRAM
SS""".split())
# Words of other programs.
TERMS = set("""ACS AF_INET CLOCK COMPUTE DEFAULT DETAIL ECAP_ACS ECC FI_EP_RDM INFO
LOC LOCAL_RANK MASTER MASTER_PORT NCCL OUTPUT PERFORMANCE PIDS POWER RANK
ROW_REMAPPER SYS_NICE TEMPERATURE TUNING VERSION VISIBLE WARN WORLD_SIZE
""".split())
VARIABLE = re.compile(r'^(NCCL|NVSHMEM|UCX|SLURM|CUDA|LD|GPUCHECK|FI|OMPI|(PY)?TORCH)_')
# What measures takes --dry-run; what reads is run as it is.
MEASURES = {'p2p', 'ib', 'ping', 'memlock', 'gpu', 'info', 'all', 'allreduce',
            'allgather', 'reducescatter', 'broadcast', 'reduce', 'alltoall',
            'sendrecv', 'collective'}
READS = {'report', 'explain', 'diff', 'version', 'help', 'plan'}
LIMIT_S = 60

LINE = re.compile(r'^ {10}(?: {2})?([a-z][a-z0-9_-]+(?: .*)?)$', re.M)
QUOTED = re.compile(r'"(gpucheck [^"\n]*)"')
# rows of tables, and text that goes on below a line that is indented
NOT_A_COMMAND = re.compile(r'^(n\d|rows|[a-z]+ +[0-9-])')


def printed(name, text):
    """The commands that the output @name has."""
    if name.endswith('verdict.json'):
        for finding in json.loads(text)['findings']:
            yield from re.findall(r'^    (.*)$', finding['do'], re.M)
    elif name in ('words', 'run', 'out', 'err') or name.endswith('import'):
        yield from (x for x in LINE.findall(text)
                    if not NOT_A_COMMAND.match(x))
        yield from QUOTED.findall(text)


def repeats(text):
    """Findings that say something twice."""
    for f in json.loads(text)['findings']:
        said = [f['says'], *f['evidence']]
        for line in sorted(set(x for x in said if said.count(x) > 1)):
            yield f'{f["code"]} says twice: {line}'


def in_capitals(command):
    return set(re.findall(r'(?<![\w$=./,-])[A-Z][A-Z_]{2,}(?![\w=])',
                          re.sub(r'"[^"]*"', '', command)))


def argv_of(command):
    """Words of the command if it is one of gpucheck alone, with --dry-run if it
    measures; None: nothing to run."""
    words = shlex.split(command)
    if words[0] != 'gpucheck' or len(words) < 2 or re.search(
            r'[|;&<>]', re.sub(r"'[^']*'", '', command)):
        return None
    if '--node' in words:   # a look at this node: there is nothing to plan
        return words
    if words[1] in MEASURES:
        at = words.index('--') if '--' in words else len(words)
        return words[:at] + ['--dry-run'] + words[at:]
    return words if words[1] in READS else None


def wrong(command, env, where, names, now):
    """What is wrong with @command; None: nothing.  @names: those that were known
    where it was printed.  @now: it is of a run of this machine."""
    p = subprocess.run(['bash', '-n', '-c', command], capture_output=True,
                       text=True)
    if p.returncode:
        return f'no command of a shell: {p.stderr.strip()}'
    # one that is not of the run is the user's choice
    names = names - ({'NODE'} if ',NODE' in command else set())
    if in_capitals(command) & names:
        return 'the run knows ' + ', '.join(in_capitals(command) & names)
    argv = argv_of(command)
    if not argv or in_capitals(command) & (USER | NAMES):
        return None
    # a recorded run names files of the machine that it was recorded on
    drill = re.search(r'--inject=([^ ]+)', command)
    if not now and drill and not os.path.exists(drill[1]):
        return None
    p = subprocess.run(argv, cwd=where, env=env, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=LIMIT_S, text=True,
                       errors='replace')
    # ... and is resumed by its Slurm alone
    if p.returncode == 3 and not now and 'Slurm must say' in p.stderr:
        return None
    # the line before it has the scancel that comes first
    if argv[1:3] == ['p2p', '--resume'] and 'has not ended: job' in p.stderr:
        return None
    # "test it with three others", which a cluster of two does not have
    if p.returncode == 3 and ' -N 4 --nodelist=' in command and \
            'and 4 are asked for' in p.stderr:
        return None
    if p.returncode == 2 or (p.returncode and '--dry-run' in argv):
        return f'exit {p.returncode}: {p.stderr.strip()}'
    return None


def known_names(run):
    """NAMES that the directory @run of a run says."""
    if not os.path.exists(f'{run}/run.json'):
        return set()
    with open(f'{run}/run.json') as f:
        nodes = json.load(f).get('nodes', [])
    return NAMES - ({'NODE', 'PEER'} if not nodes else
                    {'PEER'} if len(nodes) == 1 else set())


def check(out, env, scratch, now):
    """What is wrong with the commands in the outputs @out, by name.  @now: they
    are of a run of this machine, or of no run."""
    lines, seen, names = [], set(), known_names(f'{scratch}/run')
    for name, text in list(out.items()):
        if name.endswith('verdict.json'):
            lines += [f'{name}: {x}' for x in repeats(text)]
        for command in printed(name, text):
            if command in seen:
                continue
            seen.add(command)
            with tempfile.TemporaryDirectory(dir=scratch) as where:
                what = wrong(command, env, where, names, now)
            if what:
                lines.append(f'{name}: {command}\n  {what}')
    return lines


def table():
    """Wrong commands of data/symptoms.ini: each has to be one of a shell, with
    only such placeholders as are listed above."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(f'{here}/../../data/symptoms.ini') as f:
        text = f.read()
    runs = re.findall(r'^run=(.*)$', text, re.M)
    # it would begin a line of its own when printed
    for line in re.findall(r'^remedy=.*\n +.*$', text, re.M):
        print('a remedy of two lines:', line)
    whole = '\n'.join(re.sub(r'\{(\w+)\}', r'\1', x) for x in runs)
    print(end=subprocess.run(['bash', '-n', '-c', whole], capture_output=True,
                             text=True).stderr)
    for command in runs:
        unknown = {x for x in in_capitals(command) - USER - TERMS
                   if not VARIABLE.match(x)}
        unknown |= set(re.findall(r'\{(\w+)\}', command)) - {
            x.lower() for x in NAMES}
        if unknown or '...' in command:
            print(f'{command}:', *sorted(unknown))
    if len(runs) < 300:
        print('no commands were found')


def outputs(*files):
    """What is wrong with the commands in @files, outputs of a test that ran in
    this directory."""
    texts = {}
    for name in files:
        if os.path.exists(name):
            with open(name, errors='replace') as f:
                texts[name] = f.read()
    env = dict(os.environ)
    env['PATH'] = f'{os.path.dirname(env["GPUCHECK"])}:{env["PATH"]}'
    for line in check(texts, env, os.getcwd(), True):
        print(line)


if __name__ == '__main__':
    outputs(*sys.argv[1:]) if len(sys.argv) > 1 else table()
