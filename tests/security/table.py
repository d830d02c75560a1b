# SPDX-License-Identifier: BSD-3-Clause
"""Attack a live coordinator and live agents, N times in each way, and print a
table: attack, tries, tries that were survived.  A try is survived if it was
refused as it should be and the program that was attacked still does its work;
at the end of each part an honest run has to pass.  Exit code 1: one was not.
usage: N=200 GPUCHECK=PROGRAM python3 tests/security/table.py"""
import concurrent.futures, json, os, socket, subprocess, sys, tempfile, time
import peer

gpucheck, N = os.path.realpath(os.environ['GPUCHECK']), int(os.environ['N'])
env = {name: value for name, value in os.environ.items()
    if not name.startswith(('SLURM', 'GPUCHECK'))}
env['GPUCHECK_CONFIG'] = 'none'
REPLY_S = 20
rows = []


def count(attack, tries):
    """A row of the table: @tries are functions, true if survived."""
    def safe(one):
        try:
            return bool(one())
        except (OSError, EOFError, ValueError, AssertionError) as e:
            print('#', attack, repr(e), file=sys.stderr)
            return False
    lanes = 2 * (os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
        good = sum(pool.map(safe, tries))
    rows.append((attack, len(tries), good))
    print('%-52s %7d %9d' % rows[-1], flush=True)


def start(*words, **more):
    return subprocess.Popen([gpucheck, *words], env=dict(env, **more),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)


def ended(sock):
    """The other end hangs up, and says nothing before."""
    sock.settimeout(REPLY_S)
    try:
        return sock.recv(1) == b''
    except ConnectionError:
        return True


def orders(wire):
    """What it is told to do until the other end hangs up."""
    heard = iter(wire.hear, None)
    return [m['t'] for m in heard if m['t'] not in ('quit', 'welcome', 'beat')]


# ---- at the door of a coordinator ------------------------------------------

class Run:
    """A run of two agents, of which rank 0 is there and rank 1 is to come."""
    def __init__(self, dir, *options):
        self.dir = dir
        self.front = start('p2p', '--launcher=env', '--transport=tcp', '-G1',
            '-b1K', '-n2', '--boot-timeout=10m', '-o', dir, *options)
        self.wait_for('run.json')
        self.agents = [self.agent(0)]
        contact = self.wait_for('rendezvous')
        self.port = int(contact['addrs'][0].rsplit(':', 1)[1])
        self.secret = bytes.fromhex(contact['token'])

    def wait_for(self, name):
        for _ in range(600):
            try:
                return json.load(open(os.path.join(self.dir, name)))
            except (OSError, ValueError):
                time.sleep(0.05)
        sys.exit('no %s in %s' % (name, self.dir))

    def agent(self, rank):
        return start('agent', self.dir, RANK=str(rank), WORLD_SIZE='2',
            LOCAL_RANK=str(rank))

    def rows(self):
        return open(os.path.join(self.dir, 'results.csv')).read()

    def connect(self):
        return socket.create_connection(('127.0.0.1', self.port), REPLY_S)

    def silent(self):
        sock = self.connect()
        sock.shutdown(socket.SHUT_WR)
        return ended(sock)

    def noise(self):
        sock = self.connect()
        try:
            sock.sendall(os.urandom(65536))
        except ConnectionError:
            return True
        return ended(sock)

    def wrong_key(self):
        sock, talk = self.connect(), peer.Talk(os.urandom(32), 'A', self.port)
        sock.sendall(talk.greet())
        assert not talk.hear(peer.read(sock, 80))
        sock.sendall(talk.sign(peer.DIALLER))
        return ended(sock)

    def replay(self):
        first, talk = peer.dial(self.port, self.secret, 'A')
        first.close()
        sock = self.connect()
        sock.sendall(talk.hello)
        peer.read(sock, 80)
        sock.sendall(talk.sign(peer.DIALLER))
        return ended(sock)

    def slow_hello(self):
        sock = self.connect()
        for byte in b'GPUCHK2\nA' + bytes(30):
            try:
                sock.send(bytes([byte]))
            except ConnectionError:
                return True
            time.sleep(0.25)
        return ended(sock)

    def frames(self, damage):
        sock, talk = peer.dial(self.port, self.secret, 'A')
        sock.settimeout(REPLY_S)
        wire = peer.Wire(sock, talk, False, damage)
        try:
            wire.say({'t': 'unusable', 'rank': 0, 'code': 'planted',
                'detail': ''})
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return not orders(wire)

    def changed(self):
        return self.frames(lambda b: b[:-1] + bytes([b[-1] ^ 1]))

    def repeated(self):
        return self.frames(lambda b: b + b)

    def early(self):
        return self.frames(lambda b: b)

    def hello(self, node):
        sock, talk = peer.dial(self.port, self.secret, 'A')
        wire = peer.Wire(sock, talk, False)
        wire.say({'t': 'hello', 'rank': 1, 'local_rank': -1, 'node': node,
            'pretend': False, 'sees_dir': True, 'inventory': {'boot_id': 'x'},
            'version': self.wait_for('run.json')['version']})
        return wire

    def bad_name(self):
        """A run without that node; one try ends it."""
        told = orders(self.hello('n1;touch${IFS}x'))
        self.front.wait(60)
        self.end()
        return told == [] and ';touch' not in self.rows()

    def honest(self):
        """Rank 1 comes, and all tests pass."""
        self.agents.append(self.agent(1))
        return self.front.wait(120) == 0 and \
            self.rows().count(',ok,') == 2 and 'planted' not in self.rows()

    def foreign_rows(self):
        """Rank 1 says of rank 0 that it is unusable, N times."""
        wire, good = self.hello('n1'), False
        while True:
            message = wire.hear()
            if message is None or message['t'] == 'quit':
                break
            if message['t'] == 'start':
                for _ in range(N):
                    wire.say({'t': 'unusable', 'rank': 0, 'code': 'planted',
                        'detail': ''})
                wire.say({'t': 'unusable', 'rank': 1, 'code': 'honest',
                    'detail': ''})
        self.front.wait(60)
        return 'planted' not in self.rows() and 'honest' in self.rows()

    def end(self):
        for process in self.agents + [self.front]:
            if process.poll() is None:
                process.terminate()
                process.wait(60)


# ---- at an agent -----------------------------------------------------------

class Victim:
    """An agent that dials here."""
    def __init__(self, dir, secret=bytes([0x11] * 32)):
        door = socket.create_server(('127.0.0.1', 0))
        door.settimeout(REPLY_S)
        port = door.getsockname()[1]
        self.process = start('agent', dir, GPUCHECK_BOOT_RANK='1',
            GPUCHECK_BOOT_SIZE='2', GPUCHECK_BOOT_NODE='n1',
            GPUCHECK_TOKEN='11' * 32,
            GPUCHECK_MASTER='127.0.0.1:%d' % port)
        self.conn = door.accept()[0]
        self.conn.settimeout(REPLY_S)
        door.close()
        talk = peer.accept(self.conn, port, secret)
        self.wire = talk and peer.Wire(self.conn, talk, True)

    def survived(self):
        """It has obeyed no order, and was ended by no signal of its own."""
        obeyed = False
        while self.wire:
            message = self.wire.hear()
            if message is None:
                break
            obeyed |= message['t'] in ('unusable', 'ready')
        self.conn.close()
        try:
            code = self.process.wait(1 if self.wire is None else REPLY_S)
        except subprocess.TimeoutExpired:	# it waits for an honest one
            self.process.kill()
            return self.process.wait() == -9 and self.wire is None
        return code >= 0 and not obeyed


def victim(dir, order, before, damage=None):
    """Messages @before, then @order with @damage."""
    it = Victim(dir)
    try:
        it.wire.hear()
        for message in before:
            it.wire.say(message)
        it.wire.damage = damage or it.wire.damage
        it.wire.say(order)
    except ConnectionError:
        pass
    return it.survived()


def main():
    scratch = tempfile.TemporaryDirectory()
    os.chdir(scratch.name)
    print('%-52s %7s %9s' % ('attack', 'tries', 'survived'))
    run = Run('coordinator')
    for name, attack in (
            ('coordinator: a connection without a word', run.silent),
            ('coordinator: 64 KiB of noise', run.noise),
            ('coordinator: a wrong key', run.wrong_key),
            ('coordinator: a recorded handshake again', run.replay),
            ('coordinator: a frame with one bit changed', run.changed),
            ('coordinator: a frame that comes twice', run.repeated),
            ('coordinator: a report before the hello', run.early)):
        count(name, [attack] * N)
    # each takes the 5 s that a place may be kept
    count('coordinator: a hello of one byte after the other',
        [run.slow_hello] * min(N, 2 * (os.cpu_count() or 1)))
    count('coordinator: then the honest run', [run.honest])
    run.end()
    count('coordinator: a node name that a shell would run',
        [lambda i=i: Run('named%d' % i).bad_name() for i in range(min(N, 20))])
    run = Run('liar')
    rows_survived = run.foreign_rows()
    count('coordinator: a row about the rank of another node',
        [lambda: rows_survived] * N)
    run.end()

    assert start('p2p', '--local=1x2', '--transport=tcp', '-b1K', '-o',
        'agent').wait(120) == 0
    if os.path.exists('agent/rendezvous'):
        os.unlink('agent/rendezvous')
    made = json.load(open('agent/run.json'))
    order = {'t': 'start', 'transport': 'cuda', 'node': 'n1',
        'pretend': False, 'open_ns': 10**10, 'reached': '127.0.0.1',
        'options': made['options'],
        'workers': [{'rank': 0, 'local_rank': 0, 'part': ''}]}
    welcome = {'t': 'welcome', 'version': made['version'], 'why': ''}
    stranger = lambda: Victim('agent', os.urandom(32)).survived()
    library = dict(order, env={'LD_PRELOAD': '/tmp/x.so'})
    for name, attack in (
            ('agent: a coordinator with a wrong key', stranger),
            ('agent: an order before welcome',
                lambda: victim('agent', order, [])),
            ('agent: quit before welcome (use after free)',
                lambda: victim('agent', welcome, [{'t': 'quit'}])),
            ('agent: an order after quit',
                lambda: victim('agent', order, [welcome, {'t': 'quit'}])),
            ('agent: an order with one bit changed',
                lambda: victim('agent', order, [welcome],
                    lambda b: b[:-1] + bytes([b[-1] ^ 1]))),
            ('agent: an order to load a library',
                lambda: victim('agent', library, [welcome]))):
        count(name, [attack] * N)
    count('agent: then the honest run', [lambda: start('p2p', '--local=2x1',
        '--transport=tcp', '-b1K', '-o', 'honest').wait(120) == 0])
    lost = [row for row in rows if row[1] != row[2]]
    print('%d attacks, %d tries, %d survived' % (len(rows),
        sum(row[1] for row in rows), sum(row[2] for row in rows)))
    return 1 if lost else 0


sys.exit(main())
