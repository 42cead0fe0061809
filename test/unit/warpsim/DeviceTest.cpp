// The device "sim:<arch>": loading artifacts, binding arguments, errors, reports.
#include "SimulationHarness.h"
#include "backend/warpsim/device/WarpsimDevice.h"
#include "runtime/codes/Codes.h"
#include <gtest/gtest.h>

using namespace tw;
using namespace tw::warpsim;

/// out[i] = in[i] * 3 for i < n, 64 programs of a CTA each.
static const char kScale[] = R"(
  cvt.u32.u64 %r9, %rd2;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mad.lo.u32 %r2, %r1, 64, %r0;
  setp.ge.u32 %p0, %r2, %r9;
  @%p0 bra END;
  mul.wide.u32 %rd5, %r2, 4;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.u32 %r3, [%rd6];
  mul.lo.u32 %r3, %r3, 3;
  add.s64 %rd7, %rd0, %rd5;
  st.global.u32 [%rd7], %r3;
END:)";

static Artifact artifactOf(const std::string &body) {
  Artifact artifact;
  artifact.target = "nvidia:sm_80";
  artifact.symbol = "k";
  artifact.binary = kernelText(body, 3);
  artifact.resources["threads"] = 64;
  artifact.parameters = {{"out", "*i32", true, false, 0},
                         {"in", "*i32", false, true, 1},
                         {"n", "i32", false, false, 2}};
  return artifact;
}

namespace {
class WarpsimDevice : public testing::Test {
protected:
  std::optional<RuntimeError> launch(const Artifact &artifact, LaunchGrid grid = {{2, 1, 1}}) {
    RuntimeError error;
    std::shared_ptr<LoadedKernel> kernel = device->load(artifact, error);
    if (!kernel)
      return error;
    return device->launch(*kernel, grid, arguments);
  }
  static LaunchArgument argumentOf(std::vector<uint32_t> &array) {
    auto address = reinterpret_cast<uint64_t>(array.data());
    return {address, address, array.size() * 4, false};
  }

  std::shared_ptr<SimulatedDevice> device = makeWarpsimDevice("sm_80");
  std::vector<uint32_t> out = std::vector<uint32_t>(100), in = iota(100);
  std::vector<LaunchArgument> arguments = {argumentOf(out), argumentOf(in), {100}};
};
} // namespace

TEST_F(WarpsimDevice, RunsAnArtifactOnTheCallersArrays) {
  EXPECT_EQ(device->name(), "sim:sm_80");
  EXPECT_EQ(device->lastReport(), "");
  std::optional<RuntimeError> error = launch(artifactOf(kScale));
  EXPECT_FALSE(error) << error->message;
  for (uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(out[i], 3 * i);
  std::string report = device->lastReport();
  EXPECT_EQ(report.find("{\"findings\": [], \"statistics\": {"), 0u) << report;
  EXPECT_NE(report.find("\"ld.global.u32\": 4"), std::string::npos) << report;
}

TEST_F(WarpsimDevice, FindingsAreErrorsWithTheirPlaces) {
  arguments[2].bits = 128; // more than there is
  std::optional<RuntimeError> error = launch(artifactOf(kScale));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::SimulatorFinding);
  EXPECT_EQ(error->kind, RuntimeError::Kind::Device);
  EXPECT_NE(error->message.find("2 findings"), std::string::npos) << error->message;
  EXPECT_NE(error->message.find("read of 4 bytes at offset 400 of `in`, which has 400 bytes"),
            std::string::npos)
      << error->message;
  EXPECT_NE(device->lastReport().find("out-of-bounds-global"), std::string::npos);
}

TEST_F(WarpsimDevice, StoringToAParameterThatIsNotStoredIsFound) {
  Artifact artifact = artifactOf(kScale);
  artifact.parameters[0].isStored = false;
  std::optional<RuntimeError> error = launch(artifact);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("read-only: write of 4 bytes at `out` + 0"), std::string::npos)
      << error->message;
}

TEST_F(WarpsimDevice, LaunchesAreChecked) {
  auto codeOf = [&](const Artifact &artifact, LaunchGrid grid = {{2, 1, 1}}) {
    std::optional<RuntimeError> error = launch(artifact, grid);
    return error ? std::optional(error->code) : std::nullopt;
  };
  Artifact artifact = artifactOf(kScale);
  EXPECT_EQ(codeOf(artifact, {{-1, 1, 1}}), Code::BadGrid);
  EXPECT_EQ(codeOf(artifact, {{1, 65536, 1}}), Code::BadGrid);
  EXPECT_EQ(codeOf(artifact, {{0, 1, 1}}), std::nullopt);
  arguments[0].isReadOnly = true;
  EXPECT_EQ(codeOf(artifact), Code::ReadOnlyArgument);
  arguments[0] = {reinterpret_cast<uint64_t>(out.data())};
  EXPECT_EQ(codeOf(artifact), Code::UnknownMemory);
  arguments[0] = {0}; // null, and not followed by a kernel of no elements
  arguments[2].bits = 0;
  EXPECT_EQ(codeOf(artifact), std::nullopt);
  arguments.pop_back();
  EXPECT_EQ(codeOf(artifact), Code::LaunchArguments);
}

TEST_F(WarpsimDevice, ArtifactsThatCannotBeLoadedSayWhy) {
  Artifact artifact = artifactOf("  mov.u32 %r1, %r1000;");
  std::optional<RuntimeError> error = launch(artifact);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::UnloadableKernel);
  EXPECT_NE(error->message.find("%r1000"), std::string::npos) << error->message;
  artifact = artifactOf(kScale);
  artifact.symbol = "other";
  EXPECT_EQ(launch(artifact)->code, Code::UnloadableKernel);
  artifact = artifactOf(kScale);
  artifact.resources["threads"] = 2048;
  EXPECT_EQ(launch(artifact)->code, Code::UnloadableKernel);
}

TEST_F(WarpsimDevice, OptionsChooseCtas) {
  SimulationOptions options;
  LaunchGrid grid{{2, 1, 1}};
  grid.simulation = &options;
  options.schedule = "backwards";
  EXPECT_EQ(launch(artifactOf(kScale), grid)->code, Code::SimulatedLaunch);
  options.schedule = "random";
  options.ctas = {1};
  EXPECT_FALSE(launch(artifactOf(kScale), grid));
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(out[70], 210u);
  options.ctas = {1, 99};
  std::optional<RuntimeError> error = launch(artifactOf(kScale), grid);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::BadGrid);
  EXPECT_NE(error->message.find("program 99"), std::string::npos) << error->message;
}

TEST(WarpsimReport, NamesTheUsersLineAndTheInstruction) {
  Simulation simulation;
  SimulationReport report = simulation.runText(".version 8.0\n.target sm_80\n.address_size 64\n"
                                               ".visible .entry k()\n{\n  .reg .b32 %r<2>;\n"
                                               "  .loc 1 42 7\n  ld.shared.u32 %r1, [0];\n"
                                               "  ret;\n}\n.file 1 \"kernel.py\"\n");
  Finding finding = findingOf(report, Kind::OutOfBoundsShared);
  EXPECT_EQ(finding.file, "kernel.py");
  EXPECT_EQ(finding.sourceLine, 42);
  EXPECT_EQ(finding.sourceColumn, 7);
  EXPECT_EQ(finding.ptxLine, 8);
  std::string text = report.text(simulation.program), json = report.json(simulation.program);
  EXPECT_EQ(text.find("kernel.py:42: out-of-bounds-shared: read of 4 bytes"), 0u) << text;
  EXPECT_NE(text.find("line 8: ld.shared.u32"), std::string::npos) << text;
  EXPECT_NE(json.find("\"kind\": \"out-of-bounds-shared\", \"isError\": true"), std::string::npos);
  EXPECT_NE(json.find("\"sourceLine\": 42"), std::string::npos) << json;
}

TEST(WarpsimReport, KeepsAtMostTheFindingsAskedFor) {
  Simulation simulation;
  simulation.launch.options.maxFindings = 2;
  std::string body;
  for (int i = 0; i < 5; ++i)
    body += "  ld.shared.u32 %r1, [0];\n";
  EXPECT_EQ(simulation.run(body).findings.size(), 2u);
}

TEST(WarpsimReport, TheKeptOccurrenceIsOfTheFirstCta) {
  for (int i = 0; i < 8; ++i) {
    Simulation simulation;
    simulation.launch.grid = {64, 1, 1};
    simulation.launch.options.numThreads = 4;
    Finding finding =
        findingOf(simulation.run("  ld.shared.u32 %r1, [0];"), Kind::OutOfBoundsShared);
    EXPECT_EQ(finding.cta[0], 0u);
    EXPECT_EQ(finding.count, 64u * 32);
  }
}
