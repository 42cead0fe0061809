// The processor that a module's programs run on: its attribute, and how many programs it holds.
#include "ir/target/Processor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;

static constexpr std::pair<StringLiteral, unsigned Processor::*> kFacts[] = {
    {"simds", &Processor::simds},
    {"registers", &Processor::registers},
    {"granule", &Processor::granule},
    {"warps", &Processor::warps},
    {"shared_bytes", &Processor::sharedBytes}};

unsigned Processor::programsThatFit(unsigned numWarps, unsigned registersOfLane,
                                    uint64_t bytes) const {
  unsigned taken = unsigned(llvm::alignTo(std::max(registersOfLane, 1u), granule));
  unsigned ofSimd = std::min(warps, registers / taken);
  // The fullest SIMD has no more room than the others.
  unsigned programs =
      numWarps < simds ? ofSimd * simds / numWarps : ofSimd / llvm::divideCeil(numWarps, simds);
  return bytes == 0 ? programs : unsigned(std::min<uint64_t>(programs, sharedBytes / bytes));
}

DictionaryAttr tw::processorAttribute(MLIRContext &context, const Processor &processor) {
  Builder builder(&context);
  SmallVector<NamedAttribute> facts;
  for (auto [name, fact] : kFacts)
    facts.push_back(builder.getNamedAttr(name, builder.getI32IntegerAttr(processor.*fact)));
  return builder.getDictionaryAttr(facts);
}

std::optional<Processor> tw::processorOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto attribute = module ? module->getAttrOfType<DictionaryAttr>(kProcessorAttribute) : nullptr;
  if (!attribute)
    return std::nullopt;
  Processor processor{};
  for (auto [name, fact] : kFacts) {
    auto number = attribute.getAs<IntegerAttr>(name);
    if (!number || !number.getType().isInteger(32) || number.getInt() <= 0)
      return std::nullopt;
    processor.*fact = unsigned(number.getInt());
  }
  return processor;
}
