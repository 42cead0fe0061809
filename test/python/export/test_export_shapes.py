"""A package's variants for exact shapes compute what its general one does."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import exported
import numpy as np
import pytest
import tilewright as tw
from tilewright.compile.facts import fact_rows, integer_facts, integer_rules
from tilewright.export.code import rule_functions
from tilewright.export.package import Package

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def arithmetic(out, n, m):
    tw.store(out, ((n - 1) // 2).to(tw.int64))
    tw.store(out + 1, (n * 100003 * m).to(tw.int64))
    tw.store(out + 2, ((n - 7) % 5).to(tw.int64))
    tw.store(out + 3, (m // 3 * 2).to(tw.int64))


def expected(n: int, m: int) -> list[int]:
    with np.errstate(over="ignore"):
        wide, narrow = np.int64(m), np.int32(n)
        narrow_product = narrow * np.int32(100003)
        product = np.int64(narrow_product) * wide

    def quotient(a: int, b: int) -> int:
        return int(np.trunc(a / b)) if abs(a) < 1 << 50 else -(-a // b) if a < 0 else a // b

    return [quotient(n - 1, 2), int(product), n - 7 - quotient(n - 7, 5) * 5, quotient(m, 3) * 2]


VALUES = [(0, 0), (1, 1), (-4, -(2**40) + 1), (46341, 2**33), (16, 48), (3, -5)]


def test_exact_variants_compute_what_the_general_one_does(tmp_path: Path) -> None:
    results: list[list[list[int]]] = []
    for name, shapes in (("general", ()), ("exact", [{"n": n, "m": m} for n, m in VALUES])):
        package = Package(name).add(arithmetic, "*i64, i32, i64", shapes=shapes, grid="1")
        written = package.write(tmp_path, ["cpu:x86-64-v2"], form="c")
        variants = json.loads(written[f"{name}.json"].read_text())["kernels"][0]["variants"]
        assert len(variants) == 1 + len(shapes)
        shared = tmp_path / f"{name}.so"
        command = [exported.compiler("gcc"), "-std=c11", *exported.STRICT, "-shared", "-fPIC"]
        # What programs call is defined in the header, as functions that are inlined.
        caller = tmp_path / f"{name}_caller.c"
        caller.write_text(
            f'#include "{name}.h"\nint call(int64_t *out, int32_t n, int64_t m);\n'
            "int call(int64_t *out, int32_t n, int64_t m) {\n"
            f"  return arithmetic(out, n, m, 0, 0);\n}}\n"
        )
        exported.compiled([*command, caller, written[f"{name}.c"], "-o", shared, *exported.LIBRARIES], tmp_path)
        call = ctypes.CDLL(str(shared)).call
        call.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64]
        found: list[list[int]] = []
        for n, m in VALUES:
            out = np.full(4, -77, np.int64)
            assert call(out.ctypes.data, n, m) == 0
            found.append(out.tolist())
        results.append(found)
    assert results[0] == results[1] == [expected(n, m) for n, m in VALUES]


def test_what_the_general_variant_refuses_the_exact_one_refuses(tmp_path: Path) -> None:
    @tw.jit
    def sized(out, n):
        tw.store(out + tw.arange(0, n), 1)

    package = Package("p").add(sized, "*i64, i32", shapes=[{"n": 16}])
    with pytest.raises(tw.CompileError) as caught:
        package.write(tmp_path, ["cpu:x86-64-v2"], form="c")
    assert "tw.arange(0, n)" in caught.value.rendered


def test_a_package_decides_facts_of_integers_as_launches_do(tmp_path: Path, rng: np.random.Generator) -> None:
    exposed = "int holds(int64_t rule, uint64_t bits, unsigned width) { return tw_rule_holds(rule, bits, width); }"
    needs = "const char *needs(int64_t rule) { return tw_rule_needs(rule); }"
    (tmp_path / "rules.c").write_text("\n".join(["#include <stdint.h>", *rule_functions(), exposed, needs]))
    command = [exported.compiler("gcc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    exported.compiled([*command, "rules.c", "-o", "rules.so"], tmp_path)
    library = ctypes.CDLL(str(tmp_path / "rules.so"))
    library.needs.restype = ctypes.c_char_p
    seen = set[tuple[str, bool]]()
    for number, (name, row) in enumerate(integer_rules().items()):
        assert library.needs(number).decode() == row.needs != ""
        for sign, bits in [(sign, 1 << shift) for sign in "iu" for shift in range(3, 7)]:
            random = rng.bytes(8 * 40)
            for value in (0, -1, *np.frombuffer(random, np.int64).tolist()):
                value = value % (1 << bits)
                value -= (sign == "i" and value >> (bits - 1)) << bits
                is_held = getattr(integer_facts(f"{sign}{bits}", value), name)
                assert library.holds(number, ctypes.c_uint64(value), bits) == is_held, (name, sign, bits, value)
                seen.add((name, is_held))
    assert len(seen) == 2 * len(integer_rules())


def test_packages_check_whatever_a_binary_relies_on() -> None:
    """A fact of integers by its rule, arrays by what `assume` and `near_arrays` look at."""
    relied = {row.name for row in fact_rows() if row.use in ("assumed", "provided")}
    assert relied == {"is_one", "is_disjoint", "is_large", *integer_rules()}
