"""A wire that takes its time: two network devices, and whatever one is sent comes out of the other later.

    python scripts/bench/delay_line.py NAME NAME SECONDS     (needs root on Linux; until it is killed)

It prints a line when the devices are there. They may then be moved to other network namespaces. Kernels that delay by
themselves (`tc … netem`) are not needed.
"""

import errno
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

MOST_BYTES = 1 << 16  # of a packet
SET_DEVICE = 0x400454CA  # TUNSETIFF
PACKETS_ALONE = 0x0001 | 0x1000  # IFF_TUN | IFF_NO_PI: packets of IP, with nothing before them


def device(name: str) -> int:
    """Makes a network device and opens its file: reads return what the device is sent, and it receives each write."""
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, SET_DEVICE, struct.pack("16sH", name.encode(), PACKETS_ALONE))
    return file


def carry(files: tuple[int, int], delay_s: float) -> None:
    """Carries packets both ways, without end."""
    other = dict(zip(files, reversed(files), strict=True))
    under_way: deque[tuple[float, int, bytes]] = deque()  # when, where and what comes out; in order
    while True:
        wait_s = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        for file in select.select(files, [], [], wait_s)[0]:
            under_way.append((time.monotonic() + delay_s, other[file], os.read(file, MOST_BYTES)))
        while under_way and under_way[0][0] <= time.monotonic():
            _, file, packet = under_way.popleft()
            try:
                os.write(file, packet)
            except OSError as error:
                if error.errno != errno.EIO:  # the device is not up (yet): what it is sent is lost
                    raise


if __name__ == "__main__":
    devices = device(sys.argv[1]), device(sys.argv[2])
    print("ready", flush=True)
    carry(devices, float(sys.argv[3]))
