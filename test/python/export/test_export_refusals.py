"""What an export refuses, and how it says so; and that the same input gives the same bytes."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import export_kernels
import exported
import numpy as np
import pytest
import tilewright as tw
from tilewright.tools.cli import main

pytestmark = pytest.mark.usefixtures("compiler")
SCALE = "*fp32, *fp32, i32"
CPU = ["cpu:x86-64-v3"]


def package() -> Any:
    return tw.Package("p")


def refusal(act: Callable[[], object]) -> tw.UnsupportedError:
    with pytest.raises(tw.UnsupportedError) as caught:
        act()
    return caught.value


@tw.jit
def takes_tuple(pair, out):
    tw.store(out, pair[0])


@tw.jit
def narrow(x, out):
    tw.store(out, x.to(tw.float32))


def test_a_parameter_without_a_type_or_value() -> None:
    error = refusal(lambda: package().add(export_kernels.scale, "n=i32"))
    assert error.code == "TW0801" and "`x`, `out`" in str(error)


def test_an_unknown_parameter_and_a_bad_type() -> None:
    error = refusal(lambda: package().add(export_kernels.scale, SCALE, {"BLOK": 64}))
    assert error.code == "TW0801" and "BLOK" in str(error)
    error = refusal(lambda: package().add(export_kernels.scale, "*fp32, *fp32, int33"))
    assert error.code == "TW0801" and "did you mean int32" in str(error)


def test_tuples_and_numbers_that_c_does_not_have() -> None:
    error = refusal(lambda: package().add(takes_tuple, {"pair": ("fp32",), "out": "*fp32"}))
    assert error.code == "TW0801" and "`pair` is a tuple" in str(error)
    narrow_number = package().add(narrow, "fp8e5, *fp32")
    assert refusal(lambda: narrow_number.write("/nonexistent", CPU)).code == "TW0801"


def test_types_that_differ_between_specializations() -> None:
    both = package().add(export_kernels.scale, [SCALE, "*fp32, *fp32, i64"])
    error = refusal(lambda: both.write("/nonexistent", CPU))
    assert error.code == "TW0801" and "`n` is i32 in one specialization and i64" in str(error)


def test_two_kernels_of_one_name(tmp_path: Path) -> None:
    one = package().add(export_kernels.scale, SCALE)
    assert refusal(lambda: one.add(narrow, "fp32, *fp32", name="scale")).code == "TW0802"
    clash = tw.Package("scale").add(export_kernels.scale, SCALE)
    clash.add(export_kernels.scale, SCALE, name="scale_load")
    assert "called scale_load" in str(refusal(lambda: clash.write(tmp_path, CPU, form="c")))


def test_two_specializations_that_assume_the_same() -> None:
    twice = package().add(export_kernels.scale, [SCALE, SCALE])
    error = refusal(lambda: twice.write("/nonexistent", CPU))
    assert error.code == "TW0802" and "assume the same" in str(error)


@pytest.mark.parametrize(
    "name",
    ["2d", "a-b", "tw_scale", "größe", "", "_Fast", None, "while", "not", "linux", "typeof", "main"]
    + ["printf", "expf", "memcpy", "uint32_t", "INT64_C"],
)
def test_names_that_c_does_not_have(name: Any) -> None:
    assert refusal(lambda: tw.Package(name)).code == "TW0802"


@pytest.mark.parametrize("target", ["cpu", "reference", "sim:sm_80", "cuda:0", "hip:0"])
def test_targets_without_code_of_their_own(target: str, tmp_path: Path) -> None:
    one = package().add(export_kernels.scale, SCALE)
    assert refusal(lambda: one.write(tmp_path, [target])).code == "TW0803"
    assert not list(tmp_path.iterdir())


def test_code_that_needs_the_compilers_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = package().add(export_kernels.scale, SCALE, debug=True)
    error = refusal(lambda: checked.write(tmp_path, CPU, form="c"))
    assert error.code == "TW0803" and "code calls tw_device_" in str(error)


@pytest.mark.parametrize("grid", ["math.ceil(n / BLOCK)", "n[0]", "m", "x", "1, 2, 3, 4", "n +", ""])
def test_grids_that_cannot_be_written_in_c(grid: str, tmp_path: Path) -> None:
    def write() -> None:
        package().add(export_kernels.scale, SCALE, grid=grid).write(tmp_path, CPU, form="c")

    assert refusal(write).code == "TW0804"


def test_no_c_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = package().add(export_kernels.scale, SCALE)
    monkeypatch.setenv("CC", "/nonexistent/cc")
    error = refusal(lambda: one.write(tmp_path, CPU))
    assert error.code == "TW0805" and "/nonexistent/cc" in str(error)
    monkeypatch.setenv("CC", "false")
    assert "failed" in str(refusal(lambda: one.write(tmp_path, CPU)))
    assert sorted(one.write(tmp_path, CPU, form="c")) == ["p.c", "p.h", "p.json"]


def test_the_same_bytes_wherever_it_is_made(tmp_path: Path) -> None:
    made: list[dict[str, bytes]] = []
    for name, changed in [("one", {}), ("another", {"LC_ALL": "C", "HOME": "/", "PYTHONHASHSEED": "7"})]:
        folder = tmp_path / name / "kernels"
        folder.mkdir(parents=True)
        source = folder.parent / "export_kernels.py"
        shutil.copy(exported.KERNELS, source)
        targets = f"nvidia:sm_80,{exported.CPU_TARGETS}"
        done = exported.export(folder, targets, kernel=f"{source}:package", **changed)
        assert done.returncode == 0, done.stderr
        made.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert made[0].keys() == made[1].keys()
    assert [name for name in made[0] if made[0][name] != made[1][name]] == []
    assert str(tmp_path).encode() not in b"".join(made[0].values())


def test_the_manifest_tells_what_is_there(tmp_path: Path) -> None:
    written = tw.export(
        export_kernels.scale,
        tmp_path,
        ["*fp32, *fp32, i32", "*fp32:16, *fp32:16, i32:16"],
        shapes=[{"n": 4096}],
        grid="cdiv(n, BLOCK)",
        targets=["cpu:x86-64-v3", "nvidia:sm_80", "nvidia:sm_90a"],
        form="c",
    )
    manifest = json.loads(written["scale.json"].read_text())
    (kernel,) = manifest["kernels"]
    assert [argument["c_type"] for argument in kernel["arguments"]] == [
        "const float *", "float *", "int32_t", "float",
    ]  # fmt: skip
    # The most specific first: the exact value, then divisibility, then nothing.
    facts = [variant["facts"].get("n") for variant in kernel["variants"]]
    assert facts == ["i32:=4096", "i32:16", "i32"]
    assert kernel["variants"][0]["constants"] == {"BLOCK": "64"}
    assert [code["target"] for code in kernel["variants"][0]["codes"]] == manifest["targets"]
    for name, digest in manifest["files"].items():
        import hashlib

        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest
    header = written["scale.h"].read_text()
    assert "out = factor * x, for the first n elements." in header


def test_the_order_of_specializations_is_that_of_what_they_take(tmp_path: Path) -> None:
    """A specialization that takes fewer arguments than another is tried before it."""
    signatures = [
        "*fp32, *fp32, i32",
        "*fp32, *fp32, i32:nonneg",
        "*fp32:16, *fp32, i32",
        "*fp32:16, *fp32:16, i32:16:nonneg",
        "*fp32, *fp32, i32:1",
        "*fp32:16, *fp32, i32:1",
        "*fp32, *fp32, 32",
        "*fp32:16, *fp32:16, 32",
    ]
    one = package().add(export_kernels.scale, signatures)
    manifest = json.loads(one.write(tmp_path, CPU, form="c")["p.json"].read_text())
    order = [variant["facts"] for variant in manifest["kernels"][0]["variants"]]

    def takes_more(a: dict[str, str], b: dict[str, str]) -> bool:
        def facts(entry: str | None) -> set[str]:
            words = set((entry or "").replace(":=32", ":16:nonneg:exact").split(":")[1:])
            return words | ({"nonneg", "one"} if words == {"1"} else set())

        return all(facts(a.get(n)) <= facts(b.get(n)) for n in ("x", "out", "n")) and a != b

    for later, facts in enumerate(order):
        for earlier in order[:later]:
            assert not takes_more(earlier, facts), (earlier, facts)


def test_what_autotuning_chose_ships(tmp_path: Path) -> None:
    configs = [tw.Config({"BLOCK": 64}), tw.Config({"BLOCK": 128}, num_warps=2)]
    tuned = tw.autotune(configs, key=["n"])(export_kernels.scale)
    signature, grid = "*fp32, *fp32, i32", "cdiv(n, BLOCK)"
    error = refusal(lambda: package().add_tuned(tuned, signature))
    assert error.code == "TW0801" and "chosen nothing" in str(error)
    x, out = (np.zeros(4096, np.float32) for _ in range(2))
    for n in (4096, 100):
        tuned[lambda meta: (tw.cdiv(meta["n"], meta["BLOCK"]),)](x, out, n, 2.0)
    one = package().add_tuned(tuned, signature, grid=grid)
    one.add(export_kernels.scale, signature, grid=grid)
    written = one.write(tmp_path, CPU, form="c")
    variants = json.loads(written["p.json"].read_text())["kernels"][0]["variants"]
    assert [v["facts"]["n"] for v in variants] == ["i32:=4096", "i32:=100", "i32"]
    for variant, (key, config) in zip(variants, tuned.cache.items()):
        assert variant["constants"]["BLOCK"] == str(config.kwargs["BLOCK"]), key


def test_the_command_refuses_what_is_no_kernel(tmp_path: Path) -> None:
    done = exported.export(tmp_path / "k", "cpu:x86-64-v3", kernel=f"{exported.KERNELS}:tw")
    assert done.returncode == 1 and "neither a kernel" in done.stderr
    done = exported.export(tmp_path / "k", "cpu:x86-64-v9")
    assert done.returncode == 1 and "cpu:x86-64-v4" in done.stderr
    assert not os.path.exists(tmp_path / "k")


@tw.jit
def crowded(launch, launch_, out):
    tw.store(out, tw.load(launch) + tw.load(launch_))


@tw.jit
def shadowing(crowded_run, out):
    """A /* comment */ within: /* a comment."""
    tw.store(out, tw.load(crowded_run))


def test_parameters_that_c_cannot_tell_apart(tmp_path: Path) -> None:
    error = refusal(lambda: package().add(crowded, "*fp32, *fp32, *fp32").write(tmp_path, CPU, "c"))
    assert error.code == "TW0802" and "`launch` and `launch_`" in str(error)
    one = package().add(shadowing, "*fp32, *fp32", name="crowded")
    error = refusal(lambda: one.write(tmp_path, CPU, "c"))
    assert error.code == "TW0802" and "`crowded_run`" in str(error)


@tw.jit
def all_words(NULL, linux, unix, typeof, arguments, errno, out):
    """A /* comment */ within: /* a comment."""
    total = tw.load(NULL) + tw.load(linux) + tw.load(unix)
    tw.store(out, total + tw.load(typeof) + tw.load(arguments) + errno)


def test_words_of_c_as_parameters_and_comments_in_comments(tmp_path: Path) -> None:
    one = package().add(all_words, "*fp32, *fp32, *fp32, *fp32, *fp32, i32, *fp32")
    one.write(tmp_path, CPU, "c")
    text = '#include <errno.h>\n#include "p.h"\n#include <stdio.h>\nint main(void) { return 0; }\n'
    (tmp_path / "program.c").write_text(text)
    for name, flags in exported.COMPILERS:
        command = [exported.compiler(name), *exported.STRICT, "-Wcomment", *flags]
        exported.compiled([*command, "-c", "program.c", "-o", "program.o"], tmp_path)


def test_what_autotune_and_heuristics_choose_is_not_dropped(tmp_path: Path) -> None:
    configs = [tw.Config({"BLOCK": 64}), tw.Config({"BLOCK": 128})]
    tuned = tw.autotune(configs, key=["n"])(export_kernels.scale)
    ruled = tw.heuristics({"BLOCK": lambda args: 32})(export_kernels.scale)
    error = refusal(lambda: package().add(tuned, SCALE))
    assert error.code == "TW0801" and "autotune" in str(error) and "add_tuned" in error.hint
    error = refusal(lambda: package().add(ruled, SCALE))
    assert error.code == "TW0801" and "`BLOCK` is chosen by heuristics" in str(error)
    for kernel in (tuned, ruled):
        assert package().add(kernel, SCALE, {"BLOCK": 32}).kernels["scale"]
    configs = [tw.Config({"BLOCK": 64}), tw.Config({"BLOCK": 128}, num_warps=8, num_stages=2)]
    tuned = tw.autotune(configs, key=["n"])(export_kernels.scale)
    error = refusal(lambda: package().add(tuned, SCALE, {"BLOCK": 128}, num_stages=2))
    assert "`num_warps` is chosen by autotune" in str(error) and "options" in error.hint
    assert package().add(tuned, SCALE, {"BLOCK": 64}).kernels
    assert package().add(tuned, SCALE, {"BLOCK": 128}, num_warps=8, num_stages=2).kernels
    error = refusal(lambda: tw.export(ruled, tmp_path, SCALE, targets=CPU))
    assert error.code == "TW0801" and not list(tmp_path.iterdir())


@pytest.mark.parametrize("entry", ["fp32:16", "fp32:1", "i32:stream", "i32:overlap", "i32:large"])
def test_facts_that_say_nothing_of_a_type(entry: str) -> None:
    error = refusal(lambda: package().add(narrow, {"x": entry, "out": "*fp32"}))
    assert error.code == "TW0801" and entry in str(error)


@tw.jit
def kept(out, n):
    tw.store(out, n)


def test_values_outside_of_the_arguments_type(tmp_path: Path) -> None:
    def write(signature: str, *values: int) -> Any:
        shapes = [{"n": value} for value in values]
        one = package().add(export_kernels.scale, signature, shapes=shapes)
        return json.loads(one.write(tmp_path, CPU, form="c")["p.json"].read_text())

    error = refusal(lambda: write(SCALE, 1 << 31))
    assert error.code == "TW0801" and "`n` is i32, which 2147483648 does not fit" in str(error)
    assert refusal(lambda: write("*fp32, *fp32, u32", -1)).code == "TW0801"
    assert refusal(lambda: write("*fp32, *fp32, u64", 1 << 64)).code == "TW0801"
    assert refusal(lambda: write("*fp32, *fp32", (1 << 63) + 1)).code == "TW0801"
    largest = [{"n": (1 << 64) - 1}, {"n": 1 << 63}]
    one = package().add(kept, "*u64, u64", shapes=largest)
    kernel = json.loads(one.write(tmp_path, CPU, form="c")["p.json"].read_text())["kernels"][0]
    found = [variant["facts"]["n"] for variant in kernel["variants"]]
    assert found == [f"u64:={1 << 63}", f"u64:={(1 << 64) - 1}", "u64"], "a multiple of 16 says more"
    exported.compiled([exported.compiler("gcc"), *exported.STRICT, "-std=c11", "-c", "p.c"], tmp_path)


@pytest.mark.parametrize(
    "act, words",
    [
        (lambda: package().add(export_kernels.scale, 5), "5 is not a signature"),
        (lambda: package().add(export_kernels.scale, [SCALE, None]), "None is not a signature"),
        (lambda: package().add(export_kernels.scale, SCALE, shapes={"n": 4}), "not a list of shapes"),
        (lambda: package().add(export_kernels.scale, SCALE, shapes=[4]), "4 is not a shape"),
        (lambda: package().add(export_kernels.scale, SCALE, grid=1.5), "1.5 is neither"),
        (lambda: package().add(export_kernels.scale, SCALE, grid=[None]), "neither a text"),
        (lambda: package().add_tuned(export_kernels.scale, SCALE), "under @tw.autotune"),
        (lambda: whole().write("/nonexistent", "cpu:x86-64-v3"), "not a list of targets"),
        (lambda: whole().write("/nonexistent", None), "not a list of targets"),
    ],
)
def test_what_has_the_wrong_type(act: Callable[[], object], words: str) -> None:
    error = refusal(act)
    assert error.code in ("TW0801", "TW0804") and words in str(error)


def whole() -> Any:
    return package().add(export_kernels.scale, SCALE)


def test_a_refusal_has_one_code() -> None:
    one = package().add(export_kernels.scale, SCALE, {"BLOCK": 64}, num_warps=4, no_option=1)
    error = refusal(lambda: one.write("/nonexistent", CPU))
    assert error.code == "TW0801" and "TW0404" not in str(error)


@pytest.mark.parametrize("option", [{"launch_cooperative_grid": True}, {"stream": 7}])
def test_options_of_launches_from_python(option: dict[str, Any], tmp_path: Path) -> None:
    one = package().add(export_kernels.scale, SCALE, {"BLOCK": 64}, **option)
    error = refusal(lambda: one.write(tmp_path / "k", CPU))
    assert error.code == "TW0801" and next(iter(option)) in str(error)
    none = package().add(export_kernels.scale, SCALE, {"BLOCK": 64}, **dict.fromkeys(option))
    none.write(tmp_path / "none", CPU)


@pytest.mark.parametrize(
    "words",
    [
        ["--signature", "i32"],
        ["--constexpr", "BLOCK=64"],
        ["--shapes", "n=4"],
        ["--grid", "1"],
        ["--name", "other"],
        ["--num-warps", "8"],
        ["--package", "other"],
    ],
)
def test_options_that_would_change_nothing(words: list[str], tmp_path: Path) -> None:
    done = exported.export(tmp_path / "k", "cpu:x86-64-v3", *words)
    assert done.returncode == 1 and not (tmp_path / "k").exists()
    named = "not other" if words[0] == "--package" else f"{words[0]} would change nothing"
    assert named in done.stderr and "Traceback" not in done.stderr
    if words[0] != "--name":
        kernel = f"{exported.KERNELS}:scale"
        done = exported.export(tmp_path / "k", "", *words, "--form", "source", kernel=kernel)
        assert done.returncode == 1 and f"{words[0]} would change nothing" in done.stderr


@pytest.mark.parametrize(
    "words",
    [["--constexpr", "BLOCK={[]: 1}"], ["--constexpr", "BLOCK=" + "(" * 300], ["--shapes", "n=1,n=2"]]
    + [["--constexpr", "BLOCK=64, BLOCK=32"], ["--signature", "n=i32, n=i64"]],
)
def test_values_that_are_none(words: list[str], tmp_path: Path) -> None:
    kernel = f"{exported.KERNELS}:scale"
    done = exported.export(tmp_path / "k", "cpu:x86-64-v3", *words, kernel=kernel)
    assert done.returncode == 1 and done.stderr.startswith("tilewright: "), done.stderr


def test_the_files_of_a_package_are_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = tw.export(export_kernels.scale, tmp_path, SCALE, targets=CPU)
    manifest = tmp_path / "scale.json"
    assert main(["verify", str(manifest)]) == 0
    assert capsys.readouterr().out == f"{manifest}: scale.a, scale.h are as they were exported\n"

    def refusal() -> str:
        assert main(["verify", str(manifest)]) == 1
        return capsys.readouterr().err

    rng = random.Random(1)
    for path in (path for path in paths.values() if path != manifest):
        data = path.read_bytes()
        for _ in range(20):
            place = rng.randrange(len(data))
            path.write_bytes(data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :])
            text = refusal()
            assert "TW0806" in text and path.name in text
        for changed in (data[:-1], data + b"?", b""):
            path.write_bytes(changed)
            assert "TW0806" in refusal()
        path.unlink()
        assert "TW0806" in refusal()
        path.write_bytes(data)
    assert main(["verify", str(manifest)]) == 0
    whole = manifest.read_text()
    for text in ("", "[]", "{", "{}", whole.replace("scale.h", "../scale.h"), whole.replace("scale.h", "other.h")):
        manifest.write_text(text)
        assert "TW0806" in refusal()
    targets = whole.replace('"cpu:x86-64-v3"', '"cpu:x86-64-v4"', 1)
    lines = whole.splitlines(keepends=True)
    without_digest = "".join(line for line in lines if '"digest"' not in line).replace("},\n}", "}\n}")
    for text in (targets, whole.replace('"written": true', '"written": false', 1), without_digest):
        assert json.loads(text) != json.loads(whole)
        manifest.write_text(text)
        assert "TW0806" in refusal()
    manifest.write_text(json.dumps(json.loads(whole)))  # laid out in another way
    assert main(["verify", str(manifest)]) == 0
    manifest.write_text(whole.replace('"abi": 2', '"abi": 1'))
    assert "TW0821" in refusal()


@pytest.mark.parametrize("entry", ["{}", "{1: 2}", "{1}", "({}, 1)"])
def test_a_signature_entry_that_is_no_constant(entry: str, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = f"{exported.KERNELS}:scale"
    words = ["--signature", f"*fp32, *fp32, {entry}", "--constexpr", "BLOCK=64, factor=2.0"]
    assert main(["export", kernel, *words, "--grid", "1", "--targets", CPU[0], "-o", "out"]) == 1
    assert "TW0801" in (text := capsys.readouterr().err) and "argument `n`" in text
    assert main(["compile", kernel, *words]) == 1
    assert "TW0405" in (text := capsys.readouterr().err) and "not hashable" in text


@pytest.mark.parametrize(
    "grid", [" + ".join(["n"] * 5000), " + ".join(["n"] * 700), "(" * 300 + "n" + ")" * 300, "1" * 5000]
)
def test_a_grid_of_many_terms(grid: str, tmp_path: Path) -> None:
    for given in (grid, [grid]):
        error = refusal(
            lambda: tw.export(
                export_kernels.scale, tmp_path, SCALE, {"BLOCK": 64}, targets=CPU, grid=given
            )
        )
        assert error.code == "TW0804" and len(str(error)) < 400


@pytest.mark.parametrize(
    ("name", "meant"), [("float", "float32"), ("*double", "float64"), ("int", "int32"), ("half", "float16")]
)
def test_a_type_by_the_name_of_another_language(name: str, meant: str) -> None:
    error = refusal(lambda: package().add(export_kernels.scale, f"*fp32, *fp32, {name}"))
    assert error.code == "TW0801" and f"did you mean {meant}?" in str(error)


@pytest.mark.parametrize(("control", "visible"), [("\x1b[31m", r"\x1b[31m"), ("\x9b1m", r"\x9b1m"), ("\u202e", r"\u202e")])
@pytest.mark.parametrize("mistake", ["unknown", "x +", "1"])
def test_control_characters_of_names_are_written_out(
    control: str, visible: str, mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = tmp_path / control
    folder.mkdir()
    kernel = folder / "k.py"
    kernel.write_text(f"import tilewright as tw\n@tw.jit\ndef k(x):\n    tw.store(x, {mistake})  # {control}\n")
    command = ["export", f"{kernel}:k", "--signature", "*fp32", "--targets", CPU[0], "-o", str(folder)]
    assert main(command) == (mistake != "1")
    found = capsys.readouterr()
    if mistake != "1":
        assert visible in found.err and control not in found.err
        return
    assert control in found.out  # a pipe gets the very names
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for words in (command, ["verify", str(folder / "k.json")]):
        assert main(words) == 0
        out = capsys.readouterr().out
        assert visible in out and control not in out
