# SPDX-License-Identifier: BSD-3-Clause
"""Either end of a connection, honest or not: probes/engine/net/wire.h and
seal.h anew, from their words alone."""
import ctypes, hashlib, hmac, json, os, socket, struct

sodium = ctypes.CDLL('libsodium.so.23')
STREAM = 'crypto_secretstream_xchacha20poly1305_'
HEADER, MORE = 24, 17
LISTENER, DIALLER, TO_LISTENER, TO_DIALLER = range(1, 5)


def subkey(key, number):
    return hashlib.blake2b(key=key, digest_size=32, person=b'gpucheck',
        salt=struct.pack('<Q', number)).digest()


def read(sock, n):
    got = b''
    while len(got) < n:
        some = sock.recv(n - len(got))
        if not some:
            raise EOFError
        got += some
    return got


def cbor(b, at=0):
    """(value, end) of what RFC 8949 has at @at of @b, as far as it is used."""
    kind, n = b[at] >> 5, b[at] & 31
    at += 1
    if kind == 7:
        wide = {25: 'e', 26: 'f', 27: 'd'}.get(n)
        if wide is None:
            return {20: False, 21: True, 22: None}[n], at
        size = struct.calcsize(wide)
        return struct.unpack('>' + wide, b[at:at + size])[0], at + size
    if n >= 24:
        size = 1 << (n - 24)
        n, at = int.from_bytes(b[at:at + size], 'big'), at + size
    if kind in (0, 1):
        return (n if kind == 0 else -1 - n), at
    if kind in (2, 3):
        text = b[at:at + n]
        return (text.decode() if kind == 3 else text), at + n
    items = []
    for _ in range(n if kind == 4 else 2 * n):
        item, at = cbor(b, at)
        items.append(item)
    return (items if kind == 4 else dict(zip(items[::2], items[1::2]))), at


def encode(v):
    """@v as CBOR: what cbor() reads, but for numbers with a point."""
    def head(kind, n):
        size = next(k for k in range(5) if n < 24 or k and n < 1 << 4 * 2 ** k)
        return bytes([kind << 5 | n]) if n < 24 else bytes(
            [kind << 5 | 23 + size]) + n.to_bytes(1 << size - 1, 'big')
    if v is None or isinstance(v, bool):
        return bytes([{False: 0xf4, True: 0xf5, None: 0xf6}[v]])
    if isinstance(v, int):
        return head(0, v) if v >= 0 else head(1, -1 - v)
    if isinstance(v, bytes):
        return head(2, len(v)) + v
    if isinstance(v, str):
        return head(3, len(v.encode())) + v.encode()
    if isinstance(v, list):
        return head(4, len(v)) + b''.join(map(encode, v))
    return head(5, len(v)) + b''.join(
        encode(k) + encode(x) for k, x in v.items())


class Talk:
    """What both have said, and the keys that come of it."""
    def __init__(self, secret, kind, port):
        self.key, self.kind = subkey(secret, ord(kind)), kind.encode()
        self.port = struct.pack('>H', port)

    def sign(self, use):
        said = self.hello + self.nonce + self.run + bytes(32) + self.port
        return hmac.new(subkey(self.key, use), said,
            hashlib.sha512).digest()[:32]

    def greet(self, task=bytes(16)):
        self.hello = b'GPUCHK2\n' + self.kind + bytes(7) + os.urandom(32) + task
        return self.hello

    def hear(self, answer):
        self.nonce, self.run = answer[:32], answer[32:48]
        return answer[48:] == self.sign(LISTENER)

    def answer(self, hello, run):
        self.hello, self.nonce, self.run = hello, os.urandom(32), run
        return self.nonce + run + self.sign(LISTENER)


class Wire:
    """Sealed messages after a handshake.  damage: of what is sent."""
    def __init__(self, sock, talk, listens, damage=None):
        ways = [TO_DIALLER, TO_LISTENER]
        self.sock, self.damage = sock, damage or (lambda bytes: bytes)
        self.key = talk.sign(ways[listens])
        self.to, self.from_ = (ctypes.create_string_buffer(64)
            for _ in range(2))
        head = ctypes.create_string_buffer(HEADER)
        getattr(sodium, STREAM + 'init_push')(self.to, head,
            talk.sign(ways[not listens]))
        sock.sendall(head.raw)
        self.begun, self.heard = False, b''

    def say(self, message):
        text = (message if isinstance(message, bytes) else
            json.dumps(message).encode())
        text = struct.pack('<I', len(text)) + text
        size = struct.pack('<I', len(text) + MORE)
        out = ctypes.create_string_buffer(len(text) + MORE)
        getattr(sodium, STREAM + 'push')(self.to, out, None, text,
            ctypes.c_ulonglong(len(text)), size, ctypes.c_ulonglong(4),
            ctypes.c_ubyte(0))
        self.sock.sendall(self.damage(size + out.raw))

    def unseal(self):
        """What the next record holds: messages, or parts of them."""
        if not self.begun:
            getattr(sodium, STREAM + 'init_pull')(self.from_,
                read(self.sock, HEADER), self.key)
            self.begun = True
        size = read(self.sock, 4)
        sealed = read(self.sock, struct.unpack('<I', size)[0])
        out = ctypes.create_string_buffer(len(sealed) - MORE)
        if getattr(sodium, STREAM + 'pull')(self.from_, out, None, None,
                sealed, ctypes.c_ulonglong(len(sealed)), size,
                ctypes.c_ulonglong(4)) != 0:
            raise ValueError('changed on its way')
        return out.raw

    def hear(self):
        """The next message, None at the end."""
        try:
            while len(self.heard) < 4 or len(self.heard) < self.wanted():
                self.heard += self.unseal()
        except (EOFError, OSError):
            return None
        n = self.wanted()
        text, self.heard = self.heard[4:n], self.heard[n:]
        return json.loads(text) if text[:1] == b'{' else cbor(text)[0]

    def wanted(self):
        return 4 + struct.unpack('<I', self.heard[:4])[0]


def dial(port, secret, kind):
    """(socket, talk) after a handshake as it should be."""
    sock = socket.create_connection(('127.0.0.1', port), 5)
    talk = Talk(secret, kind, port)
    sock.sendall(talk.greet())
    assert talk.hear(read(sock, 80))
    sock.sendall(talk.sign(DIALLER))
    return sock, talk


def accept(sock, port, secret, run=bytes(16)):
    """The same as a listener on a connection; False: not believed."""
    talk = Talk(secret, 'A', port)
    sock.sendall(talk.answer(read(sock, 64), run))
    try:
        return talk if read(sock, 32) == talk.sign(DIALLER) else None
    except (EOFError, OSError):
        return None
