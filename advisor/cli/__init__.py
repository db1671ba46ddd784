"""The `advisor` command: one module per subcommand; each reads options, calls one function, renders.

Heavy imports (numpy, pandas, onnx, ONNX Runtime) happen inside the commands that use them, so that
`advisor --help` answers at once.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

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

__all__ = ["app", "main"]

app = typer.Typer(
    name="advisor",
    help="Find where the GPU waits between kernels, say why, and fuse models where it measurably helps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(analyze)
app.command()(explain)
app.command()(fuse)
app.command()(verify)
app.command()(profile)
app.command()(baseline)
app.command()(gate)
app.command()(diff)
app.command("init-ci")(init_ci)
app.command()(doctor)
app.command()(schema)


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
    try:
        app()
    except AdvisorError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader went away (`advisor … | head`): no traceback, also not from the interpreter's last flush.
        _drop_output()
        sys.exit(128 + 13)  # as a shell names the end of other programs there, and no verdict of ours
    except OSError as error:
        _drop_output()
        print(f"error: cannot write the output: {error.strerror}", file=sys.stderr)
        sys.exit(2)


def _drop_output() -> None:
    """Let the interpreter's last flush of standard output succeed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
