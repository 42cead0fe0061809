"""2,000 kernels with changed text: each is Python's own error, an error with a code, or runs alike on the devices.

`python test/python/fuzz/mutants/run_mutants.py` tries more of them and makes findings smaller.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import text_mutants  # noqa: E402
from mutant_rows import check_all, check_one  # noqa: E402
from source_mutations import mutate  # noqa: E402

GROUPS, GROUP_SIZE = 10, 200


@pytest.mark.parametrize("group", range(GROUPS))
def test_changed_kernels_are_refused_or_run_alike(group: int, compiler: None) -> None:
    command = [sys.executable, str(FOLDER / "run_mutants.py"), "--count", str(GROUP_SIZE), "--seed", str(group * GROUP_SIZE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = Counter({word: int(count) for word, count in (part.split() for part in done.stdout.strip().split(", "))})
    assert sum(outcomes.values()) == GROUP_SIZE
    # Most changes are mistakes; enough must be none, or nothing is compared.
    assert outcomes["ran"] >= GROUP_SIZE // 20 and outcomes["refused"] >= GROUP_SIZE // 4, outcomes


def mutant_of(text: str, device: str = "cpu") -> text_mutants.Mutant:
    original = text_mutants.Original("none", "kernel", "import tilewright as tw", text, [("out", "*int32[8]")])
    return text_mutants.Mutant(original, text, device, seed=1)


HEAD = "@tw.jit\ndef kernel(out):\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("    tw.store(out, 1)", ""),
        ("    tw.store(out, nothing)", ""),
        ("    tw.store(out", ""),
        ("    tw.store(out + 100000, 1)", ""),
        ("    while tw.load(out) < 100:\n        pass", ""),
    ],
)
def test_mistakes_are_no_findings(body: str, found: str, compiler: None) -> None:
    assert check_one(mutant_of(HEAD + body + "\n")) == found


def test_a_crash_is_a_finding(compiler: None) -> None:
    text = "import os\nos.abort()\n" + HEAD + "    tw.store(out, 1)\n"
    assert "Aborted" in check_one(mutant_of(text))


def test_an_error_without_a_code_is_a_finding(compiler: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("from within")

    import tilewright as tw

    monkeypatch.setattr(tw.JITFunction, "warmup", broken)
    assert check_one(mutant_of(HEAD + "    tw.store(out, 1)\n")).startswith("uncoded TypeError")


def test_raw_ir_is_a_finding() -> None:
    import tilewright as tw

    with pytest.raises(text_mutants.Finding, match="raw IR"):
        text_mutants.judge(tw.CompileError("'tile.load' op operand #0 must be", code="TW0101"))
    with pytest.raises(text_mutants.Finding, match="TW0901"):
        text_mutants.judge(tw.InternalError("a pass failed", code="TW0901"))


def test_findings_do_not_end_the_row(compiler: None) -> None:
    texts = ["os.abort()", "pass", "os._exit(3)", "pass"]
    rows = [mutant_of(f"import os\n{text}\n{HEAD}    tw.store(out, 1)\n") for text in texts]
    outcomes: Counter[str] = Counter()
    found = list(check_all(lambda seed: text_mutants.Mutant(**{**vars(rows[seed]), "seed": seed}), range(4), outcomes))
    assert [f.mutant.seed for f in found] == [0, 2]
    assert outcomes["ran"] == 2


def test_a_seed_always_gives_the_same_mutant() -> None:
    assert text_mutants.draw(7).text == text_mutants.draw(7).text
    text = text_mutants.recorded()[0].text
    changed = {mutate(text, random.Random(seed), text_mutants.names()) for seed in range(40)}
    assert len(changed) > 25 and text not in changed
