"""An explanation as one HTML page: source beside each stage, with linked lines."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Iterator

from ..analysis.instructions import lines_of_code
from ..compile import stages_of
from ..compile.stages import inspect_with_reports
from ..native.errors import with_visible_controls
from . import drawing
from .facts import Explanation, Finding
from .layouts import drawings_of
from .locations import Line, Located
from .remarks import INFORMATION
from .text import instructions_of, measured_of, occupancy_of, resources_of, shown_options, work_of

_MOST_BYTES = 900_000  # of the texts of stages with their marks; a page has less than 1 MB
_LAYOUT_STAGES = ("laid-out", "scheduled")
_CODE_STAGES = {"ptx": "PTX", "asm": "AMDGCN"}

_STYLE = """
:root{--back:#fff;--text:#1b1f24;--soft:#667;--line:#dde;--mark:#fff3bf;--bad:#b3261e;--warn:#8a5a00}
@media(prefers-color-scheme:dark){:root{--back:#15181d;--text:#e6e6e6;--soft:#9aa;--line:#333a44;
--mark:#4a3f12;--bad:#ff8a80;--warn:#ffcf70}}
body{margin:0;padding:1rem;font:14px/1.45 system-ui,sans-serif;background:var(--back);color:var(--text)}
h1{font-size:1.2rem;margin:0 0 .3rem}h2{font-size:1rem;margin:1rem 0 .3rem}p{margin:.15rem 0}
pre,code,.row{font:12px/1.4 ui-monospace,monospace}pre{margin:0;white-space:pre}
.columns{display:flex;gap:1rem;flex-wrap:wrap}.pane{flex:1 1 30rem;min-width:0;max-height:75vh;
overflow:auto;border:1px solid var(--line);border-radius:4px;padding:.4rem}
.row{white-space:pre-wrap;cursor:pointer}.row b{color:var(--soft);font-weight:normal}
.note{display:block;padding-left:4rem;color:var(--soft);font:12px system-ui,sans-serif}
.bad{color:var(--bad)}.warn{color:var(--warn)}.on{background:var(--mark)}i{font-style:normal}
table{border-collapse:collapse}td,th{text-align:left;padding:1px 12px 1px 0;vertical-align:top}
.wide{overflow-x:auto}
"""
_SCRIPT = """
const all=q=>[...document.querySelectorAll(q)];let last=0;
function mark(n,from){all('.on').forEach(e=>e.classList.remove('on'));if(!n)return;
const own=all('[data-l="'+n+'"]');own.forEach(e=>e.classList.add('on'));
for(const pane of all('.pane')){if(pane.contains(from))continue;
const first=own.find(e=>pane.contains(e)&&e.offsetParent);
if(first)pane.scrollTop=first.offsetTop-pane.offsetTop-pane.clientHeight/3}}
document.addEventListener('click',e=>{const at=e.target.closest('[data-l]');
if(at){last=at.dataset.l;mark(last,at)}});
const choice=document.getElementById('stage');
function show(){all('.stage').forEach(e=>{e.hidden=e.id!==choice.value});mark(last,null)}
if(choice){choice.addEventListener('change',show);show()}
"""


def page_of(found: Explanation) -> str:
    """The page. All that comes from the kernel, its files and their names is escaped."""
    title = _text(f"{found.name} for {found.target}")
    stages = dict(_stage_lines(found))
    laid_out = [line for stage in _LAYOUT_STAGES for line in stages.get(stage, ())]
    drawings = drawings_of(laid_out)
    machine = next((line.text for line in laid_out if line.text.startswith("module")), "")
    parts = [
        "<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">",
        f"<title>{title}</title>", f"<style>{_STYLE}{drawing.STYLE}</style></head><body>",
        *_head(found), *_findings(found),
        "<h2>Source and stages</h2>",
        "<p>A click on a line marks what it became, and what it came from.</p>",
        '<div class="columns"><div class="pane">', *_source(found), "</div>",
        '<div class="pane">', *_stages(stages), "</div></div>",
        *drawing.section(drawings), *_passes(found),
        f"<script>{_SCRIPT}{drawing.script(drawings, machine)}</script></body></html>",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _text(text: str) -> str:
    return html.escape(with_visible_controls(text))


def _head(found: Explanation) -> Iterator[str]:
    yield f"<h1>{_text(found.name)}</h1>"
    yield f"<p>{_text(f'{found.file}:{found.def_line}')}, {_text(found.target)}</p>"
    options = ", ".join(f"{name}={value}" for name, value in shown_options(found).items())
    rows = [found.arguments, options]
    if found.error:
        reached = _text(found.reached or "the source")
        yield f'<p class="bad">does not compile; the last step that was reached: {reached}</p>'
        yield f"<pre>{_text(found.error)}</pre>"
    else:
        rows += ["; ".join(resources_of(found)), *occupancy_of(found)]
    rows += [f"shared memory: {b.name}, {b.bytes} bytes at {b.offset}" for b in found.shared]
    yield from (f"<p>{_text(row)}</p>" for row in (*rows, *work_of(found)) if row)


def _findings(found: Explanation) -> Iterator[str]:
    bad = [finding for finding in found.findings if finding.rank < INFORMATION]
    yield '<h2>In the way</h2><div class="wide"><table>'
    for finding in bad:
        own = finding.file == found.file
        mark = f' data-l="{finding.line}"' if own else ""
        place = f"line {finding.line}" if own else f"{finding.file}:{finding.line}"
        yield f"<tr{mark}><td>{_text(place)}</td><td>{_note(finding)}</td></tr>"
    yield "</table></div>" + ("" if bad else "<p>nothing was found</p>")


def _note(finding: Finding) -> str:
    grade = "bad" if finding.rank <= 3 else "warn" if finding.rank < INFORMATION else ""
    times = f" ({finding.count} times)" if finding.count > 1 else ""
    code = f" [{finding.code}]" if finding.code else ""
    text = _text(finding.message + times + code)
    return f'<span class="{grade}" title="{_text(finding.advice)}">{text}</span>'


def _source(found: Explanation) -> Iterator[str]:
    for number, line in found.rows():
        yield f'<div class="row" data-l="{number}"><b>{number:5} </b>{_text(line)}'
        for finding in found.findings:
            if finding.line == number and finding.file == found.file:
                yield f'<span class="note">{_note(finding)}</span>'
        counted = (
            *instructions_of(found.lines.get(number)),
            *measured_of(found.measured.get(number)),
        )
        for text in counted:
            yield f'<span class="note">{_text(text)}</span>'
        yield "</div>"


def _stages(texts: dict[str, list[Line]]) -> Iterator[str]:
    if not texts:
        yield "<p>no stage was reached</p>"
        return
    marked = {stage: list(_marked(lines)) for stage, lines in texts.items()}
    most = _share({stage: sum(len(m.encode()) for m in parts) for stage, parts in marked.items()})
    last = list(texts)[-1]
    options = (
        f'<option value="stage-{stage}"{" selected" if stage == last else ""}>{stage}</option>'
        for stage in texts
    )
    yield f'<select id="stage" aria-label="stage of the compilation">{"".join(options)}</select>'
    for stage, parts in marked.items():
        yield f'<pre class="stage" id="stage-{stage}">{_cut(parts, most, stage)}</pre>'


def _stage_lines(found: Explanation) -> Iterator[tuple[str, list[Line]]]:
    """The stages that were reached, each as lines with the source lines that they come from."""
    for stage in stages_of(found.target):
        if stage == "resources":
            continue
        text, reports = inspect_with_reports(found.request, stage, locations=True)
        if any(report["severity"] == "error" for report in reports):
            return
        if stage == "llvm":
            yield stage, lines_of_llvm(text)
        elif stage in _CODE_STAGES:
            language = _CODE_STAGES[stage]
            if language != "PTX" and found.code:
                language = found.code.language
            yield stage, [Line(*row) for row in lines_of_code(text, language, found.file)]
        else:
            yield stage, Located(text, found.file).lines


def lines_of_llvm(text: str) -> list[Line]:
    """The lines of LLVM IR, with the outermost source line that their debug location names."""
    located = {
        m[1]: (int(m[2]), m[3])
        for m in re.finditer(
            r"^(!\d+) = !DILocation\(line: (\d+)(?:.*?inlinedAt: (!\d+))?", text, re.M
        )
    }
    lines: list[Line] = []
    for row in text.splitlines():
        if row.startswith("!"):
            continue
        found = re.search(r", !dbg (!\d+)", row)
        number, outer = located.get(found[1], (0, None)) if found else (0, None)
        while outer in located:
            number, outer = located[outer]
        lines.append(Line(re.sub(r", !dbg !\d+", "", row), number))
    return lines


def _marked(lines: Iterable[Line]) -> Iterator[str]:
    """Runs of lines that come from the same source line."""
    for source, run in itertools.groupby(lines, lambda line: line.source):
        text = "".join(_text(line.text) + "\n" for line in run)
        yield f'<i data-l="{source}">{text}</i>' if source else text


def _share(sizes: dict[str, int]) -> int:
    """The most bytes that a stage may have, so that all of them together have few enough."""
    left, most = _MOST_BYTES, 0
    for number, size in enumerate(sorted(sizes.values())):
        most = left // (len(sizes) - number)
        left -= min(size, most)
    return most


def _cut(parts: list[str], most: int, stage: str) -> str:
    """The parts up to a number of bytes."""
    taken: list[str] = []
    for part in parts:
        most -= len(part.encode())
        if most < 0:
            return "".join(taken) + f"... the rest: tilewright compile --emit {stage}\n"
        taken.append(part)
    return "".join(taken)


def _passes(found: Explanation) -> Iterator[str]:
    yield '<h2>Passes that changed the kernel</h2><div class="wide"><table>'
    yield "<tr><th>pass</th><th>lines</th><th>operations</th></tr>"
    for change in found.passes:
        counts = ", ".join(f"{name} {count:+}" for name, count in change.operations.items())
        yield (
            f"<tr><td>{_text(change.name)}</td><td>+{change.added} -{change.removed}</td>"
            f"<td>{_text(counts)}</td></tr>"
        )
    yield "</table></div>"
