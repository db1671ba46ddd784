"""Compiles glue.c and x86_64.c to the LLVM IR text beside them: `make glue`, after a change of the C code.

The text is committed, so that a user's machine needs no C compiler. It says nothing of the machine that made it: the
target, the compiler's name and what would tie the text to a newer LLVM than a user may have are taken out, and
nothing is optimised yet. The compiler is the clang of the ziglang package, a development dependency.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["SOURCES", "compiled"]

HERE = Path(__file__).parent
SOURCES = ("glue", "x86_64")

# fmt: off
COMPILER = (
    sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu", "-S", "-emit-llvm",
    # As the optimiser wants its input, before it ran.
    "-O1", "-Xclang", "-disable-llvm-passes", "-Xclang", "-disable-lifetime-markers", "-g0", "-w",
    # Nothing may call a library.
    "-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fno-sanitize=all", "-fPIC", "-fvisibility=hidden",
    # Names only make the text longer; aliasing by type would need metadata.
    "-fno-strict-aliasing",
)
# fmt: on
ATTRIBUTES = 'nounwind optsize "no-builtins"'
"""Of every function: without "no-builtins" a loop that copies would become a call of memcpy; its loops are over a few
axes and tensors, and vectors and unrolled copies of them cost more than they save: a call took 45 ns longer."""


def compiled(source: str) -> str:
    """The IR text of a source, the same on every machine with the same ziglang."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.ll"
        subprocess.run(  # noqa: S603 - our own source, compiled by our own Python's package
            [*COMPILER, f"{source}.c", "-o", str(output)], check=True, cwd=HERE
        )
        text = output.read_text(encoding="utf-8")
    text = re.sub(r"^(target|source_filename|!|; ModuleID).*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(attributes #\d+ = )\{.*\}$", rf"\1{{ {ATTRIBUTES} }}", text, flags=re.MULTILINE)
    text = re.sub(r", ![a-z.]+ !\d+", "", text)
    return f"; Made of {source}.c by make_glue.py (make glue); do not edit.\n" + re.sub(r"\n{3,}", "\n\n", text)


if __name__ == "__main__":
    for name in SOURCES:
        (HERE / f"{name}.ll").write_text(compiled(name), encoding="utf-8")
