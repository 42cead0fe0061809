// Calls of the C library's math functions from lowered code, by their vector forms where they
// exist.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/math/ExpandMath.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>

using namespace mlir;
using namespace tw;

static ModuleOp moduleAround(OpBuilder &builder) {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  if (auto module = dyn_cast<ModuleOp>(parent))
    return module;
  return parent->getParentOfType<ModuleOp>();
}

/// The function of that name in the module, declared if it is new. It neither traps nor touches
/// memory.
static LLVM::LLVMFuncOp declareFunction(Formula &f, StringRef name, Type type, size_t numOperands,
                                        LLVM::Linkage linkage) {
  ModuleOp module = moduleAround(f.builder);
  SmallVector<Type> parameters(numOperands, type);
  auto functionType = LLVM::LLVMFunctionType::get(type, parameters);
  Operation *known = module.lookupSymbol(name);
  auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(known);
  if (function && function.getFunctionType() == functionType)
    return function;
  std::string unused = name.str();
  if (known) { // the error fails the pass; the name only keeps the module valid until then
    emitCoded(f.location, Code::HidesLibraryFunction)
        << "a kernel named '" << name
        << "' hides the library function of that name, which is needed here";
    unused += ".hidden";
  }
  OpBuilder::InsertionGuard guard(f.builder);
  f.builder.setInsertionPointToStart(module.getBody());
  function = LLVM::LLVMFuncOp::create(f.builder, module.getLoc(), unused, functionType, linkage);
  std::array<LLVM::ModRefInfo, 6> noMemory;
  noMemory.fill(LLVM::ModRefInfo::NoModRef);
  function.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(f.builder.getContext(), noMemory));
  function.setNoUnwind(true);
  function.setWillReturn(true);
  return function;
}

static std::string scalarName(StringRef name, Type element) {
  return (name + (element.isF32() ? "f" : "")).str();
}

/// The vector function ABI's name of `name` for vectors of `bytes` (x86-64, glibc's libmvec).
static std::string vectorName(StringRef name, Type element, unsigned bytes, size_t numOperands) {
  StringRef isa = bytes == 64 ? "e" : bytes == 32 ? "d" : "b";
  unsigned lanes = bytes * 8 / element.getIntOrFloatBitWidth();
  std::string parameters(numOperands, 'v');
  return llvm::formatv("_ZGV{0}N{1}{2}_{3}", isa, lanes, parameters, scalarName(name, element));
}

static Value call(Formula &f, LLVM::LLVMFuncOp function, ValueRange operands) {
  return LLVM::CallOp::create(f.builder, f.location, function, operands).getResult();
}

/// `count` lanes of the vector from `offset` on, then lane 0 again and again up to `width` lanes.
static Value lanesOf(Formula &f, Value vector, int64_t offset, int64_t count, int64_t width) {
  if (offset == 0 && cast<VectorType>(vector.getType()).getNumElements() == width)
    return vector;
  SmallVector<int64_t> lanes(width, 0);
  for (int64_t lane = 0; lane < count; ++lane)
    lanes[lane] = offset + lane;
  return vector::ShuffleOp::create(f.builder, f.location, vector, vector, lanes);
}

/// `whole` with `count` lanes of `part` from `offset` on.
static Value withLanes(Formula &f, Value whole, Value part, int64_t offset, int64_t count) {
  int64_t total = cast<VectorType>(f.floatType).getNumElements();
  int64_t width = cast<VectorType>(part.getType()).getNumElements();
  if (offset == 0 && width == total)
    return part;
  SmallVector<int64_t> lanes(total, 0);
  for (int64_t lane = 0; lane < std::min(width, total); ++lane)
    lanes[lane] = lane;
  part = vector::ShuffleOp::create(f.builder, f.location, part, part, lanes);
  if (offset == 0)
    return part;
  for (int64_t lane = 0; lane < total; ++lane)
    lanes[lane] = lane < offset || lane >= offset + count ? lane : total + lane - offset;
  return vector::ShuffleOp::create(f.builder, f.location, whole, part, lanes);
}

/// The widest vector form that `remaining` lanes fill; for fewer than any has, the narrowest.
static unsigned chooseBytes(unsigned vectorBytes, int64_t remaining, unsigned elementBytes) {
  for (unsigned bytes = vectorBytes; bytes > 16; bytes /= 2)
    if (remaining * elementBytes >= bytes)
      return bytes;
  return 16;
}

static Value callVectorForms(Formula &f, const MathMachine &machine, StringRef name,
                             ValueRange operands) {
  auto type = cast<VectorType>(f.floatType);
  Type element = type.getElementType();
  unsigned elementBytes = element.getIntOrFloatBitWidth() / 8;
  Value result;
  for (int64_t offset = 0, count = 0; offset < type.getNumElements(); offset += count) {
    int64_t remaining = type.getNumElements() - offset;
    unsigned bytes = chooseBytes(std::min(machine.vectorBytes, 64u), remaining, elementBytes);
    int64_t width = bytes / elementBytes;
    count = std::min(width, remaining);
    SmallVector<Value> parts;
    for (Value operand : operands)
      parts.push_back(lanesOf(f, operand, offset, count, width));
    std::string symbol = vectorName(name, element, bytes, operands.size());
    LLVM::LLVMFuncOp function = declareFunction(f, symbol, VectorType::get(width, element),
                                                operands.size(), LLVM::Linkage::External);
    result = withLanes(f, result, call(f, function, parts), offset, count);
  }
  return result;
}

/// The body of an outlined function: the scalar function for each lane.
static void fillWithScalarCalls(Formula &f, LLVM::LLVMFuncOp outlined, StringRef name) {
  auto type = cast<VectorType>(f.floatType);
  OpBuilder::InsertionGuard guard(f.builder);
  Block *body = outlined.addEntryBlock(f.builder);
  f.builder.setInsertionPointToStart(body);
  LLVM::LLVMFuncOp scalar =
      declareFunction(f, scalarName(name, type.getElementType()), type.getElementType(),
                      body->getNumArguments(), LLVM::Linkage::External);
  Value result = LLVM::PoisonOp::create(f.builder, f.location, type);
  for (int64_t lane = 0; lane < type.getNumElements(); ++lane) {
    Value index = LLVM::ConstantOp::create(f.builder, f.location, f.builder.getI64Type(), lane);
    SmallVector<Value> operands;
    for (Value argument : body->getArguments())
      operands.push_back(LLVM::ExtractElementOp::create(f.builder, f.location, argument, index));
    result = LLVM::InsertElementOp::create(f.builder, f.location, result, call(f, scalar, operands),
                                           index);
  }
  LLVM::ReturnOp::create(f.builder, f.location, result);
}

Value tw::emitOutlinedCalls(Formula &f, StringRef name, ValueRange operands) {
  auto type = cast<VectorType>(f.floatType);
  std::string symbol = llvm::formatv("tw_lanes_{0}_{1}", scalarName(name, type.getElementType()),
                                     type.getNumElements());
  LLVM::LLVMFuncOp function =
      declareFunction(f, symbol, type, operands.size(), LLVM::Linkage::Internal);
  if (function.isExternal()) {
    function.setNoInline(true);
    fillWithScalarCalls(f, function, name);
  }
  return call(f, function, operands);
}

Value tw::emitLibraryCall(Formula &f, const MathMachine &machine, StringRef name,
                          ValueRange operands) {
  if (!isa<VectorType>(f.floatType)) {
    LLVM::LLVMFuncOp function = declareFunction(f, scalarName(name, f.floatType), f.floatType,
                                                operands.size(), LLVM::Linkage::External);
    return call(f, function, operands);
  }
  if (machine.hasVectorLibrary)
    return callVectorForms(f, machine, name, operands);
  return emitOutlinedCalls(f, name, operands);
}
