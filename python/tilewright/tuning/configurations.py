"""What autotune chooses from, and whether what it is told fits its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..native.errors import LaunchError, nearest, render, warn_user
from ..launch.arguments import constexpr_key

Arguments = dict[str, Any]


class Config:
    """One choice of a kernel's constants and launch options for `autotune`.

    `pre_hook(arguments)` runs before each launch with this configuration.
    """

    def __init__(
        self,
        kwargs: Mapping[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[..., None] | None = None,
        ir_override: str | None = None,
    ) -> None:
        self.kwargs: dict[str, Any] = dict(kwargs)
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def all_kwargs(self) -> Arguments:
        """The constants and the launch options."""
        options = {name: getattr(self, name) for name in ("num_warps", "num_stages", "num_ctas")}
        if self.maxnreg is not None:
            options["maxnreg"] = self.maxnreg
        return {**self.kwargs, **options}

    def _identity(self) -> tuple[Any, ...]:
        # Of options, `extern_libs` is a dict.
        plain = {k: tuple(v.items()) if isinstance(v, dict) else v for k, v in self.all_kwargs().items()}
        return constexpr_key(tuple(sorted(plain.items())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and (
            (self._identity(), self.pre_hook) == (other._identity(), other.pre_hook)
        )

    def __hash__(self) -> int:
        return hash((self._identity(), self.pre_hook))

    def __repr__(self) -> str:
        parts = [f"{name}: {value}" for name, value in self.all_kwargs().items()]
        return ", ".join(parts)


def _misfit(what: str, hint: str) -> LaunchError:
    return LaunchError(what, code="TW0418", hint=hint)


def _name_of(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def names_of_kernel(fn: Any) -> list[str]:
    """The parameters of what autotune decorates. Raises LaunchError TW0418 for what is not a kernel."""
    names = getattr(fn, "arg_names", None)
    if names is None:
        raise _misfit(
            f"autotune decorates kernels, not {_name_of(fn)!r}",
            "write @tw.jit below it",
        )
    return list(names)


def checked_configs(configs: Any, fn: Any) -> list[Config]:
    """The configurations as a list; none are those of the launch alone. Raises LaunchError TW0418."""
    hint = "write configs=[tw.Config({'BLOCK': 64}), ...]"
    if configs is None:
        return []
    if isinstance(configs, (str, Mapping)) or not isinstance(configs, Iterable):
        kind = type(configs).__name__
        raise _misfit(f"configs of {_name_of(fn)} is a {kind}, not a list of configurations", hint)
    given: list[Any] = list(configs)
    for config in given:
        # Libraries have configurations of their own, which offer the same.
        if not hasattr(config, "all_kwargs"):
            raise _misfit(f"configs of {_name_of(fn)} has {config!r}, which is not a tw.Config", hint)
    return given


def checked_names(option: str, names: Any, fn: Any, must_exist: bool = True) -> list[str]:
    """Names of parameters as a list. Raises LaunchError TW0418; warns where names need not exist:
    callers of Triton keep those of parameters that are gone, and an unknown one is ignored."""
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise _misfit(
            f"{option} of {_name_of(fn)} is {names!r}, not a list of names",
            f"write {option}=['name of a parameter'], or [] for none",
        )
    known = names_of_kernel(fn)
    for name in names:
        if name not in known:
            what = f"{option} of autotune names `{name}`, which is not a parameter of {_name_of(fn)}"
            error = _misfit(what, names_like(name, known))
            if must_exist:
                raise error
            warn_user(render("TW0418", what, error.hint, severity="warning").rstrip())
    return list(names)


def misfit_of_space(fn: Any, what: str, hint: str) -> LaunchError:
    """The refusal of a space that does not fit its kernel."""
    return _misfit(f"{what} (autotune of {_name_of(fn)})", hint)


def names_like(name: str, known: list[str]) -> str:
    """A hint at the name that is meant, or at all that there are."""
    close = nearest(name, known)
    return f"did you mean `{close}`?" if close else f"parameters: {', '.join(known)}"


def checked_limits(fn: Any, budget: Any, check: Any, tolerance: Any) -> None:
    """Raise LaunchError TW0418 for a budget, a check or a tolerance that means nothing."""
    for name, number in (("budget", budget), ("tolerance", tolerance)):
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if number is not None and not (is_number and number > 0):
            raise _misfit(f"{name} of {_name_of(fn)} is {number!r}, not a number above 0", f"{name}=60")
    if not (check in (None, "first", "sim") or callable(check)):
        raise _misfit(
            f"check of {_name_of(fn)} is {check!r}, which checks nothing",
            'write check="first", check="sim", a function of the arguments, or None',
        )


def submit_of(executor: Any, measure: Any, fn: Any) -> Callable[..., Any] | None:
    """What hands a function to an executor. Raises LaunchError TW0418 for what cannot."""
    submit = getattr(executor, "submit", executor)
    if submit is not None and not callable(submit):
        raise _misfit(
            f"executor of {_name_of(fn)} is a {type(executor).__name__}, which takes no work",
            "pass a concurrent.futures.Executor, or a function submit(fn, *args) that gives a Future",
        )
    if measure not in ("here", "executor") or (measure == "executor" and submit is None):
        without = "" if submit else ", without an executor"
        raise _misfit(
            f"measure of {_name_of(fn)} is {measure!r}{without}",
            'write measure="here", or measure="executor" with an executor',
        )
    return submit
