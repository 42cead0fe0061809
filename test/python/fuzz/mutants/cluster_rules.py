"""Rules for programs of a cluster: what they copy for one another, and when slots of all are free."""

from __future__ import annotations

import re

from box_rules import BOX_RULES, FREE_INIT
from mutant_lines import Rule, drop, rewrite, ring_size

MULTICAST = re.compile(
    r"(cp\.async\.bulk\.tensor\S+)\.multicast::cluster (\[(%\w+)\], \[%\w+, \{[^}]*\}\], \[(%\w+)\]), (%\w+);"
)
MAPA = re.compile(r"mapa\.shared::cluster\.u64 remote, (%\w+), (%\w+);")
REMOTE = re.compile(r"mbarrier\.arrive\.release\.cluster\.shared::cluster\.b64 _, \[remote\];")
FREE_WAIT = re.compile(r"mbarrier\.try_wait\.parity\.acquire\.cluster\S+ done, \[(%\w+\+\d+)\], (%\w+);")
RANK = re.compile(r"mov\.u32 (%\w+), %cluster_ctarank;")
COPIERS = re.compile(r"shr\.u32 (%\w+), (%\w+), (%\w+);")  # of the bits of their ranks, by the lane
ARRIVE, AWAIT = "barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"
BOTH = re.compile(r"barrier\.cluster\.(arrive|wait)\.aligned;")

CLUSTER_RULES: dict[str, Rule] = {
    **{name: rule for name, rule in BOX_RULES.items() if not name.startswith("box ")},
    "program copies for itself alone": rewrite(MULTICAST, lambda m: (f"{m[1]} {m[2]};",)),
    "copy for all dropped": drop(MULTICAST),
    "copied for all twice": rewrite(MULTICAST, lambda m: (m[0], m[0])),
    "copied for the first program": rewrite(MULTICAST, lambda m: (m[0].replace(f"{m[5]};", "1;"),)),
    "copied for the second program": rewrite(MULTICAST, lambda m: (m[0].replace(f"{m[5]};", "2;"),)),
    "copied to another place of all": rewrite(MULTICAST, lambda m: (m[0].replace(f"[{m[3]}]", f"[{m[3]}+1024]", 1),)),
    "copied for another phase of all": rewrite(MULTICAST, lambda m: (m[0].replace(f"[{m[4]}], ", f"[{m[4]}+8], "),)),
    "every program copies the first part": rewrite(RANK, lambda m: (f"mov.b32 {m[1]}, 0;",)),
    "programs copy each other's parts": rewrite(RANK, lambda m: (m[0], f"xor.b32 {m[1]}, {m[1]}, 1;")),
    "slot released to itself only": rewrite(MAPA, lambda m: (f"mov.b64 remote, {m[1]};",)),
    "slot released to the first program": rewrite(MAPA, lambda m: (m[0].replace(f", {m[2]};", ", 0;"),)),
    "slot not released to others": drop(REMOTE),
    "slot released to others twice": rewrite(REMOTE, lambda m: (m[0], m[0])),
    "another slot released to others": rewrite(REMOTE, lambda m: (m[0].replace("[remote]", "[remote+8]"),)),
    "slot released without order": rewrite(REMOTE, lambda m: (m[0].replace("release", "relaxed"),)),
    "free slot seen without order": rewrite(FREE_WAIT, lambda m: (m[0].replace("acquire", "relaxed"),)),
    "free for the warps of one program": rewrite(FREE_INIT, lambda m: (f"{m[1]}{int(m[2]) // 2};",)),
    "free for one warp fewer": rewrite(FREE_INIT, lambda m: (f"{m[1]}{int(m[2]) - 1};",)),
    "free for one warp more": rewrite(FREE_INIT, lambda m: (f"{m[1]}{int(m[2]) + 1};",)),
    "cluster does not arrive": drop(ARRIVE),
    "cluster does not wait": drop(AWAIT),
    "cluster does not meet": drop(BOTH),
    "cluster meets as one program": rewrite(re.compile(re.escape(ARRIVE)), lambda m: ("bar.sync 0;",)),
    "cluster meets without order": rewrite(re.compile(re.escape(ARRIVE)), lambda m: ("barrier.cluster.arrive.relaxed.aligned;",)),
    "a slot fewer": ring_size(-1),
    "a slot more": ring_size(1),
}  # fmt: skip

# The mask of a copy for programs along one of two axes depends on the program.
AXES_RULES: dict[str, Rule] = {
    "copied for the whole cluster": rewrite(MULTICAST, lambda m: (m[0].replace(f"{m[5]};", "15;"),)),
    "copied for the other programs": rewrite(MULTICAST, lambda m: (
        "{", ".reg .b16 others;", f"xor.b16 others, {m[5]}, 15;", m[0].replace(f"{m[5]};", "others;"), "}"
    )),
    "slot released to the whole cluster": rewrite(COPIERS, lambda m: ("mov.b32 %other, 15;", f"shr.u32 {m[1]}, %other, {m[3]};")),
    "slot released along the first axis": rewrite(COPIERS, lambda m: (f"and.b32 %other, {m[2]}, 9;", f"shr.u32 {m[1]}, %other, {m[3]};")),
    "slot released to the program across": rewrite(COPIERS, lambda m: (f"xor.b32 %other, {m[2]}, 15;", f"shr.u32 {m[1]}, %other, {m[3]};")),
    "free for the warps of two programs": rewrite(FREE_INIT, lambda m: (f"{m[1]}{int(m[2]) * 2 // 3};",)),
    "free for the warps of four programs": rewrite(FREE_INIT, lambda m: (f"{m[1]}{int(m[2]) * 4 // 3};",)),
    "programs along the first axis copy each other's parts": rewrite(RANK, lambda m: (m[0], f"xor.b32 {m[1]}, {m[1]}, 2;")),
}  # fmt: skip
