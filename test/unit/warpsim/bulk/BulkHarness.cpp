// Builds the text around a body, and its launch.
#include "test/unit/warpsim/bulk/BulkHarness.h"
#include "backend/warpsim/ptx/Parse.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

std::string BulkLaunch::text(const std::string &body) const {
  std::string parameters, loads;
  for (size_t i = 0; i < maps.size(); ++i) {
    std::string number = std::to_string(i);
    parameters += ".param .align 64 .b8 map" + number + "[128], ";
    loads += "mov.b64 %m" + number + ", map" + number + ";\ncvta.param.u64 %m" + number + ", %m" +
             number + ";\n";
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    std::string number = std::to_string(i);
    parameters += ".param .u64 array" + number + ", ";
    loads += "ld.param.u64 %g" + number + ", [array" + number + "];\n";
  }
  parameters += ".param .u32 unused";
  return ".version 8.8\n.target sm_90a\n.address_size 64\n"
         ".extern .shared .align 1024 .b8 memory[];\n.visible .entry k(" +
         parameters + ") .reqntid " + std::to_string(numThreads) + " .minnctapersm 1\n" +
         directives +
         "{\n.reg .pred %p<16>; .reg .b32 %r<64>, %s, %t; .reg .f32 %d<128>;\n"
         ".reg .b64 %x<32>, %m<4>, %g<4>;\nmov.u32 %s, memory;\nmov.u32 %t, %tid.x;\n" +
         loads + body + "\nret;\n}\n";
}

SimulationReport BulkLaunch::run(const std::string &body) const {
  ParseError error;
  std::string whole = text(body);
  std::optional<Program> program = parsePtx(whole, error);
  if (!program) {
    ADD_FAILURE() << "line " << error.line << ": " << error.message << "\n" << whole;
    return {};
  }
  Launch launch;
  launch.kernel = "k";
  launch.grid = grid;
  launch.block = {numThreads, 1, 1};
  launch.dynamicSharedBytes = sharedBytes;
  launch.options = options;
  for (const TensorMap &map : maps) {
    std::array<uint8_t, 128> bytes = encode(map);
    launch.parameters.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    launch.allocationOfParameter.push_back(-1);
  }
  for (std::vector<uint32_t> *array : arrays) {
    uint64_t address = reinterpret_cast<uint64_t>(array->data());
    launch.allocationOfParameter.push_back(int(launch.allocations.size()));
    launch.allocations.push_back(
        {"a" + std::to_string(launch.allocations.size()), address, array->size() * 4});
    launch.parameters.append(reinterpret_cast<const char *>(&address), 8);
  }
  launch.allocationOfParameter.push_back(-1);
  launch.parameters.append(8, '\0');
  return simulate(*program, launch);
}

std::string tw::warpsim::kindsOf(BulkLaunch launch, const std::string &body) {
  std::string late = kindsIn(launch.run(body));
  launch.options.completion = Completion::Early;
  EXPECT_EQ(kindsIn(launch.run(body)), late) << "early" << body;
  launch.options.completion = Completion::Random;
  for (launch.options.completionSeed = 0; launch.options.completionSeed < 4;
       ++launch.options.completionSeed)
    EXPECT_EQ(kindsIn(launch.run(body)), late) << launch.options.completionSeed << body;
  return late;
}
