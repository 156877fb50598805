"""Python's markitdown: each line is a way (`library` or `program`) and a file, whose nanoseconds go out.

The line `text FILE OUTPUT` writes what the library makes of a file, to be compared.
"""

import subprocess
import sys
import time
from pathlib import Path

from markitdown import MarkItDown

PROGRAM = str(Path(sys.executable).parent / "markitdown")


def main() -> None:
    """Serve until the input ends."""
    library = MarkItDown()
    print("ready", flush=True)
    for line in sys.stdin:
        way, *files = line.split()
        started = time.perf_counter_ns()
        if way == "library":
            library.convert(files[0])
        elif way == "program":
            subprocess.run([PROGRAM, files[0]], check=True, stdout=subprocess.DEVNULL)
        else:
            Path(files[1]).write_text(library.convert(files[0]).text_content)
        print(time.perf_counter_ns() - started, flush=True)


main()
