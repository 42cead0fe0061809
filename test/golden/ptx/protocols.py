"""Protocols between programs, by hand: locks, flags, counts, and the ways to get them wrong.

Each kernel has the arrays `sync` and `data` (zeros) and `out`, of 64 words each, in %rd0 to %rd2,
the thread in %r0, the program in %r1 and its thread's word of the arrays in %rd10 to %rd12.
An edit replaces a part of one line. A mutant is found when a finding has one of its kinds at an
instruction that begins with one of its places, under every schedule tried. Without kinds nothing
may be reported.
"""

from __future__ import annotations

from typing import NamedTuple

HEAD = """.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 stage[256];
.shared .align 16 .b8 word[16];
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2)
{
.reg .pred %p<16>;
.reg .b32 %r<32>;
.reg .b64 %rd<32>;
ld.param.u64 %rd0, [p0];
ld.param.u64 %rd1, [p1];
ld.param.u64 %rd2, [p2];
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mul.wide.u32 %rd5, %r0, 4;
add.s64 %rd10, %rd0, %rd5;
add.s64 %rd11, %rd1, %rd5;
add.s64 %rd12, %rd2, %rd5;
mov.u32 %r20, stage;
shl.b32 %r21, %r0, 2;
add.s32 %r20, %r20, %r21;
xor.b32 %r22, %r21, 128;
mov.u32 %r23, stage;
add.s32 %r22, %r22, %r23;
setp.ne.u32 %p0, %r0, 0;
"""
TAIL = "END:\nret;\n}\n"


class Protocol(NamedTuple):
    """A kernel, its grid, and what it leaves in `data` and `out`."""

    body: str
    grid: int
    data: tuple[int, ...]
    out: tuple[int, ...] = ()
    threads: int = 64

    @property
    def text(self) -> str:
        return HEAD + self.body + TAIL


# One thread takes a lock for its program; all threads add what the other warp has staged.
LOCK = """
st.shared.u32 [%r20], %r0;
@%p0 bra TAKEN;
SPIN:
atom.acquire.gpu.global.cas.b32 %r2, [%rd0], 0, 1;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra SPIN;
TAKEN:
bar.sync 0;
ld.shared.u32 %r3, [%r22];
ld.global.u32 %r4, [%rd11];
add.s32 %r4, %r4, %r3;
st.global.u32 [%rd11], %r4;
bar.sync 1;
@%p0 bra END;
atom.release.gpu.global.exch.b32 %r5, [%rd0], 0;
"""

# Program 0 writes, then sets a flag by fence and store; the others wait for it by load and fence.
FLAG = """
setp.ne.u32 %p1, %r1, 0;
@%p1 bra READER;
add.s32 %r2, %r0, 100;
st.global.u32 [%rd11], %r2;
bar.sync 0;
@%p0 bra END;
fence.acq_rel.gpu;
st.relaxed.gpu.global.u32 [%rd0], 1;
bra END;
READER:
@%p0 bra WAITED;
WAIT:
ld.relaxed.gpu.global.u32 %r3, [%rd0];
setp.ne.u32 %p2, %r3, 1;
@%p2 bra WAIT;
fence.acq_rel.gpu;
WAITED:
bar.sync 1;
ld.global.u32 %r4, [%rd11];
setp.ne.u32 %p3, %r1, 1;
@%p3 bra END;
st.global.u32 [%rd12], %r4;
"""

# Each program writes a part; who counts last adds them all up.
LAST = """
mul.wide.u32 %rd6, %r1, 4;
add.s64 %rd7, %rd1, %rd6;
st.shared.u32 [%r20], %r1;
bar.sync 0;
ld.shared.u32 %r2, [%r22];
@%p0 bra COUNTED;
add.s32 %r2, %r2, 5;
st.global.u32 [%rd7], %r2;
atom.acq_rel.gpu.global.inc.u32 %r3, [%rd0], 7;
st.shared.u32 [word], %r3;
COUNTED:
bar.sync 1;
ld.shared.u32 %r4, [word];
setp.ne.u32 %p1, %r4, 7;
@%p1 bra END;
setp.gt.u32 %p2, %r0, 7;
@%p2 bra END;
ld.global.u32 %r5, [%rd11];
st.global.u32 [%rd12], %r5;
"""

# Two phases with barriers of the grid: each program reads what its neighbour wrote, and writes its
# own place again when all have read.
PHASES = """
mul.wide.u32 %rd6, %r1, 4;
add.s64 %rd7, %rd1, %rd6;
xor.b32 %r6, %r1, 3;
mul.wide.u32 %rd6, %r6, 4;
add.s64 %rd8, %rd1, %rd6;
@%p0 bra DONE1;
add.s32 %r2, %r1, 10;
st.global.u32 [%rd7], %r2;
red.release.gpu.global.add.u32 [%rd0], 1;
WAIT1:
ld.acquire.gpu.global.u32 %r3, [%rd0];
setp.lt.u32 %p1, %r3, 8;
@%p1 bra WAIT1;
DONE1:
bar.sync 0;
ld.global.u32 %r4, [%rd8];
bar.sync 1;
@%p0 bra END;
atom.acq_rel.gpu.global.add.u32 %r5, [%rd0+4], 1;
WAIT2:
ld.acquire.gpu.global.u32 %r3, [%rd0+4];
setp.lt.u32 %p1, %r3, 8;
@%p1 bra WAIT2;
add.s32 %r4, %r4, 1000;
st.global.u32 [%rd7], %r4;
"""

# Programs add to one tile in the order of their numbers: a semaphore with fences of the old kind.
SEMAPHORE = """
@%p0 bra MINE;
WAIT:
ld.volatile.global.u32 %r2, [%rd0];
setp.ne.u32 %p1, %r2, %r1;
@%p1 bra WAIT;
membar.gl;
MINE:
bar.sync 0;
ld.global.u32 %r3, [%rd11];
mad.lo.u32 %r3, %r3, 3, %r1;
st.global.u32 [%rd11], %r3;
bar.sync 1;
@%p0 bra END;
membar.gl;
add.s32 %r4, %r1, 1;
st.volatile.global.u32 [%rd0], %r4;
"""

# Program 0 sends three messages through one buffer to program 1, which acknowledges each.
RING = """
mov.u32 %r2, 0;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra RECEIVE;
SEND:
@%p0 bra FREE;
EMPTY:
ld.acquire.gpu.global.u32 %r3, [%rd0+128];
setp.lt.u32 %p2, %r3, %r2;
@%p2 bra EMPTY;
FREE:
bar.sync 0;
mad.lo.u32 %r4, %r2, 100, %r0;
st.global.u32 [%rd11], %r4;
bar.sync 1;
add.s32 %r2, %r2, 1;
@%p0 bra SENT;
st.release.gpu.global.u32 [%rd0], %r2;
SENT:
setp.lt.u32 %p3, %r2, 3;
@%p3 bra SEND;
bra END;
RECEIVE:
@%p0 bra FULL;
FILL:
ld.acquire.gpu.global.u32 %r3, [%rd0];
setp.le.u32 %p2, %r3, %r2;
@%p2 bra FILL;
FULL:
bar.sync 2;
ld.global.u32 %r5, [%rd11];
add.s32 %r6, %r6, %r5;
add.s32 %r2, %r2, 1;
bar.sync 3;
@%p0 bra TAKEN;
st.release.gpu.global.u32 [%rd0+128], %r2;
TAKEN:
setp.lt.u32 %p3, %r2, 3;
@%p3 bra RECEIVE;
st.global.u32 [%rd12], %r6;
""".replace("mov.u32 %r2, 0;", "mov.u32 %r2, 0;\nmov.u32 %r6, 0;", 1)

# Tickets: who draws a number waits for its turn, and passes the turn on.
TICKET = """
@%p0 bra TURN;
atom.relaxed.gpu.global.add.u32 %r2, [%rd0], 1;
WAIT:
ld.acquire.gpu.global.u32 %r3, [%rd0+128];
setp.ne.u32 %p1, %r3, %r2;
@%p1 bra WAIT;
TURN:
bar.sync 0;
ld.global.u32 %r4, [%rd11];
add.s32 %r4, %r4, 1;
st.global.u32 [%rd11], %r4;
bar.sync 1;
@%p0 bra END;
red.release.gpu.global.add.u32 [%rd0+128], 1;
"""

# A tile is copied asynchronously; the program before, told so, overwrites it then.
COPY = """
setp.ne.u32 %p1, %r1, 0;
@%p1 bra OTHER;
cp.async.ca.shared.global [%r20], [%rd11], 4;
cp.async.wait_all;
bar.sync 0;
@%p0 bra READ;
st.release.gpu.global.u32 [%rd0], 1;
READ:
ld.shared.u32 %r2, [%r22];
st.global.u32 [%rd12], %r2;
bra END;
OTHER:
@%p0 bra COPIED;
WAIT:
ld.acquire.gpu.global.u32 %r3, [%rd0];
setp.eq.u32 %p2, %r3, 0;
@%p2 bra WAIT;
COPIED:
bar.sync 1;
st.global.u32 [%rd11], 9;
"""

# Programs 0 and 1 each set a flag; program 2 waits for the first, the second and the first again.
AGAIN = """
setp.eq.u32 %p1, %r1, 2;
@%p1 bra READER;
setp.eq.u32 %p2, %r1, 1;
mul.wide.u32 %rd6, %r1, 4;
add.s64 %rd7, %rd0, %rd6;
@%p2 bra SECOND;
st.global.u32 [%rd11], 5;
bra WRITTEN;
SECOND:
st.global.u32 [%rd12], 7;
WRITTEN:
bar.sync 0;
@%p0 bra END;
st.release.gpu.global.u32 [%rd7], 1;
bra END;
READER:
@%p0 bra WAITED;
mov.u32 %r2, 0;
NEXT:
and.b32 %r3, %r2, 1;
mul.wide.u32 %rd6, %r3, 4;
add.s64 %rd7, %rd0, %rd6;
WAIT:
ld.acquire.gpu.global.u32 %r4, [%rd7];
setp.eq.u32 %p3, %r4, 0;
@%p3 bra WAIT;
add.s32 %r2, %r2, 1;
setp.lt.u32 %p3, %r2, 3;
@%p3 bra NEXT;
WAITED:
bar.sync 1;
ld.global.u32 %r5, [%rd11];
ld.global.u32 %r6, [%rd12];
add.s32 %r5, %r5, %r6;
st.global.u32 [%rd12], %r5;
"""

# Who counts last sets the count back, which acquires although nobody reads its result: it comes after
# what the count has read.
RESET = """
@%p0 bra END;
mul.wide.u32 %rd6, %r1, 4;
add.s64 %rd7, %rd1, %rd6;
add.s32 %r2, %r1, 5;
st.global.u32 [%rd7], %r2;
atom.release.gpu.global.add.u32 %r3, [%rd0], 1;
setp.ne.u32 %p1, %r3, 7;
@%p1 bra END;
atom.acq_rel.gpu.global.exch.b32 %r4, [%rd0], 0;
ld.global.u32 %r5, [%rd1];
ld.global.u32 %r6, [%rd1+28];
add.s32 %r5, %r5, %r6;
st.global.u32 [%rd2], %r5;
"""


def semaphore_sum(grid: int) -> int:
    total = 0
    for program in range(grid):
        total = (total * 3 + program) % 2**32
    return total


PROTOCOLS = {
    "lock": Protocol(LOCK, 6, tuple(6 * (i ^ 32) for i in range(64))),
    "flag": Protocol(FLAG, 4, tuple(range(100, 164)), tuple(range(100, 164))),
    "last": Protocol(LAST, 8, tuple(range(5, 13)), tuple(range(5, 13))),
    "phases": Protocol(PHASES, 8, tuple(1010 + (i ^ 3) for i in range(8))),
    "semaphore": Protocol(SEMAPHORE, 5, (semaphore_sum(5),) * 64),
    "ring": Protocol(RING, 2, tuple(200 + i for i in range(64)),
                     tuple(300 + 3 * i for i in range(64))),
    "ticket": Protocol(TICKET, 7, (7,) * 64),
    "copy": Protocol(COPY, 2, (9,) * 64, (0,) * 64),
    "again": Protocol(AGAIN, 3, (5,) * 64, (12,) * 64),
    "reset": Protocol(RESET, 8, tuple(range(5, 13)), (17,)),
}  # fmt: skip


class Mutant(NamedTuple):
    protocol: str
    old: str
    new: str
    kinds: str = ""
    places: str = ""
    is_wrong: bool = False  # in its numbers only
    harmless: str = ""  # the reason why nothing changes

    @property
    def name(self) -> str:
        return f"{self.protocol}: {self.old.strip()} -> {self.new.strip() or 'nothing'}"

    @property
    def text(self) -> str:
        text = PROTOCOLS[self.protocol].text
        assert text.count(self.old) == 1, f"{self.name}: {text.count(self.old)} times"
        return text.replace(self.old, self.new)
