// Loads of blocks of arrays as instructions of SPV_INTEL_2d_block_io, by their functions' names.
#include "backend/gpu/RegisterWords.h"
#include "backend/spirv/LowerSpirv.h"
#include "backend/spirv/machine/SpirvBlocks.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::spirv;

static StringRef functionOf(BlockForm form) {
  switch (form) {
  case BlockForm::Plain:
    return "_Z32__spirv_Subgroup2DBlockLoadINTELiiiiPU3AS1KviiiDv2_iPv";
  case BlockForm::Transformed:
    return "_Z41__spirv_Subgroup2DBlockLoadTransformINTELiiiiPU3AS1KviiiDv2_iPv";
  case BlockForm::Transposed:
    return "_Z41__spirv_Subgroup2DBlockLoadTransposeINTELiiiiPU3AS1KviiiDv2_iPv";
  }
  return "";
}

/// Makes memory of this thread for words, at the kernel's start: drivers keep it in registers.
static Value makeWords(Lowering &lowering, unsigned count) {
  OpBuilder::InsertionGuard guard(lowering.builder);
  Region &body = *lowering.builder.getInsertionBlock()->getParent();
  auto kernel = body.getParentOfType<LLVM::LLVMFuncOp>();
  lowering.builder.setInsertionPointToStart(&kernel.getBody().front());
  Value one = constantI32(lowering, 1);
  auto type = LLVM::LLVMPointerType::get(lowering.builder.getContext(), lowering.stackSpace);
  return LLVM::AllocaOp::create(lowering.builder, lowering.loc, type,
                                LLVM::LLVMArrayType::get(lowering.builder.getI32Type(), count), one,
                                /*alignment=*/64);
}

LogicalResult tw::spirv::lowerLoadBlock(Lowering &lowering, simt::LoadBlockOp op) {
  std::optional<BlockInstruction> load = findBlock(lowering.arch, op.getBlock());
  if (!load)
    return op.emitOpError("names a block that the machine does not load");
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  unsigned bytes = op.getBlock().getBits() / 8;
  auto scaled = [&](Value number, unsigned factor) -> Value {
    return factor == 1 ? number
                       : LLVM::MulOp::create(b, loc, number, constantI32(lowering, factor));
  };
  Value x = op.getX();
  if (unsigned elements = load->elementBytes / bytes; elements > 1)
    x = LLVM::AShrOp::create(b, loc, x, constantI32(lowering, llvm::Log2_32(elements)));
  Value place = LLVM::PoisonOp::create(b, loc, VectorType::get(2, b.getI32Type()));
  for (auto [index, coordinate] : llvm::enumerate(std::array<Value, 2>{x, op.getY()}))
    place = LLVM::InsertElementOp::create(b, loc, place, coordinate,
                                          constantI32(lowering, int64_t(index)));
  unsigned numWords = op.getNumResults();
  Value words = makeWords(lowering, numWords);
  callBuiltin(
      lowering, {functionOf(load->form), /*isConvergent=*/true, /*hasEffects=*/true}, Type(),
      {constantI32(lowering, load->elementBytes), constantI32(lowering, load->width),
       constantI32(lowering, load->height), constantI32(lowering, load->count), op.getBase(),
       scaled(op.getWidth(), bytes), op.getHeight(), scaled(op.getPitch(), bytes), place, words});
  // Read as the vectors that one product takes.
  unsigned ofProduct = op.getBlock().getUse() == tile::BlockUse::A ? 4 : 8;
  ofProduct = std::min(ofProduct, numWords);
  auto type = VectorType::get(ofProduct, b.getI32Type());
  for (unsigned first = 0; first < numWords; first += ofProduct) {
    Value address = LLVM::GEPOp::create(b, loc, words.getType(), b.getI32Type(), words,
                                        ArrayRef<LLVM::GEPArg>{int32_t(first)});
    Value value = ofProduct == 1
                      ? LLVM::LoadOp::create(b, loc, b.getI32Type(), address, /*alignment=*/4)
                      : LLVM::LoadOp::create(b, loc, type, address, /*alignment=*/4 * ofProduct);
    replaceByJoined(b, loc, op.getResults().slice(first, ofProduct), value);
  }
  return success();
}
