// One kernel's LLVM IR to instructions of the simulator.
#ifndef BACKEND_WARPSIM_LLVMIR_FUNCTIONIMPORTER_H
#define BACKEND_WARPSIM_LLVMIR_FUNCTIONIMPORTER_H
#include "backend/warpsim/Program.h"
#include "backend/warpsim/llvmir/Import.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>
#include <string>
#include <vector>
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

namespace tw::warpsim {

using Operands = std::vector<Operand>;

/// Where memory is: a register and a constant.
struct PointerParts {
  Operand base;
  int64_t offset = 0;
};

/// What global variables of a module are to its kernels.
using GlobalAddresses = llvm::DenseMap<const llvm::GlobalVariable *, Operand>;

/// A line of the text that was read.
struct TextLine {
  int32_t number = 0;
  llvm::StringRef text;
};

/// Registers by value: a scalar is one, a vector or a structure one for each element, a buffer
/// resource three (base, bytes, flags). Integers of up to 32 bits, halves and 32-bit pointers are
/// words, zero-extended; i1 is a predicate.
class FunctionImporter {
public:
  /// `lines` has one line for each instruction of the function.
  FunctionImporter(Program &program, llvm::Function &function, const GlobalAddresses &globals,
                   const std::vector<TextLine> &lines)
      : program(program), function(function), globals(globals), lines(lines),
        layout(function.getDataLayout()) {}
  /// False with `error` filled in.
  bool run();
  ImportError error;

private:
  // Flow.cpp: blocks, branches, phis.
  std::vector<llvm::BasicBlock *> orderBlocks();
  void importBlock(llvm::BasicBlock &block, llvm::BasicBlock *next);
  void importTerminator(llvm::Instruction &instruction, llvm::BasicBlock *next);
  void importBranch(llvm::BranchInst &branch, llvm::BasicBlock *next);
  void importSwitch(llvm::SwitchInst &instruction);
  void movePhis(llvm::BasicBlock &from, llvm::BasicBlock &to);
  bool needsMoves(llvm::BasicBlock &from, llvm::BasicBlock &to);
  void emitBranch(llvm::BasicBlock *to, const Operand *guard = nullptr, bool isNegated = false);
  void allocatePhis();
  void importArguments();

  // Values.cpp: registers and constants, and how instructions are made.
  Operands &define(llvm::Value &value, Operands operands);
  Operands result(llvm::Type *type);
  void addResults(llvm::Type *type, Operands &operands);
  Operand fresh(RegisterFile file);
  Operand unset(RegisterFile file);
  const Operands &read(llvm::Value *value);
  Operand readOne(llvm::Value *value) { return read(value)[0]; }
  Operands readConstant(llvm::Constant *constant);
  void appendConstant(llvm::Constant *constant, Operands &operands);
  Operand scalarConstant(llvm::Constant *constant);
  unsigned numRegistersOf(llvm::Type *type);
  Instruction &emit(Op op, Type type, Operands results, Operands sources);
  Operand emitTo(RegisterFile file, Op op, Type type, Operands sources);
  Operand word(Op op, Type type, Operands sources) {
    return emitTo(RegisterFile::Word, op, type, std::move(sources));
  }
  Operand wide(Op op, Type type, Operands sources) {
    return emitTo(RegisterFile::Double, op, type, std::move(sources));
  }
  Operand predicate(Op op, Type type, Operands sources) {
    return emitTo(RegisterFile::Predicate, op, type, std::move(sources));
  }
  Operand call(const char *name, RegisterFile file, Operands sources);
  Operand move(const Operand &source);
  Operand masked(const Operand &source, unsigned bits);
  Operand signExtended(const Operand &source, unsigned bits);
  Operand compare(Compare how, Type type, const Operand &a, const Operand &b);
  Operand select(const Operand &condition, const Operand &a, const Operand &b, RegisterFile file);
  Operand convert(Type to, Type from, const Operand &source, Rounding rounding = Rounding::None);
  void place(llvm::Instruction &instruction);
  int32_t locationOf(const llvm::DILocation *location);
  bool refuse(const llvm::Twine &message);
  void unsupported(llvm::Instruction &instruction, const llvm::Twine &why = "");

  // Arithmetic.cpp.
  void importInstruction(llvm::Instruction &instruction);
  bool importArithmetic(llvm::Instruction &instruction);
  Operand binary(llvm::Instruction &instruction, const Operand &a, const Operand &b);
  Operand integerBinary(unsigned opcode, unsigned bits, const Operand &a, const Operand &b);
  Operand floatBinary(unsigned opcode, llvm::Type *type, const Operand &a, const Operand &b);
  Operand logic(unsigned opcode, const Operand &a, const Operand &b);
  Operand compareIntegers(unsigned predicate, unsigned bits, Operand a, Operand b);
  Operand compareFloats(unsigned predicate, llvm::Type *type, const Operand &a, const Operand &b);
  // Conversions.cpp.
  bool importCast(llvm::CastInst &cast);
  Operand castOne(llvm::CastInst &cast, llvm::Type *to, llvm::Type *from, const Operand &source);
  Operand resizeInteger(unsigned toBits, unsigned fromBits, bool isSigned, const Operand &source);
  Operand convertFloat(llvm::Type *to, llvm::Type *from, const Operand &source,
                       Rounding rounding = Rounding::Rn);
  Operand floatToInteger(llvm::Type *to, llvm::Type *from, bool isSigned, const Operand &source);
  Operand integerToFloat(llvm::Type *to, llvm::Type *from, bool isSigned, const Operand &source);
  Operands repack(const Operands &sources, unsigned fromBits, unsigned toBits);
  Operands repackPredicates(const Operands &sources, unsigned fromBits, unsigned toBits);
  // Vectors.cpp.
  bool importVector(llvm::Instruction &instruction);
  void importExtract(llvm::ExtractElementInst &instruction);
  void importInsert(llvm::InsertElementInst &instruction);
  void importAggregate(llvm::Instruction &instruction);
  unsigned flatIndex(llvm::Type *type, llvm::ArrayRef<unsigned> indices);

  // Memory.cpp.
  bool importMemory(llvm::Instruction &instruction);
  PointerParts partsOf(llvm::Value *pointer);
  Operand importAddress(llvm::GEPOperator &address);
  void importLoad(llvm::LoadInst &load);
  void importStore(llvm::StoreInst &store);
  Operands loadParts(const PointerParts &at, Space space, unsigned elementBits, unsigned count,
                     unsigned alignment);
  void storeParts(const PointerParts &at, Space space, const Operands &values, unsigned elementBits,
                  unsigned alignment);
  void importAtomic(llvm::AtomicRMWInst &atomic);
  void importExchange(llvm::AtomicCmpXchgInst &exchange);
  Operand emitAtomic(AtomOp op, Type type, const PointerParts &at, Space space, Operands values,
                     bool isUsed);
  void importFence(llvm::FenceInst &fence);
  void importAlloca(llvm::AllocaInst &alloca);
  void setOrder(llvm::AtomicOrdering ordering, llvm::SyncScope::ID scope);

  // Calls.cpp, Intrinsics.cpp, AmdgcnIntrinsics.cpp, Buffers.cpp.
  void importCall(llvm::CallInst &call);
  bool importIntrinsic(llvm::IntrinsicInst &call);
  bool importFloatIntrinsic(llvm::IntrinsicInst &call);
  bool importIntegerIntrinsic(llvm::IntrinsicInst &call);
  bool importOverflow(llvm::IntrinsicInst &call);
  bool importAmdgcn(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importMachineMath(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importConversion(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importExchangeOfLanes(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importIdentity(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importSynchronization(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importBuffer(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importMatrix(llvm::IntrinsicInst &call);
  bool importDirectCopy(llvm::IntrinsicInst &call, llvm::StringRef name);
  Operand special(Special which);
  Operands exchangeWords(llvm::Type *type, const Operands &values, WaveOp op, Operands before,
                         Operands after);
  Instruction &emitWave(WaveOp op, Operands results, Operands sources);
  Operand floatFunction(llvm::Type *type, const Operand &source,
                        llvm::function_ref<Operand(const Operand &)> single);
  struct BufferPlace {
    Operand address, offset, bytes; // 64 bits each
  };
  BufferPlace bufferPlace(llvm::Value *resource, llvm::Value *offset, llvm::Value *scalarOffset);
  Operand isInside(const BufferPlace &place, unsigned offset, unsigned bytes);
  void importBufferLoad(llvm::IntrinsicInst &call);
  void importBufferStore(llvm::IntrinsicInst &call);
  void importBufferAtomic(llvm::IntrinsicInst &call, llvm::StringRef name);
  void emitCopy(const Operand &target, const Operand &source, int64_t offset, unsigned bytes,
                const Operand *readBytes);

  Program &program;
  llvm::Function &function;
  const GlobalAddresses &globals;
  const std::vector<TextLine> &lines;
  const llvm::DataLayout &layout;
  Function made;
  llvm::DenseMap<llvm::Value *, Operands> values;
  llvm::DenseMap<llvm::BasicBlock *, int32_t> starts;
  std::vector<std::pair<int32_t, llvm::BasicBlock *>> fixups; // branches by their targets
  llvm::DenseMap<const llvm::DILocation *, int32_t> locations;
  Order order = Order::Weak; // of the accesses that are made now
  Scope scope = Scope::None;
  const Operand *guard = nullptr; // of the instructions that are made now
  int32_t currentLine = 0, currentLocation = -1;
  llvm::DenseMap<const llvm::Instruction *, size_t> numbers; // of instructions, in the text's order
  bool hasFailed = false;
};

/// The simulator's type of an integer of `bits` bits, rounded up, or of a float.
Type integerType(unsigned bits, bool isSigned);
Type floatType(llvm::Type *type);
RegisterFile fileOf(llvm::Type *scalar);
unsigned scalarBits(const llvm::DataLayout &layout, llvm::Type *scalar);
Space spaceOf(unsigned addressSpace);
Operand immediate(uint64_t bits);

} // namespace tw::warpsim
#endif
