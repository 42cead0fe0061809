"""Seeds one violation of each rule and expects the lint to name it; what is fine stays quiet."""

from __future__ import annotations

import pathlib
import re

import layering
import machines
import pages
import prose
import pytest
import sizes
import tree
import words


def write(root: pathlib.Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("path", "included", "expected"),
    [
        ("ir/A.h", "passes/Pipeline.h", "ir/ may not include passes/"),
        ("frontend/A.cpp", "backend/Target.h", "frontend/ may not include backend/"),
        ("frontend/A.cpp", "mlir/Pass/Pass.h", "frontend/ runs no passes"),
        ("passes/simd/A.cpp", "frontend/Frontend.h", "passes/ may not include frontend/"),
        ("runtime/A.h", "ir/Diagnostic.h", "runtime/ may not include ir/"),
        ("runtime/codes/A.h", "runtime/Device.h", "runtime/codes/ may not include runtime/"),
        ("runtime/A.cpp", "llvm/ADT/StringRef.h", "runtime/ and python/ know no LLVM"),
        ("backend/A.cpp", "frontend/Frontend.h", "backend/ may not include frontend/"),
        ("backend/A.cpp", "backend/api/Compile.h", "backend/ may not include backend/api/"),
        (
            "backend/cpu/A.cpp",
            "backend/nvidia/B.h",
            "backend/cpu/ may not include backend/nvidia/",
        ),
        ("backend/api/A.h", "llvm/ADT/StringRef.h", "the public headers hold no LLVM type"),
        ("backend/api/A.cpp", "passes/Pipeline.h", "backend/api/ may not include passes/"),
        (
            "python/bindings/A.cpp",
            "backend/compile/Compiler.h",
            "python/bindings/ may not include backend/",
        ),
        ("backend/A.cpp", "pybind11/pybind11.h", "only python/bindings/ knows Python"),
        ("passes/A.h", "mlir/Dialect/LLVMIR/LLVMDialect.h", "takes seconds to compile"),
    ],
)
def test_include_against_the_arrows_is_found(
    tmp_path: pathlib.Path, path: str, included: str, expected: str
) -> None:
    write(tmp_path, path, f'// One file.\n#include "{included}"\n')
    (problem,) = layering.problems(tmp_path)
    assert problem.startswith(f"{path}:2: ") and expected in problem


@pytest.mark.parametrize(
    ("path", "code", "word"),
    [
        ("backend/api/A.cpp", 'name.starts_with("cuda:")', "cuda"),
        ("backend/gpu/A.cpp", "static int numNvidiaGpus;", "nvidia"),
        ("backend/A.cpp", 'arch == "sm_80"', "sm_8"),
    ],
)
def test_a_vendor_in_code_of_all_targets_is_found(
    tmp_path: pathlib.Path, path: str, code: str, word: str
) -> None:
    write(tmp_path, path, f"// One file, as cuda:0 needs it.\n{code}\n")
    write(tmp_path, "backend/nvidia/A.cpp", f"// One file.\n{code}\n")
    (problem,) = layering.problems(tmp_path)
    assert problem.startswith(f"{path}:2: '{word}'")


@pytest.mark.parametrize(
    ("path", "included"),
    [
        ("frontend/A.cpp", "ir/Diagnostic.h"),
        ("backend/cpu/A.cpp", "backend/cpu/KernelAbi.h"),
        ("backend/cpu/A.cpp", "backend/Target.h"),
        ("backend/api/A.cpp", "backend/cpu/CpuTarget.h"),
        ("backend/api/A.cpp", "llvm/ADT/StringRef.h"),
        ("python/bindings/A.cpp", "backend/api/Compile.h"),
        ("passes/A.cpp", "mlir/Dialect/LLVMIR/LLVMDialect.h"),
    ],
)
def test_include_along_the_arrows_is_quiet(
    tmp_path: pathlib.Path, path: str, included: str
) -> None:
    write(tmp_path, path, f'#include "{included}"\n')
    assert not list(layering.problems(tmp_path))


@pytest.mark.parametrize(
    "back",
    [
        "from ..launch import jit\n",
        "from tilewright.launch.jit import run\n",
        "def f():\n    import tilewright.launch.jit\n",
        "if TYPE_CHECKING:\n    from ..launch.jit import JITFunction\n",
    ],
)
def test_two_folders_that_import_each_other_are_found(tmp_path: pathlib.Path, back: str) -> None:
    for path in ("__init__", "launch/__init__", "capture/__init__"):
        write(tmp_path, f"python/tilewright/{path}.py", "")
    write(tmp_path, "python/tilewright/launch/jit.py", "from ..capture.names import find, see\n")
    write(tmp_path, "python/tilewright/capture/names.py", back)
    (problem,) = layering.problems(tmp_path)
    assert problem == (
        f"python/tilewright/capture/names.py:{back.count(chr(10))}: includes "
        f"python/tilewright/launch/jit.py: python/tilewright/capture/ and python/tilewright/launch/ "
        f"include each other"
    )


def test_a_package_and_a_folder_in_it_that_import_each_other_are_found(
    tmp_path: pathlib.Path,
) -> None:
    write(tmp_path, "python/tilewright/__init__.py", "from .launch import jit as jit\n")
    write(tmp_path, "python/tilewright/errors.py", "")
    write(tmp_path, "python/tilewright/launch/__init__.py", "")
    write(tmp_path, "python/tilewright/launch/jit.py", "from .names import x\n")
    write(tmp_path, "python/tilewright/launch/names.py", "from . import jit\n")
    assert not list(layering.problems(tmp_path))
    write(tmp_path, "python/tilewright/launch/names.py", "from .. import errors\n")
    assert next(layering.problems(tmp_path)).endswith("include each other")


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        ("launch/jit", "from ..export import package", ":1: core may not import tools"),
        ("launch/tiered/a", "from ...libdevice import package", ":1: core may not import compat"),
        ("export/a", "from ..triton import package", ":1: tools may not import compat"),
        ("tools/a", "from .. import package", ":1: tools may not import face"),
        ("novel/a", "from ..launch import package", ": its folder is in no part"),
        ("triton/a", "from .. import package", ""),
        ("triton/a", "from ..export import package", ""),
        ("export/a", "from ..launch import package", ""),
    ],
)
def test_import_between_parts_of_the_package(
    tmp_path: pathlib.Path, path: str, line: str, expected: str
) -> None:
    for folder in ("", "launch/", "export/", "libdevice/", "triton/"):
        write(tmp_path, f"python/tilewright/{folder}__init__.py", "")
        write(tmp_path, f"python/tilewright/{folder}package.py", "")
    write(tmp_path, f"python/tilewright/{path}.py", f"{line}\n")
    found = list(layering.problems(tmp_path))
    assert len(found) == bool(expected)
    assert not expected or found[0].startswith(f"python/tilewright/{path}.py{expected}")


def test_two_folders_of_c_that_include_each_other_are_found(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "passes/A.h", '// One file.\n#include "passes/simd/B.h"\n')
    write(tmp_path, "passes/simd/B.h", "")
    assert not list(layering.problems(tmp_path))
    write(tmp_path, "passes/simd/C.h", '#include "passes/A.h"\n')
    (problem,) = layering.problems(tmp_path)
    assert problem.endswith("passes/ and passes/simd/ include each other")


@pytest.mark.parametrize(
    "text", ["// like PTX does", "int emitCudaCall();", "def gfx942 : Row;", '"sm_80"']
)
def test_vendor_word_in_shared_code_is_found(tmp_path: pathlib.Path, text: str) -> None:
    write(tmp_path, "passes/A.cpp", text)
    write(tmp_path, "backend/nvidia/A.cpp", text)
    (problem,) = layering.problems(tmp_path)
    assert problem.startswith("passes/A.cpp:1: ")


def cpp_function(num_lines: int, header: str = "static int longOne(int a)") -> str:
    return header + " {\n" + "  a += 1; // { not a brace\n" * (num_lines - 2) + "}\n"


def test_long_cpp_function_is_found(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "ir/A.cpp", "namespace tw {\n" + cpp_function(61) + cpp_function(60) + "}\n")
    write(tmp_path, "test/unit/A.cpp", cpp_function(81) + cpp_function(80))
    assert sorted(sizes.problems(tmp_path)) == [
        "ir/A.cpp:2: longOne has 61 lines, at most 60",
        "test/unit/A.cpp:1: longOne has 81 lines, at most 80",
    ]


@pytest.mark.parametrize(
    "header",
    [
        "struct Pair makePair(int a) const",
        "template <class T, class U = Row<int>> auto pick(T a) -> int",
        "Row::Row(int a) : first(a), second(a)",
        "TEST(Rows, AreLong)",
        "bool Row::operator==(const Row &other) const",
    ],
)
def test_every_kind_of_cpp_function_is_measured(header: str) -> None:
    text = "class Row : public Thing<int> {\npublic:\n" + cpp_function(90, header) + "};\n"
    (function,) = sizes.cpp_functions(text)
    assert (function.line, function.num_lines) == (3, 90)


def test_literals_directives_and_tables_do_not_confuse_the_measure() -> None:
    text = (
        "#define OPEN { \\\n  {\n"
        "static const Row rows[] = {\n" + '  {1, "}"},\n' * 100 + "};\n"
        "char brace() { return '}'; }\n"
        'std::string raw() { return R"x({{{)x"; }\n'
        "int big = 1'000;\n"
    )
    assert [f.name for f in sizes.cpp_functions(text)] == ["brace", "raw"]


def test_long_python_function_file_and_header_are_found(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "python/a.py", "def f():\n" + "    pass\n" * 60)
    write(tmp_path, "python/b.py", "x = 1\n" * 701)
    write(tmp_path, "python/tilewright/a.py", "x = 1\n" * 501)
    for number in range(26):
        write(tmp_path, f"python/tilewright/few/{number}.py", "x = 1\n" * bool(number))
    write(tmp_path, "ir/A.h", "int x;\n" * 151)
    write(tmp_path, "ir/B.h", "int x;\n" * 150)
    assert sorted(sizes.problems(tmp_path)) == [
        "ir/A.h: 151 lines, at most 150",
        "python/a.py:1: f has 61 lines, at most 60",
        "python/b.py: 701 lines, at most 700",
        "python/tilewright/a.py: 501 lines, at most 500",
        "python/tilewright/few: 26 files, at most 25",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "int smemBytes;",
        "// kept in LDS",
        "// one thread block",
        "// the Encoding of it",
        "#define TMA_SIZE 3",
        "// a memdesc",
        "// by cp.async",
        "Type scalarType;",
    ],
)
def test_refused_word_is_found(tmp_path: pathlib.Path, text: str) -> None:
    write(tmp_path, "passes/A.cpp", text + "\n")
    (problem,) = words.problems(tmp_path)
    assert problem.startswith("passes/A.cpp:1: ")


@pytest.mark.parametrize(
    "text",
    [
        "Block *block = op->getBlock();",
        "arith::CmpIPredicate p = cmp.getPredicate();",
        "// loop-invariant",
        "std::variant<int, float> v;",
        '#include "mlir/Encoding.h"',
        'print("padding of a string");',
        "auto e = type.getEncoding();",
        "Value broadcast(Value scalar, Type like);",
        "return scalar.type;",
        "arith::CmpFPredicate floatPredicate(Comparison op);",
        "struct PaddedRow;  // a predicated copy of it, with padding",
    ],
)
def test_names_of_upstream_interfaces_are_quiet(tmp_path: pathlib.Path, text: str) -> None:
    write(tmp_path, "passes/A.cpp", text + "\n")
    assert not list(words.problems(tmp_path))


def test_empty_words_in_file_and_type_names_are_found(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "backend/CompilerUtils.h", "int x;\n")
    write(tmp_path, "runtime/Cache.h", "struct CacheInfo {\n};\nclass InformationTheory {\n};\n")
    assert sorted(words.problems(tmp_path)) == [
        "backend/CompilerUtils.h: 'utils' says nothing in a file's name",
        "runtime/Cache.h:1: 'info' says nothing in the name CacheInfo",
    ]


def test_main_returns_failure_for_a_violation(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["layering.py", str(tmp_path)])
    assert tree.main(layering.problems, "layers hold") == 0
    write(tmp_path, "ir/A.h", '#include "passes/Pipeline.h"\n')
    assert tree.main(layering.problems, "layers hold") == 1
    assert capsys.readouterr().out.splitlines()[0] == "layers hold"


@pytest.mark.parametrize(
    "line",
    [
        "static constexpr unsigned kLineBytes = 128;",
        "unsigned lane = thread % kWarpSize, warp = thread / warpSize * 32;",
        "if (numBanks == 32)",
        "unsigned lanes = 32;",
        "return accessBytes() <= 16;",
    ],
)
def test_numbers_of_a_machine_are_found(tmp_path: pathlib.Path, line: str) -> None:
    write(tmp_path, "passes/A.cpp", f"// One file.\n{line}\n")
    (problem,) = machines.problems(tmp_path)
    assert problem.startswith("passes/A.cpp:2: ")


@pytest.mark.parametrize(
    "line",
    [
        "SmallVector<uint32_t, 16> lanes;",
        "unsigned vector = 1, lanes = machine.warpSize;",
        "unsigned bits = type.getWidth() <= 32 ? 32 : 64;  // kLineBytes = 128",
        "double sum = lanes * 2.5 + warps / 3;",
    ],
)
def test_other_numbers_stay_quiet(tmp_path: pathlib.Path, line: str) -> None:
    write(tmp_path, "passes/A.cpp", f"// One file.\n{line}\n")
    assert not list(machines.problems(tmp_path))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("passes/A.cpp", "// See ir/tile/Gone.td for it.\n"),
        ("python/a.py", '"""Like passes/simt/Gone.cpp."""\n'),
        ("README.md", "Look into `ir/gone/`.\n"),
        ("ir/README.md", "| `tile/Gone` | a row |\n"),
        ("ir/README.md", "[rows](tile/Gone.td)\n"),
        ("ir/README.md", "```\nir/tile/Gone.td --> rows\n```\n"),
        ("passes/A.cpp", "// Any of ir/tile/Gone*.\n"),
    ],
)
def test_path_that_is_not_there_is_found(tmp_path: pathlib.Path, path: str, text: str) -> None:
    write(tmp_path, "ir/tile/TileOps.td", "")
    write(tmp_path, path, text)
    (problem,) = pages.problems(tmp_path)
    line = 2 if text.startswith("```") else 1
    assert problem.startswith(f"{path}:{line}: ") and "one" in problem


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("passes/A.cpp", "// See ir/tile/TileOps.td, ir/tile/TileOps and ir/tile/Tile*.\n"),
        ("passes/A.cpp", '#include "ir/tile/Generated.h.inc"\n'),
        ("passes/A.cpp", "// Like mlir/ir/Gone.h, and build/ir/Gone.inc; ir/ has neither.\n"),
        ("ir/README.md", "`tile/TileOps` and `n/a`; [rows](tile/TileOps.td#rows), `f[n](x)`\n"),
    ],
)
def test_path_that_is_there_is_quiet(tmp_path: pathlib.Path, path: str, text: str) -> None:
    write(tmp_path, "ir/tile/TileOps.td", "")
    write(tmp_path, path, text)
    assert not list(pages.problems(tmp_path))


def test_folder_without_a_page_is_found(tmp_path: pathlib.Path) -> None:
    for folder in ("ir/many", "ir/few", "ir/told", "test/ir", "test/python/ops"):
        for number in range(5 if folder == "ir/few" else 6):
            write(tmp_path, f"{folder}/A{number}.h", "")
    for page in ("ir/README.md", "ir/told/README.md", "test/README.md", "test/python/README.md"):
        write(tmp_path, page, "")
    assert list(pages.problems(tmp_path)) == [
        "ir/many: 6 files and no README.md",
        "test/ir: 6 files and no README.md",
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("backend/A.cpp", 'error("`x` is no integer");\n'),
        ("passes/A.h", "// Extents that are no powers of two.\n"),
        ("ir/README.md", "Not reading it was no mistake.\n"),
    ],
)
def test_no_in_place_of_not_a_is_found(tmp_path: pathlib.Path, path: str, text: str) -> None:
    write(tmp_path, path, text)
    (problem,) = words.problems(tmp_path)
    assert problem.startswith(f"{path}:1: ") and problem.endswith(" not")


@pytest.mark.parametrize(
    "text", ["There is no device.", "It is no longer there.", "This is not a test.", "no-op"]
)
def test_plain_english_is_quiet(tmp_path: pathlib.Path, text: str) -> None:
    write(tmp_path, "README.md", text)
    write(tmp_path, "ir/README.md", text)
    assert not list(words.problems(tmp_path))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("passes/A.cpp", "int x;\n/// Whether a mask is all true.\nbool isTrue();\n"),
        ("ir/A.h", "struct A {\n  /// What the kernel stores to.\n  int x;\n};\n"),
        ("python/bindings/A.cpp", "// A file.\n/// Of one reading.\nint x;\n"),
    ],
)
def test_noun_clause_of_a_doc_comment_is_found(
    tmp_path: pathlib.Path, path: str, text: str
) -> None:
    write(tmp_path, path, text)
    (problem,) = words.problems(tmp_path)
    assert problem.startswith(f"{path}:2: begin with a verb")


def test_later_lines_of_a_doc_comment_are_quiet(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "passes/A.cpp", "/// Returns the elements\n/// Of one tile.\nint f();\n")
    assert not list(words.problems(tmp_path))


def test_long_line_of_a_page_is_found(tmp_path: pathlib.Path) -> None:
    long = "word " * 20 + "x"
    write(tmp_path, "ir/README.md", f"# A page\n{long}\n{long[1:]}\n")
    assert list(pages.problems(tmp_path)) == ["ir/README.md:2: 101 columns, at most 100"]


@pytest.mark.parametrize("text", ["| {} |", "```\n{}\n```", "    {}"])
def test_tables_and_code_may_be_wide(tmp_path: pathlib.Path, text: str) -> None:
    write(tmp_path, "ir/README.md", text.format("word " * 30))
    assert not list(pages.problems(tmp_path))


WORDS = " ".join(f"w{n}" for n in range(36))


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("README.md", "It is more unique.", "unique"),
        ("README.md", "It takes the\nthe array.", "repeated"),
        ("CHANGELOG.md", "# New\n\nNumpy arrays are passed as they are.", "write NumPy for 'Numpy'"),
        ("tutorials/limits.md", "| a | uses smem |", "write shared memory for 'smem'"),
        ("tutorials/01_a.py", '"""Adds.\n\nIt is a seamless sum."""\n', "write nothing for 'seamless'"),
        ("tutorials/01_a.py", "x = 1\n# This is\n# more unique.\n", "unique"),
        ("README.md", f"Short. {WORDS}.", "a sentence of 36 words, at most 35"),
        ("tutorials/site/start.md", f"- item\n- {WORDS}", "a sentence of 36 words"),
    ],
)
def test_prose_that_reads_badly_is_found(
    tmp_path: pathlib.Path, path: str, text: str, expected: str
) -> None:
    pytest.importorskip("proselint")
    write(tmp_path, path, text)
    (problem,) = prose.problems(tmp_path)
    assert problem.startswith(f"{path}:") and expected in problem
    line = next(n for n, row in enumerate(text.splitlines(), 1) if re.search(_BAD, row))
    assert problem.startswith(f"{path}:{line}: ")


_BAD = r"the$|unique|Numpy|smem|seamless|w0 w1"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.md", "Use `Numpy` `Numpy` `a` `a`.\n\n```\nvery unique\n```\n"),
        ("README.md", "# Tilewright\n\nTilewright compiles tiles of 64 x 64 x 64."),
        ("README.md", f"{WORDS[:60]}.\n{WORDS[:60]}."),
        ("CONTRIBUTING.md", f"{WORDS}."),
        ("tutorials/01_a.py", "text = 'very unique'  # very unique\n"),
        ("ir/README.md", "It is very unique."),
    ],
)
def test_prose_that_reads_well_and_code_are_quiet(
    tmp_path: pathlib.Path, path: str, text: str
) -> None:
    pytest.importorskip("proselint")
    write(tmp_path, path, text)
    assert not list(prose.problems(tmp_path))
