"""A server on the other side of a long wire, on this machine: two network namespaces, a tap device in each, and this
program between them, which hands frames on after a while. Linux needs no module for it but tun."""

import contextlib
import fcntl
import heapq
import os
import select
import struct
import subprocess
import threading
import time

NEAR, FAR = "198.51.100.2", "198.51.100.1"
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def carry(fds, delay_s, stop):
    waiting, n = [], 0
    while not stop.is_set():
        left = max(0, waiting[0][0] - time.monotonic()) if waiting else 0.05
        for fd in select.select(fds, [], [], min(left, 0.05))[0]:
            with contextlib.suppress(OSError):
                frame = os.read(fd, 65536)
                n += 1
                heapq.heappush(waiting, (time.monotonic() + delay_s, n, fds[1 - fds.index(fd)], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, fd, frame = heapq.heappop(waiting)
            with contextlib.suppress(OSError):
                os.write(fd, frame)


@contextlib.contextmanager
def long_wire(delay_s):
    """Yields the words that run a command near and far; frames take so long each way."""
    names = [f"lynx-{os.getpid()}-{side}" for side in ("near", "far")]
    stop, fds = threading.Event(), []
    try:
        for name, address, device in zip(names, (NEAR, FAR), ("lynxa", "lynxb")):
            fds.append(tap(device))
            ip("netns", "add", name)
            ip("link", "set", device, "netns", name)
            for words in (["addr", "add", f"{address}/30", "dev", device], ["link", "set", device, "up"]):
                ip("-n", name, *words)
            ip("-n", name, "link", "set", "lo", "up")
        carrier = threading.Thread(target=carry, args=(fds, delay_s, stop), daemon=True)
        carrier.start()
        yield [["ip", "netns", "exec", name] for name in names]
        stop.set()
        carrier.join()
    finally:
        stop.set()
        for fd in fds:
            os.close(fd)
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
