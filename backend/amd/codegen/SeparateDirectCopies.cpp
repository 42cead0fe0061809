// Tells LLVM what it cannot see of direct copies: that code waits for them by itself, and that
// their addresses are the same for all lanes of a wave.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

using namespace tw;
using namespace tw::amd;

static constexpr unsigned kSharedSpace = 3;

/// Returns true if an instruction accesses shared memory other than by a direct copy.
static bool isSharedAccess(const llvm::Instruction &instruction) {
  if (!instruction.mayReadOrWriteMemory())
    return false;
  if (const llvm::Value *pointer = llvm::getLoadStorePointerOperand(&instruction))
    return pointer->getType()->getPointerAddressSpace() == kSharedSpace;
  return isTransposedRead(instruction);
}

namespace {
struct Separation {
  explicit Separation(llvm::Function &function)
      : function(function), layout(function.getDataLayout()) {}

  void run();
  void mark();
  llvm::Value *scalarOf(llvm::Value *base);
  void placeByScalar(llvm::CallBase &copy);

  llvm::Function &function;
  const llvm::DataLayout &layout;
  llvm::SmallVector<llvm::CallBase *> copies;
  llvm::DenseMap<llvm::Value *, llvm::Value *> scalars; // by base
};
} // namespace

/// Marks copies and other accesses as not aliasing. Before a read that may alias a copy, LLVM waits
/// for all copies, also for those of the next iteration. The waits and barriers of the code order
/// them, so that no access between two barriers aliases a copy between them.
void Separation::mark() {
  llvm::LLVMContext &context = function.getContext();
  llvm::MDBuilder metadata(context);
  llvm::MDNode *domain = metadata.createAnonymousAliasScopeDomain("shared memory");
  llvm::MDNode *ofCopies =
      llvm::MDNode::get(context, metadata.createAnonymousAliasScope(domain, "copies"));
  llvm::MDNode *ofOthers =
      llvm::MDNode::get(context, metadata.createAnonymousAliasScope(domain, "others"));
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (isDirectCopy(instruction)) {
      instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, ofCopies);
    } else if (isSharedAccess(instruction)) {
      instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, ofOthers);
      instruction.setMetadata(llvm::LLVMContext::MD_noalias, ofCopies);
    }
}

/// Returns the base as the first lane has it, computed where the base is: outside of loops if that
/// is.
llvm::Value *Separation::scalarOf(llvm::Value *base) {
  auto *made = llvm::dyn_cast<llvm::Instruction>(base);
  if (!made)
    return base;
  llvm::Value *&scalar = scalars[base];
  if (!scalar) {
    llvm::IRBuilder<> builder(made->getParent(), *made->getInsertionPointAfterDef());
    scalar =
        builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_readfirstlane, {base->getType()}, {base});
  }
  return scalar;
}

/// Names the place of a copy by a scalar, which all lanes share; of asynchronous ones, each lane
/// says its own.
void Separation::placeByScalar(llvm::CallBase &copy) {
  auto &call = llvm::cast<llvm::IntrinsicInst>(copy);
  if (call.getIntrinsicID() != llvm::Intrinsic::amdgcn_raw_ptr_buffer_load_lds &&
      call.getIntrinsicID() != llvm::Intrinsic::amdgcn_global_load_lds)
    return;
  llvm::Value *place = copy.getArgOperand(1);
  llvm::APInt offset(layout.getIndexTypeSizeInBits(place->getType()), 0);
  llvm::Value *base =
      place->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  llvm::Value *scalar = scalarOf(base);
  if (scalar == base)
    return;
  llvm::IRBuilder<> builder(&copy);
  copy.setArgOperand(1, builder.CreatePtrAdd(scalar, builder.getInt(offset)));
}

void Separation::run() {
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (isDirectCopy(instruction))
      copies.push_back(llvm::cast<llvm::CallBase>(&instruction));
  if (copies.empty())
    return;
  mark();
  for (llvm::CallBase *copy : copies)
    placeByScalar(*copy);
}

void tw::amd::separateDirectCopies(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      Separation(function).run();
}
