// What fences and barriers order: a barrier alone orders nothing, a fence of one memory only that.
#include "test/unit/llvmir/IrHarness.h"
#include <gtest/gtest.h>
#include <sstream>

using namespace tw::warpsim;

static constexpr const char *kRelease = "  fence syncscope(\"workgroup\") release, !mmra !0\n",
                            *kAcquire = "  fence syncscope(\"workgroup\") acquire, !mmra !0\n",
                            *kBarrier = "  call void @llvm.amdgcn.s.barrier()\n";

/// Every lane writes a word of shared memory, then reads that of a lane of another wave.
static std::string tradedBy(const std::string &between, const std::string &after = "") {
  return "  %mine = getelementptr i32, ptr addrspace(3) @lds, i32 %tid\n"
         "  %other = xor i32 %tid, 64\n"
         "  %theirs = getelementptr i32, ptr addrspace(3) @lds, i32 %other\n"
         "  store i32 %tid, ptr addrspace(3) %mine, align 4\n" +
         between +
         "  %v = load i32, ptr addrspace(3) %theirs, align 4\n"
         "  store i32 %v, ptr addrspace(1) %at0, align 4\n" +
         after + "  ret void\n";
}

static std::string kindsOf(const std::string &body, const char *arch = "gfx942",
                           unsigned numThreads = 128) {
  IrSimulation simulation(arch, numThreads);
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(numThreads));
  std::string kinds = kindsIn(simulation.run(body));
  for (uint32_t i = 0; i < numThreads && kinds.empty(); ++i)
    EXPECT_EQ(out[i], i ^ 64);
  return kinds;
}

TEST(Fence, ABarrierBetweenFencesOrders) {
  for (const char *arch : {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"})
    EXPECT_EQ(kindsOf(tradedBy(std::string(kRelease) + kBarrier + kAcquire), arch), "") << arch;
}

TEST(Fence, ABareBarrierOrdersNothing) { EXPECT_EQ(kindsOf(tradedBy(kBarrier)), "race-raw"); }

TEST(Fence, FencesWithoutABarrierReadWhatIsNotThere) {
  EXPECT_NE(kindsOf(tradedBy(std::string(kRelease) + kAcquire)), "");
}

TEST(Fence, AMissingReleaseIsARace) {
  EXPECT_EQ(kindsOf(tradedBy(std::string(kBarrier) + kAcquire)), "race-raw");
}

TEST(Fence, AMissingAcquireIsARace) {
  EXPECT_EQ(kindsOf(tradedBy(std::string(kRelease) + kBarrier)), "race-raw");
}

TEST(Fence, AFenceOfGlobalMemoryDoesNotCoverSharedMemory) {
  EXPECT_EQ(kindsOf(tradedBy("  fence syncscope(\"workgroup\") release, !mmra !1\n" +
                             std::string(kBarrier) +
                             "  fence syncscope(\"workgroup\") acquire, !mmra !1\n")),
            "race-raw");
}

TEST(Fence, AFenceOfAWaveDoesNotReachTheOthers) {
  EXPECT_EQ(kindsOf(tradedBy("  fence syncscope(\"wavefront\") release\n" + std::string(kBarrier) +
                             "  fence syncscope(\"wavefront\") acquire\n")),
            "race-raw");
}

/// Only the first lane writes, so that lanes of the other half read before they access anything.
TEST(Fence, AFenceOfAWaveReachesLanesThatHaveDoneNothingYet) {
  IrSimulation simulation("gfx942", 64);
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64, 7777));
  SimulationReport report = simulation.run("  %first = icmp eq i32 %tid, 0\n"
                                           "  br i1 %first, label %write, label %meet\n"
                                           "write:\n"
                                           "  store i32 42, ptr addrspace(3) @lds, align 4\n"
                                           "  br label %meet\n"
                                           "meet:\n"
                                           "  fence syncscope(\"wavefront\") release\n"
                                           "  call void @llvm.amdgcn.wave.barrier()\n"
                                           "  fence syncscope(\"wavefront\") acquire\n"
                                           "  %x = load i32, ptr addrspace(3) @lds, align 4\n"
                                           "  store i32 %x, ptr addrspace(1) %at0, align 4\n"
                                           "  ret void\n");
  EXPECT_EQ(kindsIn(report), "");
  EXPECT_EQ(out, std::vector<uint32_t>(64, 42));
}

TEST(Fence, AFenceOfAllMemoryCoversBoth) {
  EXPECT_EQ(kindsOf(tradedBy("  fence syncscope(\"workgroup\") release\n" + std::string(kBarrier) +
                             "  fence syncscope(\"workgroup\") acquire\n")),
            "");
}

/// A write after the release is not handed on by the barrier.
TEST(Fence, AWriteBehindTheReleaseIsNotReleased) {
  EXPECT_EQ(kindsOf(tradedBy(std::string(kRelease) +
                             "  store i32 %tid, ptr addrspace(3) %mine, align 4\n" + kBarrier +
                             kAcquire)),
            "race-raw");
}

/// What others have read must be released too before it is overwritten.
TEST(Fence, OverwritingWhatOthersReadNeedsTheirRelease) {
  std::string full = std::string(kRelease) + kBarrier + kAcquire;
  std::string overwrite = "  store i32 0, ptr addrspace(3) %mine, align 4\n";
  EXPECT_EQ(kindsOf(tradedBy(full, full + overwrite)), "");
  EXPECT_EQ(kindsOf(tradedBy(full, kBarrier + overwrite)), "race-war");
}

/// One wave needs fences only, on both wave sizes.
TEST(Fence, LanesOfOneWaveNeedNoBarrier) {
  std::string body = "  %mine = getelementptr i32, ptr addrspace(3) @lds, i32 %tid\n"
                     "  %other = xor i32 %tid, 17\n"
                     "  %theirs = getelementptr i32, ptr addrspace(3) @lds, i32 %other\n"
                     "  store i32 %tid, ptr addrspace(3) %mine, align 4\n"
                     "FENCE"
                     "  %v = load i32, ptr addrspace(3) %theirs, align 4\n"
                     "  store i32 %v, ptr addrspace(1) %at0, align 4\n  ret void\n";
  for (const char *arch : {"gfx942", "gfx1100"})
    for (bool isFenced : {true, false}) {
      IrSimulation simulation(arch, std::string(arch) == "gfx942" ? 64 : 32);
      std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64));
      std::string text = body;
      text.replace(text.find("FENCE"), 5, isFenced ? std::string(kRelease) + kAcquire : "");
      EXPECT_EQ(kindsIn(simulation.run(text)), isFenced ? "" : "race-raw") << arch;
      EXPECT_EQ(out[3], isFenced ? 18u : out[3]);
    }
}

/// Global memory is ordered by fences that cover it only.
TEST(Fence, GlobalMemoryNeedsAFenceOfItsOwn) {
  std::string begin = "  store i32 %tid, ptr addrspace(1) %at0, align 4\n",
              end = "  %other = xor i32 %tid, 64\n"
                    "  %theirs = getelementptr i32, ptr addrspace(1) %p0, i32 %other\n"
                    "  %v = load i32, ptr addrspace(1) %theirs, align 4\n"
                    "  store i32 %v, ptr addrspace(1) %at1, align 4\n  ret void\n";
  for (bool isLocal : {true, false}) {
    std::string tag = isLocal ? ", !mmra !0\n" : "\n";
    IrSimulation simulation("gfx942", 128);
    simulation.array(std::vector<uint32_t>(128));
    simulation.array(std::vector<uint32_t>(128));
    EXPECT_EQ(
        kindsIn(simulation.run(begin + "  fence syncscope(\"workgroup\") release" + tag + kBarrier +
                               "  fence syncscope(\"workgroup\") acquire" + tag + end)),
        isLocal ? "race-raw" : "");
  }
}

TEST(Fence, ASplitBarrierWaitsForItsSignal) {
  std::string signal = "  call void @llvm.amdgcn.s.barrier.signal(i32 -1)\n",
              wait = "  call void @llvm.amdgcn.s.barrier.wait(i16 -1)\n";
  EXPECT_EQ(kindsOf(tradedBy(kRelease + signal + wait + kAcquire), "gfx1201"), "");
  EXPECT_EQ(kindsOf(tradedBy(kRelease + wait + kAcquire), "gfx1201"), "barrier-misuse");
  // A store that is released behind the signal may still be on its way.
  EXPECT_EQ(kindsOf(tradedBy(signal + kRelease + wait + kAcquire), "gfx1201"), "race-raw");
}

/// What the first program hands to the second by a relaxed flag, between two fences.
static std::string kindsOfHandover(const std::string &publish, const std::string &learn) {
  IrSimulation simulation("gfx942", 64);
  simulation.launch.grid = {2, 1, 1};
  for (int i = 0; i < 3; ++i)
    simulation.array(std::vector<uint32_t>(64));
  return kindsIn(simulation.run(
      "  %program = call i32 @llvm.amdgcn.workgroup.id.x()\n"
      "  %first = icmp eq i32 %program, 0\n"
      "  br i1 %first, label %give, label %poll\n"
      "give:\n"
      "  store i32 %tid, ptr addrspace(1) %at0, align 4\n"
      "  fence " +
      publish +
      "\n"
      "  %old = atomicrmw xchg ptr addrspace(1) %at1, i32 1 syncscope(\"agent\") monotonic\n"
      "  ret void\n"
      "poll:\n"
      "  %flag = atomicrmw or ptr addrspace(1) %at1, i32 0 syncscope(\"agent\") monotonic\n"
      "  %is = icmp eq i32 %flag, 0\n"
      "  br i1 %is, label %poll, label %take\n"
      "take:\n"
      "  fence " +
      learn +
      "\n"
      "  %v = load i32, ptr addrspace(1) %at0, align 4\n"
      "  store i32 %v, ptr addrspace(1) %at2, align 4\n"
      "  ret void\n"));
}

TEST(Fence, AFenceBesideARelaxedFlagGoesItsOwnWayOnly) {
  std::string release = "syncscope(\"agent\") release", acquire = "syncscope(\"agent\") acquire",
              both = "syncscope(\"agent\") acq_rel";
  EXPECT_EQ(kindsOfHandover(release, acquire), "");
  EXPECT_EQ(kindsOfHandover(both, both), "");
  EXPECT_EQ(kindsOfHandover(release, release), "race-raw");
  EXPECT_EQ(kindsOfHandover(acquire, acquire), "race-raw");
  EXPECT_EQ(kindsOfHandover(release, "syncscope(\"workgroup\") acquire"), "race-raw");
  EXPECT_EQ(kindsOfHandover("syncscope(\"workgroup\") release", acquire), "race-raw");
}

/// Lock step orders the accesses, but compilers may move either of them past one fence.
TEST(Fence, LanesOfOneWaveNeedAReleaseAndAnAcquire) {
  for (const char *arch : {"gfx942", "gfx1100"})
    for (const char *fences : {"release", "acquire", "acq_rel", "acquire release"}) {
      unsigned lanes = std::string(arch) == "gfx942" ? 64 : 32;
      IrSimulation simulation(arch, lanes);
      simulation.array(std::vector<uint32_t>(64));
      std::string text = "  %mine = getelementptr i32, ptr addrspace(3) @lds, i32 %tid\n"
                         "  %other = xor i32 %tid, 17\n"
                         "  %theirs = getelementptr i32, ptr addrspace(3) @lds, i32 %other\n"
                         "  store i32 %tid, ptr addrspace(3) %mine, align 4\n";
      std::stringstream each(fences);
      for (std::string order; each >> order;)
        text += "  fence syncscope(\"wavefront\") " + order + "\n";
      text += "  %v = load i32, ptr addrspace(3) %theirs, align 4\n"
              "  store i32 %v, ptr addrspace(1) %at0, align 4\n  ret void\n";
      bool isOrdered = std::string(fences) == "acq_rel";
      EXPECT_EQ(kindsIn(simulation.run(text)), isOrdered ? "" : "race-raw")
          << arch << " " << fences;
    }
}
