// The code generator of LLVM for a machine: with passes of ours in it and without some of its own.
#ifndef BACKEND_CODEGEN_GENERATECODE_H
#define BACKEND_CODEGEN_GENERATECODE_H
#include "backend/codegen/LlvmMachine.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CodeGen.h"
#include <memory>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace tw {

/// Makes LLVM's view of the machine; null with a message in `error` where LLVM has none.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const LlvmMachine &machine,
                                                       std::string &error);

/// Gives a module the triple and the data layout of a machine.
void placeOn(llvm::Module &module, const llvm::TargetMachine &machine);
/// Gives functions the processor and its features.
void describeMachine(llvm::Module &module, const LlvmMachine &machine);

/// Generates text or an object file; false where the machine has no such form. Changes the module.
bool generateCode(llvm::Module &module, llvm::TargetMachine &target, const LlvmMachine &machine,
                  llvm::CodeGenFileType type, std::string &bytes);

/// Returns LLVM's names of the schedulers that are left out where a machine orders instructions as
/// it runs, and a block has so many memory accesses that scheduling would take most of the
/// compilation: LLVM 22 makes an edge for each pair that may alias, and compares each with all
/// others of its access (1.8 s for 450 loads and as many stores). Three quarters of that is
/// scheduling a second time, behind register allocation.
llvm::SmallVector<llvm::StringRef> unusedSchedulers(const llvm::Module &module);

/// Returns the names by which a machine addresses passes of its code generator and which none of
/// these has: LLVM may have renamed one.
std::vector<std::string> unknownPasses(const LlvmMachine &machine);

} // namespace tw
#endif
