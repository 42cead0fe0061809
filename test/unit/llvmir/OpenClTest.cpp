// Functions of OpenCL on subgroups of 16 and 32: numbers, shuffles, and what barriers order.
#include "test/unit/llvmir/IrHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;

/// A body with the declarations that it needs, before a function that the harness closes.
static std::string withDeclarations(const std::string &body) {
  return body + "  ret void\n}\n"
                "declare i32 @_Z22get_sub_group_local_idv()\n"
                "declare i32 @_Z16get_sub_group_idv()\n"
                "declare i64 @_Z12get_group_idj(i32)\n"
                "declare i64 @_Z14get_num_groupsj(i32)\n"
                "declare i32 @_Z17sub_group_shufflejj(i32, i32)\n"
                "declare float @_Z4exp2f(float)\n"
                "declare i32 @_Z9get_colorv()\n"
                "declare void @_Z22__spirv_ControlBarrieriii(i32, i32, i32)\n"
                "declare void @_Z33__spirv_ControlBarrierArriveINTELiii(i32, i32, i32)\n"
                "declare void @_Z31__spirv_ControlBarrierWaitINTELiii(i32, i32, i32)\n"
                "define void @rest() {\n  ret void\n";
}

static std::string barrier(unsigned scope, unsigned semantics) {
  return "  call void @_Z22__spirv_ControlBarrieriii(i32 " + std::to_string(scope) + ", i32 " +
         std::to_string(scope) + ", i32 " + std::to_string(semantics) + ")\n";
}

static constexpr unsigned kWorkgroup = 2, kSubgroup = 3, kAcquireRelease = 8, kShared = 256,
                          kGlobal = 512;

/// Runs 64 threads that each write one word.
static std::vector<uint32_t> resultsOf(const std::string &arch, const std::string &body) {
  IrSimulation simulation(arch, 64);
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64, 7777));
  SimulationReport report =
      simulation.run(withDeclarations(body + "  store i32 %y, ptr addrspace(1) %at0, align 4\n"));
  EXPECT_EQ(kindsIn(report), "") << arch << body;
  return out;
}

TEST(OpenCl, ThreadsAreNumberedInSubgroups) {
  for (unsigned lanes : {16u, 32u}) {
    std::string arch = "generic" + std::to_string(lanes);
    std::vector<uint32_t> out =
        resultsOf(arch, "  %lane = call i32 @_Z22get_sub_group_local_idv()\n"
                        "  %warp = call i32 @_Z16get_sub_group_idv()\n"
                        "  %far = mul i32 %warp, 1000\n"
                        "  %y = add i32 %lane, %far\n");
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(out[i], i % lanes + i / lanes * 1000) << arch;
  }
}

TEST(OpenCl, ShufflesStayInTheirSubgroup) {
  for (unsigned lanes : {16u, 32u}) {
    std::string arch = "generic" + std::to_string(lanes);
    std::vector<uint32_t> out =
        resultsOf(arch, "  %lane = call i32 @_Z22get_sub_group_local_idv()\n"
                        "  %other = xor i32 %lane, 5\n"
                        "  %y = call i32 @_Z17sub_group_shufflejj(i32 %tid, i32 %other)\n");
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(out[i], i ^ 5) << arch;
  }
}

TEST(OpenCl, ProgramsAreCountedInWorkGroups) {
  std::vector<uint32_t> out = resultsOf("generic16", "  %id = call i64 @_Z12get_group_idj(i32 0)\n"
                                                     "  %n = call i64 @_Z14get_num_groupsj(i32 2)\n"
                                                     "  %s = add i64 %id, %n\n"
                                                     "  %y = trunc i64 %s to i32\n");
  EXPECT_EQ(out[63], 1u);
}

TEST(OpenCl, FunctionsOfFloatsAreThoseOfOpenCl) {
  std::vector<uint32_t> out = resultsOf("generic16", "  %e = call float @_Z4exp2f(float 3.0)\n"
                                                     "  %y = fptosi float %e to i32\n");
  EXPECT_EQ(out[0], 8u);
}

/// Every thread writes a word of shared memory, then reads that of a thread of another subgroup.
static std::string kindsOfTrade(const std::string &arch, const std::string &between) {
  IrSimulation simulation(arch, 64);
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64));
  std::string kinds = kindsIn(simulation.run(
      withDeclarations("  %mine = getelementptr i32, ptr addrspace(3) @lds, i32 %tid\n"
                       "  %other = xor i32 %tid, 32\n"
                       "  %theirs = getelementptr i32, ptr addrspace(3) @lds, i32 %other\n"
                       "  store i32 %tid, ptr addrspace(3) %mine, align 4\n" +
                       between +
                       "  %v = load i32, ptr addrspace(3) %theirs, align 4\n"
                       "  store i32 %v, ptr addrspace(1) %at0, align 4\n")));
  for (uint32_t i = 0; i < 64 && kinds.empty(); ++i)
    EXPECT_EQ(out[i], i ^ 32);
  return kinds;
}

TEST(OpenCl, BarriersOrderWhatTheirSemanticsName) {
  for (const char *arch : {"generic16", "generic32"}) {
    EXPECT_EQ(kindsOfTrade(arch, barrier(kWorkgroup, kAcquireRelease | kShared)), "") << arch;
    EXPECT_EQ(kindsOfTrade(arch, barrier(kWorkgroup, kAcquireRelease | kGlobal)), "race-raw")
        << arch;
    EXPECT_NE(kindsOfTrade(arch, barrier(kSubgroup, kAcquireRelease | kShared)), "") << arch;
  }
}

/// Threads arrive with what they have done before; what they do until they wait is not ordered.
TEST(OpenCl, ASplitBarrierOrdersWhatIsBeforeTheArrival) {
  std::string arrive =
                  "  call void @_Z33__spirv_ControlBarrierArriveINTELiii(i32 2, i32 2, i32 260)\n",
              wait = "  call void @_Z31__spirv_ControlBarrierWaitINTELiii(i32 2, i32 2, i32 258)\n",
              store = "  store i32 %tid, ptr addrspace(3) %mine, align 4\n";
  for (const char *arch : {"xe-hpg", "xe-hpc"}) {
    EXPECT_EQ(kindsOfTrade(arch, arrive + wait), "") << arch;
    EXPECT_EQ(kindsOfTrade(arch, arrive + store + wait), "race-raw") << arch;
    EXPECT_EQ(kindsOfTrade(arch, wait), "barrier-misuse race-raw") << arch;
  }
}

TEST(OpenCl, OtherFunctionsAreRefused) {
  EXPECT_NE(refusalOf(withDeclarations("  %y = call i32 @_Z9get_colorv()\n"), "generic16"), "");
}
