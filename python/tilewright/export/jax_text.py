"""The text of Python that every module of `--form jax` begins with."""

HEAD = '''\
"""The kernels of {package} as functions of JAX's arrays: within jit, vmap (one launch after another),
shard_map, and derivatives where a kernel has a backward pass. Its library {package}.so lies beside it.
Arrays go by position or name, numbers are numbers of Python; `grid` is one to three integers, where
the package computes none."""

import ctypes as _ctypes
import operator as _operator
import pathlib as _pathlib

import jax as _jax
import jax.numpy as _jnp
import numpy as _np

__all__ = {names}
_tw_library = _ctypes.CDLL(str(_pathlib.Path(__file__).resolve().with_name("{package}.so")))
for _tw_name in __all__:
    for _tw_platform, _tw_ending in (("cpu", "cpu"), ("CUDA", "cuda"), ("ROCM", "hip")):
        _jax.ffi.register_ffi_target(
            f"{package}.{{_tw_name}}",
            _jax.ffi.pycapsule(getattr(_tw_library, f"{{_tw_name}}_xla_{{_tw_ending}}")),
            platform=_tw_platform,
        )


def _tw_cdiv(a, b):
    return -(-a // b)


_tw_min, _tw_max = min, max


def _tw_array(kernel, name, value, dtype):
    value = _jnp.asarray(value)
    if value.dtype != _jnp.dtype(dtype):
        raise TypeError(
            f"TW0822: the argument `{{name}}` of {{kernel}} is of {{value.dtype}}, and the package takes {{dtype}}"
        )
    return value


def _tw_integer(name, value, type):
    value, bits, is_signed = _operator.index(value), int(type[1:]), type[0] == "i"
    least = -(1 << (bits - 1)) if is_signed else 0
    if not least <= value < min(least + (1 << bits), 1 << 63):
        raise OverflowError(f"TW0822: the argument `{{name}}` is {{value}}, which {{type}} does not have")
    return _np.int64(value)


def _tw_stride(kernel, name, value, dimension, rank):
    if value.ndim != rank:
        raise ValueError(
            f"TW0822: the argument `{{name}}` of {{kernel}} has {{value.ndim}} dimensions, not {{rank}}"
        )
    step = 1
    for extent in value.shape[dimension + 1 :]:
        step *= extent
    return step


def _tw_call(kernel, results, numbers, grid):
    for _, dtype in results:
        if _jax.dtypes.canonicalize_dtype(_jnp.dtype(dtype)) != _jnp.dtype(dtype):
            raise TypeError(f"TW0822: {{kernel}} returns {{dtype}}, for which JAX needs jax_enable_x64")
    extents = () if grid is None else tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    if len(extents) > 3 or not all(0 <= _operator.index(extent) < 1 << 31 for extent in extents):
        raise ValueError(f"TW0818: {{grid}} is not a grid of one to three extents")
    extents = {{f"grid{{axis}}": _np.int64(extent) for axis, extent in enumerate(extents)}}
    specs = [_jax.ShapeDtypeStruct(tuple(shape), _jnp.dtype(dtype)) for shape, dtype in results]
    foreign = _jax.ffi.ffi_call(f"{package}.{{kernel}}", specs, vmap_method="sequential")

    def call(*arrays):
        found = foreign(*arrays, **numbers, **extents)
        return found[0] if len(found) == 1 else tuple(found)

    return _tw_without_derivative(kernel, call, results)


def _tw_without_derivative(kernel, call, results):
    function = _jax.custom_jvp(call)

    @function.defjvp
    def refuse(primals, tangents):
        if any(_jnp.issubdtype(_jnp.dtype(dtype), _jnp.inexact) for _, dtype in results):
            raise NotImplementedError(
                f"TW0445: this derivative of {{kernel}} has no rule: package.as_operator(..., backward=) gives "
                "one for the first derivative in reverse"
            )
        zeros = tuple(_np.zeros(shape, _jax.dtypes.float0) for shape, _ in results)
        return call(*primals), zeros[0] if len(zeros) == 1 else zeros

    return function


def _tw_differentiable(kernel, call, names, results, backward, takes, gives, numbers):
    function = _jax.custom_vjp(call)

    def forward(*arrays):
        for name, array in zip(names, arrays):
            if array.perturbed and f"grad_{{name}}" not in gives:
                if _jnp.issubdtype(array.value.dtype, _jnp.inexact):
                    raise NotImplementedError(
                        f"TW0445: the derivative of {{kernel}} by `{{name}}` has no rule: its backward pass "
                        f"returns no grad_{{name}}"
                    )
        values = tuple(array.value for array in arrays)
        returned = call(*values)
        return returned, (values, returned if isinstance(returned, tuple) else (returned,))

    def reverse(saved, gradients):
        values, returned = saved
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        known = {{**numbers, **dict(zip(names, values)), **dict(zip(results, returned))}}
        for name, gradient in zip(results, gradients):
            if isinstance(gradient, _jax.custom_derivatives.SymbolicZero):
                gradient = _jnp.zeros(gradient.shape, gradient.dtype)
            known[f"grad_{{name}}"] = gradient
        found = backward(**{{name: known[name] for name in takes}})
        found = dict(zip(gives, found if isinstance(found, tuple) else (found,)))
        return tuple(found.get(f"grad_{{name}}") for name in names)

    function.defvjp(forward, reverse, symbolic_zeros=True)
    return function'''
