"""Explanations as text, JSON, HTML and differences, and as the command line gives them."""

import importlib
import html.parser
import json
import os
import re
import subprocess
import sys

import pytest
import slow_kernels as kernels

import tilewright as tw
from tilewright.analysis.kinds import kind_of_sass
from tilewright.explain.passes import first_change
from tilewright.native import disassembler
from tilewright.explain import explain_request
from tilewright.tools.cli import main

MATMUL = {"c": "*fp16:16", "a": "*fp16:16", "b": "*fp16:16"} | dict.fromkeys("mnk", "i32:16")
BLOCKS = {"BM": 128, "BN": 128, "BK": 32}
FILE = kernels.__file__
MEGABYTE = 10**6


class Page(html.parser.HTMLParser):
    """The elements of a page, and the source lines that each part of it names."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.lines = [], [], {}
        self.inside = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        named = dict(attributes)
        if "data-l" in named:
            self.lines.setdefault(tag, set()).add(int(named["data-l"]))


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "tilewright", *words], capture_output=True, text=True
    )


@pytest.mark.parametrize("device", ("nvidia:sm_80", "nvidia:sm_90a", "amd:gfx942", "cpu"))
def test_a_page_is_small_and_needs_no_network(device):
    found = kernels.matmul.explain(MATMUL, BLOCKS, device)
    text = found.to_html()
    assert len(text.encode()) < MEGABYTE
    assert not re.search(r"https?:|//[a-z]+\.|url\(|@import", text.partition("</style>")[0])
    page = Page(text)
    links = [a for a in page.attributes if a[1] in ("src", "href", "srcset", "action", "data")]
    assert not links
    assert page.tags.count("script") == 1
    last = found.first_line + len(found.source)
    assert page.lines["div"] == set(range(found.first_line, last))
    assert len(page.lines["i"] & page.lines["div"]) >= 6  # most lines left something in a stage
    shown = {value for tag, name, value in page.attributes if tag == "pre" and name == "id"}
    assert {"stage-tile", "stage-tile-passes", "stage-lowered", "stage-llvm"} <= shown


def test_the_page_marks_the_instructions_of_a_line():
    found = kernels.matmul.explain(MATMUL, BLOCKS, "nvidia:sm_80")
    dot = next(n for n, row in enumerate(found.source, found.first_line) if "tw.dot" in row)
    runs = re.findall(r'<i data-l="(\d+)">([^<]*)</i>', found.to_html())
    products = {int(line) for line, text in runs if "mma.sync" in text}
    assert products == {dot}


HOSTILE = '''\
import tilewright as tw

@tw.jit
def kernel(out, BLOCK: tw.constexpr):
    """</script><script>alert(1)</script> <img src=x onerror=alert(2)> \x1b]0;title\x07 \u202e"""
    i = tw.arange(0, BLOCK)  # \x1b[31m <b>&amp;</b>
    tw.static_assert(BLOCK < 64, "<i>too large</i> \\x1b[2J")
    tw.store(out + i * 3, i)
'''


def test_hostile_names_and_texts_are_escaped(tmp_path):
    folder = tmp_path / "<img src=x onerror=alert(3)>\x1b[41m"
    folder.mkdir()
    file = folder / "k'\"&<s>.py"
    file.write_text(HOSTILE)
    for block in (16, 64):
        words = (f"{file}:kernel", "--signature", "*i32", "--constexpr", f"BLOCK={block}")
        page = tmp_path / "page.html"
        done = command("explain", *words, "--html", str(page))
        assert done.returncode == (block == 64), done.stderr
        text = page.read_text()
        parsed = Page(text)
        assert parsed.tags.count("script") == 1 and "img" not in parsed.tags and "b" in parsed.tags
        assert not any(name.startswith("on") for _, name, _ in parsed.attributes)
        assert "\x1b" not in text and "\u202e" not in text and "\x07" not in text
        shown = command("explain", *words)
        assert "\x1b" not in shown.stdout and "\u202e" not in shown.stdout, shown.stdout
        assert "kernel" in shown.stdout and "</script>" in shown.stdout
        assert "\x1b" not in shown.stderr
        data = command("explain", *words, "--json")
        assert "\x1b" not in data.stdout
        assert json.loads(data.stdout)["file"] == str(file)
        difference = command("explain", *words, "--diff", "BLOCK=32")
        assert "\x1b" not in difference.stdout and "BLOCK" in difference.stdout


def test_json_has_numbers_and_no_placeholders():
    found = kernels.matmul.explain(MATMUL, BLOCKS, "amd:gfx942")
    data = json.loads(found.to_json())
    assert data["version"] == 1 and data["target"] == "amd:gfx942" and data["error"] is None
    assert data["resources"]["registers"] > 0
    assert data["work"]["load_bytes"] == f"{(128 + 128) * 32 * 2} * cdiv(k, 32)"
    assert data["code"]["language"] == "AMDGCN"
    assert sum(line["instructions"] for line in data["lines"]) <= data["code"]["instructions"]
    kinds = {kind["kind"] for line in data["lines"] for kind in line["kinds"]}
    assert {"matrix", "global load", "barrier"} <= kinds
    assert any(change["name"] == "select-mma" for change in data["passes"])
    on_processor = json.loads(kernels.matmul.explain(MATMUL, BLOCKS, "cpu").to_json())
    assert on_processor["resources"] == {} and on_processor["occupancy"] is None


def test_a_simulated_device_is_explained_as_the_machine_itself():
    simulated = kernels.matmul.explain(MATMUL, BLOCKS, "sim:gfx942")
    assert simulated.target == "amd:gfx942"
    assert simulated.to_json() == kernels.matmul.explain(MATMUL, BLOCKS, "amd:gfx942").to_json()


def test_registers_of_simulated_kernels_are_measured():
    compiled = kernels.matmul.compile(MATMUL, BLOCKS, "sim:gfx942")
    hardware = kernels.matmul.compile(MATMUL, BLOCKS, "amd:gfx942")
    assert compiled.n_regs == hardware.resources["registers"]


def test_registers_that_nobody_counted_are_absent(monkeypatch):
    compiled = kernels.matmul.compile(MATMUL, {**BLOCKS, "BM": 64}, "sim:sm_80")
    registers = importlib.import_module("tilewright.explain.registers")
    monkeypatch.setattr(registers, "_of_hardware", lambda kernel: 0)
    assert not hasattr(compiled, "n_regs")
    with pytest.raises(AttributeError, match="nobody counted the registers"):
        compiled.n_regs


def test_what_nobody_counted_is_said_to_be_unknown():
    found = kernels.matmul.explain(MATMUL, {**BLOCKS, "BM": 64}, "nvidia:sm_80")
    assert "no spills" in str(found) and "a program loads" in str(found)
    del found.resources["registers"]  # as where no assembler is installed
    found.plan = None
    assert "registers and spills are not known" in str(found) and "no spills" not in str(found)
    assert "bytes and operations are not known" in str(found)


def test_what_is_known_of_spirv_is_neither_of_a_processor_nor_of_another_gpu():
    found = kernels.matmul.explain(MATMUL, BLOCKS, "spirv:generic16")
    data = json.loads(found.to_json())
    assert data["code"]["language"] == "SPIR-V" and data["code"]["innermost_loops"]
    assert data["occupancy"] is None and data["roofline"] is None
    text = " ".join(str(found).split())
    assert "the driver of a device gives them out" in text and "PTX" not in text
    assert "names no lines of the source" in text
    assert len(found.to_html()) < MEGABYTE


def test_lines_count_machine_code_of_nvidia_where_its_disassembler_is(monkeypatch):
    if not tw.native.native().assembler_of("nvidia:sm_80") or not disassembler():
        pytest.skip("no assembler of PTX, or no nvidia-cuda-nvdisasm")
    found = kernels.matmul.explain(MATMUL, BLOCKS, "nvidia:sm_80")
    kinds = {kind.word: kind for facts in found.lines.values() for kind in facts.kinds}
    assert found.code.language == "SASS" and kinds["matrix"].form.startswith("HMMA.16816")
    assert kinds["async copy"].bytes == kinds["shared load"].bytes == 16
    (loop,) = found.code.innermost()
    products = [i for i in found.code.instructions[loop.first : loop.last] if i.kind.word == "matrix"]
    # A warp's share of the product of a step, in instructions of 16 x 8 x 16.
    assert len(products) == 128 * 128 * 32 // (16 * 8 * 16) // found.options["num_warps"]
    assert sum(facts.total for facts in found.lines.values()) <= len(found.code.instructions)
    assert "PTX" not in str(found)
    monkeypatch.setattr(sys.modules["tilewright.explain.gather"], "disassembler", lambda: "")
    without = kernels.matmul.explain(MATMUL, BLOCKS, "nvidia:sm_80")
    assert without.code.language == "PTX" and "nvidia-cuda-nvdisasm" in str(without)


@pytest.mark.parametrize(
    "name, word, bytes",
    [
        ("LDG.E.128.CONSTANT", "global load", 16), ("LDG.E.U8", "global load", 1), ("STG.E", "global store", 4),
        ("LDGSTS.E.BYPASS.LTC128B.128", "async copy", 16), ("LDSM.16.M88.4", "shared load", 16),
        ("LDSM.16.MT88.2", "shared load", 8), ("STS.U16", "shared store", 2), ("STL.64", "stack store", 8),
        ("UTMALDG.2D", "box copy", 0), ("HGMMA.64x64x16.F32", "matrix", 0), ("LDGDEPBAR", "wait", 0),
        ("BAR.SYNC.DEFER_BLOCKING", "barrier", 0), ("SHFL.BFLY", "shuffle", 0), ("FFMA", "other", 0),
        ("IMAD.MOV.U32", "other", 0), ("R2UR", "other", 0),
    ],
)  # fmt: skip
def test_kinds_of_machine_code_of_nvidia(name, word, bytes):
    kind = kind_of_sass(name, "")
    assert (kind.word, kind.bytes) == (word, bytes)


def test_differences_of_settings_and_targets():
    small = kernels.matmul.explain(MATMUL, {**BLOCKS, "BM": 64}, "nvidia:sm_80")
    large = kernels.matmul.explain(MATMUL, BLOCKS, "nvidia:sm_80", num_warps=8)
    text = small.diff(large)
    assert re.search(r"^BM +64 +128$", text, re.M)
    assert re.search(r"^num_warps +4 +8$", text, re.M)
    assert re.search(r"^load bytes +12288 \* cdiv\(k, 32\) +16384 \* cdiv\(k, 32\)$", text, re.M)
    assert "instructions | " in text
    same = small.diff(kernels.matmul.explain(MATMUL, {**BLOCKS, "BM": 64}, "nvidia:sm_80"))
    assert same.split() == ["nvidia:sm_80"] * 2
    other = small.diff(kernels.matmul.explain(MATMUL, {**BLOCKS, "BM": 64}, "cpu"))
    assert re.search("PTX|SASS", other) and "x86-64" in other


def test_the_command_explains_compares_and_still_knows_codes(capsys):
    words = [f"{FILE}:strided", "--signature", "*fp32:16, *fp32:16, i32, i32"]
    words += ["--constexpr", "BLOCK=256", "--target", "amd:gfx942"]
    assert main(["explain", *words]) == 0
    assert "they lie stride elements apart" in " ".join(capsys.readouterr().out.split())
    assert main(["explain", *words, "--diff", "BLOCK=1024, target='nvidia:sm_80'"]) == 0
    out = capsys.readouterr().out
    assert "nvidia:sm_80" in out and "BLOCK" in out
    assert main(["explain", *words, "--diff", f"kernel='{FILE}:absent'"]) == 1
    assert "absent" in capsys.readouterr().err
    assert main(["explain", "TW0372"]) == 0
    assert "bank conflicts" in capsys.readouterr().out
    assert main(["explain", "TW9999"]) == 1
    capsys.readouterr()
    assert main(["explain", f"{FILE}:strided", "--constexpr", "BLOCK=256"]) == 1
    assert "out" in capsys.readouterr().err


def test_a_kernel_that_does_not_compile_fails_the_command(capsys):
    words = [f"{FILE}:large_sums", "--signature", "*fp32:16, *fp16:16, *fp16:16, i32:16"]
    words += ["--constexpr", "BLOCK=1024", "--target", "nvidia:sm_80"]
    assert main(["explain", *words]) == 1
    out = capsys.readouterr().out
    assert "does not compile" in out and "error[TW" in out and "tw.zeros" in out


def test_spills_are_among_the_remarks_and_warned_of(capsys):
    types = {"c": "*fp32:16", "a": "*fp16:16", "b": "*fp16:16", "k": "i32:16"}
    words = [f"{FILE}:large_sums", "--signature", ", ".join(types.values())]
    words += ["--constexpr", "BLOCK=128", "--num-warps", "2", "--target", "amd:gfx1100"]
    words += ["--remarks", "-o", os.devnull]
    assert main(["compile", *words]) == 0
    assert "TW0358" in capsys.readouterr().err
    request = kernels.large_sums.request(types, {"BLOCK": 128}, "amd:gfx1100", num_warps=2)
    spilled = explain_request(request).resources["spill_bytes"]
    with pytest.warns(tw.TilewrightWarning, match=f"keeps {spilled} bytes of registers in memory"):
        kernels.large_sums.compile(types, {"BLOCK": 128}, "amd:gfx1100", num_warps=2)


def test_the_first_operation_that_a_pass_changed_has_its_line():
    before = '''%0 = arith.addi %a, %b : i32 loc(#loc2)
  scf.for %i = %0 to %n step %1 : i32 {
    %2 = arith.muli %i, %i : i32 loc(#loc4)
  } loc(#loc3)
#loc1 = loc("/k.py":3:4 to :9)
#loc2 = loc(callsite(#loc1 at #loc3))
#loc3 = loc("a \\"b\\".py":7:1)
#loc4 = loc("x"(#loc1))
'''
    renamed = before.replace("%0", "%7").replace("#loc1", "#loc")
    assert first_change(before, renamed) is None
    assert str(first_change(before, renamed.replace("addi", "subi"))) == "arith.subi at k.py:3"
    assert str(first_change(before, before.replace("to %n", "to %n unsigned"))) == 'scf.for at a "b".py:7'
    gone = "\n".join(row for row in before.splitlines() if "muli" not in row)
    assert str(first_change(before, gone)) == "arith.muli at k.py:3", "of what is not there any longer"
    constant = '%c = arith.constant 1 : i32 loc(#loc2)\n'
    assert first_change(before, constant + before.replace("muli", "divui")).operation == "arith.divui"
    assert first_change(before, constant + before).operation == "arith.constant"
