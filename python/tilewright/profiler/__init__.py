"""Records launches: how long each kernel ran, under the scopes that the program names."""

from __future__ import annotations

from .ranges import named_ranges as named_ranges
from .scopes import enter_scope as enter_scope
from .scopes import enter_state as enter_state
from .scopes import exit_scope as exit_scope
from .scopes import exit_state as exit_state
from .scopes import scope as scope
from .scopes import state as state
from .scopes import timed_scope as timed_scope
from .sessions import activate as activate
from .sessions import clear as clear
from .sessions import deactivate as deactivate
from .sessions import finalize as finalize
from .sessions import is_recording as is_recording
from .sessions import profile as profile
from .sessions import records as records
from .sessions import start as start
