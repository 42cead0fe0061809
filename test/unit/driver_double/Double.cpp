// The settings and the record of a driver's double.
#include "test/unit/driver_double/Double.h"
#include <cstdlib>
#include <sstream>
#include <utility>

using namespace tw;
using namespace tw::driver_double;

static Settings readSettings(const std::string &words) {
  Settings settings = platform().settings;
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
    else if (name == "processors")
      settings.numProcessors = number;
    else if (name == "capturing")
      settings.isCapturing = number != 0;
    else if (name == "quiet")
      settings.isQuiet = number != 0;
    else if (name == "machine_code")
      settings.refusesMachineCode = value == "refused";
    else if (name == "arch")
      settings.arch = value;
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

State &tw::driver_double::state() {
  static State *state = [] {
    auto *made = new State;
    const char *words = getenv(platform().environment);
    made->settings = readSettings(words ? words : "");
    return made;
  }();
  return *state;
}

Call::Call(const char *name, const std::string &details) : lock(state().mutex) {
  State &now = state();
  if (!now.settings.isQuiet)
    now.record += name + details + "\n";
  int number = ++now.numCalls[name];
  const auto &failures = now.settings.failures;
  for (const std::string &key : {std::string(name), name + ("@" + std::to_string(number))})
    if (auto found = failures.find(key); found != failures.end())
      failure = found->second;
}

static thread_local int lastFailure = 0;

Call::~Call() {
  if (failure != 0)
    lastFailure = failure;
}

int driver_double::takeLastFailure() { return std::exchange(lastFailure, 0); }

ContextCall::ContextCall(const char *name, const std::string &details) : Call(name, details) {
  if (failure == 0 && state().stickyResult != 0)
    failure = state().stickyResult;
  else if (failure == 0 && !platform().hasContext())
    failure = kInvalidContext;
}

void driver_double::configure(const char *words) {
  State &now = state();
  std::lock_guard lock(now.mutex);
  now.settings = readSettings(words);
  now.record.clear();
  now.numCalls.clear();
  now.stickyResult = 0;
}

const char *driver_double::readRecord() {
  static thread_local std::string copy;
  std::lock_guard lock(state().mutex);
  copy = state().record;
  return copy.c_str();
}

int driver_double::countObjects() {
  State &now = state();
  std::lock_guard lock(now.mutex);
  return int(now.modules.size() + now.memory.size() + now.events.size());
}
