// Loads and stores of global memory: LLVM's own where it can say them, else predicated inline PTX.
#include "backend/gpu/RegisterWords.h"
#include "backend/nvidia/InlinePtx.h"
#include "backend/nvidia/LowerNvidia.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

namespace {
/// The modifiers of an access (PTX ISA, "Cache Eviction Priority Hints" and "Cache Operators"), and
/// the policy operand that an L2 hint needs.
struct AccessHints {
  std::string modifiers;    // ".L1::evict_first.L2::cache_hint"
  const char *l2 = nullptr; // "L2::evict_first"
};
} // namespace

/// The operator of a cache modifier; null for those that PTX has for the other direction only.
static const char *cacheOperator(tile::CacheModifier cache, bool isLoad) {
  switch (cache) {
  case tile::CacheModifier::CA:
    return isLoad ? ".ca" : nullptr;
  case tile::CacheModifier::CG:
    return ".cg";
  case tile::CacheModifier::CS:
    return ".cs";
  case tile::CacheModifier::CV:
    return isLoad ? ".cv" : nullptr;
  case tile::CacheModifier::WB:
    return isLoad ? nullptr : ".wb";
  case tile::CacheModifier::WT:
    return isLoad ? nullptr : ".wt";
  case tile::CacheModifier::None:
    return nullptr;
  }
  return nullptr;
}

/// PTX has no form with both a cache operator and an L1 priority: the operator wins.
static AccessHints hintsOf(tile::CacheModifier cache, tile::EvictionPolicy evict, bool isLoad) {
  AccessHints hints;
  const char *cacheText = cacheOperator(cache, isLoad);
  if (cacheText)
    hints.modifiers = cacheText;
  if (evict == tile::EvictionPolicy::Normal)
    return hints;
  bool isFirst = evict == tile::EvictionPolicy::EvictFirst;
  if (!cacheText)
    hints.modifiers = isFirst ? ".L1::evict_first" : ".L1::evict_last";
  hints.modifiers += ".L2::cache_hint";
  hints.l2 = isFirst ? "L2::evict_first" : "L2::evict_last";
  return hints;
}

/// A policy for `.L2::cache_hint`; equal ones merge, because making one has no effects.
static Value createPolicy(Lowering &lowering, const char *priority) {
  InlinePtx code(lowering.builder, lowering.loc);
  std::string result = code.addResult(lowering.builder.getI64Type());
  return code
      .emit(std::string("createpolicy.fractional.") + priority + ".b64 " + result + ", 1.0;",
            /*hasEffects=*/false)
      .front();
}

/// ".v4.b32" and the registers: "{$0, $1, $2, $3}"; ".b32" and "$0".
static std::string vectorSuffix(const WordForm &form) {
  return (form.count > 1 ? ".v" + std::to_string(form.count) : "") + ".b" +
         std::to_string(form.bits);
}

static std::string registerList(ArrayRef<std::string> names) {
  return names.size() == 1 ? names.front() : "{" + llvm::join(names, ", ") + "}";
}

void tw::nvidia::lowerGlobalLoad(Lowering &lowering, simt::GlobalLoadOp op) {
  OpBuilder &b = lowering.builder;
  Type type = op.getResult().getType();
  WordForm form = wordFormOf(type);
  Value mask = neededMask(op.getMask());
  AccessHints hints = hintsOf(op.getCache(), op.getEvict(), /*isLoad=*/true);
  if (!mask && hints.modifiers.empty()) {
    op.replaceAllUsesWith(
        LLVM::LoadOp::create(b, lowering.loc, type, op.getPtr(), form.bytes, op.getIsVolatile())
            .getResult());
    return;
  }
  // `.volatile` takes no hints: they are only advice.
  std::string kind = op.getIsVolatile() ? "ld.volatile.global" : "ld.global" + hints.modifiers;
  Value policy = hints.l2 && !op.getIsVolatile() ? createPolicy(lowering, hints.l2) : Value();
  SmallVector<Value> others;
  if (mask && op.getOther())
    others = toWords(b, lowering.loc, op.getOther());
  InlinePtx code(b, lowering.loc);
  SmallVector<std::string> names;
  for (unsigned word = 0; word < form.count; ++word)
    names.push_back(code.addResult(form.word, others.empty() ? Value() : others[word]));
  std::string guard = code.addGuard(mask);
  std::string text = guard + kind + vectorSuffix(form) + " " + registerList(names) + ", [" +
                     code.addOperand(op.getPtr()) + "]";
  if (policy)
    text += ", " + code.addOperand(policy);
  SmallVector<Value> words = code.emit(text + ";", /*hasEffects=*/true);
  op.replaceAllUsesWith(fromWords(b, lowering.loc, words, type));
}

void tw::nvidia::lowerGlobalStore(Lowering &lowering, simt::GlobalStoreOp op) {
  OpBuilder &b = lowering.builder;
  WordForm form = wordFormOf(op.getValue().getType());
  Value mask = neededMask(op.getMask());
  AccessHints hints = hintsOf(op.getCache(), op.getEvict(), /*isLoad=*/false);
  if (!mask && hints.modifiers.empty()) {
    LLVM::StoreOp::create(b, lowering.loc, op.getValue(), op.getPtr(), form.bytes);
    return;
  }
  Value policy = hints.l2 ? createPolicy(lowering, hints.l2) : Value();
  SmallVector<Value> words = toWords(b, lowering.loc, op.getValue());
  InlinePtx code(b, lowering.loc);
  SmallVector<std::string> names;
  std::string guard = code.addGuard(mask), address = code.addOperand(op.getPtr());
  for (Value word : words)
    names.push_back(code.addOperand(word));
  std::string text = guard + "st.global" + hints.modifiers + vectorSuffix(form) + " [" + address +
                     "], " + registerList(names);
  if (policy)
    text += ", " + code.addOperand(policy);
  code.emit(text + ";", /*hasEffects=*/true);
}
