// Atomics as calls by SPIR-V's names, with the scope and the memory that they order. LLVM 22 makes
// plain loads of atomic ones, and leaves out of the others which memory they order.
#include "backend/spirv/codegen/Passes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace tw;

// SPIR-V, "Scope <id>" and "Memory Semantics <id>".
static uint32_t scopeOf(llvm::LLVMContext &context, llvm::SyncScope::ID id) {
  llvm::SmallVector<llvm::StringRef, 8> names;
  context.getSyncScopeNames(names);
  llvm::StringRef name = id < names.size() ? names[id] : "";
  return name == "workgroup" ? 2 : name == "device" ? 1 : 0;
}

static uint32_t semanticsOf(llvm::AtomicOrdering ordering) {
  constexpr uint32_t globalMemory = 0x200;
  switch (ordering) {
  case llvm::AtomicOrdering::Acquire:
    return 0x2 | globalMemory;
  case llvm::AtomicOrdering::Release:
    return 0x4 | globalMemory;
  case llvm::AtomicOrdering::AcquireRelease:
  case llvm::AtomicOrdering::SequentiallyConsistent:
    return 0x8 | globalMemory;
  default:
    return 0;
  }
}

/// The name without its mangled operands, which follow.
static llvm::StringRef nameOf(llvm::AtomicRMWInst::BinOp operation) {
  using llvm::AtomicRMWInst;
  switch (operation) {
  case AtomicRMWInst::Add:
    return "__spirv_AtomicIAdd";
  case AtomicRMWInst::Sub:
    return "__spirv_AtomicISub";
  case AtomicRMWInst::And:
    return "__spirv_AtomicAnd";
  case AtomicRMWInst::Or:
    return "__spirv_AtomicOr";
  case AtomicRMWInst::Xor:
    return "__spirv_AtomicXor";
  case AtomicRMWInst::Xchg:
    return "__spirv_AtomicExchange";
  case AtomicRMWInst::Max:
    return "__spirv_AtomicSMax";
  case AtomicRMWInst::Min:
    return "__spirv_AtomicSMin";
  case AtomicRMWInst::UMax:
    return "__spirv_AtomicUMax";
  case AtomicRMWInst::UMin:
    return "__spirv_AtomicUMin";
  default:
    return ""; // lower-spirv makes none of them
  }
}

namespace {
/// Builds a call in place of an atomic.
struct Naming {
  explicit Naming(llvm::Instruction &atomic) : atomic(atomic), builder(&atomic) {}

  llvm::Value *constant(uint32_t value) { return builder.getInt32(value); }

  /// Mangles as C++ does: a pointer to volatile integers in global memory, unsigned numbers, and
  /// the integers themselves.
  llvm::Value *call(llvm::StringRef name, llvm::Type *word, llvm::Value *pointer,
                    llvm::ArrayRef<uint32_t> numbers, llvm::ArrayRef<llvm::Value *> words) {
    std::string letter = word->isIntegerTy(64) ? "l" : "i";
    std::string mangled = "_Z" + std::to_string(name.size()) + name.str() + "PU3AS1" + letter;
    llvm::SmallVector<llvm::Value *> operands = {pointer};
    for (uint32_t number : numbers) {
      mangled += "i";
      operands.push_back(constant(number));
    }
    for (llvm::Value *value : words) {
      mangled += letter;
      operands.push_back(value);
    }
    llvm::SmallVector<llvm::Type *> types;
    for (llvm::Value *operand : operands)
      types.push_back(operand->getType());
    llvm::FunctionCallee function = atomic.getModule()->getOrInsertFunction(
        mangled, llvm::FunctionType::get(word, types, /*isVarArg=*/false));
    llvm::cast<llvm::Function>(function.getCallee())->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    llvm::CallInst *made = builder.CreateCall(function, operands);
    made->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    return made;
  }

  llvm::Instruction &atomic;
  llvm::IRBuilder<> builder;
};
} // namespace

static llvm::Value *nameUpdate(llvm::AtomicRMWInst &update) {
  llvm::StringRef name = nameOf(update.getOperation());
  if (name.empty())
    return nullptr;
  uint32_t scope = scopeOf(update.getContext(), update.getSyncScopeID());
  return Naming(update).call(name, update.getType(), update.getPointerOperand(),
                             {scope, semanticsOf(update.getOrdering())}, {update.getValOperand()});
}

/// The instruction gives the word that it found; LLVM's also whether it was the expected one.
static llvm::Value *nameSwap(llvm::AtomicCmpXchgInst &swap) {
  Naming naming(swap);
  llvm::Type *word = swap.getNewValOperand()->getType();
  llvm::Value *found =
      naming.call("__spirv_AtomicCompareExchange", word, swap.getPointerOperand(),
                  {scopeOf(swap.getContext(), swap.getSyncScopeID()),
                   semanticsOf(swap.getSuccessOrdering()), semanticsOf(swap.getFailureOrdering())},
                  {swap.getNewValOperand(), swap.getCompareOperand()});
  llvm::IRBuilder<> &b = naming.builder;
  llvm::Value *both = b.CreateInsertValue(llvm::PoisonValue::get(swap.getType()), found, {0});
  llvm::Value *isSame = b.CreateICmpEQ(found, swap.getCompareOperand());
  llvm::Value *result = b.CreateInsertValue(both, isSame, {1});
  // What takes the parts apart again is of no use to the back end.
  for (llvm::User *user : llvm::make_early_inc_range(swap.users()))
    if (auto *part = llvm::dyn_cast<llvm::ExtractValueInst>(user)) {
      part->replaceAllUsesWith(part->getIndices().front() == 0 ? found : isSame);
      part->eraseFromParent();
    }
  return result;
}

static llvm::Value *nameLoad(llvm::LoadInst &load) {
  uint32_t scope = scopeOf(load.getContext(), load.getSyncScopeID());
  return Naming(load).call("__spirv_AtomicLoad", load.getType(), load.getPointerOperand(),
                           {scope, semanticsOf(load.getOrdering())}, {});
}

static llvm::Value *callInsteadOf(llvm::Instruction &instruction) {
  if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return nameUpdate(*update);
  if (auto *swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return nameSwap(*swap);
  auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
  return load && load->isAtomic() ? nameLoad(*load) : nullptr;
}

void tw::spirv::nameAtomics(llvm::Module &module) {
  llvm::SmallVector<llvm::Instruction *> atomics;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (instruction.isAtomic())
        atomics.push_back(&instruction);
  for (llvm::Instruction *atomic : atomics)
    if (llvm::Value *named = callInsteadOf(*atomic)) {
      atomic->replaceAllUsesWith(named);
      atomic->eraseFromParent();
    }
}
