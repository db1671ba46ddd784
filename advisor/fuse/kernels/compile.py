"""Compiles LLVM IR to an object file: a program of its own, which `library.py` runs as a child process.

LLVM ends the whole process where it meets what it cannot translate; that must not be the user's. It is run as a file
and imports nothing of the package, so that it starts fast and nothing in the current folder can take a module's name.

On its standard input a job as JSON: {triple, cpu, features, modules: [IR text, …], exports: [names], is_text}. On its
standard output the object, or the assembly as text; where that is not possible, one line on standard error and exit
code 1. The child may write nothing but that: the caller bounds both through the limits on file size, memory and time
that this program puts on itself.
"""

from __future__ import annotations

import json
import resource
import sys

MOST_MEMORY = 4 << 30
"""Bytes of address space: many times of what any library of a real model took."""
MOST_BYTES = 64 << 20
"""Of any one file that the process writes: the object, or its complaints."""


def limit(seconds: int) -> None:
    """Put the limits on this process: after SECONDS of processor time the system ends it."""
    for kind, most in (
        (resource.RLIMIT_AS, MOST_MEMORY),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, MOST_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(kind, (most, hard if kind == resource.RLIMIT_CPU else most))


def compiled(job: dict[str, object]) -> bytes:
    """The object file of a job, or its assembly."""
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()  # of what asks the CPU for its level
    machine = llvm.Target.from_triple(job["triple"]).create_target_machine(
        cpu=job["cpu"], features=job["features"], opt=3, reloc="pic", codemodel="small"
    )
    layout = str(machine.target_data)
    whole = llvm.parse_assembly("")
    whole.triple, whole.data_layout = job["triple"], layout
    for text in job["modules"]:  # type: ignore[attr-defined]
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = job["triple"], layout
        whole.link_in(module)
    for value in (*whole.functions, *whole.global_variables):
        kept = value.name in job["exports"] or value.name.startswith("llvm.")  # type: ignore[operator]
        if not value.is_declaration and not kept:
            value.linkage = llvm.Linkage.internal  # what is not needed may go
    whole.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    tuning.loop_interleaving = tuning.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(whole, builder)
    return machine.emit_assembly(whole).encode() if job["is_text"] else bytes(machine.emit_object(whole))


def main() -> int:
    """Read the job, write the object."""
    limit(int(sys.argv[1]))
    try:
        data = compiled(json.load(sys.stdin))
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except Exception as error:
        print(" ".join(f"{type(error).__name__}: {error}".split())[:1000], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
