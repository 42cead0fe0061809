// Vectors and structures: their elements are registers, so that most of it is renaming.
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

/// Where an element of a structure or array begins among its registers.
unsigned FunctionImporter::flatIndex(llvm::Type *type, llvm::ArrayRef<unsigned> indices) {
  unsigned flat = 0;
  for (unsigned index : indices) {
    if (auto *structure = llvm::dyn_cast<llvm::StructType>(type)) {
      for (unsigned i = 0; i < index; ++i)
        flat += numRegistersOf(structure->getElementType(i));
      type = structure->getElementType(index);
    } else {
      type = type->getArrayElementType();
      flat += index * numRegistersOf(type);
    }
  }
  return flat;
}

void FunctionImporter::importAggregate(llvm::Instruction &instruction) {
  if (auto *extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    const Operands &all = read(extract->getAggregateOperand());
    unsigned first = flatIndex(extract->getAggregateOperand()->getType(), extract->getIndices());
    Operands part(all.begin() + first, all.begin() + first + numRegistersOf(extract->getType()));
    define(instruction, part);
    return;
  }
  auto &insert = llvm::cast<llvm::InsertValueInst>(instruction);
  Operands all = read(insert.getAggregateOperand()), part = read(insert.getInsertedValueOperand());
  std::ranges::copy(part, all.begin() + flatIndex(insert.getType(), insert.getIndices()));
  define(instruction, all);
}

void FunctionImporter::importExtract(llvm::ExtractElementInst &instruction) {
  Operands all = read(instruction.getVectorOperand());
  if (auto *index = llvm::dyn_cast<llvm::ConstantInt>(instruction.getIndexOperand())) {
    uint64_t number = index->getZExtValue();
    define(instruction, {number < all.size() ? all[number] : unset(fileOf(instruction.getType()))});
    return;
  }
  Operand index = readOne(instruction.getIndexOperand()), value = all[0];
  Type type = integerType(scalarBits(layout, instruction.getIndexOperand()->getType()), false);
  for (size_t i = 1; i < all.size(); ++i)
    value = select(compare(Compare::Eq, type, index, immediate(i)), all[i], value,
                   fileOf(instruction.getType()));
  define(instruction, {value});
}

void FunctionImporter::importInsert(llvm::InsertElementInst &instruction) {
  Operands all = read(instruction.getOperand(0));
  Operand value = readOne(instruction.getOperand(1));
  if (auto *number = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(2))) {
    if (number->getZExtValue() < all.size())
      all[number->getZExtValue()] = value;
    define(instruction, all);
    return;
  }
  Operand index = readOne(instruction.getOperand(2));
  Type type = integerType(scalarBits(layout, instruction.getOperand(2)->getType()), false);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = select(compare(Compare::Eq, type, index, immediate(i)), value, all[i],
                    fileOf(instruction.getType()->getScalarType()));
  define(instruction, all);
}

void FunctionImporter::importShuffle(llvm::ShuffleVectorInst &shuffle) {
  Operands all = read(shuffle.getOperand(0)), second = read(shuffle.getOperand(1)), results;
  all.insert(all.end(), second.begin(), second.end());
  RegisterFile file = fileOf(shuffle.getType()->getElementType());
  for (int index : shuffle.getShuffleMask())
    results.push_back(index < 0 ? unset(file) : all[size_t(index)]);
  define(shuffle, results);
}

bool FunctionImporter::importVector(llvm::Instruction &instruction) {
  if (auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction)) {
    importExtract(*extract);
    return true;
  }
  if (auto *insert = llvm::dyn_cast<llvm::InsertElementInst>(&instruction)) {
    importInsert(*insert);
    return true;
  }
  if (auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) {
    importShuffle(*shuffle);
    return true;
  }
  if (!llvm::isa<llvm::ExtractValueInst, llvm::InsertValueInst>(instruction))
    return false;
  importAggregate(instruction);
  return true;
}
