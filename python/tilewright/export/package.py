"""Kernels, signatures and specializations that are exported together, and the files they become."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..native.version import __version__
from ..native.errors import UnsupportedError
from ..compile.facts import parse_facts
from ..tuning.autotune import Autotuner
from ..launch.jit import JITFunction
from ..native import native
from .entries import read_signature
from .archive import build_archive, build_library
from .code import launcher_file, write_code
from .compiled import Code, checked_targets, codes_for, describe_code, side_by_side
from .frameworks import FRAMEWORKS, JAX, check_operators
from .grid import split_grid
from .header import ABI, interface_of, write_header
from .jax_module import write_module
from .names import check_name, check_parameters
from .operator_rules import OperatorRules, read_rules
from .operators import write_operators
from .specializations import (
    Argument,
    Specialization,
    arguments_of,
    assume,
    checked_shapes,
    in_order,
    several_signatures,
    undecided,
)
from .tuned import Choice, choices_of, ranged
from .wrapped import refuse_choices, unwrapped

_FORMS = ("a", "c", "torch", *FRAMEWORKS)
_MOST_ARGUMENTS = 64  # TW_MAX_ARGUMENTS of runtime/aot/Tables.h


@dataclass
class ExportedKernel:
    """A kernel under its name in C."""

    name: str
    kernel: JITFunction
    specializations: list[Specialization]
    shapes: set[str]
    arguments: tuple[Argument, ...] = ()
    codes: list[list[Code]] = field(default_factory=list[list[Code]])
    rules: OperatorRules = field(default_factory=OperatorRules)

    @property
    def near_arrays(self) -> set[str]:
        """The names of arrays that some specialization accesses by offsets of 32 bits."""
        facts = [item for specialization in self.specializations for item in specialization.facts().items()]
        return {name for name, fact in facts if fact.is_pointer and not fact.is_large}

    @property
    def summary(self) -> str:
        """The first line of the kernel's documentation."""
        return (inspect.getdoc(self.kernel.fn) or "").partition("\n")[0]


class Package:
    """Kernels for programs in C and C++, compiled ahead of time.

    `add` names a kernel with what it is compiled for, `write` compiles everything for some targets and
    writes NAME.h, NAME.a (or NAME.c) and NAME.json.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.kernels: dict[str, ExportedKernel] = {}
        check_name(name)

    def add(
        self,
        kernel: Any,
        signature: str | Mapping[str, str] | Sequence[str | Mapping[str, str]] = "",
        constexpr: Mapping[str, Any] | None = None,
        *,
        shapes: Iterable[Mapping[str, int]] = (),
        grid: str | int | Sequence[str | int] | None = None,
        name: str = "",
        tuned: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Package:
        """Add specializations of a kernel; returns the package.

        `signature` is one or several of "x=*fp32:16, n=i32" or {"x": "*fp32:16"} (see
        JITFunction.compile), `constexpr` the values of compile-time constants. Each of `shapes`, as in
        {"M": 4096}, makes a specialization of the first signature for just these values, which gives
        the same results as the general one (of parameters declared tw.constexpr: a constant). `grid` is an
        expression of integers and parameters such as "cdiv(n, BLOCK)", one for each axis; without it
        launches give the grid. `options` are num_warps and the like. A second call with the same name
        adds to it. `tuned` is a store of autotuning (`tilewright tune export`): a kernel under autotune then
        has its configuration of each key for just the key's integers, and for all others the one
        that was the least slower than the best over all keys. Where its autotune has a `bucket`, launches
        take the configuration of the group that is the nearest. Raises UnsupportedError TW0801, TW0802 or
        TW0804, and LaunchError TW0425 or TW0426 for a store.
        """
        if tuned is not None:
            if [*shapes] or options:
                what = "shapes and options are given beside tuned=, whose choices have theirs"
                raise undecided(self.name, what, "leave them out")
            return self._add_from_store(kernel, tuned, signature, constexpr, grid, name)
        function = unwrapped(kernel)
        refuse_choices(kernel, constexpr, options)
        entry = self._entry(function, name)
        exact = checked_shapes(entry.name, shapes)
        expressions = split_grid(grid) if grid is not None else ()
        for number, text in enumerate(several_signatures(entry.name, signature)):
            types, constants = self._read(function, text, dict(constexpr or {}))
            for shape in exact if number == 0 else []:
                rest = {key: value for key, value in types.items() if key not in shape}
                entry.specializations.append(
                    Specialization(rest, {**constants, **shape}, options, expressions)
                )
            if self._is_whole(function, types, constants):
                entry.specializations.append(Specialization(types, constants, options, expressions))
            elif not exact:
                self._refuse_missing(function, types, constants)
        entry.shapes |= {key for shape in exact for key in shape}
        self.kernels[entry.name] = entry
        return self

    def add_tuned(
        self,
        tuned: Autotuner,
        signature: str | Mapping[str, str] = "",
        constexpr: Mapping[str, Any] | None = None,
        *,
        grid: str | int | Sequence[str | int] | None = None,
        name: str = "",
    ) -> Package:
        """Add what autotuning chose: for each key that it has met, a specialization for the key's
        integers (of the nearest group, where it has a `bucket`) with the constants and options of the best
        configuration. Shapes that it has not met
        need an `add` beside it. Returns the package. Raises UnsupportedError TW0801 where nothing was
        chosen yet."""
        if not isinstance(tuned, Autotuner):  # pyright: ignore[reportUnnecessaryIsInstance]
            what = f"add_tuned takes a kernel under @tw.autotune, not a {type(tuned).__name__}"
            raise undecided(self.name, what, "add takes any other")
        function = unwrapped(tuned)
        refuse_choices(tuned.fn, constexpr, {})
        entry = self._entry(function, name)
        if not tuned.cache:
            hint = "launch the kernel for the shapes that are to ship"
            raise undecided(entry.name, "autotuning has chosen nothing yet", hint)
        # (tuple, (type, value) of each key argument, element types)
        chosen = [
            Choice(best, {n: value[1] for n, value in zip(tuned.keys, key[1:]) if value[0] is int})
            for key, best in tuned.cache.items()
        ]
        types, _ = self._read(function, signature, dict(constexpr or {}))
        for choice in ranged(chosen, tuned, types):
            self._add_choice(entry, signature, constexpr, choice, grid)
        self.kernels[entry.name] = entry
        return self

    def _add_choice(
        self, entry: ExportedKernel, signature: str | Mapping[str, str],
        constexpr: Mapping[str, Any] | None, choice: Choice,
        grid: str | int | Sequence[str | int] | None,
    ) -> None:  # fmt: skip
        """A specialization with the constants and options of a configuration, for some integers."""
        function = entry.kernel
        names = [parameter.name for parameter in function.parameters]
        chosen = {n: value for n, value in choice.config.all_kwargs().items() if value is not None}
        values = {name: value for name, value in chosen.items() if name in names}
        options = {name: value for name, value in chosen.items() if name not in names}
        types, constants = self._read(function, signature, {**(constexpr or {}), **values})
        types = {name: value for name, value in types.items() if name not in choice.exact}
        constants |= choice.exact
        if not self._is_whole(function, types, constants):
            self._refuse_missing(function, types, constants)
        expressions = split_grid(grid) if grid is not None else ()
        entry.specializations.append(
            Specialization(types, constants, options, expressions, ranges=choice.ranges)
        )
        entry.shapes |= {*choice.exact}

    def _add_from_store(
        self, kernel: Any, store: str | os.PathLike[str], signature: Any,
        constexpr: Mapping[str, Any] | None, grid: str | int | Sequence[str | int] | None, name: str,
    ) -> Package:  # fmt: skip
        """Add what a store says of a kernel: see `add`."""
        entry = self._entry(unwrapped(kernel), name)
        for text in several_signatures(entry.name, signature):
            types, _ = self._read(entry.kernel, text, dict(constexpr or {}))
            for choice in choices_of(kernel, store, types):
                self._add_choice(entry, text, constexpr, choice, grid)
        self.kernels[entry.name] = entry
        return self

    def as_operator(
        self,
        name: str,
        *,
        outputs: Mapping[str, str] | None = None,
        strides: Mapping[str, str | Sequence[str | int]] | None = None,
        backward: str = "",
        vmap: str = "",
    ) -> Package:
        """Say what `--form torch`, `jax` and `onnxruntime` make of the kernel `name`; returns the package.

        `outputs` names the arrays that the operator allocates and returns, with the shape of each: the
        name of an array that callers pass, or extents as in "M, cdiv(N, 2)". Other tensors must be
        contiguous, unless `strides` has them: "stride_m, 1" is a parameter that the operator reads from
        the tensor and leaves out of its schema, and a number that the stride must be; "any" leaves it
        to the caller. `backward` names a kernel of the package whose operator gives the gradients: it
        takes arguments and results of this one by name, and grad_RESULT, and returns grad_ARGUMENT.
        `vmap` names a kernel whose operator torch.func.vmap calls once for a batch: it takes arguments of
        this one by name, arrays with the batch as the first dimension, and its extent as `batch`, and
        returns the same arrays; without it torch calls this one for each of the batch.
        Raises KeyError for a name that was not added; `write` raises UnsupportedError TW0803 where
        the rules do not fit the kernels.
        """
        self.kernels[name].rules = read_rules(outputs or {}, strides or {}, backward, vmap)
        return self

    def _entry(self, function: JITFunction, name: str) -> ExportedKernel:
        """The kernel of a name, known or new."""
        name = name or function.fn.__name__
        check_name(name)
        known = self.kernels.get(name)
        if known and known.kernel is not function:
            raise UnsupportedError(
                f"the package {self.name} has a kernel {name} already",
                code="TW0802",
                hint="name one of them: package.add(kernel, ..., name='another')",
            )
        return known or ExportedKernel(name, function, [], set())

    def _read(
        self, function: JITFunction, text: str | Mapping[str, str], constants: dict[str, Any]
    ) -> tuple[dict[str, str], dict[str, Any]]:
        names = [parameter.name for parameter in function.parameters]
        types = read_signature(text, names, constants) if isinstance(text, str) else dict(text)
        for name, entry in types.items():
            if isinstance(entry, (tuple, list)):
                raise undecided(function.fn.__name__, f"`{name}` is a tuple")
            try:
                parse_facts(entry)
            except ValueError as error:
                raise undecided(function.fn.__name__, f"`{name}`: {error}") from None
        for name in (*types, *constants):
            if name not in names:
                raise undecided(function.fn.__name__, f"there is no parameter `{name}`")
        for p in function.parameters:
            if p.annotated_type and p.name not in types and p.name not in constants:
                types[p.name] = p.annotated_type.short_name
        defaults = {
            p.name: p.default
            for p in function.parameters
            if p.is_constant and p.default is not inspect.Parameter.empty and p.name not in types
        }
        return types, {**defaults, **constants}

    def _missing(
        self, function: JITFunction, types: Mapping[str, str], constants: Mapping[str, Any]
    ) -> list[str]:
        return [
            p.name
            for p in function.parameters
            if p.name not in types and p.name not in constants
        ]

    def _is_whole(
        self, function: JITFunction, types: Mapping[str, str], constants: Mapping[str, Any]
    ) -> bool:
        return not self._missing(function, types, constants)

    def _refuse_missing(
        self, function: JITFunction, types: Mapping[str, str], constants: Mapping[str, Any]
    ) -> None:
        missing = ", ".join(f"`{name}`" for name in self._missing(function, types, constants))
        raise undecided(
            function.fn.__name__,
            f"neither a type nor a value is given for {missing}",
            "add entries to the signature, or values to constexpr or shapes",
        )

    def write(
        self,
        directory: str | os.PathLike[str],
        targets: Sequence[str],
        form: str = "a",
        tvm_ffi: bool = False,
    ) -> dict[str, Path]:
        """Compile for `targets` ("nvidia:sm_80", "amd:gfx942", "cpu:x86-64-v3", ...) and write the files; their
        paths by name. `form` is "a" (an archive, which needs a C compiler), "c" (one file of C), "torch"
        (an archive, and a file of C++ that registers the kernels as torch.ops.PACKAGE.NAME), "jax" (a shared
        library NAME.so, and the module NAME_jax.py of functions of JAX's arrays) or "onnxruntime" (NAME.so,
        a library of custom operators for ONNX Runtime, in the domain NAME). `tvm_ffi`
        adds `__tvm_ffi_NAME`, which tvm_ffi.load_module finds in a shared library: it takes the arguments
        in order, and up to three extents of the grid behind them."""
        if form not in _FORMS:
            raise ValueError(f"form={form!r} is not one of {', '.join(_FORMS)}")
        if not self.kernels:
            raise undecided(self.name, "the package has no kernel")
        chosen = checked_targets(self.name, targets)
        kernels = [self._compile(kernel, chosen) for kernel in self.kernels.values()]
        self._check_functions(kernels)
        header = write_header(self.name, kernels, chosen, launcher_file("Public.h"), __version__)
        framework = FRAMEWORKS.get(form)
        if framework:
            check_operators(framework, kernels)
        code = write_code(self.name, kernels, tvm_ffi, framework)
        files: dict[str, bytes] = {f"{self.name}.h": header.encode()}
        if form == "c":
            files[f"{self.name}.c"] = code.encode()
        else:
            sources = {f"{self.name}.h": header, f"{self.name}.c": code}
            if framework:
                files[f"{self.name}.so"] = build_library(self.name, sources)
            else:
                files[f"{self.name}.a"] = build_archive(self.name, sources)
        if framework is JAX:
            files[f"{self.name}_jax.py"] = write_module(self.name, kernels).encode()
        if form == "torch":
            files[f"{self.name}_torch.cpp"] = write_operators(self.name, kernels).encode()
        manifest = self._manifest(kernels, chosen, form, files)
        files[f"{self.name}.json"] = (json.dumps(manifest, indent=1) + "\n").encode()
        return write_files(Path(directory), files)

    def _check_functions(self, kernels: Sequence[ExportedKernel]) -> None:
        names = [f"{self.name}_{end}" for end in ("load", "unload", "set_threads", "set_parallel_for")]
        for kernel in kernels:
            names += [kernel.name, f"{kernel.name}_run", f"{kernel.name}_launch"]
        for name in names:
            if names.count(name) > 1:
                raise UnsupportedError(
                    f"two functions of the package {self.name} are called {name}",
                    code="TW0802",
                    hint="give the kernel or the package another name",
                )

    def _compile(self, asked: ExportedKernel, targets: Sequence[str]) -> ExportedKernel:
        """The kernel with its code for every specialization and target."""
        function = asked.kernel
        parameters = [parameter.name for parameter in function.parameters]
        arguments = arguments_of(asked.name, parameters, asked.specializations, asked.shapes)
        check_parameters(asked.name, [argument.name for argument in arguments])
        if len(arguments) > _MOST_ARGUMENTS:
            raise undecided(asked.name, f"there are more than {_MOST_ARGUMENTS} run-time arguments")
        declared = {parameter.name for parameter in function.parameters if parameter.is_constant}
        specializations = [s.made_exact(arguments, declared) for s in asked.specializations]
        codes: dict[int, list[Code]] = {}
        stored: set[str] = set()
        for specialization in specializations:
            made = side_by_side(partial(codes_for, function, specialization), targets)
            codes[id(specialization)] = [code for several, _ in made for code in several]
            stored.update(*(names for _, names in made))
        arguments = tuple(a_with_stores(argument, stored) for argument in arguments)
        for specialization in specializations:
            assume(specialization, asked.name, arguments)
        ordered = in_order(asked.name, specializations, arguments)
        return ExportedKernel(
            asked.name, function, ordered, asked.shapes, arguments, [codes[id(s)] for s in ordered],
            asked.rules,
        )  # fmt: skip

    def _manifest(
        self, kernels: Sequence[ExportedKernel], targets: Sequence[str], form: str,
        files: Mapping[str, bytes],
    ) -> dict[str, Any]:  # fmt: skip
        fields: dict[str, Any] = {
            "package": self.name,
            "abi": ABI,
            "tilewright": __version__,
            "build": native().build_id(),
            "form": form,
            "targets": list(targets),
            "kernels": [_manifest_of(kernel) for kernel in kernels],
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        }
        return {**fields, "digest": digest_of_manifest(fields)}


def a_with_stores(argument: Argument, stored: set[str]) -> Argument:
    """The argument, and whether any specialization writes through it."""
    return Argument(argument.name, argument.type, argument.is_pointer, argument.name in stored)


def digest_of_manifest(fields: Mapping[str, Any]) -> str:
    """What the manifest says of itself: the digest of its other fields, however they are laid out."""
    others = {key: value for key, value in fields.items() if key != "digest"}
    return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


def _manifest_of(kernel: ExportedKernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "interface": f"{interface_of(kernel.name, kernel.arguments):#x}",
        "arguments": [
            {
                "name": a.name,
                "type": ("*" if a.is_pointer else "") + a.type,
                "c_type": a.c_type.strip(),
                "written": a.is_stored,
            }
            for a in kernel.arguments
        ],
        "variants": [
            {
                "facts": specialization.types,
                "ranges": {key: [*ends] for key, ends in sorted(specialization.ranges.items())},
                "constants": {key: repr(v) for key, v in sorted(specialization.constants.items())},
                "options": {key: repr(v) for key, v in sorted(specialization.options.items())},
                "grid": list(specialization.grid),
                "codes": [describe_code(code) for code in codes],
            }
            for specialization, codes in zip(kernel.specializations, kernel.codes)
        ],
    }


def write_files(directory: Path, files: Mapping[str, bytes]) -> dict[str, Path]:
    """Write the files, each whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = {name: directory / name for name in files}
    for name, data in files.items():
        unfinished = directory / f".{name}.{os.getpid()}"
        try:
            unfinished.write_bytes(data)
            unfinished.replace(paths[name])
        finally:
            unfinished.unlink(missing_ok=True)
    return paths
