// One kernel's LLVM IR to instructions of the simulator.
#ifndef BACKEND_WARPSIM_LLVMIR_FUNCTIONIMPORTER_H
#define BACKEND_WARPSIM_LLVMIR_FUNCTIONIMPORTER_H
#include "backend/warpsim/llvmir/InstructionMaker.h"

namespace tw::warpsim {

/// Goes through a kernel's blocks in order and makes instructions of each of LLVM's.
class FunctionImporter : private InstructionMaker {
public:
  using InstructionMaker::error;
  using InstructionMaker::InstructionMaker;
  /// False with `error` filled in.
  bool run();

private:
  // Flow.cpp: blocks, branches, phis.
  std::vector<llvm::BasicBlock *> orderBlocks();
  void importBlock(llvm::BasicBlock &block, llvm::BasicBlock *next);
  void importTerminator(llvm::Instruction &instruction, llvm::BasicBlock *next);
  void importBranch(llvm::BranchInst &branch, llvm::BasicBlock *next);
  void importSwitch(llvm::SwitchInst &instruction);
  void movePhis(llvm::BasicBlock &from, llvm::BasicBlock &to);
  bool endsIteration(llvm::BasicBlock &to);
  bool needsMoves(llvm::BasicBlock &to);
  void emitBranch(llvm::BasicBlock *to, const Operand *guard = nullptr, bool isNegated = false);
  void allocatePhis();
  void importArguments();

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
  // WideIntegers.cpp.
  static bool isWide(llvm::Type *type);
  bool importWide(llvm::Instruction &instruction);
  bool importWideCast(llvm::CastInst &cast);
  bool importResource(llvm::CastInst &cast);
  void defineWideResource(llvm::CastInst &cast, const Operands &words);
  Operands wideBinary(unsigned opcode, const Operands &a, const Operands &b);
  Operands wideProduct(const Operands &a, const Operands &b);
  Operands wideSum(bool isDifference, const Operands &a, const Operands &b);
  Operands wideShift(unsigned opcode, const Operands &a, const Operand &amount);
  Operand compareWide(unsigned predicate, const Operands &a, const Operands &b);
  // Vectors.cpp.
  void importShuffle(llvm::ShuffleVectorInst &shuffle);
  bool importVector(llvm::Instruction &instruction);
  void importExtract(llvm::ExtractElementInst &instruction);
  void importInsert(llvm::InsertElementInst &instruction);
  void importAggregate(llvm::Instruction &instruction);
  unsigned flatIndex(llvm::Type *type, llvm::ArrayRef<unsigned> indices);

  // Memory.cpp.
  bool importElementAddress(llvm::GetElementPtrInst &address);
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

  // Calls.cpp, Intrinsics.cpp, Folds.cpp, AmdgcnIntrinsics.cpp, Buffers.cpp.
  void importCall(llvm::CallInst &call);
  void importHostCall(llvm::CallInst &call);
  bool importIntrinsic(llvm::IntrinsicInst &call);
  bool importFloatIntrinsic(llvm::IntrinsicInst &call);
  bool importIntegerIntrinsic(llvm::IntrinsicInst &call);
  bool importOrder(llvm::IntrinsicInst &call);
  bool importOverflow(llvm::IntrinsicInst &call);
  bool importSaturatingCast(llvm::IntrinsicInst &call);
  bool importFold(llvm::IntrinsicInst &call);
  Operand foldStep(llvm::Intrinsic::ID id, llvm::Type *type, const Operand &a, const Operand &b);
  bool importAmdgcn(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importMachineMath(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importMachineTests(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importMachineIntegers(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importConversion(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importExchangeOfLanes(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importIdentity(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importSynchronization(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importBuffer(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importMatrix(llvm::IntrinsicInst &call);
  bool importDirectCopy(llvm::IntrinsicInst &call, llvm::StringRef name);
  bool importTransposedRead(llvm::IntrinsicInst &call, llvm::StringRef name);
  Operand special(Special which);
  // OpenClFunctions.cpp.
  bool importOpenCl(llvm::CallInst &call, llvm::StringRef name);
  bool importOpenClNumber(llvm::CallInst &call, llvm::StringRef name);
  void importControlBarrier(llvm::CallInst &call, bool arrives, bool waits);
  void importMatrixProduct(llvm::CallInst &call);
  // BlockLoads.cpp.
  struct ArrayOfRows {
    Operand base, width, height, pitch; // bytes, rows, bytes
  };
  bool importBlockLoad(llvm::CallInst &call, llvm::StringRef name);
  Operand loadFromArray(const ArrayOfRows &array, unsigned bits, const Operand &row,
                        const Operand &column);
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
  void emitCopyOf(unsigned bytes, const Operand &place, const Operand &source, int64_t offset,
                  const Operand *readBytes);

  llvm::DenseMap<llvm::BasicBlock *, int32_t> starts;
  std::vector<std::pair<int32_t, llvm::BasicBlock *>> fixups; // branches by their targets
  Order order = Order::Weak;                                  // of the accesses that are made now
  Scope scope = Scope::None;
};

} // namespace tw::warpsim
#endif
