"""Makes a function of another text, for kernels whose text a script replaces."""

from __future__ import annotations

import ast
import hashlib
import linecache
import textwrap
import types
from inspect import CO_VARARGS, CO_VARKEYWORDS

_STARRED = CO_VARARGS | CO_VARKEYWORDS


def function_of_text(text: str, old: types.FunctionType) -> types.FunctionType:
    """The function that `text` defines, in the module, closure and place of `old`.

    The text is that of one `def`. Names mean what they mean to `old`: its globals, and the names of
    enclosing functions that it uses itself. Defaults and annotations are those of `old` where the
    parameters have the same names. Raises SyntaxError for a text that Python cannot read, and
    ValueError for one that is no `def`.
    """
    lines = textwrap.dedent(text).splitlines(keepends=True)
    digest = hashlib.blake2b("".join(lines).encode(), digest_size=4).hexdigest()
    file = f"<{old.__name__} {digest}>"
    code = _code_of("".join(lines), file, old.__code__.co_freevars)
    new = types.FunctionType(code, old.__globals__, old.__name__, None, _cells_for(code, old))
    if _parameters(code) == _parameters(old.__code__):
        new.__defaults__, new.__kwdefaults__ = old.__defaults__, old.__kwdefaults__
        new.__annotations__ = old.__annotations__
    new.__module__, new.__qualname__, new.__doc__ = old.__module__, old.__qualname__, old.__doc__
    linecache.cache[file] = (len(text), None, lines, file)
    return new


def _cells_for(code: types.CodeType, old: types.FunctionType) -> tuple[types.CellType, ...]:
    cells = dict(zip(old.__code__.co_freevars, old.__closure__ or ()))
    return tuple(cells[name] for name in code.co_freevars)


def _parameters(code: types.CodeType) -> tuple[object, ...]:
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names, code.co_argcount, code.co_posonlyargcount, code.co_flags & _STARRED


def _code_of(text: str, file: str, free: tuple[str, ...]) -> types.CodeType:
    """The code of the function in `text`, with the names `free` of functions around it."""
    tree = ast.parse(text, file)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise ValueError("the text of a kernel is that of one `def`")
    function = tree.body[0]
    function.decorator_list = []
    if free:
        outer = ast.parse(f"def around({', '.join(free)}):\n    pass").body[0]
        assert isinstance(outer, ast.FunctionDef)
        outer.body = [function]
        tree.body = [outer]
    code = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    for _ in range(2 if free else 1):
        code = next(const for const in code.co_consts if isinstance(const, types.CodeType))
    return code
