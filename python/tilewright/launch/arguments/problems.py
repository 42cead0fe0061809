"""What is wrong with an argument, in the words of a launch, and what reading one gives."""

from __future__ import annotations

from typing import Any

from ...language.element_types import ELEMENT_TYPES
from ...native.errors import ArgumentRangeError, LaunchError

Reading = tuple[Any, Any]  # (facts, bits), or (key of a constant, the constant)

# (address of the first byte, bytes, is read-only) of the memory behind a pointer.
Memory = tuple[int, int, bool]
NO_MEMORY: Memory = (0, 0, False)


class ArgumentProblem(Exception):
    """An argument that cannot be passed; the launch adds the parameter's name."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint
        self.index = -1  # of the argument, where it was not being read

    def of_parameter(self, name: str, kernel: str) -> LaunchError:
        """The error of a launch that passed it."""
        error = ArgumentRangeError if self.code == "TW0407" else LaunchError
        message = f"argument `{name}` of {kernel}: {self.message}"
        return error(message, code=self.code, hint=self.hint)


def unknown_element_type(name: str) -> ArgumentProblem:
    """An array of a type that kernels do not have."""
    rows = [row for row in ELEMENT_TYPES if row.kind == "float" and row.library]
    floats = [row.name + f" ({row.library})" * (row.library != row.name) for row in rows]
    return ArgumentProblem(
        "TW0406",
        f"arrays of {name} cannot be passed to a kernel",
        f"element types are bool, (u)int8-64, {', '.join(floats[:-1])} and {floats[-1]}; others are "
        "passed as bytes, as with x.view(torch.uint8)",
    )


def without_memory(reason: str, hint: str = "pass a dense tensor with values") -> ArgumentProblem:
    """An array without memory that a kernel could read."""
    return ArgumentProblem("TW0409", f"it has no memory for a kernel: {reason}", hint)


def wrong_device(place: str) -> ArgumentProblem:
    """An array whose memory is neither the host's nor a GPU's that kernels run on."""
    return ArgumentProblem(
        "TW0409",
        f"the array is on {place}, where no kernel runs",
        "move it with .cpu() or .to('cuda')",
    )
