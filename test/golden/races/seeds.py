"""Races that the simulator must find: each kernel wrong, and the same kernel right."""

from __future__ import annotations

from typing import NamedTuple

from texts import Programs

NVIDIA, AMD = "sm_", "gfx"


class Seed(NamedTuple):
    """`grid` programs; `only` names the makers that have the instructions."""

    mistake: str
    instructions: str
    wrong: Programs
    right: Programs
    grid: int = 3
    only: str = ""

    @property
    def name(self) -> str:
        return f"{self.mistake}: {self.instructions}"


def in_one(mistake: str, instructions: str, wrong: str, right: str, only: str = "") -> Seed:
    return Seed(mistake, instructions, {0: wrong}, {0: right}, 1, only)


def missing_barriers() -> list[Seed]:
    seeds: list[Seed] = []
    mistake = "no barrier between"
    for memory in ("data", "shared"):
        space = "shared" if memory == "shared" else "global"
        for size in ("u16", "u32", "u64", "v4"):
            write, read = f"st {size} {memory}.own", f"ld {size} {memory}.far"
            seeds.append(in_one(mistake, f"store, load ({space}, {size})",
                                f"{write};{read}", f"{write};bar;{read}"))  # fmt: skip
        write, read = f"st u32 {memory}.own", f"ld u32 {memory}.far"
        seeds += [
            in_one(mistake, f"load, store ({space})", f"{write};bar;{read};{write}",
                   f"{write};bar;{read};bar;{write}"),
            in_one(mistake, f"store, store ({space})", f"st u32 {memory}.all",
                   f"st u32 {memory}.one"),
            in_one("barrier of a warp only", f"store, load ({space})",
                   f"{write};warpbar;{read}", f"{write};bar;{read}", NVIDIA),
            in_one("barrier without fences", f"store, load ({space})",
                   f"{write};raw;{read}", f"{write};bar;{read}", AMD),
        ]  # fmt: skip
    write = "st v4 shared.own"
    seeds += [
        in_one(mistake, "store, ldmatrix", f"{write};ldmatrix u32 shared.far",
               f"{write};bar;ldmatrix u32 shared.far", NVIDIA),
        in_one("no wait for a copy", "cp.async, load", "copy data.own;commit;ld u32 shared.own",
               "copy data.own;commit;wait;ld u32 shared.own", NVIDIA),
        in_one("no barrier after the wait for a copy", "cp.async, load",
               "copy data.own;commit;wait;ld u32 shared.far",
               "copy data.own;commit;wait;bar;ld u32 shared.far", NVIDIA),
        in_one("source of a copy in flight changed", "cp.async, store",
               "copy data.own;commit;st u32 data.own;wait",
               "copy data.own;commit;wait;st u32 data.own", NVIDIA),
    ]  # fmt: skip
    return seeds


def programs_without_order() -> list[Seed]:
    mistake, read = "nothing orders programs", "ld u32 data.own;st u32 out.own"
    return [
        Seed(mistake, "store, store", {0: "st u32 data.own 1", 1: "st u32 data.own 2"},
             {1: "st u32 data.own 2"}),
        Seed(mistake, "store, load", {0: "st u32 data.own", 1: read},
             {0: "st u32 data.own", 1: "ld u32 sync.own;st u32 out.own"}),
        Seed(mistake, "store, load (v4)", {0: "st v4 data.own", 1: "ld v4 data.own"},
             {0: "st v4 data.own", 1: "ld v4 sync.own"}),
        Seed(mistake, "store, load.nc", {0: "st u32 data.own", 1: "ld.nc u32 data.own"},
             {0: "st u32 data.own", 1: "ld.nc u32 sync.own"}, only=NVIDIA),
    ]  # fmt: skip


def mixed_strengths() -> list[Seed]:
    """A plain access beside atomic ones of other programs, before and after a barrier."""
    seeds: list[Seed] = []
    for between, text in (("a barrier", "bar;"), ("no barrier", "")):
        for order in ("relaxed", "acq_rel"):
            for op in ("red", "atom", "cas"):
                if op == "red" and order == "acq_rel":
                    continue
                add = f"{op}.{order} u32 data.one"
                seeds.append(Seed(f"plain store, then {between}, beside other programs' atomics",
                                  f"st, {op}.{order}",
                                  {0: f"st u32 data.one;{text}{add}", -1: add},
                                  {-1: f"{text}{add}"}))  # fmt: skip
        strong = "st.relaxed u32 data.one"
        seeds += [
            Seed(f"plain load, then {between}, beside other programs' stores",
                 "ld, ld.relaxed, st.relaxed",
                 {0: f"ld u32 data.one;{text}ld.relaxed u32 data.one", -1: strong},
                 {0: f"{text}ld.relaxed u32 data.one", -1: strong}),
            Seed(f"plain store, then {between}, beside other programs' loads",
                 "st, st.relaxed, ld.relaxed",
                 {0: f"st u32 data.one;{text}{strong}", -1: "ld.relaxed u32 data.one"},
                 {0: f"{text}{strong}", -1: "ld.relaxed u32 data.one"}),
        ]  # fmt: skip
    use = "st u32 data.own;bar;atom.acq_rel u32 sync.one"
    take = "atom.acq_rel u32 sync.one;bar;ld u32 data.own"
    seeds.append(Seed("an atomic whose result nobody reads taken for a wait", "atom.acq_rel",
                      {0: use, 1: take},
                      {0: use, 1: "await.acquire u32 sync.one 0;" + take.replace("data", "out")},
                      2))  # fmt: skip
    return seeds


def sizes() -> list[Seed]:
    mistake = "accesses of different sizes overlap"

    def pair(name: str, a: str, b: str, right: str, only: str = "") -> Seed:
        return Seed(mistake, name, {0: a, -1: b}, {0: right, -1: b}, only=only)

    return [
        pair("red u32 at 4, red u64 at 0", "red.relaxed u32 data.one+4",
             "red.relaxed u64 data.one", "red.relaxed u32 data.one+8"),
        pair("red u32 at 0, red u64 at 0", "red.relaxed u32 data.one",
             "red.relaxed u64 data.one", "red.relaxed u64 data.one"),
        pair("st.relaxed of 4 and of 8 bytes", "st.relaxed u32 data.one+4",
             "st.relaxed u64 data.one", "st.relaxed u64 data.one"),
        pair("ld.relaxed of 2, st.relaxed of 4 bytes", "ld.relaxed u16 data.one+2",
             "st.relaxed u32 data.one", "ld.relaxed u32 data.one"),
        pair("red f16, red f16x2", "red.relaxed f16 data.one+2",
             "red.relaxed f16x2 data.one", "red.relaxed f16 data.one+4", NVIDIA),
        pair("red f16x2, red u64", "red.relaxed f16x2 data.one+4",
             "red.relaxed u64 data.one", "red.relaxed f16x2 data.one+8"),
    ]  # fmt: skip


def hand_overs() -> list[Seed]:
    """Program 0 writes data, the last reads it; a flag between them goes from 0 to 1 or 2."""
    seeds: list[Seed] = []

    def add(mistake: str, name: str, wrong: tuple[str, ...], right: tuple[str, ...]) -> None:
        programs: list[Programs] = []
        for first, *middle, last in (wrong, right):
            texts = [f"st u32 data.own;bar;{first}", *middle, f"{last};bar;ld u32 data.own"]
            programs.append(dict(enumerate(texts)))
        seeds.append(Seed(mistake, name, *programs, len(wrong)))

    give, take = "st.release u32 sync.one 1", "await.acquire u32 sync.one 1"
    for wait in ("await", "awaitadd", "awaitcas", "awaitbar"):
        got = f"{wait}.acquire u32 sync.one 1"
        add("no release", f"st.relaxed, {wait}", ("st.relaxed u32 sync.one 1", got), (give, got))
        add("no acquire", f"st.release, {wait}",
            (give, got.replace("acquire", "relaxed")), (give, got))  # fmt: skip
        for how, order in (("relaxed store", "relaxed"), ("store of smaller scope", "release.cta")):
            relay = "await.relaxed u32 sync.one 1;st.{} u32 sync.one 2"
            last = f"{wait}.acquire u32 sync.one 2"
            add(f"release sequence broken by another thread's {how}", wait,
                (give, relay.format(order), last),
                (give, relay.format("release").replace("relaxed", "acquire"), last))  # fmt: skip
    relay = "await.relaxed u32 sync.one 1;st.relaxed u32 sync.one 2"
    add("release sequence broken by another thread's relaxed store", "ld.relaxed, fence",
        (give, relay, "await.relaxed u32 sync.one 2;fence.acq_rel"),
        (give, relay.replace("st.relaxed u32 sync.one 2", "red.relaxed u32 sync.one 1"),
         "await.relaxed u32 sync.one 2;fence.acq_rel"))  # fmt: skip
    add("no fence before the flag", "st.relaxed",
        ("st.relaxed u32 sync.one 1", take), ("fence.acq_rel;st.relaxed u32 sync.one 1", take))
    add("no fence after the flag", "ld.relaxed", (give, take.replace("acquire", "relaxed")),
        (give, take.replace("acquire", "relaxed") + ";fence.acq_rel"))  # fmt: skip
    add("fence of the CTA only", "fence",
        ("fence.acq_rel.cta;st.relaxed u32 sync.one 1", take),
        ("fence.acq_rel;st.relaxed u32 sync.one 1", take))  # fmt: skip
    for scope, name in (("release", "release of the CTA only"), ("acquire", "acquire of the CTA only")):
        wrong = (give, take)
        index = 0 if scope == "release" else 1
        narrow = wrong[index].replace(scope, f"{scope}.cta")
        add(name, "st.release, ld.acquire",
            (narrow, take) if index == 0 else (give, narrow), (give, take))  # fmt: skip
    add("a compare-and-swap that fails taken for a release", "cas.release",
        ("await.relaxed u32 sync.one 1;cas.release u32 sync.one 2",
         "st.relaxed u32 sync.one 1",
         "await.acquire u32 sync.one 1"),
        ("cas.release u32 sync.one 1", "st u32 out.own", "await.acquire u32 sync.one 1"))  # fmt: skip
    return seeds


SEEDS = [
    *missing_barriers(), *programs_without_order(), *mixed_strengths(), *sizes(), *hand_overs(),
]  # fmt: skip
