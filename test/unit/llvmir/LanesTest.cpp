// Exchanges between the lanes of waves of 32 and 64, by formulas of their own.
#include "test/unit/llvmir/IrHarness.h"
#include <functional>
#include <gtest/gtest.h>

using namespace tw::warpsim;

namespace {
/// A pattern of one exchange: what lane i reads, or -1 for `absent`.
struct Pattern {
  const char *what, *code; // of i32 %x into %y
  std::function<int(int)> source;
  uint32_t absent = 0;
};
} // namespace

static std::string dpp(unsigned control, unsigned rows = 15, unsigned banks = 15,
                       bool readsZero = true, const char *old = "0") {
  return "  %y = call i32 @llvm.amdgcn.update.dpp.i32(i32 " + std::string(old) + ", i32 %x, i32 " +
         std::to_string(control) + ", i32 " + std::to_string(rows) + ", i32 " +
         std::to_string(banks) + ", i1 " + (readsZero ? "true" : "false") + ")\n";
}

static void check(const std::string &arch, const std::string &code,
                  const std::function<int(int)> &source, uint32_t absent = 0) {
  unsigned size = arch.starts_with("gfx9") ? 64 : 32;
  IrSimulation simulation(arch, size);
  std::vector<uint32_t> &in = simulation.array({});
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(size, 7777));
  for (uint32_t i = 0; i < size; ++i)
    in.push_back(1000 + i * 13);
  SimulationReport report =
      simulation.run("  %x = load i32, ptr addrspace(1) %at0, align 4\n" + code +
                     "  store i32 %y, ptr addrspace(1) %at1, align 4\n"
                     "  ret void\n");
  EXPECT_EQ(kindsIn(report), "") << arch << code;
  for (uint32_t i = 0; i < size; ++i) {
    int from = source(int(i));
    EXPECT_EQ(out[i], from < 0 ? absent : in[size_t(from)]) << arch << " lane " << i << code;
  }
}

TEST(Lanes, DataParallelPatterns) {
  for (const char *arch : {"gfx942", "gfx1100"}) {
    int size = std::string(arch) == "gfx942" ? 64 : 32;
    check(arch, dpp(0xB1), [](int i) { return i ^ 1; });
    check(arch, dpp(0x4E), [](int i) { return i ^ 2; });
    check(arch, dpp(0x1B), [](int i) { return i ^ 3; });
    check(arch, dpp(0x128), [](int i) { return i ^ 8; });
    check(arch, dpp(0x123), [](int i) { return (i & ~15) | ((i + 13) & 15); });
    check(arch, dpp(0x140), [](int i) { return i ^ 15; });
    check(arch, dpp(0x141), [](int i) { return i ^ 7; });
    check(arch, dpp(0x101), [](int i) { return i % 16 == 15 ? -1 : i + 1; });
    check(arch, dpp(0x112), [](int i) { return i % 16 < 2 ? -1 : i - 2; });
    check(arch, dpp(0x155), [](int i) { return (i & ~15) + 5; });
    check(arch, dpp(0x138), [](int i) { return i - 1; });
    check(arch, dpp(0x134), [size](int i) { return (i + 1) % size; });
    // Rows and banks that are off keep the old value, as lanes without a source do.
    check(arch, dpp(0xB1, 5, 15, true, "42"), [](int i) { return i & 16 ? -1 : i ^ 1; }, 42);
    check(arch, dpp(0xB1, 15, 3, true, "42"), [](int i) { return i % 16 > 7 ? -1 : i ^ 1; }, 42);
    check(arch, dpp(0x111, 15, 15, false, "42"), [](int i) { return i % 16 ? i - 1 : -1; }, 42);
  }
  check("gfx942", dpp(0x142), [](int i) { return i < 16 ? -1 : (i & ~15) - 1; });
  check("gfx942", dpp(0x143), [](int i) { return i < 32 ? -1 : 31; });
  check("gfx1100", dpp(0x165), [](int i) { return i ^ 5; });
}

TEST(Lanes, PermutationsReachTheWholeWave) {
  std::string shift = "  %n = add i32 %tid, 5\n  %a = shl i32 %n, 2\n"
                      "  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %a, i32 %x)\n";
  check("gfx942", shift, [](int i) { return (i + 5) % 64; });
  check("gfx1100", shift, [](int i) { return (i + 5) % 32; });
  std::string push = "  %n = add i32 %tid, 5\n  %a = shl i32 %n, 2\n"
                     "  %y = call i32 @llvm.amdgcn.ds.permute(i32 %a, i32 %x)\n";
  check("gfx942", push, [](int i) { return (i + 59) % 64; });
  check("gfx942", "  %y = call i32 @llvm.amdgcn.ds.swizzle(i32 %x, i32 16415)\n",
        [](int i) { return i ^ 16; });
  check("gfx1100", "  %y = call i32 @llvm.amdgcn.ds.swizzle(i32 %x, i32 32795)\n",
        [](int i) { return i ^ 3; });
  check("gfx1100",
        "  %y = call i32 @llvm.amdgcn.permlanex16.i32(i32 0, i32 %x, i32 1985229328, "
        "i32 -19088744, i1 false, i1 false)\n",
        [](int i) { return i ^ 16; });
  check("gfx942", "  %y = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)\n",
        [](int) { return 0; });
  check("gfx942", "  %y = call i32 @llvm.amdgcn.readlane.i32(i32 %x, i32 37)\n",
        [](int) { return 37; });
  check("gfx942",
        "  %c = icmp ult i32 %tid, 40\n"
        "  %one = call i1 @llvm.amdgcn.readlane.i1(i1 %c, i32 37)\n"
        "  %other = call i1 @llvm.amdgcn.readlane.i1(i1 %c, i32 50)\n"
        "  %first = call i1 @llvm.amdgcn.readfirstlane.i1(i1 %c)\n"
        "  %both = and i1 %one, %first\n  %z = select i1 %other, i32 0, i32 %x\n"
        "  %y = select i1 %both, i32 %z, i32 0\n",
        [](int i) { return i; });
  check("gfx942",
        "  %l = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)\n"
        "  %h = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %l)\n"
        "  %m = xor i32 %h, 63\n  %a = shl i32 %m, 2\n"
        "  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %a, i32 %x)\n",
        [](int i) { return 63 - i; });
  for (bool isSecond : {false, true})
    for (int width : {16, 32})
      check("gfx950",
            "  %w = xor i32 %tid, 0\n  %b = call i32 @llvm.amdgcn.readlane.i32(i32 %x, i32 63)\n"
            "  %p = call {i32, i32} @llvm.amdgcn.permlane" +
                std::to_string(width) +
                ".swap(i32 %x, i32 %b, i1 false, i1 false)\n  %y = extractvalue {i32, i32} %p, " +
                std::to_string(isSecond) + "\n",
            [=](int i) { return i & width  ? 63
                                : isSecond ? i | width
                                           : i; });
}

/// Votes of a wave of 64 in a loop that its lanes leave one after the other: lanes that have left
/// do not vote, whichever half they are in.
TEST(Lanes, VotesInALoopThatLanesLeave) {
  IrSimulation simulation("gfx942", 64);
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64));
  SimulationReport report = simulation.run(
      "  %mine = xor i32 %tid, 41\n  %limit = and i32 %mine, 7\n  br label %loop\n"
      "loop:\n  %i = phi i32 [0, %entry], [%next, %loop]\n"
      "  %sum = phi i32 [0, %entry], [%more, %loop]\n"
      "  %votes = call i64 @llvm.amdgcn.ballot.i64(i1 true)\n"
      "  %count = call i64 @llvm.ctpop.i64(i64 %votes)\n  %c = trunc i64 %count to i32\n"
      "  %more = add i32 %sum, %c\n  %next = add i32 %i, 1\n"
      "  %goes = icmp ult i32 %i, %limit\n  br i1 %goes, label %loop, label %done\n"
      "done:\n  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)\n"
      "  %high = lshr i64 %all, 63\n  %h = trunc i64 %high to i32\n"
      "  %r = add i32 %more, %h\n  store i32 %r, ptr addrspace(1) %at0, align 4\n  ret void\n");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t expected = 1;
    for (uint32_t trip = 0; trip <= ((i ^ 41) & 7); ++trip)
      expected += 64 - trip * 8;
    EXPECT_EQ(out[i], expected) << i;
  }
}

/// Only lane 0 goes through the block that is last in the loop: the other half of its wave begins
/// no iteration before it.
TEST(Lanes, VotesInALoopOfWhichOneHalfSkipsTheEnd) {
  IrSimulation simulation("gfx942", 128);
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(128));
  auto vote = [](const std::string &n) {
    return "  %v" + n + " = call i64 @llvm.amdgcn.ballot.i64(i1 true)\n  %w" + n +
           " = call i64 @llvm.ctpop.i64(i64 %v" + n + ")\n  %n" + n + " = trunc i64 %w" + n +
           " to i32\n";
  };
  SimulationReport report = simulation.run(
      "  %one = icmp eq i32 %tid, 0\n  br label %loop\n"
      "loop:\n  %i = phi i32 [0, %entry], [%next, %latch]\n"
      "  %sum = phi i32 [0, %entry], [%more, %latch]\n"
      "  call void @llvm.amdgcn.s.barrier()\n" +
      vote("0") +
      "  br i1 %one, label %alone, label %others\n"
      "alone:\n" +
      vote("1") +
      "  br label %latch\n"
      "others:\n" +
      vote("2") +
      "  br label %latch\n"
      "latch:\n  %part = phi i32 [%n1, %alone], [%n2, %others]\n"
      "  %m = mul i32 %part, 1000\n  %a = add i32 %m, %n0\n  %more = add i32 %sum, %a\n"
      "  %next = add i32 %i, 1\n  %goes = icmp ult i32 %next, 3\n"
      "  br i1 %goes, label %loop, label %done\n"
      "done:\n  store i32 %more, ptr addrspace(1) %at0, align 4\n  ret void\n");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], 3u * (64 + 1000 * (i == 0 ? 1 : i < 64 ? 63 : 64))) << i;
}

/// Both sides of a branch vote; each half of the wave takes both, one of them neither first.
TEST(Lanes, VotesOnBothSidesOfABranch) {
  for (unsigned bit : {1u, 4u, 32u}) {
    IrSimulation simulation("gfx942", 64);
    std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(128));
    SimulationReport report =
        simulation.run("  %b = and i32 %tid, " + std::to_string(bit) +
                       "\n  %c = icmp eq i32 %b, 0\n"
                       "  br i1 %c, label %yes, label %no\n"
                       "yes:\n  %v1 = call i64 @llvm.amdgcn.ballot.i64(i1 true)\n  br label %join\n"
                       "no:\n  %v2 = call i64 @llvm.amdgcn.ballot.i64(i1 true)\n  br label %join\n"
                       "join:\n  %v = phi i64 [%v1, %yes], [%v2, %no]\n"
                       "  %at = getelementptr i64, ptr addrspace(1) %p0, i32 %tid\n"
                       "  store i64 %v, ptr addrspace(1) %at, align 4\n  ret void\n");
    EXPECT_EQ(kindsIn(report), "");
    uint64_t zeros = 0;
    for (unsigned i = 0; i < 64; ++i)
      zeros |= uint64_t((i & bit) == 0) << i;
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(out[2 * i] | uint64_t(out[2 * i + 1]) << 32, i & bit ? ~zeros : zeros) << bit;
  }
}

TEST(Lanes, ALaneThatIsOffGivesNoValue) {
  IrSimulation simulation("gfx942", 64);
  simulation.array(iota(64));
  std::string body = "  %c = icmp ult i32 %tid, 8\n  br i1 %c, label %yes, label %done\n"
                     "yes:\n  %v = call i32 @llvm.amdgcn.ds.bpermute(i32 80, i32 %tid)\n"
                     "  store i32 %v, ptr addrspace(1) %at0, align 4\n  br label %done\n"
                     "done:\n  ret void\n";
  EXPECT_EQ(kindsIn(simulation.run(body)), "uninit-register");
}
