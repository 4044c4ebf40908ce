"""A server of SLOTS slots, MS milliseconds each, that knows its capacity: usage: slots.py PORT SLOTS MS cancels|goes-on

`cancels`: a request whose client has gone is dropped from the queue. `goes-on`: it is worked on all the same."""

import select
import socket
import sys
import threading
import time

from made import Handler, Server

PORT, SLOTS, MS, GOES_ON = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "goes-on"
turn = threading.Condition()
waiting, running = [], 0


def gone(connection):
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True


class Slots(Handler):
    def do_POST(self):
        global running
        n = self.body().get("max_tokens", 1)
        me = object()
        with turn:
            waiting.append(me)
            turn.wait_for(lambda: running < SLOTS and waiting[0] is me)
            waiting.pop(0)
            running += 1
            turn.notify_all()
        try:
            if GOES_ON or not gone(self.connection):
                time.sleep(MS / 1000)
        finally:
            with turn:
                running -= 1
                turn.notify_all()
        body = b"".join(b'data: {"choices":[{"index":0,"text":"x"}]}\n\n' for _ in range(n))
        body += b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}\n\ndata: [DONE]\n\n' % n
        try:
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
        except OSError:
            self.close_connection = True


print("ready", flush=True)
Server(("127.0.0.1", PORT), Slots).serve_forever()
