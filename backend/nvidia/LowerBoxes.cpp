// Copies of boxes and the barriers that count their bytes: the Tensor Memory Accelerator,
// mbarriers.
#include "backend/nvidia/InlinePtx.h"
#include "backend/nvidia/LowerNvidia.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/TensorMaps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

/// Bytes of an mbarrier.
static constexpr unsigned kBarrierBytes = 8;

/// Gives the kernel a parameter behind its others for each tensor map of the module.
void tw::nvidia::addTensorMaps(LLVM::LLVMFuncOp kernel) {
  size_t numMaps = simt::tensorMapsOf(kernel).size();
  if (numMaps == 0)
    return;
  Builder b(kernel.getContext());
  Type pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  Type bytes = LLVM::LLVMArrayType::get(b.getI8Type(), kTensorMapBytes);
  DictionaryAttr attributes = b.getDictionaryAttr(
      {b.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes)),
       b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(),
                      b.getI64IntegerAttr(kTensorMapAlignment))});
  SmallVector<Type> types(kernel.getArgumentTypes());
  types.append(numMaps, pointer);
  SmallVector<DictionaryAttr> all;
  for (unsigned argument = 0; argument < kernel.getNumArguments(); ++argument)
    all.push_back(b.getDictionaryAttr(FunctionOpInterface(kernel).getArgAttrs(argument)));
  all.append(numMaps, attributes);
  kernel.setFunctionType(
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(kernel.getContext()), types));
  for (size_t map = 0; map < numMaps; ++map)
    kernel.front().addArgument(pointer, kernel.getLoc());
  FunctionOpInterface(kernel).setAllArgAttrs(all);
}

/// Moves a map's address through a shuffle in front of the loops of a loader. The assembler knows
/// the address of a parameter to be a sum, and computes it in each iteration again.
static Value holdAddress(Lowering &lowering, Value map, scf::ForOp loop) {
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  auto shuffle = simt::ShuffleOp::create(b, lowering.loc, map.getType(), simt::ShuffleMode::Index,
                                         map, constantI32(lowering, 0));
  Value held = lowerWordShuffle(lowering, shuffle);
  shuffle.erase();
  return held;
}

void tw::nvidia::lowerTensorMap(Lowering &lowering, simt::TensorMapOp op) {
  auto kernel = cast<LLVM::LLVMFuncOp>(lowering.kernel);
  size_t first = kernel.getNumArguments() - simt::tensorMapsOf(kernel).size();
  Value map = kernel.getArgument(first + op.getNumber());
  scf::ForOp loop;
  for (Operation *at = op; at; at = at->getParentOp())
    if (isa<scf::ForOp>(at))
      loop = cast<scf::ForOp>(at);
  bool isOfLoader = simt::extraWarpsOf(kernel) > 0 &&
                    llvm::any_of(op->getUsers(), llvm::IsaPred<simt::CopyBoxOp>);
  if (isOfLoader && loop) {
    Value &held = lowering.heldMaps[{loop, op.getNumber()}];
    if (!held)
      held = holdAddress(lowering, map, loop);
    map = held;
  }
  op.replaceAllUsesWith(map);
}

/// Adds the address of an mbarrier to the code: a register of 32 bits, as shared memory needs, and
/// an offset that the machine adds by itself.
static std::string addBarrier(Lowering &lowering, InlinePtx &code, Value address) {
  OpBuilder &b = lowering.builder;
  int64_t bytes = 0;
  SmallVector<Value> offsets;
  while (auto gep = address.getDefiningOp<LLVM::GEPOp>()) {
    if (!gep.getElemType().isInteger(8))
      break;
    if (gep.getDynamicIndices().empty())
      bytes += gep.getRawConstantIndices().front();
    else
      offsets.push_back(gep.getDynamicIndices().front());
    address = gep.getBase();
  }
  for (Value offset : offsets)
    address = LLVM::GEPOp::create(b, lowering.loc, address.getType(), b.getI8Type(), address,
                                  ArrayRef<LLVM::GEPArg>{offset});
  std::string first =
      code.addOperand(LLVM::PtrToIntOp::create(b, lowering.loc, b.getI32Type(), address));
  return first + "+" + std::to_string(bytes);
}

/// Emits an instruction with one address, in brackets, for each slot.
static void emitForSlots(Lowering &lowering, StringRef instruction, Value address, uint64_t slots,
                         StringRef operands, StringRef last) {
  InlinePtx code(lowering.builder, lowering.loc);
  std::string first = code.addOperand(address), text;
  for (uint64_t slot = 0; slot < slots; ++slot)
    text +=
        (instruction + " [" + first + "+" + Twine(slot * kBarrierBytes) + "]" + operands + ";\n\t")
            .str();
  code.emit(text + last.str(), /*hasEffects=*/true);
}

void tw::nvidia::lowerPhaseInit(Lowering &lowering, simt::PhaseInitOp op) {
  emitForSlots(lowering, "mbarrier.init.shared::cta.b64", op.getBarrier(), op.getSlots(),
               ", " + std::to_string(op.getCount()), "fence.mbarrier_init.release.cluster;");
}

void tw::nvidia::lowerPhaseDrop(Lowering &lowering, simt::PhaseDropOp op) {
  emitForSlots(lowering, "mbarrier.inval.shared::cta.b64", op.getBarrier(), op.getSlots(), "", "");
}

void tw::nvidia::lowerPhaseExpect(Lowering &lowering, simt::PhaseExpectOp op) {
  InlinePtx code(lowering.builder, lowering.loc);
  code.emit("mbarrier.arrive.expect_tx.shared::cta.b64 _, [" +
                addBarrier(lowering, code, op.getBarrier()) + "], " +
                std::to_string(op.getBytes()) + ";",
            /*hasEffects=*/true);
}

void tw::nvidia::lowerPhaseAwait(Lowering &lowering, simt::PhaseAwaitOp op) {
  InlinePtx code(lowering.builder, lowering.loc);
  std::string address = addBarrier(lowering, code, op.getBarrier());
  std::string parity = code.addOperand(op.getParity());
  code.emit("{\n\t.reg .pred done;\nagain:\n\t"
            "mbarrier.try_wait.parity" +
                std::string(op.getCluster() ? ".acquire.cluster" : "") +
                ".shared::cta.b64 done, [" + address + "], " + parity +
                ";\n\t@!done bra again;\n\t}",
            /*hasEffects=*/true);
}

void tw::nvidia::lowerPhaseArrive(Lowering &lowering, simt::PhaseArriveOp op) {
  InlinePtx code(lowering.builder, lowering.loc);
  if (!op.getProgram()) {
    code.emit("mbarrier.arrive.shared::cta.b64 _, [" + addBarrier(lowering, code, op.getBarrier()) +
                  "];",
              /*hasEffects=*/true);
    return;
  }
  std::string barrier = code.addOperand(op.getBarrier());
  code.emit("{\n\t.reg .b64 remote;\n\tmapa.shared::cluster.u64 remote, " + barrier + ", " +
                code.addOperand(op.getProgram()) +
                ";\n\tmbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n\t}",
            /*hasEffects=*/true);
}

void tw::nvidia::lowerElect(Lowering &lowering, simt::ElectOp op) {
  InlinePtx code(lowering.builder, lowering.loc);
  std::string result = code.addResult(lowering.builder.getI32Type());
  Value elected = code.emit("{\n\t.reg .pred elected;\n\telect.sync _|elected, 0xffffffff;\n\t"
                            "selp.b32 " +
                                result + ", 1, 0, elected;\n\t}",
                            /*hasEffects=*/true)
                      .front();
  op.replaceAllUsesWith(LLVM::ICmpOp::create(lowering.builder, lowering.loc,
                                             LLVM::ICmpPredicate::ne, elected,
                                             constantI32(lowering, 0))
                            .getResult());
}

/// Returns the text of a box in an array: "[map, {x, y}]".
static std::string addBox(InlinePtx &code, Value map, ValueRange coordinates) {
  std::string address = code.addOperand(map);
  SmallVector<std::string> texts;
  for (Value coordinate : coordinates)
    texts.push_back(code.addOperand(coordinate));
  return "[" + address + ", {" + llvm::join(texts, ", ") + "}]";
}

void tw::nvidia::lowerCopyBox(Lowering &lowering, simt::CopyBoxOp op) {
  InlinePtx code(lowering.builder, lowering.loc);
  std::string shared = code.addOperand(op.getShared());
  std::string box = addBox(code, op.getMap(), op.getCoordinates());
  std::string barrier = code.addOperand(op.getBarrier()), multicast, mask;
  if (Value programs = op.getPrograms()) {
    OpBuilder &b = lowering.builder;
    Value bits = LLVM::TruncOp::create(b, lowering.loc, b.getI16Type(), programs);
    multicast = ".multicast::cluster";
    mask = ", " + code.addOperand(bits);
  }
  code.emit("cp.async.bulk.tensor." + std::to_string(op.getCoordinates().size()) +
                "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" + multicast + " [" +
                shared + "], " + box + ", [" + barrier + "]" + mask + ";",
            /*hasEffects=*/true);
}

/// Returns the name of a reduction by cp.reduce.async.bulk.tensor. The map has the type.
static StringRef reductionOf(tile::AtomicKind kind) {
  switch (kind) {
  case tile::AtomicKind::Add:
  case tile::AtomicKind::FAdd:
    return "add";
  case tile::AtomicKind::Max:
  case tile::AtomicKind::UMax:
  case tile::AtomicKind::FMax:
    return "max";
  case tile::AtomicKind::Min:
  case tile::AtomicKind::UMin:
  case tile::AtomicKind::FMin:
    return "min";
  case tile::AtomicKind::And:
    return "and";
  case tile::AtomicKind::Or:
    return "or";
  case tile::AtomicKind::Xor:
    return "xor";
  case tile::AtomicKind::Xchg:
  case tile::AtomicKind::Load:
    break;
  }
  llvm_unreachable("boxes are not combined by this kind");
}

void tw::nvidia::lowerStoreBox(Lowering &lowering, simt::StoreBoxOp op) {
  InlinePtx code(lowering.builder, lowering.loc);
  std::string dimensions = std::to_string(op.getCoordinates().size()) + "d";
  std::string box = addBox(code, op.getMap(), op.getCoordinates());
  std::string name = "cp.async.bulk.tensor." + dimensions + ".global.shared::cta";
  if (op.getKind())
    name = ("cp.reduce.async.bulk.tensor." + dimensions + ".global.shared::cta." +
            reductionOf(*op.getKind()))
               .str();
  code.emit(name + ".tile.bulk_group " + box + ", [" + code.addOperand(op.getShared()) + "];",
            /*hasEffects=*/true);
}

void tw::nvidia::lowerStoresWait(Lowering &lowering, simt::StoresWaitOp op) {
  InlinePtx(lowering.builder, lowering.loc)
      .emit(std::string("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group") +
                (op.getRead() ? ".read" : "") + " 0;",
            /*hasEffects=*/true);
}
