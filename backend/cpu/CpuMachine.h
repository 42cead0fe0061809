// Describes a processor's core to the passes, as rows: vectors, products and how fast they are.
#ifndef BACKEND_CPU_CPUMACHINE_H
#define BACKEND_CPU_CPUMACHINE_H
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <string>

namespace tw {

struct CpuMachine {
  unsigned vectorBytes;  // of a register
  std::string attribute; // `#tile.simd<...>`
};

/// Names the processor that is described.
struct CpuModel {
  llvm::StringSet<> features; // by LLVM's names
  std::string name;           // by LLVM's; decides about the rates
  bool emulatesMatrices = false;
  bool isHost = false; // this process may be refused its matrix unit
};

/// Reads the machine off the features' names.
CpuMachine describeCpu(const CpuModel &model);

} // namespace tw
#endif
