// Calls: intrinsics by their names; inline assembly that only waits or hints.
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InlineAsm.h"

using namespace tw::warpsim;

/// Returns true if assembly does nothing that the simulator sees: waits that LLVM would insert
/// itself, priorities and hints.
static bool isHarmless(llvm::StringRef text) {
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    llvm::StringRef word = line.trim().take_until([](char c) { return c == ' ' || c == '\t'; });
    bool isKnown = word.empty() || word.starts_with(";") || word == "s_nop" ||
                   word == "s_setprio" || word == "s_sleep" || word.starts_with("s_waitcnt") ||
                   word.starts_with("s_wait_") || word == "s_delay_alu";
    if (!isKnown)
      return false;
  }
  return true;
}

static bool isIgnored(llvm::Intrinsic::ID id) {
  using namespace llvm::Intrinsic;
  switch (id) {
  case assume:
  case lifetime_start:
  case lifetime_end:
  case experimental_noalias_scope_decl:
  case donothing:
  case sideeffect:
  case invariant_end:
  case prefetch:
    return true;
  default:
    return id == dbg_value || id == dbg_declare || id == dbg_label;
  }
}

/// A function of OpenCL; or printing, where the simulator is the driver: the format and the buffer
/// of its values.
void FunctionImporter::importHostCall(llvm::CallInst &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (callee && importOpenCl(call, callee->getName()))
    return;
  if (!callee || callee->getName() != "vprintf" || call.arg_size() != 2)
    return unsupported(call, "a call");
  Operands results = result(call.getType());
  Operands sources = {readOne(call.getArgOperand(0)), readOne(call.getArgOperand(1))};
  emit(Op::Call, Type::None, results, sources).calleeName = callee->getName().str();
  define(call, results);
}

void FunctionImporter::importCall(llvm::CallInst &call) {
  if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
    if (!call.getType()->isVoidTy() || !isHarmless(assembly->getAsmString()))
      unsupported(call, "inline assembly");
    return;
  }
  auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call);
  if (!intrinsic)
    return importHostCall(call);
  if (isIgnored(intrinsic->getIntrinsicID()))
    return;
  if (!importIntrinsic(*intrinsic))
    unsupported(call);
}

bool FunctionImporter::importIntrinsic(llvm::IntrinsicInst &call) {
  llvm::StringRef name = llvm::Intrinsic::getBaseName(call.getIntrinsicID());
  if (name.consume_front("llvm.amdgcn."))
    return importAmdgcn(call, name);
  if (call.getIntrinsicID() == llvm::Intrinsic::trap) {
    emit(Op::Trap, Type::None, {}, {});
    return true;
  }
  if (call.getIntrinsicID() == llvm::Intrinsic::readsteadycounter) {
    Operand to = fresh(RegisterFile::Double);
    emit(Op::MovSpecial, Type::U64, {to}, {}).special = Special::Globaltimer;
    define(call, {to});
    return true;
  }
  return importFloatIntrinsic(call) || importSaturatingCast(call) || importFold(call) ||
         importIntegerIntrinsic(call) || importOrder(call) || importOverflow(call);
}
