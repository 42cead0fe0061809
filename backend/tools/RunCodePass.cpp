// Runs one of a target's passes around LLVM's by its name, for tests and debugging.
#include "backend/tools/RunCodePass.h"
#include "backend/codegen/GenerateCode.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

using namespace tw;

static mlir::LogicalResult fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return mlir::failure();
}

/// Returns the passes over modules that any variant of a machine's code has, each once.
static llvm::SmallVector<ModulePass> modulePassesOf(const LlvmMachine &machine) {
  llvm::SmallVector<ModulePass> passes(machine.prepare);
  for (const CodeVariant &variant : machine.variants)
    for (const ModulePass &pass : variant.passes)
      if (llvm::none_of(passes, [&](const ModulePass &other) { return other.name == pass.name; }))
        passes.push_back(pass);
  return passes;
}

static mlir::LogicalResult runModulePass(const ModulePass &pass, llvm::Module &module,
                                         llvm::raw_ostream &os) {
  pass.run(module);
  if (llvm::verifyModule(module, &llvm::errs()))
    return fail(pass.name + " left a module that is not valid");
  module.print(os, nullptr);
  return mlir::success();
}

static mlir::LogicalResult generateWith(const PlacedPass &pass, LlvmMachine machine,
                                        llvm::TargetMachine &target, llvm::Module &module,
                                        llvm::raw_ostream &os) {
  machine.ownPasses = pass;
  describeMachine(module, machine);
  std::string text;
  if (!generateCode(module, target, machine, llvm::CodeGenFileType::AssemblyFile, text))
    return fail(machine.triple + " has no assembly");
  os << text;
  return mlir::success();
}

mlir::LogicalResult tw::runCodePass(const Target &target, llvm::StringRef name,
                                    const llvm::MemoryBuffer &input, llvm::raw_ostream &os) {
  const LlvmMachine *machine = target.llvmMachine();
  if (!machine)
    return fail(target.name() + " has no code by LLVM");
  std::string error;
  std::unique_ptr<llvm::TargetMachine> llvmTarget = makeTargetMachine(*machine, error);
  if (!llvmTarget)
    return fail(error);
  llvm::LLVMContext context;
  llvm::SMDiagnostic complaint;
  std::unique_ptr<llvm::Module> module = llvm::parseIR(input, complaint, context);
  if (!module) {
    complaint.print("tile-opt", llvm::errs());
    return mlir::failure();
  }
  placeOn(*module, *llvmTarget);
  llvm::SmallVector<llvm::StringRef> names;
  for (const ModulePass &pass : modulePassesOf(*machine)) {
    if (pass.name == name)
      return runModulePass(pass, *module, os);
    names.push_back(pass.name);
  }
  for (const PlacedPass &pass : machine->ownPasses) {
    if (pass.name == name)
      return generateWith(pass, *machine, *llvmTarget, *module, os);
    names.push_back(pass.name);
  }
  return fail(target.name() + " has no code pass `" + name +
              "`; there are: " + llvm::join(names, ", "));
}
