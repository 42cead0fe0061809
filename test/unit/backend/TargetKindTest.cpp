// Targets are found by name among the kinds that their folders give: which names there are, what is
// true of them, and what an unknown one is answered with.
#include "backend/TargetKind.h"
#include "runtime/codes/Codes.h"
#include <gtest/gtest.h>

using namespace tw;

namespace {
struct TargetKinds : testing::Test {
  std::vector<TargetKind> kinds = targetKinds();
  RuntimeError error;

  std::optional<TargetEntry> make(const std::string &name) {
    return makeTarget(kinds, name, /*settings=*/{}, error);
  }
};
} // namespace

TEST_F(TargetKinds, EveryNameMakesATargetWithADevice) {
  std::vector<std::string> names = namesOf(kinds);
  for (const char *name : {"cpu", "reference", "sim:sm_80", "nvidia:sm_90a", "toy64"})
    EXPECT_TRUE(llvm::is_contained(names, name)) << name;
  for (const std::string &name : names) {
    std::optional<TargetEntry> entry = make(name);
    ASSERT_TRUE(entry && entry->target && entry->device) << name << ": " << error.message;
    EXPECT_FALSE(entry->target->irStages().empty()) << name;
  }
}

TEST_F(TargetKinds, FactsAreThoseOfTheName) {
  std::optional<TargetFacts> simulated = findFacts(kinds, "sim:sm_90a");
  ASSERT_TRUE(simulated);
  EXPECT_TRUE(simulated->isSimulated);
  EXPECT_EQ(simulated->arch, "90");
  EXPECT_EQ(simulated->checksAccesses, AccessChecks::Always);
  std::optional<TargetFacts> second = findFacts(kinds, "cuda:1");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->kind, "cuda");
  EXPECT_EQ(second->index, 1);
  EXPECT_TRUE(second->hasMemory);
  EXPECT_EQ(findFacts(kinds, "cpu")->warpSize, 1u);
  EXPECT_EQ(findFacts(kinds, "toy64")->warpSize, 64u);
  EXPECT_FALSE(findFacts(kinds, "toaster"));
  EXPECT_FALSE(findFacts(kinds, "sim:sm_81"));
}

TEST_F(TargetKinds, UnknownNamesAreAnsweredWithWhatThereIs) {
  EXPECT_FALSE(make("sim:sm_81"));
  EXPECT_EQ(error.code, Code::UnknownDevice);
  EXPECT_TRUE(error.hint.starts_with("did you mean sim:sm_80? there are sim:sm_80, sim:sm_86"));
  EXPECT_FALSE(make("sim"));
  EXPECT_TRUE(error.hint.starts_with("there are sim:sm_80, sim:sm_86"));
  EXPECT_FALSE(make("toaster"));
  EXPECT_EQ(error.message, "there is no device `toaster`");
  EXPECT_NE(error.hint.find("cpu"), std::string::npos);
  EXPECT_FALSE(make("cuda:00"));
  EXPECT_EQ(error.hint, "GPUs are called cuda:0, cuda:1, ...");
}

TEST_F(TargetKinds, WhatIsOnlyCompiledForSaysSoWhenLaunched) {
  std::optional<TargetEntry> entry = make("nvidia:sm_80");
  std::shared_ptr<LoadedKernel> kernel = entry->device->load(Artifact(), error);
  std::optional<RuntimeError> failure = entry->device->launch(*kernel, LaunchGrid(), {});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::TargetIsNoDevice);
  EXPECT_EQ(failure->hint, "launch on sim:sm_80, which executes the same code here");
}

TEST_F(TargetKinds, DevicesHaveWhatTheirKindSays) {
  EXPECT_EQ(make("cpu")->device->allocate(4, error), nullptr);
  EXPECT_EQ(error.message, "`cpu` has no memory of its own");
  EXPECT_EQ(make("cpu")->device, make("cpu")->device); // one pool of threads
  EXPECT_GT(make("cpu")->device->numThreads(), 0);
  EXPECT_FALSE(make("reference")->device->setNumThreads(2));
  EXPECT_EQ(make("cpu")->device->asSimulated(), nullptr);
  EXPECT_NE(make("sim:sm_80")->device->asSimulated(), nullptr);
}
