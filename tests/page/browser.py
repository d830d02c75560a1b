# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven by the DevTools protocol over a pipe."""
import base64
import json
import os
import select
import subprocess
import tempfile
import time

DEADLINE_S = 120


class Browser:
    def __init__(self, program='chromium', size=(1200, 1000)):
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        # above those that the browser wants them to be
        low, high = os.dup2(to_read, 50), os.dup2(back_write, 51)
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            ['bash', '-c', 'exec "$@" 3<&50 4>&51 50<&- 51>&-', 'bash', program,
             '--headless', '--no-sandbox', '--disable-gpu',
             '--disable-dev-shm-usage', '--remote-debugging-pipe',
             '--host-resolver-rules=MAP page.test 127.0.0.1',
             f'--window-size={size[0]},{size[1]}', '--hide-scrollbars',
             f'--user-data-dir={self.folder.name}'],
            pass_fds=(low, high), stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        for fd in {to_read, back_write, low, high}:
            os.close(fd)
        self.session, self.number, self.held = None, 0, b''
        self.seen = []
        target = self.call('Target.createTarget', url='about:blank')
        self.session = self.call('Target.attachToTarget', flatten=True,
                                 targetId=target['targetId'])['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.call(domain + '.enable')

    def message(self, end):
        while b'\0' not in self.held:
            if not select.select([self.back], [], [],
                                 max(0, end - time.monotonic()))[0]:
                raise TimeoutError('the browser does not answer')
            got = os.read(self.back, 1 << 20)
            if not got:
                raise EOFError('the browser has ended')
            self.held += got
        one, self.held = self.held.split(b'\0', 1)
        return json.loads(one)

    def call(self, method, **params):
        self.number += 1
        ask = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            ask['sessionId'] = self.session
        os.write(self.to, json.dumps(ask).encode() + b'\0')
        end = time.monotonic() + DEADLINE_S
        while True:
            m = self.message(end)
            if m.get('id') == self.number:
                if 'error' in m:
                    raise RuntimeError(f'{method}: {m["error"]}')
                return m['result']
            self.seen.append(m)

    def js(self, text):
        r = self.call('Runtime.evaluate', expression=text, returnByValue=True,
                      awaitPromise=True)
        if 'exceptionDetails' in r:
            raise RuntimeError(json.dumps(r['exceptionDetails'])[:500])
        return r['result'].get('value')

    def wait(self, text):
        end = time.monotonic() + DEADLINE_S
        while not self.js(text):
            if time.monotonic() > end:
                raise TimeoutError(text)
            time.sleep(0.05)

    def open(self, path, script=True):
        self.call('Emulation.setScriptExecutionDisabled', value=not script)
        self.call('Page.navigate', url='file://' + os.path.abspath(
            path.split('#')[0]) + ('#' + path.split('#')[1] if '#' in path
                                   else ''))
        if script:
            self.wait('document.readyState === "complete" && '
                      '!!document.body.dataset.ready')
        else:
            time.sleep(2)

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ('mousePressed', 'mouseReleased'):
            self.mouse(kind, x, y, button='left', clickCount=1)

    def shot(self, path, whole=False):
        data = self.call('Page.captureScreenshot',
                         captureBeyondViewport=whole)['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))

    def complaints(self):
        """What went wrong in the page, and what it asked the network for."""
        self.js('1')
        out = []
        for m in self.seen:
            p = m.get('params', {})
            if m.get('method') == 'Runtime.exceptionThrown':
                out.append(json.dumps(p['exceptionDetails'])[:400])
            elif m.get('method') == 'Log.entryAdded' and \
                    p['entry']['level'] == 'error':
                out.append(p['entry']['text'])
            elif m.get('method') == 'Network.requestWillBeSent' and \
                    not p['request']['url'].startswith(('file:', 'data:',
                                                        'blob:')):
                out.append(p['request']['url'])
        return out

    def close(self):
        try:
            self.session = None
            self.call('Browser.close')
        except (OSError, EOFError, RuntimeError, TimeoutError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()
