// Makes passes of functions on machine code.
#ifndef BACKEND_CODEGEN_MACHINEPASS_H
#define BACKEND_CODEGEN_MACHINEPASS_H
#include "llvm/ADT/StringRef.h"
#include <functional>

namespace llvm {
class MachineFunction;
class Pass;
} // namespace llvm

namespace tw {

enum class Preserves { Nothing, ControlFlow, Everything };

/// Makes a pass of `run`, which returns true if it changed the function. `name` is a literal: LLVM
/// keeps its address.
llvm::Pass *makeMachinePass(llvm::StringRef name, Preserves preserves,
                            std::function<bool(llvm::MachineFunction &)> run);

} // namespace tw
#endif
