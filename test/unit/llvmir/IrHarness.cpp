// Kernels of LLVM IR as the tests write them.
#include "test/unit/llvmir/IrHarness.h"
#include "backend/warpsim/ImplicitParameters.h"
#include "backend/warpsim/llvmir/Import.h"
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace tw::warpsim;

std::string tw::warpsim::irKernel(const std::string &body, unsigned numParameters) {
  std::string parameters, places;
  for (unsigned i = 0; i < numParameters; ++i) {
    std::string n = std::to_string(i);
    parameters += (i ? ", " : "") + ("ptr addrspace(1) %p" + n);
    places += "  %at" + n + " = getelementptr i32, ptr addrspace(1) %p" + n + ", i32 %tid\n";
  }
  return "target triple = \"amdgcn-amd-amdhsa\"\n"
         "target datalayout = "
         "\"e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-"
         "p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-"
         "v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9\"\n"
         "@lds = external addrspace(3) global [0 x i32], align 16\n"
         "define amdgpu_kernel void @k(" +
         parameters + ") {\nentry:\n  %tid = call i32 @llvm.amdgcn.workitem.id.x()\n" + places +
         body +
         "}\n!0 = !{!\"amdgpu-synchronize-as\", !\"local\"}\n"
         "!1 = !{!\"amdgpu-synchronize-as\", !\"global\"}\n";
}

IrSimulation::IrSimulation(std::string arch, unsigned numThreads) : arch(std::move(arch)) {
  launch.kernel = "k";
  launch.block = {numThreads, 1, 1};
  launch.dynamicSharedBytes = 4096;
}

std::vector<uint32_t> &IrSimulation::array(std::vector<uint32_t> values) {
  return arrays.emplace_back(std::move(values));
}

SimulationReport IrSimulation::run(const std::string &body) {
  ImportError error;
  std::optional<Program> imported =
      importAmdgcn(irKernel(body, unsigned(arrays.size())), arch, error);
  EXPECT_TRUE(imported.has_value()) << error.message << " at line " << error.line << " of\n"
                                    << irKernel(body, unsigned(arrays.size()));
  if (!imported)
    return {};
  program = std::move(*imported);
  const std::vector<Parameter> &parameters = program.functions[0].parameters;
  launch.parameters.assign(arrays.size() * 8, 0);
  for (size_t i = 0; i < arrays.size(); ++i) {
    auto base = reinterpret_cast<uint64_t>(arrays[i].data());
    memcpy(launch.parameters.data() + parameters[i].offset, &base, sizeof(base));
    launch.allocationOfParameter.push_back(int(i));
    launch.allocations.push_back({parameters[i].name, base, arrays[i].size() * 4});
  }
  addImplicitParameters(program, launch);
  return simulate(program, launch);
}

std::string tw::warpsim::refusalOf(const std::string &body, const std::string &arch) {
  ImportError error;
  return importAmdgcn(irKernel(body, 2), arch, error) ? "" : error.message;
}

std::string tw::warpsim::kindsIn(const SimulationReport &report) {
  std::set<std::string> kinds;
  for (const Finding &finding : report.findings)
    kinds.insert(nameOf(finding.kind));
  return std::accumulate(kinds.begin(), kinds.end(), std::string(),
                         [](const std::string &all, const std::string &kind) {
                           return all + (all.empty() ? "" : " ") + kind;
                         });
}

std::vector<uint32_t> tw::warpsim::iota(uint32_t count) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}
