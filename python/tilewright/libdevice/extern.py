"""Functions by the symbols of a library of bitcode.

Symbols of CUDA's device library are those of the libdevice User's Guide. None of them is linked:
each means the function of `tw.libdevice` that computes the same, on every target. Others are looked
up in the files that the launch names (`extern_libs`).
"""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..native.errors import CompileError
from . import names as libdevice
from ..language.dtypes import dtype, tensor
from ..language.marks import constexpr_function, library_function
from ..language.static import constexpr, unwrap
from ..language.tile import Value, extern_call, static_assert, static_range, to_tensor

_NAMES = tuple(libdevice.__all__)
_FUNCTIONS = tuple(getattr(libdevice, name) for name in _NAMES)
_POSITIONS = {name: position for position, name in enumerate(_NAMES)}
# Those whose symbols follow no rule.
_ODD = {"fast_fdividef": "fast_dividef", "powi": "pow", "powif": "pow"}
# A symbol says its types: acosf and isnand of acos and isnan, fadd_rn and dadd_rn of add_rn,
# fmaf_rn of fma_rn, popcll of popc, llabs of abs.
_RULES = (
    (r"(\w+)", r"\1"), (r"(\w+)[fd]", r"\1"), (r"[fd](\w+_r[nzdu])", r"\1"),
    (r"(\w+)f(_r[nzdu])", r"\1\2"), (r"(\w+)ll", r"\1"), (r"ll(\w+)", r"\1"),
)  # fmt: skip


def _names_of(symbol: str) -> Iterator[str]:
    """The names of functions that a symbol may stand for, the likeliest first."""
    plain = symbol.removeprefix("__nv_")
    yield _ODD.get(plain, plain)
    for pattern, name in _RULES:
        if match := re.fullmatch(pattern, plain):
            yield match.expand(name)


def function_of_symbol(symbol: str) -> str:
    """The name in `tw.libdevice` of what `__nv_acosf` and such mean; empty for other symbols."""
    if not symbol.startswith("__nv_"):
        return ""
    return next((name for name in _names_of(symbol) if name in _POSITIONS), "")


def _misfit(what: str) -> CompileError:
    return CompileError(
        f"the table of extern_elementwise {what}",
        code="TW0361",
        hint='write {(tl.float32,): ("__nv_acosf", tl.float32)}: the types of the arguments, and the '
        "symbol with the type of its result",
    )


def _is_tuple_of_types(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(unwrap(v), dtype) for v in value)


def _rows_of(table: Any) -> dict[tuple[dtype, ...], tuple[str, dtype]]:
    """Types of arguments to (symbol, type of the result). Raises CompileError TW0361 for what is
    not such a table."""
    table = unwrap(table)
    if not isinstance(table, Mapping):
        raise _misfit(f"is {_described(table)}, not a dict")
    rows: dict[tuple[dtype, ...], tuple[str, dtype]] = {}
    for types, row in table.items():
        types, row = unwrap(types), unwrap(row)
        if not _is_tuple_of_types(types):
            raise _misfit(f"has the key {_described(types)}, not a tuple of types")
        if not isinstance(row, (tuple, list)) or len(row) != 2:
            raise _misfit(f"has {_described(row)} where a symbol and a type should be")
        symbol, result = map(unwrap, row)
        if not isinstance(symbol, str):
            raise _misfit(f"has {_described(symbol)} as a symbol, not a text")
        if not isinstance(result, dtype) or result.is_ptr():
            raise _misfit(f"has {_described(result)} as the type of a result")
        rows[tuple(map(unwrap, types))] = symbol, result
    return rows


def _described(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float, str, dtype)):
        return repr(value)
    return f"{value!r} (a {type(value).__name__})"


def _row_of(table: Any, kinds: Any) -> tuple[str, dtype] | None:
    """(symbol, type of the result) for arguments of the types `kinds`."""
    rows = _rows_of(table)
    counts = {len(types) for types in rows}
    if len(kinds) not in counts:
        known = " and ".join(map(str, sorted(counts))) or "no"
        raise _misfit(f"has rows for {known} arguments, and {len(kinds)} are passed")
    return rows.get(tuple(unwrap(kind) for kind in kinds))


@constexpr_function
def _has_row(table: Any, kinds: Any) -> bool:
    return _row_of(table, kinds) is not None


@constexpr_function
def _result_of(table: Any, kinds: Any) -> dtype:
    row = _row_of(table, kinds)
    assert row is not None
    return row[1]


@constexpr_function
def _position_of(table: Any, kinds: Any) -> int:
    """Where in `_FUNCTIONS` the function is; -1 where CUDA's library has no such symbol."""
    row = _row_of(table, kinds)
    return _POSITIONS.get(function_of_symbol(row[0]) if row else "", -1)


@constexpr_function
def _symbol_of(table: Any, kinds: Any) -> str:
    row = _row_of(table, kinds)
    assert row is not None
    return row[0]


@constexpr_function
def _no_row(table: Any, kinds: Any) -> str:
    known = ", ".join(f"({', '.join(map(str, types))})" for types in unwrap(table))
    return f"there is no symbol for arguments of ({', '.join(map(str, kinds))}), but for {known}"


@library_function
def _common(args):
    """A value of the type that all arguments promote to."""
    whole = to_tensor(args[0])
    for i in static_range(1, len(args)):
        whole = whole + args[i]
    return whole


@library_function
def extern_elementwise(
    lib_name: constexpr, lib_path: constexpr, args: Value, arg_type_symbol_dict: constexpr,
    is_pure: constexpr = True,
) -> tensor:  # fmt: skip
    """The function whose symbol `arg_type_symbol_dict` names for the types of `args`, element by element.

    `{(tw.float32,): ("__nv_acosf", tw.float32)}` maps the types of the arguments to a symbol and the
    type of the result. Arguments of other types are promoted to their common type. `lib_name` and
    `lib_path` say nothing more: symbols of CUDA's device library are built in, on every device, and
    others are those of the bitcode that the launch gives, `extern_libs={"name": "path/of/it.bc"}`.
    """
    own: constexpr = tuple([to_tensor(arg).dtype for arg in args])
    if _has_row(arg_type_symbol_dict, own):
        kinds: constexpr = own
    else:
        common: constexpr = _common(args).dtype
        kinds: constexpr = tuple([common for _ in args])
    static_assert(_has_row(arg_type_symbol_dict, kinds), _no_row(arg_type_symbol_dict, kinds))
    position: constexpr = _position_of(arg_type_symbol_dict, kinds)
    values = tuple([to_tensor(args[i]).to(kinds[i]) for i in range(len(args))])
    if position < 0:
        static_assert(
            _symbol_of(arg_type_symbol_dict, kinds) != "", "the table has an empty symbol for these types"
        )
        return extern_call(
            _symbol_of(arg_type_symbol_dict, kinds), values,
            _result_of(arg_type_symbol_dict, kinds), is_pure,
        )  # fmt: skip
    return _FUNCTIONS[position](*values).to(_result_of(arg_type_symbol_dict, kinds))


__all__ = ["extern_elementwise"]
