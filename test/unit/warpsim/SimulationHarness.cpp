// Builds the text around a body, and the launch around arrays.
#include "SimulationHarness.h"
#include "backend/warpsim/ptx/Parse.h"
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace tw::warpsim;

std::string tw::warpsim::kernelText(const std::string &body, unsigned numParameters,
                                    const std::string &declarations) {
  std::string parameters, loads;
  for (unsigned i = 0; i < numParameters; ++i) {
    std::string number = std::to_string(i);
    parameters += (i ? ", " : "") + std::string(".param .u64 p") + number;
    loads += "  ld.param.u64 %rd" + number + ", [p" + number + "];\n";
  }
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".shared .align 16 .b8 buffer[4096];\n" +
         declarations + ".visible .entry k(" + parameters +
         ")\n{\n  .reg .pred %p<16>;\n  .reg .b32 %r<64>;\n  .reg .f32 %f<32>;\n"
         "  .reg .b64 %rd<32>;\n  .reg .f64 %fd<8>;\n  .reg .b16 %h<16>;\n" +
         loads + body + "\n  ret;\n}\n";
}

std::vector<uint32_t> &Simulation::array(const std::string &name, std::vector<uint32_t> values,
                                         bool isReadOnly) {
  std::vector<uint32_t> &kept = arrays.emplace_back(std::move(values));
  uint64_t address = reinterpret_cast<uint64_t>(kept.data());
  launch.allocations.push_back({name, address, kept.size() * 4, isReadOnly});
  launch.allocationOfParameter.push_back(int(launch.allocations.size()) - 1);
  arguments.push_back(address);
  return kept;
}

void Simulation::scalar(uint64_t value) {
  launch.allocationOfParameter.push_back(-1);
  arguments.push_back(value);
}

SimulationReport Simulation::run(const std::string &body, const std::string &declarations) {
  return runText(kernelText(body, unsigned(arguments.size()), declarations));
}

SimulationReport Simulation::runText(const std::string &text) {
  ParseError error;
  std::optional<Program> parsed = parsePtx(text, error);
  if (!parsed) {
    ADD_FAILURE() << "line " << error.line << ": " << error.message << "\n" << text;
    return {};
  }
  program = std::move(*parsed);
  launch.kernel = "k";
  launch.parameters.assign(arguments.size() * 8, 0);
  for (size_t i = 0; i < arguments.size(); ++i)
    memcpy(launch.parameters.data() + 8 * i, &arguments[i], 8);
  printed.clear();
  launch.print = [this](const std::string &part) { printed += part; };
  return simulate(program, launch);
}

std::string tw::warpsim::kindsIn(const SimulationReport &report) {
  std::set<std::string> kinds;
  for (const Finding &finding : report.findings)
    kinds.insert(nameOf(finding.kind));
  std::string text;
  for (const std::string &kind : kinds)
    text += (text.empty() ? "" : " ") + kind;
  return text;
}

Finding tw::warpsim::findingOf(const SimulationReport &report, Kind kind) {
  for (const Finding &finding : report.findings)
    if (finding.kind == kind)
      return finding;
  ADD_FAILURE() << "no finding of kind " << nameOf(kind) << " but: " << kindsIn(report);
  return {};
}

std::vector<uint32_t> tw::warpsim::iota(uint32_t count) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}
