# Runs in every IPython kernel before anything else does, and makes its streams complete, ordered and bounded.
#
# A kernel reads what programs print past Python's own streams in a thread of its own, so that it may come behind what
# was printed later, or when the execution that started them is over, and text may be cut inside a character. Here
# whoever writes to a stream or flushes it reads what is there first: what is printed comes in order, and what was printed
# when an execution ends is part of its output. Nobody can print faster than it is sent on, so that printing a gigabyte
# takes no gigabyte. And a kernel that crashes says where.
import codecs, contextlib, faulthandler, fcntl, os, select, struct, sys, termios, threading
from time import monotonic

from IPython.core.interactiveshell import InteractiveShell

# Seconds in which no program can be started and print: a writer need not look again.
JUST_LOOKED = 0.0001
# Characters that may wait to be sent.
MOST_WAITING = 4 << 20


def attach(stream):
    pipe, copy = stream._fid, stream._original_stdstream_copy
    stream._should_watch = False
    os.write(stream._original_stdstream_fd, b"\0")
    stream.watch_fd_thread.join(5)
    lock, kernel, looked, waits = threading.RLock(), os.getpid(), 0, 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    write, flush = stream.write, stream.flush

    def unread():
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]

    def drain():
        nonlocal looked
        # A forked child has the pipe too, and nobody who would give back its lock.
        if os.getpid() == kernel:
            with lock:
                while unread():
                    data = os.read(pipe, 65536)
                    write(decoder.decode(data))
                    os.write(copy, data)
        looked = monotonic()

    def write_in_order(text):
        nonlocal waits
        if monotonic() - looked > JUST_LOOKED:
            drain()
        written = write(text)
        waits += written or 0
        if waits > MOST_WAITING:
            waits = 0
            flush()
        return written

    def flush_all():
        nonlocal waits
        drain()
        waits = 0
        flush()

    def watch():
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        try:
            while poll.poll()[0][1] & select.POLLIN:
                drain()
        except ValueError:
            pass  # The stream is closed: the kernel is ending.

    stream.write, stream.flush = write_in_order, flush_all
    threading.Thread(target=watch, daemon=True).start()


for stream in sys.stdout, sys.stderr:
    if getattr(stream, "_should_watch", False):
        attach(stream)
        # The kernel's own standard error: what is printed at the very end cannot come through the kernel.
        faulthandler.enable(stream._original_stdstream_copy, all_threads=False)
# Keeps all that was ever printed, in order to write it into a notebook some day.
if hasattr(InteractiveShell, "_tee"):
    InteractiveShell._tee = lambda shell, channel: contextlib.nullcontext()
