"""What no bridge can do without: bytes read from one socket and written to another, by a loop that does nothing else."""

import socket
import sys
import threading

CHUNK = 256 << 10


def carry(source: socket.socket, target: socket.socket) -> None:
    """Copy until one side ends."""
    buffer = bytearray(CHUNK)
    view = memoryview(buffer)
    while count := source.recv_into(buffer):
        target.sendall(view[:count])


def main() -> None:
    """Serve viewers one by one. Arguments: a port to listen on, a unix socket behind it."""
    port, behind = sys.argv[1:]
    with socket.create_server(("127.0.0.1", int(port))) as listener:
        while True:
            viewer, _ = listener.accept()
            viewer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            desktop = socket.socket(socket.AF_UNIX)
            desktop.connect(behind)
            threading.Thread(target=carry, args=(viewer, desktop), daemon=True).start()
            threading.Thread(target=carry, args=(desktop, viewer), daemon=True).start()


main()
