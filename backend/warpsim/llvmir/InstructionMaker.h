// Registers for the values of one kernel's LLVM IR, constants as operands, and the making of
// instructions.
#ifndef BACKEND_WARPSIM_LLVMIR_INSTRUCTIONMAKER_H
#define BACKEND_WARPSIM_LLVMIR_INSTRUCTIONMAKER_H
#include "backend/warpsim/Program.h"
#include "backend/warpsim/llvmir/Import.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include <optional>
#include <string>
#include <vector>

namespace tw::warpsim {

using Operands = std::vector<Operand>;

/// Where memory is: a register and a constant.
struct PointerParts {
  Operand base;
  int64_t offset = 0;
};

/// The addresses of a module's global variables in its kernels.
using GlobalAddresses = llvm::DenseMap<const llvm::GlobalVariable *, Operand>;

/// A line of the text that was read.
struct TextLine {
  int32_t number = 0;
  llvm::StringRef text;
};

/// Registers by value: a scalar is one, a vector or a structure one for each element, a buffer
/// resource three (base, bytes, flags), an integer of 128 bits two. Integers of up to 32 bits,
/// halves and 32-bit pointers are words, zero-extended; i1 is a predicate.
class InstructionMaker {
public:
  /// `lines` has one line for each instruction of the function.
  InstructionMaker(Program &program, llvm::Function &function, const GlobalAddresses &globals,
                   const std::vector<TextLine> &lines)
      : program(program), function(function), globals(globals), lines(lines),
        layout(function.getDataLayout()) {}
  ImportError error;

protected:
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

  Program &program;
  llvm::Function &function;
  const GlobalAddresses &globals;
  const std::vector<TextLine> &lines;
  const llvm::DataLayout &layout;
  Function made;
  llvm::DenseMap<llvm::Value *, Operands> values;
  llvm::DenseMap<const llvm::DILocation *, int32_t> locations;
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
