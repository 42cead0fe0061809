// Buffers with bounds, copies to shared memory, atomic operations, values that are not there, and
// what is refused.
#include "test/unit/llvmir/IrHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;

static std::string resource(unsigned bytes) {
  return "  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %p0, "
         "i16 0, i64 " +
         std::to_string(bytes) + ", i32 159744)\n";
}

/// Four words a lane from an array of 250: what is outside reads as zero, word by word.
TEST(Buffer, LoadsOutsideReadZero) {
  IrSimulation simulation;
  std::vector<uint32_t> &in = simulation.array(iota(256)),
                        &out = simulation.array(std::vector<uint32_t>(256, 9));
  SimulationReport report = simulation.run(
      resource(250 * 4) +
      "  %o = shl i32 %tid, 4\n"
      "  %v = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %r, i32 %o, "
      "i32 0, i32 0)\n"
      "  %at = getelementptr i8, ptr addrspace(1) %p1, i32 %o\n"
      "  store <4 x i32> %v, ptr addrspace(1) %at, align 16\n  ret void\n");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(out[i], i < 250 ? in[i] : 0) << i;
}

TEST(Buffer, StoresOutsideDoNothing) {
  IrSimulation simulation;
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(256, 9));
  SimulationReport report = simulation.run(
      resource(250 * 4) +
      "  %o = shl i32 %tid, 4\n  %m = icmp eq i32 %tid, 3\n"
      "  %masked = select i1 %m, i32 -2147483648, i32 %o\n"
      "  %v = insertelement <4 x i32> <i32 5, i32 5, i32 5, i32 5>, i32 %tid, i32 0\n"
      "  call void @llvm.amdgcn.raw.ptr.buffer.store.v4i32(<4 x i32> %v, ptr addrspace(8) %r, i32 "
      "%masked, i32 0, i32 0)\n  ret void\n");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(out[i], i / 4 == 3 || i >= 250 ? 9u : i % 4 ? 5u : i / 4) << i;
}

/// The words of a resource as one number: what lies above an address is a stride, and not a part of
/// a raw buffer. An access goes nowhere then, but those outside of the bounds are none.
TEST(Buffer, ResourcesOfWordsHaveAnAddressAlone) {
  for (bool hasStride : {false, true}) {
    IrSimulation simulation;
    std::vector<uint32_t> &in = simulation.array(iota(64)),
                          &out = simulation.array(std::vector<uint32_t>(64, 9));
    // Bounds of 120 bytes, flags 0x27000.
    SimulationReport report = simulation.run(
        "  %a = ptrtoint ptr addrspace(1) %p0 to i64\n  %s = or i64 %a, " +
        std::string(hasStride ? "1125899906842624" : "0") +
        "\n  %w = zext i64 %s to i128\n"
        "  %words = or i128 %w, 12656223592680855953831929948667904\n"
        "  %r = inttoptr i128 %words to ptr addrspace(8)\n  %o = shl i32 %tid, 2\n"
        "  %v = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %r, i32 %o, i32 0, "
        "i32 0)\n  store i32 %v, ptr addrspace(1) %at1, align 4\n  ret void\n");
    EXPECT_NE(kindsIn(report).empty(), hasStride) << kindsIn(report);
    for (uint32_t i = 0; i < 64; ++i)
      if (i >= 30 || !hasStride)
        EXPECT_EQ(out[i], i < 30 ? in[i] : 0) << i;
  }
}

/// Sources differ on whether the bounds hold for the sum with a scalar offset.
TEST(Buffer, ScalarOffsetsAreRefused) {
  auto load = [](const char *scalar) {
    return resource(256) +
           "  %v = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) "
           "%r, i32 0, i32 " +
           scalar + ", i32 0)\n  ret void\n";
  };
  EXPECT_EQ(refusalOf(load("0")), "");
  EXPECT_NE(refusalOf(load("4")).find("a scalar offset"), std::string::npos);
  EXPECT_NE(refusalOf(load("%tid")).find("a scalar offset"), std::string::npos);
}

/// The bounds that the code gives are not those of the array: what lies between is found.
TEST(Buffer, BoundsBeyondTheArrayAreFound) {
  IrSimulation simulation;
  simulation.array(iota(60));
  simulation.array(std::vector<uint32_t>(64));
  SimulationReport report = simulation.run(
      resource(256) +
      "  %o = shl i32 %tid, 2\n"
      "  %v = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %r, i32 %o, i32 0, "
      "i32 0)\n  store i32 %v, ptr addrspace(1) %at1, align 4\n  ret void\n");
  EXPECT_EQ(kindsIn(report), "out-of-bounds-global uninit-register");
}

/// Buffers are aligned to words: four of them may begin on one page of the simulator's records and
/// end on the next. Who writes one of them without an order is found on either page.
TEST(Buffer, AccessesOverTheEndOfAPage) {
  constexpr uint32_t kPageWords = 1024, kLanes = 64;
  for (uint32_t fromEnd : {4u, 3u, 2u, 1u}) // words of the first page
    for (uint32_t other = 0; other < 5; ++other) {
      IrSimulation simulation("gfx942", 2 * kLanes);
      std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(3 * kPageWords));
      auto base = uint32_t(reinterpret_cast<uint64_t>(out.data()) / 4 % kPageWords);
      uint32_t first = 2 * kPageWords - base - fromEnd;
      // The first lane writes words 0 to 3 from there, the first of the second wave word `other`.
      SimulationReport report = simulation.run(
          resource(12 * kPageWords) +
          "  %isFirst = icmp eq i32 %tid, 0\n  %isOther = icmp eq i32 %tid, 64\n"
          "  %four = select i1 %isFirst, i32 " +
          std::to_string(first * 4) + ", i32 -2147483648\n  %one = select i1 %isOther, i32 " +
          std::to_string((first + other) * 4) +
          ", i32 -2147483648\n"
          "  call void @llvm.amdgcn.raw.ptr.buffer.store.v4i32(<4 x i32> <i32 1, i32 2, i32 3, "
          "i32 4>, ptr addrspace(8) %r, i32 %four, i32 0, i32 0)\n"
          "  call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 9, ptr addrspace(8) %r, i32 %one, "
          "i32 0, i32 0)\n  ret void\n");
      EXPECT_EQ(kindsIn(report), other < 4 ? "race-waw" : "") << fromEnd << " " << other;
      for (uint32_t i = 0; i < 4; ++i)
        EXPECT_TRUE(out[first + i] == i + 1 || (i == other && out[first + i] == 9)) << i;
    }
}

static std::string copied(const char *wait) {
  return "  %src = getelementptr i32, ptr addrspace(1) %p0, i32 %tid\n"
         "  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %src, ptr addrspace(3) @lds, "
         "i32 4, i32 0, i32 0)\n" +
         std::string(wait) +
         "  %mine = getelementptr i32, ptr addrspace(3) @lds, i32 %tid\n"
         "  %v = load i32, ptr addrspace(3) %mine, align 4\n"
         "  store i32 %v, ptr addrspace(1) %at1, align 4\n  ret void\n";
}

TEST(DirectCopy, ArrivesAtTheWait) {
  using Completion = LaunchOptions::Completion;
  for (Completion completion : {Completion::Late, Completion::Early, Completion::Random}) {
    IrSimulation simulation;
    simulation.launch.options.completion = completion;
    simulation.array(iota(64));
    std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64));
    EXPECT_EQ(kindsIn(simulation.run(copied("  call void @llvm.amdgcn.s.waitcnt(i32 3952)\n"))),
              "");
    EXPECT_EQ(out, iota(64));
  }
}

/// Without the wait, or with one that lets the copy be in flight.
TEST(DirectCopy, IsNotThereBefore) {
  for (const char *wait : {"", "  call void @llvm.amdgcn.s.waitcnt(i32 3953)\n"}) {
    IrSimulation simulation;
    simulation.array(iota(64));
    simulation.array(std::vector<uint32_t>(64));
    EXPECT_NE(kindsIn(simulation.run(copied(wait))).find("async-race"), std::string::npos) << wait;
  }
}

/// Two copies, each by a lane from where another lane's would be, and a wait for all but `left`;
/// then what the first has copied.
static std::string copiedAsynchronously(unsigned left) {
  std::string copy = "  call void @llvm.amdgcn.global.load.async.to.lds.b32(ptr addrspace(1) %src, "
                     "ptr addrspace(3) ";
  return "  %other = xor i32 %tid, 21\n"
         "  %src = getelementptr i32, ptr addrspace(1) %p0, i32 %other\n"
         "  %mine = getelementptr i32, ptr addrspace(3) @lds, i32 %tid\n"
         "  %next = getelementptr i8, ptr addrspace(3) %mine, i32 256\n" +
         copy + "%mine, i32 0, i32 0)\n" + copy +
         "%next, i32 0, i32 0)\n"
         "  call void @llvm.amdgcn.s.wait.asynccnt(i16 " +
         std::to_string(left) +
         ")\n  %v = load i32, ptr addrspace(3) %mine, align 4\n"
         "  store i32 %v, ptr addrspace(1) %at1, align 4\n"
         "  call void @llvm.amdgcn.s.wait.asynccnt(i16 0)\n  ret void\n";
}

/// Waits count copies, which complete in order; each lane says where its bytes go.
TEST(DirectCopy, OfGfx1250AreCountedApart) {
  using Completion = LaunchOptions::Completion;
  for (unsigned left : {0u, 1u, 2u})
    for (Completion completion : {Completion::Late, Completion::Early}) {
      IrSimulation simulation("gfx1250", 32);
      simulation.launch.options.completion = completion;
      simulation.array(iota(32));
      std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(32));
      std::string kinds = kindsIn(simulation.run(copiedAsynchronously(left)));
      EXPECT_EQ(kinds.find("async-race") != std::string::npos, left == 2) << left << " " << kinds;
      EXPECT_EQ(kinds.empty(), left < 2) << left << " " << kinds;
      for (uint32_t lane = 0; lane < 32 && left < 2; ++lane)
        EXPECT_EQ(out[lane], lane ^ 21);
    }
}

/// Of every 8 lanes, lane l gets half l of what lanes 0 to 7 of them address, and of gfx1250 the
/// bounds of a resource are above 57 bits of its address.
TEST(TransposedRead, SquaresOfGfx1250) {
  IrSimulation simulation("gfx1250", 32);
  std::vector<uint32_t> words(128);
  auto halfAt = [](uint32_t lane, uint32_t i) { return (lane * 8 + i) * 257 & 0xffff; };
  for (uint32_t word = 0; word < 128; ++word)
    words[word] = halfAt(word / 4, word % 4 * 2) | halfAt(word / 4, word % 4 * 2 + 1) << 16;
  simulation.array(words);
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(128));
  // Bounds of 384 bytes: the last 8 lanes read zeros.
  EXPECT_EQ(kindsIn(simulation.run(
                "  %a = ptrtoint ptr addrspace(1) %p0 to i64\n  %w = zext i64 %a to i128\n"
                "  %words = or i128 %w, 55340232221128654848\n"
                "  %r = inttoptr i128 %words to ptr addrspace(8)\n  %o = shl i32 %tid, 4\n"
                "  %from = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) "
                "%r, i32 %o, i32 0, i32 0)\n"
                "  %mine = getelementptr i8, ptr addrspace(3) @lds, i32 %o\n"
                "  store <4 x i32> %from, ptr addrspace(3) %mine, align 16\n"
                "  fence syncscope(\"wavefront\") release\n"
                "  call void @llvm.amdgcn.wave.barrier()\n"
                "  fence syncscope(\"wavefront\") acquire\n"
                "  %h = call <8 x i16> @llvm.amdgcn.ds.load.tr16.b128.v8i16(ptr addrspace(3) "
                "%mine)\n  %v = bitcast <8 x i16> %h to <4 x i32>\n"
                "  %to = getelementptr i8, ptr addrspace(1) %p1, i32 %o\n"
                "  store <4 x i32> %v, ptr addrspace(1) %to, align 16\n  ret void\n")),
            "");
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t n = 0; n < 8; ++n)
      EXPECT_EQ(out[lane * 4 + n / 2] >> 16 * (n % 2) & 0xffff,
                lane < 24 ? halfAt(lane / 8 * 8 + n, lane % 8) : 0)
          << "half " << n << " of lane " << lane;
}

/// Each lane writes its word of 64 rows of 8 bytes, twice, and reads transposed what `address`
/// says, by a read of elements of `bits` bits.
static std::string transposed(const std::string &address, unsigned bits = 16,
                              const std::string &read = "read") {
  std::string type = bits == 16 ? "<4 x i16>" : "<2 x i32>";
  std::string name =
      read + ".tr" + std::to_string(bits) + (bits == 16 ? ".b64.v4i16" : ".b64.v2i32");
  return "  %twice = shl i32 %tid, 1\n"
         "  %from = getelementptr i32, ptr addrspace(1) %p0, i32 %twice\n"
         "  %w = load <2 x i32>, ptr addrspace(1) %from, align 8\n"
         "  %mine = getelementptr i32, ptr addrspace(3) @lds, i32 %twice\n"
         "  store <2 x i32> %w, ptr addrspace(3) %mine, align 8\n"
         "  fence syncscope(\"wavefront\") release\n"
         "  call void @llvm.amdgcn.wave.barrier()\n"
         "  fence syncscope(\"wavefront\") acquire\n" +
         address + "  %h = call " + type + " @llvm.amdgcn.ds." + name +
         "(ptr addrspace(3) %at)\n  %v = bitcast " + type +
         " %h to <2 x i32>\n"
         "  %to = getelementptr i32, ptr addrspace(1) %p1, i32 %twice\n"
         "  store <2 x i32> %v, ptr addrspace(1) %to, align 8\n  ret void\n";
}

/// Of every 16 lanes, lane l gets half l % 4 of what lanes l / 4, 4 + l / 4, ... address.
TEST(TransposedRead, LanesGetColumns) {
  IrSimulation simulation("gfx950");
  std::vector<uint32_t> words;
  auto halfAt = [](uint32_t lane, uint32_t i) { return (lane * 4 + i) * 257 & 0xffff; };
  for (uint32_t lane = 0; lane < 64; ++lane)
    for (uint32_t i : {0, 2})
      words.push_back(halfAt(lane, i) | halfAt(lane, i + 1) << 16);
  simulation.array(words);
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(128));
  // Lanes address in another order than they wrote.
  EXPECT_EQ(kindsIn(simulation.run(
                transposed("  %other = xor i32 %tid, 37\n  %o = shl i32 %other, 3\n"
                           "  %at = getelementptr i8, ptr addrspace(3) @lds, i32 %o\n"))),
            "");
  for (uint32_t lane = 0; lane < 64; ++lane)
    for (uint32_t n = 0; n < 4; ++n) {
      uint32_t giver = (lane & ~15u) + 4 * n + lane % 16 / 4;
      EXPECT_EQ(out[lane * 2 + n / 2] >> 16 * (n % 2) & 0xffff, halfAt(giver ^ 37, lane % 4))
          << "half " << n << " of lane " << lane;
    }
}

/// Of every 16 lanes, lane l gets byte l % 8 of what lanes l / 8, 2 + l / 8, ... address; where
/// parts of rows are split, of lanes 4 (l / 8) to 4 (l / 8) + 3, and of those that are 8 behind
/// them.
TEST(TransposedRead, LanesGetColumnsOfBytes) {
  for (bool isSplit : {false, true}) {
    unsigned lanes = isSplit ? 32 : 64;
    IrSimulation simulation(isSplit ? "gfx1250" : "gfx950", lanes);
    std::vector<uint32_t> words(2 * lanes);
    auto byteAt = [](uint32_t lane, uint32_t i) { return (lane * 8 + i) * 37 & 0xff; };
    for (uint32_t i = 0; i < 8 * lanes; ++i)
      words[i / 4] |= byteAt(i / 8, i % 8) << 8 * (i % 4);
    simulation.array(words);
    std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(2 * lanes));
    EXPECT_EQ(kindsIn(simulation.run(
                  transposed("  %other = xor i32 %tid, 21\n  %o = shl i32 %other, 3\n"
                             "  %at = getelementptr i8, ptr addrspace(3) @lds, i32 %o\n",
                             8, isSplit ? "load" : "read"))),
              "");
    for (uint32_t lane = 0; lane < lanes; ++lane)
      for (uint32_t n = 0; n < 8; ++n) {
        uint32_t part = lane % 16 / 8;
        uint32_t giver = (lane & ~15u) + (isSplit ? 8 * (n / 4) + 4 * part + n % 4 : 2 * n + part);
        EXPECT_EQ(out[lane * 2 + n / 4] >> 8 * (n % 4) & 0xff, byteAt(giver ^ 21, lane % 8))
            << "byte " << n << " of lane " << lane;
      }
  }
}

/// What one lane addresses and nobody wrote reaches 16 of them.
TEST(TransposedRead, ReportsWhatWasNotWritten) {
  IrSimulation simulation("gfx950");
  simulation.array(iota(128));
  simulation.array(std::vector<uint32_t>(128));
  EXPECT_EQ(kindsIn(simulation.run(
                transposed("  %is = icmp eq i32 %tid, 21\n  %far = select i1 %is, i32 1024, i32 0\n"
                           "  %o = shl i32 %tid, 3\n  %p = add i32 %o, %far\n"
                           "  %at = getelementptr i8, ptr addrspace(3) @lds, i32 %p\n"))),
            "uninit-register uninit-shared");
}

TEST(Values, PoisonIsReportedWhereItDecides) {
  IrSimulation simulation;
  simulation.array(std::vector<uint32_t>(64));
  EXPECT_EQ(kindsIn(simulation.run("  %v = add i32 poison, %tid\n"
                                   "  store i32 %v, ptr addrspace(1) %at0, align 4\n  ret void\n")),
            "uninit-register");
  IrSimulation frozen;
  frozen.array(std::vector<uint32_t>(64));
  EXPECT_EQ(kindsIn(frozen.run("  %f = freeze i32 poison\n  %v = add i32 %f, %tid\n"
                               "  store i32 %v, ptr addrspace(1) %at0, align 4\n  ret void\n")),
            "");
}

TEST(Values, SharedMemoryIsUninitialized) {
  IrSimulation simulation;
  simulation.array(std::vector<uint32_t>(64));
  EXPECT_EQ(kindsIn(simulation.run("  %v = load i32, ptr addrspace(3) @lds, align 4\n"
                                   "  store i32 %v, ptr addrspace(1) %at0, align 4\n  ret void\n")),
            "uninit-register uninit-shared");
}

TEST(Values, NarrowIntegersAndHalves) {
  IrSimulation simulation;
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64));
  std::string body =
      "  %n = sub i32 %tid, 40\n  %b = trunc i32 %n to i8\n  %d = sdiv i8 %b, 3\n"
      "  %s = ashr i8 %d, 1\n  %w = sext i8 %s to i32\n"
      "  %f = sitofp i8 %b to half\n  %g = fmul half %f, 0xH4200\n  %h = fptosi half %g to i16\n"
      "  %e = sext i16 %h to i32\n  %m = call i32 @llvm.smax.i32(i32 %w, i32 -5)\n"
      "  %r = add i32 %e, %m\n  store i32 %r, ptr addrspace(1) %at0, align 4\n  ret void\n";
  EXPECT_EQ(kindsIn(simulation.run(body)), "");
  for (int i = 0; i < 64; ++i) {
    int n = i - 40, expected = n * 3 + std::max((n / 3) >> 1, -5);
    EXPECT_EQ(int(out[size_t(i)]), expected) << i;
  }
}

TEST(Atomic, AddsOfAllLanes) {
  IrSimulation simulation("gfx942", 256);
  simulation.launch.grid = {3, 1, 1};
  std::vector<uint32_t> &out = simulation.array({0});
  EXPECT_EQ(kindsIn(simulation.run(
                "  %o = atomicrmw add ptr addrspace(1) %p0, i32 %tid syncscope(\"agent-one-as\") "
                "monotonic\n  ret void\n")),
            "");
  EXPECT_EQ(out[0], 3u * 255 * 128);
}

TEST(Refusal, NothingIsSkipped) {
  EXPECT_NE(refusalOf("  %x = call i32 asm \"v_mov_b32 $0, 1\", \"=v\"()\n  ret void\n"), "");
  EXPECT_EQ(refusalOf("  call void asm sideeffect \"s_waitcnt lgkmcnt(0)\", \"\"()\n  ret void\n"),
            "");
  EXPECT_NE(refusalOf("  %x = udiv i128 1, 2\n  ret void\n"), "");
  EXPECT_NE(refusalOf("  call void @llvm.amdgcn.s.icache.inv()\n  ret void\n"), "");
  EXPECT_NE(refusalOf("  ret void\n", "gfx803"), "");
  EXPECT_NE(refusalOf("  no IR\n"), "");
}

/// Four words a lane, free of conflicts among neighbours. Of gfx942's groups of lanes that read
/// (0-3 and 20-23, ...), both halves lie on the same banks.
TEST(Banks, GroupsAreThoseOfTheMachine) {
  std::string body =
      "  %low = and i32 %tid, 7\n  %bit = lshr i32 %tid, 2\n  %turn = and i32 %bit, 4\n"
      "  %slot = xor i32 %low, %turn\n  %row = lshr i32 %tid, 3\n"
      "  %rows = mul i32 %row, 128\n  %slots = mul i32 %slot, 16\n"
      "  %o = add i32 %rows, %slots\n"
      "  %at = getelementptr i8, ptr addrspace(3) @lds, i32 %o\n"
      "  store <4 x i32> zeroinitializer, ptr addrspace(3) %at, align 16\n"
      "  %v = load <4 x i32>, ptr addrspace(3) %at, align 16\n"
      "  %e = extractelement <4 x i32> %v, i32 0\n"
      "  store i32 %e, ptr addrspace(1) %at0, align 4\n  ret void\n";
  for (bool isCdna : {true, false}) {
    IrSimulation simulation(isCdna ? "gfx942" : "gfx1100", 64);
    simulation.array(std::vector<uint32_t>(64));
    SimulationReport report = simulation.run(body);
    EXPECT_EQ(kindsIn(report), "");
    EXPECT_EQ(report.statistics.sharedWavefronts - report.statistics.idealSharedWavefronts,
              isCdna ? 8u : 0u);
  }
}
