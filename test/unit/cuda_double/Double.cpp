// The double's settings and record, and how it reads PTX.
#include "test/unit/cuda_double/Double.h"
#include <cstdlib>
#include <regex>
#include <sstream>

using namespace tw::cuda_double;

static Settings readSettings(const std::string &words) {
  Settings settings;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    int number = atoi(value.c_str());
    if (name == "devices")
      settings.numDevices = number;
    else if (name == "capability")
      settings.capability = number;
    else if (name == "driver")
      settings.driverVersion = number;
    else if (name == "kernel")
      settings.kernelResult = number;
    else if (name == "max_threads")
      settings.maxThreads = number;
    else if (name == "static_shared")
      settings.staticShared = number;
    else if (name == "shared_limit")
      settings.sharedLimit = number;
    else if (name == "machine_code")
      settings.refusesMachineCode = value == "refused";
    else if (name == "execute")
      settings.simulator = value;
    else if (name == "log")
      settings.log = value;
    else if (name == "fail")
      settings.failures[value.substr(0, value.find(':'))] =
          atoi(value.substr(value.find(':') + 1).c_str());
    else
      abort(); // a misspelled word would let a test pass for nothing
  }
  return settings;
}

State &tw::cuda_double::state() {
  static State *state = [] {
    auto *made = new State;
    if (const char *words = getenv("CUDA_DOUBLE"))
      made->settings = readSettings(words);
    return made;
  }();
  return *state;
}

std::vector<void *> &tw::cuda_double::contextStack() {
  static thread_local std::vector<void *> stack;
  return stack;
}

Call::Call(const char *name, const std::string &details) : lock(state().mutex) {
  State &now = state();
  now.record += name + details + "\n";
  int number = ++now.numCalls[name];
  const auto &failures = now.settings.failures;
  for (const std::string &key : {std::string(name), name + ("@" + std::to_string(number))})
    if (auto found = failures.find(key); found != failures.end())
      failure = found->second;
}

ContextCall::ContextCall(const char *name, const std::string &details) : Call(name, details) {
  constexpr int invalidContext = 201;
  if (failure == 0 && state().stickyResult != 0)
    failure = state().stickyResult;
  else if (failure == 0 && contextStack().empty())
    failure = invalidContext;
}

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
    function->ptx = text;
    const std::string list = (*at)[2];
    for (std::sregex_iterator p(list.begin(), list.end(), parameter); p != end; ++p) {
      int count = (*p)[3].matched ? std::stoi((*p)[3]) : 1;
      function->parameters.push_back({typeBytes((*p)[1]) * count, (*p)[2].matched});
    }
    functions.push_back(std::move(function));
  }
  return functions;
}

extern "C" void cudaDoubleConfigure(const char *words) {
  State &now = state();
  std::lock_guard lock(now.mutex);
  now.settings = readSettings(words);
  now.record.clear();
  now.numCalls.clear();
  now.stickyResult = 0;
}

/// The record so far; the text is valid until the next call in the same thread.
extern "C" const char *cudaDoubleRecord() {
  static thread_local std::string copy;
  std::lock_guard lock(state().mutex);
  copy = state().record;
  return copy.c_str();
}

/// Contexts that are current in this thread, modules, allocations and events that are alive: a leak
/// shows as a number that grows.
extern "C" int cudaDoubleLiveObjects() {
  State &now = state();
  std::lock_guard lock(now.mutex);
  return int(contextStack().size() + now.modules.size() + now.memory.size() + now.events.size());
}
