"""The `advisor` command: one module per subcommand; each reads options, calls one function, renders.

Heavy imports (numpy, pandas, onnx, ONNX Runtime) happen inside the commands that use them, so that
`advisor --help` answers at once.
"""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from advisor.cli.analyze import analyze
from advisor.cli.baseline import baseline
from advisor.cli.diff import diff
from advisor.cli.doctor import doctor
from advisor.cli.explain import explain
from advisor.cli.fuse import fuse
from advisor.cli.gate import gate
from advisor.cli.init_ci import init_ci
from advisor.cli.profile import profile
from advisor.cli.schema import schema
from advisor.cli.verify import verify
from advisor.errors import AdvisorError
from advisor.output import written
from advisor.words import plain

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["app", "main", "run"]

UsageError: type[Any] = typer.BadParameter.__mro__[1]
"""What a wrong command line raises; typer has no name of its own for it."""
READER_GONE = 128 + 13
"""As a shell names the end of other programs there (SIGPIPE), and no verdict of ours."""


class ReaderGoneError(Exception):
    """Nobody reads the output any more: `advisor … | head`."""


class Commands(TyperGroup):
    """All commands. A reader that goes away would end one with 1 in typer and rich, which is a verdict of the gate."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGoneError from None
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):
                raise ReaderGoneError from None
            raise


TYPES = {"int range": "a whole number", "integer": "a whole number", "float range": "a number", "float": "a number"}
"""What Click calls the types of options, in the order in which they are replaced."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells know it."""
ENDED = 128
"""Exit codes from here on are those of programs that a signal ended, as shells know them."""
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""How a CI system, or a terminal that is closed, ends a program."""

app = typer.Typer(
    name="advisor",
    cls=Commands,
    help="Find where the GPU waits between kernels, say why, and fuse models where it measurably helps.",
    epilog="Exit codes: 0 done; 1 the gate failed, a graph is flagged, or two models differ; 2 bad usage or input;"
    " 3 cannot decide.",
    rich_markup_mode=None,  # it would read [default: 5%] as markup and drop it, and takes twice the lines
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command(short_help="Where the GPU waits, why, and what fusion would save.")(analyze)
app.command(short_help="What a finding means, and what to do about it.")(explain)
app.command(short_help="Fuse an ONNX model: proven equal, measured faster.")(fuse)
app.command(short_help="Whether two ONNX models compute the same.")(verify)
app.command(short_help="Where the time of an ONNX model goes, node by node.")(profile)
app.command(short_help="Record runs of a build, for `gate`.")(baseline)
app.command(short_help="Fail when launch overhead regressed.")(gate)
app.command(short_help="How launch overhead differs between two runs.")(diff)
app.command("init-ci", short_help="Write a CI job with `gate` into a repository.")(init_ci)
app.command(short_help="What this machine can do, each fact tried.")(doctor)
app.command(short_help="The JSON Schema of what the commands write.")(schema)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"advisor {version('fusion-advisor')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; an expected failure becomes one line on stderr and its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal's encoding lacks (µ, →) becomes a question mark, not an error.
            stream.reconfigure(errors="replace")
    written.clear()
    try:
        code = app(args=sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        # Click's words may take several lines.
        print(f"error: {_one_line(error.format_message())}{_hint(error)}", file=sys.stderr)
        sys.exit(2)
    except AdvisorError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except typer.Abort:
        code = INTERRUPTED
    except (ReaderGoneError, BrokenPipeError):
        # No traceback, also not from the interpreter's last flush.
        _drop_output()
        sys.exit(READER_GONE)
    except OSError as error:
        if isinstance(error.filename, str):
            print(f"error: cannot use {plain(error.filename)}: {error.strerror}", file=sys.stderr)
        else:
            _drop_output()
            print(f"error: cannot write the output: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    if code == INTERRUPTED:
        print(f"interrupted: {_what_was_written()}", file=sys.stderr)
    if code:
        sys.exit(code)


def run() -> None:
    """Run the command line and end the process at once.

    To free gigabytes of columns array by array, as the interpreter does at its end, would take a tenth of an analysis.
    """
    code: object = 0
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup's wish is kept
            signal.signal(number, _end)
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    if code in [ENDED + number for number in ENDING]:
        print(f"terminated: {_what_was_written()}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    atexit._run_exitfuncs()  # temporary folders go
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _end(number: int, _frame: FrameType | None) -> None:
    """End as after an error, so that temporary files go."""
    sys.exit(ENDED + number)


def _what_was_written() -> str:
    left = [plain(str(path)) for path in written if path.exists()]
    return f"written before that: {', '.join(left)}" if left else "nothing was written"


def _one_line(text: str) -> str:
    """TEXT on one line, types called as people do."""
    for name, words in TYPES.items():
        text = text.replace(f"a valid {name}", words)
    return plain(" ".join(text.split()))


def _hint(error: Any) -> str:
    return "" if error.ctx is None else f" (`{error.ctx.command_path} --help` tells more)"


def _drop_output() -> None:
    """Let the interpreter's last flush of standard output succeed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
