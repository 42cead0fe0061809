// The targets that the command-line tools know by name.
#include "backend/tools/FindTarget.h"
#include "backend/BytecodeTarget.h"
#include "backend/cpu/CpuTarget.h"
#include "backend/nvidia/NvidiaTarget.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;

std::vector<std::string> tw::targetNames() {
  std::vector<std::string> names = {"cpu", "reference"};
  for (const std::string &known : cpuLevels())
    names.push_back("cpu:" + known);
  for (const std::string &arch : nvidiaArchs())
    names.push_back("nvidia:" + arch);
  return names;
}

std::unique_ptr<Target> tw::findTarget(llvm::StringRef name) {
  if (name == "reference")
    return makeBytecodeTarget("reference");
  auto [kind, level] = name.split(':');
  if (kind == "cpu" && (level.empty() || llvm::is_contained(cpuLevels(), level)))
    return makeCpuTarget(level.str());
  if (kind == "nvidia")
    if (std::unique_ptr<Target> target = makeNvidiaTarget(level.str()))
      return target;
  llvm::errs() << "error: there is no target `" << name << "`: " << llvm::join(targetNames(), ", ")
               << "\n";
  if (kind == "nvidia")
    llvm::errs() << "hint: did you mean nvidia:" << closestArch(level) << "?\n";
  return nullptr;
}
