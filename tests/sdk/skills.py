"""Skills for the tests: directories, archives and packages made on the spot."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Dict, Tuple


def text(name: str, body: str = "", **more: str) -> str:
    """A `SKILL.md`."""
    lines = [f"name: {name}", f"description: Does {name}.", *(f"{key}: {value}" for key, value in more.items())]
    return "\n".join(["---", *lines, "---", "", body or f"# {name}", ""])


def put(directory: Path, name: str, **files: str) -> Path:
    """A skill in a directory of its own; further files by their names, with `_` for the dot."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "SKILL.md").write_text(text(name))
    for file, content in files.items():
        (directory / file.replace("_", ".")).write_text(content)
    return directory


def packed(files: Dict[str, str]) -> bytes:
    """A zip of these files; names are not checked."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return held.getvalue()


def wheel(directory: Path, name: str) -> Path:
    """A Python package that can be installed without an index."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": "VALUE = 42\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in [*files, f"{info}/RECORD"])
    path = directory / f"{name}-1.0-py3-none-any.whl"
    path.write_bytes(packed(files))
    return path


def form(**fields: str) -> Dict[str, Tuple[None, str]]:
    """A form without a file, as `httpx` takes one."""
    return {name: (None, value) for name, value in fields.items()}
