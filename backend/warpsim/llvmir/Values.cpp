// Registers of values, constants as operands, and the making of instructions.
#include "backend/warpsim/llvmir/InstructionMaker.h"
#include "backend/warpsim/llvmir/NamedFunctions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Support/raw_ostream.h"

using namespace tw::warpsim;

Operand tw::warpsim::immediate(uint64_t bits) {
  Operand operand;
  operand.kind = Operand::Kind::Immediate;
  operand.bits = bits;
  return operand;
}

Space tw::warpsim::spaceOf(unsigned addressSpace) {
  switch (addressSpace) {
  case 1:
    return Space::Global;
  case 3:
    return Space::Shared;
  case 5:
    return Space::Local;
  default: // flat, and constants, which may be the parameters
    return Space::Generic;
  }
}

Type tw::warpsim::integerType(unsigned bits, bool isSigned) {
  if (bits > 32)
    return isSigned ? Type::S64 : Type::U64;
  return isSigned ? Type::S32 : Type::U32;
}

Type tw::warpsim::floatType(llvm::Type *type) {
  if (type->isHalfTy())
    return Type::F16;
  if (type->isBFloatTy())
    return Type::BF16;
  return type->isDoubleTy() ? Type::F64 : Type::F32;
}

unsigned tw::warpsim::scalarBits(const llvm::DataLayout &layout, llvm::Type *scalar) {
  return unsigned(layout.getTypeSizeInBits(scalar).getFixedValue());
}

RegisterFile tw::warpsim::fileOf(llvm::Type *scalar) {
  if (scalar->isIntegerTy())
    return scalar->isIntegerTy(1)               ? RegisterFile::Predicate
           : scalar->getIntegerBitWidth() <= 32 ? RegisterFile::Word
                                                : RegisterFile::Double;
  if (const auto *pointer = llvm::dyn_cast<llvm::PointerType>(scalar)) {
    unsigned space = pointer->getAddressSpace();
    return space == 3 || space == 5 ? RegisterFile::Word : RegisterFile::Double;
  }
  return scalar->isDoubleTy() ? RegisterFile::Double : RegisterFile::Word;
}

bool InstructionMaker::refuse(const llvm::Twine &message) {
  if (!hasFailed)
    error = {message.str(), currentLocation < 0 ? 0 : program.locations[currentLocation].line};
  hasFailed = true;
  return false;
}

void InstructionMaker::unsupported(llvm::Instruction &instruction, const llvm::Twine &why) {
  std::string text;
  llvm::raw_string_ostream(text) << instruction;
  refuse("`" + llvm::StringRef(text).trim() + "`" + (why.isTriviallyEmpty() ? "" : ": ") + why);
  // The rest is still decoded, so that nothing reads what is not there.
  if (!instruction.getType()->isVoidTy() && !values.count(&instruction))
    define(instruction, result(instruction.getType()));
}

Operands &InstructionMaker::define(llvm::Value &value, Operands operands) {
  return values[&value] = std::move(operands);
}

Operand InstructionMaker::fresh(RegisterFile file) {
  Operand operand;
  operand.kind = Operand::Kind::Register;
  operand.reg = {file, made.numRegisters[size_t(file)]++};
  return operand;
}

/// Register 0 of each file is never written.
Operand InstructionMaker::unset(RegisterFile file) {
  Operand operand;
  operand.kind = Operand::Kind::Register;
  operand.reg = {file, 0};
  return operand;
}

void InstructionMaker::addResults(llvm::Type *type, Operands &operands) {
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    for (unsigned i = 0; i < vector->getNumElements(); ++i)
      addResults(vector->getElementType(), operands);
  } else if (type->isAggregateType()) {
    for (unsigned i = 0; i < numRegistersOf(type) && type->isArrayTy(); ++i)
      addResults(type->getArrayElementType(), operands);
    for (unsigned i = 0; type->isStructTy() && i < type->getStructNumElements(); ++i)
      addResults(type->getStructElementType(i), operands);
  } else if (type->isPointerTy() && type->getPointerAddressSpace() == 8) {
    operands.push_back(fresh(RegisterFile::Double));
    operands.push_back(fresh(RegisterFile::Double));
    operands.push_back(fresh(RegisterFile::Word));
  } else if (type->isIntegerTy(128)) {
    operands.push_back(fresh(RegisterFile::Double));
    operands.push_back(fresh(RegisterFile::Double));
  } else if (scalarBits(layout, type) > 64 ||
             (type->isPointerTy() && type->getPointerAddressSpace() == 7)) {
    refuse("a value of more than 64 bits");
    operands.push_back(fresh(RegisterFile::Double));
  } else {
    operands.push_back(fresh(fileOf(type)));
  }
}

Operands InstructionMaker::result(llvm::Type *type) {
  Operands operands;
  addResults(type, operands);
  return operands;
}

unsigned InstructionMaker::numRegistersOf(llvm::Type *type) {
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return vector->getNumElements() * numRegistersOf(vector->getElementType());
  if (auto *array = llvm::dyn_cast<llvm::ArrayType>(type))
    return unsigned(array->getNumElements()) * numRegistersOf(array->getElementType());
  if (auto *structure = llvm::dyn_cast<llvm::StructType>(type)) {
    unsigned count = 0;
    for (llvm::Type *element : structure->elements())
      count += numRegistersOf(element);
    return count;
  }
  if (type->isIntegerTy(128))
    return 2;
  return type->isPointerTy() && type->getPointerAddressSpace() == 8 ? 3 : 1;
}

Operand InstructionMaker::scalarConstant(llvm::Constant *constant) {
  llvm::Type *type = constant->getType();
  if (llvm::isa<llvm::UndefValue>(constant))
    return unset(fileOf(type));
  if (auto *integer = llvm::dyn_cast<llvm::ConstantInt>(constant))
    return immediate(integer->getValue().getZExtValue());
  if (auto *real = llvm::dyn_cast<llvm::ConstantFP>(constant))
    return immediate(real->getValueAPF().bitcastToAPInt().getZExtValue());
  if (constant->isNullValue())
    return immediate(0);
  if (auto *global = llvm::dyn_cast<llvm::GlobalVariable>(constant))
    if (auto found = globals.find(global); found != globals.end())
      return found->second;
  if (auto *address = llvm::dyn_cast<llvm::GEPOperator>(constant)) {
    llvm::APInt offset(layout.getIndexTypeSizeInBits(type), 0);
    if (address->accumulateConstantOffset(layout, offset)) {
      Operand base = scalarConstant(llvm::cast<llvm::Constant>(address->getPointerOperand()));
      base.bits += uint64_t(offset.getSExtValue());
      return base;
    }
  }
  if (auto *expression = llvm::dyn_cast<llvm::ConstantExpr>(constant)) {
    llvm::Constant *inner = llvm::cast<llvm::Constant>(expression->getOperand(0));
    bool isSame = expression->getOpcode() == llvm::Instruction::PtrToInt ||
                  expression->getOpcode() == llvm::Instruction::IntToPtr ||
                  expression->getOpcode() == llvm::Instruction::BitCast;
    if (isSame)
      return scalarConstant(inner);
    if (expression->getOpcode() == llvm::Instruction::AddrSpaceCast) {
      Operand base = scalarConstant(inner);
      if (inner->getType()->getPointerAddressSpace() == 3 && base.bits)
        base.bits |= uint64_t(0x07) << 56;
      return base;
    }
  }
  std::string text;
  llvm::raw_string_ostream(text) << *constant;
  refuse("the constant " + text);
  return immediate(0);
}

void InstructionMaker::appendConstant(llvm::Constant *constant, Operands &operands) {
  llvm::Type *type = constant->getType();
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    for (unsigned i = 0; i < vector->getNumElements(); ++i)
      appendConstant(constant->getAggregateElement(i), operands);
  } else if (type->isAggregateType()) {
    unsigned count =
        type->isStructTy() ? type->getStructNumElements() : unsigned(type->getArrayNumElements());
    for (unsigned i = 0; i < count; ++i)
      appendConstant(constant->getAggregateElement(i), operands);
  } else if (type->isPointerTy() && type->getPointerAddressSpace() == 8) {
    for (RegisterFile file : {RegisterFile::Double, RegisterFile::Double, RegisterFile::Word})
      operands.push_back(llvm::isa<llvm::UndefValue>(constant) ? unset(file) : immediate(0));
  } else if (type->isIntegerTy(128)) {
    auto *number = llvm::dyn_cast<llvm::ConstantInt>(constant);
    for (unsigned i = 0; i < 2; ++i)
      operands.push_back(number ? immediate(number->getValue().extractBitsAsZExtValue(64, 64 * i))
                                : unset(RegisterFile::Double));
  } else {
    operands.push_back(scalarConstant(constant));
  }
}

Operands InstructionMaker::readConstant(llvm::Constant *constant) {
  Operands operands;
  appendConstant(constant, operands);
  return operands;
}

const Operands &InstructionMaker::read(llvm::Value *value) {
  auto found = values.find(value);
  if (found != values.end())
    return found->second;
  if (auto *constant = llvm::dyn_cast<llvm::Constant>(value))
    return define(*value, readConstant(constant));
  // A block that nothing reaches, or a value that has no number.
  return define(*value, value->getType()->isFirstClassType() && !value->getType()->isMetadataTy() &&
                                !value->getType()->isTokenTy()
                            ? result(value->getType())
                            : Operands{immediate(0)});
}

Instruction &InstructionMaker::emit(Op op, Type type, Operands results, Operands sources) {
  Instruction instruction;
  instruction.op = op;
  instruction.type = type;
  instruction.results = std::move(results);
  instruction.sources = std::move(sources);
  if (guard)
    instruction.guard = *guard;
  instruction.line = currentLine;
  instruction.location = currentLocation;
  program.code.push_back(std::move(instruction));
  program.textOf.push_back(int32_t(program.texts.size()) - 1);
  return program.code.back();
}

Operand InstructionMaker::emitTo(RegisterFile file, Op op, Type type, Operands sources) {
  Operand to = fresh(file);
  emit(op, type, {to}, std::move(sources));
  return to;
}

Operand InstructionMaker::call(const char *name, RegisterFile file, Operands sources) {
  Operand to = fresh(file);
  Instruction &instruction = emit(Op::Function, Type::B32, {to}, std::move(sources));
  instruction.function = findNamedFunction(name);
  if (!instruction.function)
    refuse(llvm::Twine("the function ") + name);
  return to;
}

static Type typeOfFile(RegisterFile file) {
  return file == RegisterFile::Predicate ? Type::Pred
         : file == RegisterFile::Word    ? Type::B32
                                         : Type::B64;
}

Operand InstructionMaker::move(const Operand &source) {
  RegisterFile file = source.kind == Operand::Kind::Register ? source.reg.file : RegisterFile::Word;
  return emitTo(file, Op::Mov, typeOfFile(file), {source});
}

Operand InstructionMaker::masked(const Operand &source, unsigned bits) {
  if (bits == 32 || bits == 64)
    return source;
  if (bits < 32)
    return word(Op::And, Type::B32, {source, immediate((uint64_t(1) << bits) - 1)});
  return wide(Op::And, Type::B64, {source, immediate((uint64_t(1) << bits) - 1)});
}

Operand InstructionMaker::signExtended(const Operand &source, unsigned bits) {
  if (bits == 32 || bits == 64)
    return source;
  if (bits == 8 || bits == 16)
    return convert(Type::S32, bits == 8 ? Type::S8 : Type::S16, source);
  bool isWide = bits > 32;
  Operand amount = immediate((isWide ? 64 : 32) - bits);
  RegisterFile file = isWide ? RegisterFile::Double : RegisterFile::Word;
  Operand high = emitTo(file, Op::Shl, isWide ? Type::B64 : Type::B32, {source, amount});
  return emitTo(file, Op::Shr, isWide ? Type::S64 : Type::S32, {high, amount});
}

Operand InstructionMaker::compare(Compare how, Type type, const Operand &a, const Operand &b) {
  Operand to = fresh(RegisterFile::Predicate);
  emit(Op::Setp, type, {to}, {a, b}).compare = how;
  return to;
}

Operand InstructionMaker::select(const Operand &condition, const Operand &a, const Operand &b,
                                 RegisterFile file) {
  if (file != RegisterFile::Predicate)
    return emitTo(file, Op::Selp, typeOfFile(file), {a, b, condition});
  return call("select.i1", file, {a, b, condition});
}

Operand InstructionMaker::convert(Type to, Type from, const Operand &source, Rounding rounding) {
  Operand result = fresh(bytesOf(to) == 8 ? RegisterFile::Double : RegisterFile::Word);
  Instruction &instruction = emit(Op::Cvt, to, {result}, {source});
  instruction.sourceType = from;
  instruction.rounding = rounding;
  return result;
}

static std::string pathOf(const llvm::DILocation &location) {
  std::string name = location.getFilename().str();
  bool isWhole = name.empty() || name[0] == '/' || location.getDirectory().empty();
  return isWhole ? name : location.getDirectory().str() + "/" + name;
}

/// The number of a source file; a new one where it has none.
static int32_t numberOfFile(Program &program, const std::string &path) {
  for (const auto &[number, file] : program.files)
    if (file == path)
      return number;
  int32_t number = int32_t(program.files.size()) + 1;
  program.files[number] = path;
  return number;
}

int32_t InstructionMaker::locationOf(const llvm::DILocation *location) {
  if (!location)
    return -1;
  if (auto found = locations.find(location); found != locations.end())
    return found->second;
  SourceLocation place;
  place.line = int32_t(location->getLine());
  place.column = int32_t(location->getColumn());
  place.inlinedAt = locationOf(location->getInlinedAt());
  place.file = numberOfFile(program, pathOf(*location));
  program.locations.push_back(place);
  return locations[location] = int32_t(program.locations.size()) - 1;
}

static InstructionText nameOf(const llvm::Instruction &instruction) {
  InstructionText text;
  text.name = instruction.getOpcodeName();
  if (const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
    if (const llvm::Function *callee = call->getCalledFunction())
      text.name = callee->getName().str();
  return text;
}

void InstructionMaker::place(llvm::Instruction &instruction) {
  const TextLine &line = lines[numbers.lookup(&instruction)];
  currentLine = line.number;
  currentLocation = locationOf(instruction.getDebugLoc().get());
  program.texts.push_back(nameOf(instruction));
  program.texts.back().text = line.text.split(", !dbg").first.trim().str();
}
