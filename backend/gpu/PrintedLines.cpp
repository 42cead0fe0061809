// Printing and assertions: the lines that kernels print and that failed assertions leave.
#include "backend/gpu/PrintedLines.h"
#include "backend/inspect/PrintedLine.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

namespace {
/// For a function like printf: its format and the values that it names.
struct PrintedLine {
  std::string format;
  SmallVector<Value> values;
};
} // namespace

Value tw::gpu::stringAddress(ThreadLowering &lowering, StringRef text) {
  OpBuilder &b = lowering.builder;
  Operation *&global = lowering.strings[text.str()];
  if (!global) {
    std::string terminated = text.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(lowering.module.getBody());
    // No Python identifier has a dollar sign: the name cannot meet a kernel's.
    std::string name = "string$" + std::to_string(lowering.strings.size() - 1);
    global = LLVM::GlobalOp::create(b, lowering.loc, type, /*isConstant=*/true,
                                    LLVM::Linkage::Internal, name, b.getStringAttr(terminated),
                                    /*alignment=*/1, /*addrSpace=*/1);
  }
  Value address = LLVM::AddressOfOp::create(b, lowering.loc, cast<LLVM::GlobalOp>(global));
  return LLVM::AddrSpaceCastOp::create(b, lowering.loc, LLVM::LLVMPointerType::get(b.getContext()),
                                       address);
}

Operation *tw::gpu::declareFunction(ThreadLowering &lowering, StringRef name, Type result,
                                    ArrayRef<Type> arguments) {
  if (auto found = lowering.module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return found;
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(lowering.module.getBody());
  return LLVM::LLVMFuncOp::create(b, lowering.loc, name,
                                  LLVM::LLVMFunctionType::get(result, arguments));
}

/// Memory on the stack for the values of a line, made once at the start of the kernel: the machine
/// has no stack that grows.
static Value bufferOf(ThreadLowering &lowering, Type type) {
  Value &buffer = lowering.buffers[type];
  if (buffer)
    return buffer;
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&lowering.kernel->getRegion(0).front());
  Value one = LLVM::ConstantOp::create(b, lowering.loc, b.getI32Type(), b.getI32IntegerAttr(1));
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type place = LLVM::LLVMPointerType::get(b.getContext(), lowering.stackSpace);
  buffer = LLVM::AllocaOp::create(b, lowering.loc, place, type, one, /*alignment=*/8);
  if (place != pointer)
    buffer = LLVM::AddrSpaceCastOp::create(b, lowering.loc, pointer, buffer);
  return buffer;
}

/// The address of memory on the stack that holds the values one after another, each aligned to its
/// size.
static Value storeValues(ThreadLowering &lowering, ValueRange values) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  SmallVector<Type> types(values.getTypes());
  Type structure = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value buffer = bufferOf(lowering, structure);
  for (auto [position, value] : llvm::enumerate(values)) {
    Value place = LLVM::GEPOp::create(b, loc, pointer, structure, buffer,
                                      ArrayRef<LLVM::GEPArg>{0, int32_t(position)});
    LLVM::StoreOp::create(b, loc, value, place);
  }
  return buffer;
}

/// `text` as part of a format.
static std::string escaped(StringRef text) {
  std::string result;
  for (char character : text)
    result += character == '%' ? "%%" : std::string(1, character);
  return result;
}

/// Adds "pid (x, y, z)".
static void addProgram(ProgramIdEmitter programId, PrintedLine &line) {
  line.format += "pid (%u, %u, %u)";
  for (unsigned axis = 0; axis < 3; ++axis)
    line.values.push_back(programId(axis));
}

/// Adds " idx (i, j)".
static void addIndex(ThreadLowering &lowering, ArrayRef<int64_t> shape, Value index, bool isPadded,
                     PrintedLine &line) {
  OpBuilder &b = lowering.builder;
  line.format += " idx (";
  SmallVector<Value> coordinates;
  for (int64_t extent : llvm::reverse(shape)) {
    Value size = arith::ConstantOp::create(b, lowering.loc, b.getI32IntegerAttr(extent));
    coordinates.push_back(arith::RemUIOp::create(b, lowering.loc, index, size));
    index = arith::DivUIOp::create(b, lowering.loc, index, size);
  }
  std::string separator;
  for (auto [extent, coordinate] : llvm::zip(shape, llvm::reverse(coordinates))) {
    unsigned width = isPadded ? printedIndexWidth(extent) : 0;
    line.format += separator + "%" + (width ? std::to_string(width) : "") + "u";
    separator = ", ";
    line.values.push_back(coordinate);
  }
  line.format += ")";
}

/// Adds the value.
static void addValue(ThreadLowering &lowering, Value value, bool asBits, bool isSigned,
                     PrintedLine &line) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type type = value.getType(), i64 = b.getI64Type();
  if (isa<LLVM::LLVMPointerType>(type)) {
    line.format += "0x%llx";
    line.values.push_back(LLVM::PtrToIntOp::create(b, loc, i64, value));
    return;
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  if (isa<FloatType>(type) && !asBits) {
    line.format += "%f";
    line.values.push_back(
        type.isF64() ? value : Value(arith::ExtFOp::create(b, loc, b.getF64Type(), value)));
    return;
  }
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(b, loc, b.getIntegerType(bits), value);
  isSigned = isSigned && bits > 1 && !asBits;
  std::string digits = std::to_string((bits + 3) / 4);
  line.format += asBits ? "0x%0" + digits + "llx" : isSigned ? "%lld" : "%llu";
  if (bits < 64)
    value = isSigned ? Value(arith::ExtSIOp::create(b, loc, i64, value))
                     : Value(arith::ExtUIOp::create(b, loc, i64, value));
  line.values.push_back(value);
}

static PrintedLine lineOfPrint(ThreadLowering &lowering, simt::PrintOp op,
                               ProgramIdEmitter programId) {
  PrintedLine line;
  addProgram(programId, line);
  if (op.getValue())
    addIndex(lowering, op.getShape(), op.getIndex(), /*isPadded=*/true, line);
  line.format += escaped(op.getPrefix());
  if (op.getValue())
    addValue(lowering, op.getValue(), op.getHex(), op.getIsSigned(), line);
  line.format += "\n";
  return line;
}

static PrintedLine lineOfAssert(ThreadLowering &lowering, simt::AssertOp op,
                                ProgramIdEmitter programId) {
  SourceSpan span = spanOf(lowering.loc);
  PrintedLine line;
  line.format = "device-side assert failed at " + escaped(span.file) + ":" +
                std::to_string(span.line) + ": " + escaped(op.getMessage());
  for (auto [position, value] : llvm::enumerate(op.getValues())) {
    line.format += position == 0 ? ": " : " " + escaped(*op.getJoint()) + " ";
    addValue(lowering, value, /*asBits=*/false, op.getIsSigned(), line);
  }
  line.format += " (";
  addProgram(programId, line);
  addIndex(lowering, op.getShape(), op.getIndex(), /*isPadded=*/false, line);
  line.format += ")\n";
  return line;
}

void tw::gpu::emitVprintf(ThreadLowering &lowering, StringRef format, ValueRange values) {
  OpBuilder &b = lowering.builder;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value buffer = storeValues(lowering, values);
  auto print = cast<LLVM::LLVMFuncOp>(
      declareFunction(lowering, "vprintf", b.getI32Type(), {pointer, pointer}));
  LLVM::CallOp::create(b, lowering.loc, print, ValueRange{stringAddress(lowering, format), buffer});
}

void tw::gpu::lowerPrint(ThreadLowering &lowering, simt::PrintOp op, ProgramIdEmitter programId,
                         LineEmitter emitLine) {
  OpBuilder &b = lowering.builder;
  auto branch = scf::IfOp::create(b, lowering.loc, op.getMask(), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  PrintedLine line = lineOfPrint(lowering, op, programId);
  emitLine(line.format, line.values);
}

void tw::gpu::lowerAssert(ThreadLowering &lowering, simt::AssertOp op, ProgramIdEmitter programId,
                          LineEmitter emitLine, llvm::function_ref<void()> stop) {
  OpBuilder &b = lowering.builder;
  auto branch = scf::IfOp::create(b, lowering.loc, op.getFailed(), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (emitLine) {
    PrintedLine line = lineOfAssert(lowering, op, programId);
    emitLine(line.format, line.values);
  }
  stop();
}
