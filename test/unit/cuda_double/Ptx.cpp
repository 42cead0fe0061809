// How the double of libcuda reads PTX.
#include "test/unit/cuda_double/Cuda.h"
#include <cstdlib>
#include <regex>

using namespace tw::driver_double;

/// Bytes of "u64", "b8" and the like.
static int typeBytes(const std::string &type) { return atoi(type.c_str() + 1) / 8; }

std::vector<std::unique_ptr<Function>> tw::cuda_double::readPtx(const std::string &text) {
  static const std::regex entry(R"(\.entry\s+([\w$]+)\s*\(([^)]*)\))"),
      parameter(R"(\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)(\s+\.ptr)?\s[^,\[]*(?:\[(\d+)\])?)");
  std::vector<std::unique_ptr<Function>> functions;
  if (text.find(".version") == std::string::npos)
    return functions;
  for (std::sregex_iterator at(text.begin(), text.end(), entry), end; at != end; ++at) {
    auto function = std::make_unique<Function>();
    function->name = (*at)[1];
    function->code = text;
    const std::string list = (*at)[2];
    for (std::sregex_iterator p(list.begin(), list.end(), parameter); p != end; ++p) {
      int count = (*p)[3].matched ? std::stoi((*p)[3]) : 1;
      function->parameters.push_back({typeBytes((*p)[1]) * count, (*p)[2].matched});
    }
    functions.push_back(std::move(function));
  }
  return functions;
}
