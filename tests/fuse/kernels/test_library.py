"""Libraries of generated operators, loaded and run by ONNX Runtime."""

from __future__ import annotations

import gc
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from advisor.errors import BadInput
from advisor.fuse.kernels import library
from advisor.fuse.kernels.descriptors import Operator, tables
from advisor.fuse.kernels.expression import Access, Expression, Input, Operation, Output
from advisor.fuse.kernels.library import (
    ARCHITECTURES,
    EXPORTS,
    NotCompiled,
    Unsupported,
    build_library,
    compiled,
    linked,
)
from tests.fuse.kernels.single_operator import (
    COLUMNS,
    FLOAT,
    ROW,
    centred,
    double,
    multiply_add,
    run,
    scaled_sum,
    session,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

try:
    library.here()
except Unsupported as reason:
    pytest.skip(str(reason), allow_module_level=True)

MULTIPLY_ADDS = [multiply_add(*accesses) for accesses in product(Access, repeat=3)]


@cache
def libraries() -> Path:
    """One library for all of this module."""
    import tempfile

    path = Path(tempfile.mkdtemp()) / "all.so"
    path.write_bytes(build_library([*MULTIPLY_ADDS, centred(1), centred(2), double(), scaled_sum()]))
    return path


@cache
def opened(expression: Expression, threads: int = 1) -> Any:
    return session(expression, [libraries()], threads)


def _integers(shape: tuple[int, ...], seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(-9, 9, shape)


@settings(max_examples=150, deadline=None)
@given(
    expression=st.sampled_from(MULTIPLY_ADDS),
    shapes=mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_side=4, max_dims=5),
)
def test_any_broadcasting_whatever_the_kernel_was_made_for(expression: Expression, shapes: Any) -> None:
    a, b, c = (_integers(shape, place) for place, shape in enumerate(shapes.input_shapes))
    total, multiplied = run(opened(expression), a, b, c)
    np.testing.assert_array_equal(total, a * b + c)
    full = np.broadcast_shapes(*shapes.input_shapes)
    np.testing.assert_array_equal(multiplied, np.broadcast_to(a * b, full))


@settings(max_examples=100, deadline=None)
@given(
    reduced=st.sampled_from([1, 2]),
    shapes=mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=4, min_dims=2, max_dims=5),
)
def test_reductions_over_any_broadcasting(reduced: int, shapes: Any) -> None:
    a, b = (_integers(shape, place) for place, shape in enumerate(shapes.input_shapes))
    centre, dropped, kept = run(opened(centred(reduced)), a, b)
    axes = tuple(range(-reduced, 0))
    np.testing.assert_array_equal(dropped, (a + b).sum(axes))
    np.testing.assert_array_equal(kept, (a + b).sum(axes, keepdims=True))
    np.testing.assert_array_equal(centre, a + b - (a + b).sum(axes, keepdims=True))


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ((300, 4096), (4096,), ()),  # whole rows
        ((3, 500_001), (500_001,), (3, 1)),  # pieces of few rows
        ((1_500_007,), (1,), (1_500_007,)),  # pieces of one
        ((7, 1, 333, 65), (5, 1, 65), (7, 1, 1, 1)),  # pieces across outer axes
    ],
)
def test_threads_share_the_work(a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...]) -> None:
    arrays = [_integers(shape, place) for place, shape in enumerate((a, b, c))]
    total, multiplied = run(opened(MULTIPLY_ADDS[0], threads=4), *arrays)
    np.testing.assert_array_equal(total, arrays[0] * arrays[1] + arrays[2])
    np.testing.assert_array_equal(multiplied, np.broadcast_to(arrays[0] * arrays[1], total.shape))


def test_rows_are_reduced_on_several_threads() -> None:
    a, b = _integers((3, 400, 1000), 0), _integers((400, 1), 1)
    _, dropped, _ = run(opened(centred(1), threads=4), a, b)
    np.testing.assert_array_equal(dropped, (a + b).sum(-1))


def test_shapes_that_do_not_broadcast_are_refused_by_name() -> None:
    expression = MULTIPLY_ADDS[0]
    with pytest.raises(Exception, match=rf"{expression.name}: input 1 does not broadcast: axis -1 is 4 there and 3"):
        run(opened(expression), _integers((2, 3), 0), _integers((4,), 1), _integers((), 2))


def test_more_than_eight_axes_are_refused() -> None:
    with pytest.raises(Exception, match="a tensor of more than 8 axes"):
        run(opened(double()), np.ones((1,) * 9, np.float32))
    assert run(opened(double()), np.ones((1,) * 8, np.float32))[0].shape == (1,) * 8


def test_a_runtime_older_than_shapes_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before ONNX Runtime 1.24 shapes are copied: as with a library that takes every version for an older one."""
    glue = library.GLUE.read_text(encoding="utf-8")
    older = re.sub(r"(icmp sge i32 %\d+, )24$", r"\g<1>2000", glue, flags=re.MULTILINE)
    assert older != glue
    monkeypatch.setattr(library, "GLUE", tmp_path / "glue.ll")
    library.GLUE.write_text(older, encoding="utf-8")
    path = tmp_path / "older.so"
    path.write_bytes(build_library([MULTIPLY_ADDS[0], double()]))
    one = session(MULTIPLY_ADDS[0], [path])
    a, b, c = _integers((3, 1, 5), 0), _integers((4, 1), 1), _integers((), 2)
    for _ in range(3):
        np.testing.assert_array_equal(run(one, a, b, c)[0], a * b + c)
    with pytest.raises(Exception, match="a tensor of more than 8 axes"):
        run(session(double(), [path]), np.ones((1,) * 9, np.float32))


def test_fewer_axes_than_are_reduced_are_refused() -> None:
    with pytest.raises(Exception, match="fewer axes than are reduced"):
        run(opened(centred(2)), _integers((3,), 0), _integers((3,), 1))


def test_an_output_of_one_value_a_row_needs_inputs_of_one_value_a_row() -> None:
    x, scale = _integers((3, 5), 0), _integers((3, 1), 1)
    (scaled,) = run(opened(scaled_sum()), x, scale)
    np.testing.assert_array_equal(scaled, x.sum(1, keepdims=True) * scale)
    with pytest.raises(Exception, match="an input has several values a row, and an output that has one needs it"):
        run(opened(scaled_sum()), x, x)


def test_many_threads_in_one_session() -> None:
    one = opened(MULTIPLY_ADDS[0], threads=2)

    def check(seed: int) -> None:
        a = _integers((50, 4000), seed)
        total, _ = run(one, a, a, a)
        np.testing.assert_array_equal(total, a * a + a)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(check, range(40)))


def test_libraries_and_sessions_come_and_go_in_any_order(tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    centre = Expression((Input(FLOAT, COLUMNS), Operation("Neg", (0,), FLOAT)), (Output(1, COLUMNS),))
    other.write_bytes(build_library([centre]))
    copy = tmp_path / "copy.so"
    copy.write_bytes(libraries().read_bytes())
    x = np.arange(6, dtype=np.float32)

    def once(number: int) -> None:
        one = session(double(), [copy if number % 2 else libraries()])
        two = session(centre, [other])
        np.testing.assert_array_equal(run(one, x)[0], 2 * x)
        del one
        gc.collect()
        np.testing.assert_array_equal(run(two, x)[0], -x)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(once, range(12)))


def test_same_expressions_same_bytes() -> None:
    first = build_library([double()])
    compiled.cache_clear()
    assert build_library([double(), double()]) == first


@pytest.mark.parametrize("level", ["v2", "v3", "v4"])
def test_a_level_that_the_cpu_lacks_is_refused_and_one_that_it_has_runs(level: str, tmp_path: Path) -> None:
    if library.here() != "x86_64":
        pytest.skip("levels are those of x86-64")
    path = tmp_path / "level.so"
    path.write_bytes(build_library([double()], levels=[level]))
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    needed = {
        "v2": {"ssse3", "sse4_2", "popcnt"},
        "v3": {"avx2", "fma", "bmi2", "movbe"},
        "v4": {"avx512vl", "avx512bw"},
    }
    if needed[level] <= set(flags):
        assert run(session(double(), [path]), np.ones(3, np.float32))[0].tolist() == [2, 2, 2]
    else:
        with pytest.raises(Exception, match="this CPU is older than those the library is made for"):
            session(double(), [path])


def test_expressions_that_no_kernel_can_be_called_for() -> None:
    many = Expression(
        (*(Input(FLOAT, COLUMNS) for _ in range(16)), Operation("Add", (0, 1), FLOAT)), (Output(16, COLUMNS),)
    )
    with pytest.raises(BadInput, match="more than 16 inputs and outputs"):
        build_library([many])
    with pytest.raises(BadInput, match="writes one value a row, but reduces no axes"):
        build_library([Expression((Input(FLOAT, ROW), Operation("Neg", (0,), FLOAT)), (Output(1, ROW),))])
    text = Expression((Input(ir.DataType.STRING, COLUMNS),), (Output(0, COLUMNS),))
    with pytest.raises(BadInput, match="can not read or write string"):
        tables([Operator(text)], {"v2": 0})


def test_an_unknown_system_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Plan9")
    with pytest.raises(Unsupported, match=r"for Linux on x86-64 or aarch64, and this is Plan9.*all other fusions work"):
        build_library([double()])
    with pytest.raises(Unsupported, match="no architecture 'vax'"):
        build_library([double()], architecture="vax")


TARGET = ARCHITECTURES[library.here()]
TABLES = tables([Operator(double())], {})


def _kept(function: str) -> str:
    """A module with a function that nothing calls, and that stays."""
    used = '@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"'
    return f"declare double @exp(double)\n{function}\n{used}\n"


def test_code_that_needs_another_library_is_refused() -> None:
    calls = "define hidden double @f(double %x) {\n%y = call double @exp(double %x)\nret double %y\n}"
    with pytest.raises(NotCompiled, match="the code needs exp, which is not in it"):
        linked([_kept(calls), TABLES], TARGET)


def test_text_that_is_no_ir_is_one_line() -> None:
    with pytest.raises(NotCompiled, match="not compiled: RuntimeError: LLVM IR parsing error") as refused:
        compiled(("define nonsense",), TARGET.triple, TARGET.cpu, seconds=10, exports=EXPORTS)
    assert "\n" not in str(refused.value)


def test_an_abort_of_llvm_ends_only_the_child() -> None:
    aborts = _kept('define void @f() {\ncall void asm sideeffect "nonsense", ""()\nret void\n}')
    with pytest.raises(NotCompiled):
        compiled((aborts,), TARGET.triple, TARGET.cpu, seconds=10, exports=EXPORTS)


def _child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str) -> None:
    """A compiler that does something else under the limits of the real one."""
    limits = (library.HERE / "compile.py").read_text(encoding="utf-8").split("def compiled(")[0]
    (tmp_path / "compile.py").write_text(f"{limits}\nlimit(int(sys.argv[1]))\n{program}\n", encoding="utf-8")
    monkeypatch.setattr(library, "HERE", tmp_path)


@pytest.mark.parametrize(
    ("program", "seconds", "message"),
    [
        ("import os; os.abort()", 5, "SIGABRT"),
        ("while True: pass", 1, "SIGXCPU|SIGKILL|not compiled within"),
        ("import time; time.sleep(60)", 1, "not compiled within 2 s"),
        ("sys.stdout.buffer.write(bytes(80 << 20))", 20, "File too large|more than 64 MiB"),
        ("bytes(5 << 30)", 20, "MemoryError"),
    ],
)
def test_children_that_abort_hang_or_emit_too_much(
    program: str, seconds: int, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _child(monkeypatch, tmp_path, program)
    with pytest.raises(NotCompiled, match=message):
        compiled((program,), TARGET.triple, TARGET.cpu, seconds=seconds, exports=EXPORTS)


def test_nothing_in_the_current_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("llvmlite", "json", "resource"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken over')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    compiled.cache_clear()
    assert build_library([double()])


def test_the_committed_ir_is_that_of_the_c_code() -> None:
    pytest.importorskip("ziglang", reason="the clang of the ziglang package compiles the C code")
    from advisor.fuse.kernels.glue import make_glue

    for source in make_glue.SOURCES:
        assert (make_glue.HERE / f"{source}.ll").read_text(encoding="utf-8") == make_glue.compiled(source)


FAKE_DRIVER = Path(__file__).parent / "fake_driver.c"


def test_a_gpu_kernel_is_loaded_once_and_launched_on_the_stream(tmp_path: Path) -> None:
    """Through a stand-in for libcuda.so.1: the GPU operator is registered for the CPU provider."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("a C compiler makes the stand-in of the driver, and there is none")
    driver = str(tmp_path / "libcuda.so.1")
    options = ["-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", "-o", driver]
    subprocess.run([compiler, *options, str(FAKE_DRIVER)], check=True)
    expression = MULTIPLY_ADDS[0]
    operators = [Operator(expression, "CPUExecutionProvider", f".visible .entry {expression.name}(")]
    (tmp_path / "gpu.so").write_bytes(linked([tables(operators, {})], TARGET))
    program = (
        "import sys; from pathlib import Path; import numpy as np\n"
        "from tests.fuse.kernels.test_library import *\n"
        "s = session(MULTIPLY_ADDS[0], [Path(sys.argv[1])])\n"
        "x = np.ones((2, 3, 4), np.int64)\n"
        "for _ in range(2): run(s, x, x[:, :1], x[0, 0])\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "gpu.so")]
    root = Path(__file__).resolve().parents[3]
    environment = {"LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    launch = (
        f"launch {expression.name} blocks 1 threads 256 rows 6 columns 4 axes 2 extents 2 3"
        " row 12 4 | 4 0 | 0 0 column 1 1 1"
    )
    assert done.stdout.splitlines() == ["load", f"get {expression.name}", launch, launch, "unload"]

    without = subprocess.run(
        command, capture_output=True, text=True, env=environment | {"LD_LIBRARY_PATH": ""}, check=False
    )
    assert without.returncode != 0
    if "libcuda.so.1 of the NVIDIA driver does not load" not in without.stderr:
        assert "of the NVIDIA driver failed" in without.stderr  # a machine with a driver: this PTX is none
