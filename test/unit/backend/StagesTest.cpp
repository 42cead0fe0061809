// The stages that a target names are those that its pipeline goes through.
#include "backend/compile/Stages.h"
#include "backend/compile/Compiler.h"
#include "backend/cpu/CpuTarget.h"
#include "backend/nvidia/NvidiaTarget.h"
#include <gtest/gtest.h>

using namespace tw;

static std::vector<PipelineStage> pipelineOf(const Target &target) {
  std::unique_ptr<mlir::MLIRContext> context = makeCompilerContext();
  mlir::PassManager manager(context.get());
  StagedPasses passes(manager);
  addAllPasses(passes, target, {});
  EXPECT_EQ(passes.stages().back().end, manager.size());
  return passes.stages().vec();
}

TEST(StagesTest, PipelinesGoThroughTheStagesOfTheirTarget) {
  std::unique_ptr<Target> targets[] = {makeCpuTarget(), makeNvidiaTarget("sm_80")};
  for (const auto &target : targets) {
    std::vector<PipelineStage> stages = pipelineOf(*target);
    ASSERT_EQ(stages.size(), target->irStages().size()) << target->name();
    for (auto [stage, name] : llvm::zip(stages, target->irStages()))
      EXPECT_EQ(stage.name, name) << target->name();
    EXPECT_EQ(stages.back().name, "llvm-dialect");
    EXPECT_TRUE(llvm::is_contained(target->irStages(), "lowered"));
  }
}

TEST(StagesTest, EachPassLeadsToOneStage) {
  unsigned number = 0;
  for (const PipelineStage &stage : pipelineOf(*makeCpuTarget())) {
    EXPECT_EQ(stage.begin, number) << stage.name.str();
    EXPECT_FALSE(stage.truth.empty());
    number = stage.end;
  }
}
