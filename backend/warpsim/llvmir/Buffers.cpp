// Buffers with bounds, copies from global to shared memory, and matrix instructions.
#include "backend/warpsim/core/wave/MatrixTable.h"
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

/// A resource is its first byte, its bytes and flags. Offsets are unsigned. A scalar offset is
/// refused: by the manuals the bounds hold for the sum with it, by LLVM without it, and some
/// hardware was seen to wrap the sum (triton issues 10673 and 10715). Code must not depend on that.
/// Addresses have 48 bits; those above them stay, as a stride leads nowhere.
FunctionImporter::BufferPlace FunctionImporter::bufferPlace(llvm::Value *resource,
                                                            llvm::Value *offset,
                                                            llvm::Value *scalarOffset) {
  Operand scalar = readOne(scalarOffset);
  if (scalar.kind != Operand::Kind::Immediate || scalar.bits)
    refuse("a scalar offset of a buffer: what its bounds hold for depends on the machine");
  Operands parts = read(resource);
  Operand bytes = convert(Type::U64, Type::U32, readOne(offset));
  constexpr uint64_t addressBits = (uint64_t(1) << 48) - 1;
  Operand sum = wide(Op::Add, Type::U64, {parts[0], bytes});
  Operand address = wide(Op::And, Type::B64, {sum, immediate(addressBits)});
  Operand above = wide(Op::And, Type::B64, {parts[0], immediate(~addressBits)});
  return {wide(Op::Or, Type::B64, {address, above}), bytes, parts[1]};
}

Operand FunctionImporter::isInside(const BufferPlace &place, unsigned offset, unsigned bytes) {
  Operand end = wide(Op::Add, Type::U64, {place.offset, immediate(offset + bytes)});
  return compare(Compare::Le, Type::U64, end, place.bytes);
}

namespace {
/// How a type is accessed through a buffer: in pieces of at most 4 bytes, each with its bounds.
struct BufferPieces {
  unsigned bits, count;
};
} // namespace

static BufferPieces piecesOf(unsigned totalBits) {
  if (totalBits < 32)
    return {totalBits, 1};
  return {32, totalBits / 32};
}

/// Imports a load that reads zero outside of its buffer, each 4 bytes by themselves. Where all
/// lanes are within or outside as a whole, which is nearly always so, one access does it.
void FunctionImporter::importBufferLoad(llvm::IntrinsicInst &call) {
  BufferPlace place =
      bufferPlace(call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2));
  llvm::Type *type = call.getType();
  unsigned elementBits = scalarBits(layout, type->getScalarType());
  BufferPieces pieces = piecesOf(elementBits * numRegistersOf(type));
  Operand isAll = isInside(place, 0, pieces.bits / 8 * pieces.count), isSome = isAll;
  Operands loaded;
  for (unsigned i = 0; i < pieces.count; ++i)
    loaded.push_back(word(Op::Mov, Type::B32, {immediate(0)}));
  auto load = [&](unsigned first, unsigned count, const Operand &when) {
    Operands to(loaded.begin() + first, loaded.begin() + first + count);
    Instruction &made = emit(Op::Ld,
                             pieces.bits == 8    ? Type::U8
                             : pieces.bits == 16 ? Type::B16
                                                 : Type::B32,
                             to, {});
    made.space = Space::Global;
    made.address = {place.address, int64_t(first) * 4};
    made.vectorWidth = uint8_t(count);
    made.alignment = uint8_t(std::min(4u, pieces.bits / 8));
    made.guard = when;
  };
  unsigned whole = pieces.count == 3 ? 1 : pieces.count; // an access has a power of two of bytes
  for (unsigned i = 0; i < pieces.count; i += whole)
    load(i, whole, isAll);
  if (pieces.count > 1) {
    // Of those that are not inside as a whole, some begin inside.
    isSome = isInside(place, 0, 4);
    Operand isPartial = predicate(Op::Xor, Type::Pred, {isSome, isAll});
    size_t over = program.code.size();
    Instruction &branch = emit(Op::Bra, Type::None, {}, {});
    branch.guard = isPartial;
    branch.guard.isNegated = true;
    for (unsigned i = 0; i < pieces.count; ++i)
      load(i, 1, isInside(place, i * 4, 4));
    program.code[over].target = int32_t(program.code.size());
    // A branch needs an instruction to meet at.
    emit(Op::Nop, Type::None, {}, {});
  }
  define(call, repack(loaded, pieces.bits, elementBits));
}

void FunctionImporter::importBufferStore(llvm::IntrinsicInst &call) {
  BufferPlace place =
      bufferPlace(call.getArgOperand(1), call.getArgOperand(2), call.getArgOperand(3));
  llvm::Type *type = call.getArgOperand(0)->getType();
  unsigned elementBits = scalarBits(layout, type->getScalarType());
  BufferPieces pieces = piecesOf(elementBits * numRegistersOf(type));
  Operands stored = repack(read(call.getArgOperand(0)), elementBits, pieces.bits);
  Operand isAll = isInside(place, 0, pieces.bits / 8 * pieces.count);
  auto store = [&](unsigned first, unsigned count, const Operand &when) {
    Operands from(stored.begin() + first, stored.begin() + first + count);
    Instruction &made = emit(Op::St,
                             pieces.bits == 8    ? Type::U8
                             : pieces.bits == 16 ? Type::B16
                                                 : Type::B32,
                             {}, from);
    made.space = Space::Global;
    made.address = {place.address, int64_t(first) * 4};
    made.vectorWidth = uint8_t(count);
    made.alignment = uint8_t(std::min(4u, pieces.bits / 8));
    made.guard = when;
  };
  unsigned whole = pieces.count == 3 ? 1 : pieces.count;
  for (unsigned i = 0; i < pieces.count; i += whole)
    store(i, whole, isAll);
  if (pieces.count == 1)
    return;
  Operand isPartial = predicate(Op::Xor, Type::Pred, {isInside(place, 0, 4), isAll});
  size_t over = program.code.size();
  Instruction &branch = emit(Op::Bra, Type::None, {}, {});
  branch.guard = isPartial;
  branch.guard.isNegated = true;
  for (unsigned i = 0; i < pieces.count; ++i)
    store(i, 1, isInside(place, i * 4, 4));
  program.code[over].target = int32_t(program.code.size());
  emit(Op::Nop, Type::None, {}, {});
}

/// Outside nothing happens, and the old value is 0.
void FunctionImporter::importBufferAtomic(llvm::IntrinsicInst &call, llvm::StringRef name) {
  llvm::Type *type = call.getType(), *scalar = type->getScalarType();
  bool isSwap = name == "cmpswap", isPair = type->isVectorTy();
  unsigned first = isSwap ? 2 : 1;
  unsigned bits = unsigned(layout.getTypeSizeInBits(type).getFixedValue());
  auto op = llvm::StringSwitch<std::optional<AtomOp>>(name)
                .Cases({"add", "fadd"}, AtomOp::Add)
                .Case("swap", AtomOp::Exch)
                .Cases({"smin", "umin", "fmin"}, AtomOp::Min)
                .Cases({"smax", "umax", "fmax"}, AtomOp::Max)
                .Case("and", AtomOp::And)
                .Case("or", AtomOp::Or)
                .Case("xor", AtomOp::Xor)
                .Case("cmpswap", AtomOp::Cas)
                .Default(std::nullopt);
  if (!op || (bits != 32 && bits != 64))
    return unsupported(call);
  Type how = integerType(bits, name.starts_with("s") && name != "swap");
  if (scalar->isFloatingPointTy())
    how = isPair ? (scalar->isHalfTy() ? Type::F16x2 : Type::BF16x2) : floatType(scalar);
  BufferPlace place = bufferPlace(call.getArgOperand(first), call.getArgOperand(first + 1),
                                  call.getArgOperand(first + 2));
  Operands stored = isSwap
                        ? Operands{readOne(call.getArgOperand(1)), readOne(call.getArgOperand(0))}
                    : isPair ? repack(read(call.getArgOperand(0)), 16, 32)
                             : read(call.getArgOperand(0));
  Operand inside = isInside(place, 0, bits / 8);
  order = Order::Relaxed;
  scope = Scope::Gpu;
  Operand zero = bits > 32 ? wide(Op::Mov, Type::B64, {immediate(0)})
                           : word(Op::Mov, Type::B32, {immediate(0)});
  emitAtomic(*op, how, {place.address, 0}, Space::Global, stored, !call.use_empty());
  Instruction &made = program.code.back();
  made.guard = inside;
  if (!call.use_empty())
    made.results = {zero};
  order = Order::Weak;
  define(call, isPair ? repack({zero}, 32, 16) : Operands{zero});
}

bool FunctionImporter::importBuffer(llvm::IntrinsicInst &call, llvm::StringRef name) {
  if (name == "make.buffer.rsrc") {
    Operand bytes = readOne(call.getArgOperand(2));
    if (call.getArgOperand(2)->getType()->isIntegerTy(32))
      bytes = convert(Type::U64, Type::U32, bytes);
    Operand stride = readOne(call.getArgOperand(1));
    if (stride.kind != Operand::Kind::Immediate || stride.bits != 0)
      return false;
    define(call, {move(readOne(call.getArgOperand(0))), bytes, readOne(call.getArgOperand(3))});
    if (values[&call][0].reg.file != RegisterFile::Double)
      return false;
    return true;
  }
  if (!name.consume_front("raw.ptr.buffer."))
    return false;
  if (name == "load")
    importBufferLoad(call);
  else if (name == "store")
    importBufferStore(call);
  else if (name.consume_front("atomic."))
    importBufferAtomic(call, name);
  else if (name == "load.lds" || name == "load.async.lds") {
    BufferPlace place =
        bufferPlace(call.getArgOperand(0), call.getArgOperand(3), call.getArgOperand(4));
    uint64_t bytes = readOne(call.getArgOperand(2)).bits;
    int64_t offset = int64_t(readOne(call.getArgOperand(5)).bits);
    // What lies outside is copied as zeros.
    Operand inside = isInside(place, unsigned(offset), unsigned(bytes));
    Operand size = word(Op::Selp, Type::B32, {immediate(bytes), immediate(0), inside});
    emitCopy(readOne(call.getArgOperand(1)), place.address, offset, unsigned(bytes), &size);
  } else {
    return false;
  }
  return true;
}

/// Lane after lane from one address on, which is that of the first lane (M0). The offset of the
/// instruction counts on both sides.
void FunctionImporter::emitCopy(const Operand &target, const Operand &source, int64_t offset,
                                unsigned bytes, const Operand *readBytes) {
  if (bytes != 4 && bytes != 16) {
    refuse("a copy to shared memory of " + llvm::Twine(bytes) + " bytes a lane");
    return;
  }
  Operand first = fresh(RegisterFile::Word), lane = fresh(RegisterFile::Word);
  emitWave(WaveOp::ReadFirstLane, {first}, {target});
  emit(Op::WaveLane, Type::U32, {lane}, {});
  emitCopyOf(bytes, word(Op::Mad, Type::U32, {lane, immediate(bytes), first}), source, offset,
             readBytes);
}

/// Each lane to its own place. A copy is a group, as waits count copies.
void FunctionImporter::emitCopyOf(unsigned bytes, const Operand &place, const Operand &source,
                                  int64_t offset, const Operand *readBytes) {
  Instruction &copy = emit(Op::AsyncCopy, Type::None, {}, {immediate(bytes)});
  if (readBytes)
    copy.sources.push_back(*readBytes);
  copy.space = Space::Shared;
  copy.address = {place, offset};
  copy.sourceAddress = {source, offset};
  emit(Op::AsyncCommit, Type::None, {}, {});
}

bool FunctionImporter::importDirectCopy(llvm::IntrinsicInst &call, llvm::StringRef name) {
  if (name == "tensor.load.to.lds.d2") {
    Operands words = read(call.getArgOperand(0)), form = read(call.getArgOperand(1));
    words.insert(words.end(), form.begin(), form.end());
    emit(Op::TensorToShared, Type::None, {}, words).space = Space::Shared;
    return true;
  }
  bool isAsync = name.consume_front("global.load.async.to.lds.b");
  if (name != "global.load.lds" && !isAsync)
    return false;
  PointerParts source = partsOf(call.getArgOperand(0));
  Operand address =
      source.offset ? wide(Op::Add, Type::U64, {source.base, immediate(uint64_t(source.offset))})
                    : source.base;
  if (isAsync) {
    unsigned bits = 0;
    if (name.getAsInteger(10, bits) || bits < 32)
      refuse("an asynchronous copy of " + name + " bits a lane");
    else
      emitCopyOf(bits / 8, readOne(call.getArgOperand(1)), address,
                 int64_t(readOne(call.getArgOperand(2)).bits), nullptr);
    return true;
  }
  emitCopy(readOne(call.getArgOperand(1)), address, int64_t(readOne(call.getArgOperand(3)).bits),
           unsigned(readOne(call.getArgOperand(2)).bits), nullptr);
  return true;
}

namespace {
/// A read that transposes: elements of so many bits, in as many words of each lane.
struct TransposedRead {
  llvm::StringLiteral prefix;
  unsigned bits, words;
  bool isSplit; // a part of a row is addressed by lanes beside the others of four rows
};
} // namespace
static constexpr TransposedRead kTransposedReads[] = {
    {"ds.read.tr16.b64", 16, 2, false},
    {"ds.read.tr8.b64", 8, 2, false},
    {"ds.load.tr16.b128", 16, 4, false},
    {"ds.load.tr8.b64", 8, 2, true},
};

/// A read of 8 or 16 bytes by each lane, and the exchange.
bool FunctionImporter::importTransposedRead(llvm::IntrinsicInst &call, llvm::StringRef name) {
  const auto *form = llvm::find_if(
      kTransposedReads, [&](const TransposedRead &each) { return name.starts_with(each.prefix); });
  if (form == std::end(kTransposedReads))
    return false;
  Operands sources =
      loadParts(partsOf(call.getArgOperand(0)), Space::Shared, 32, form->words, 4 * form->words);
  Operands turned;
  for (unsigned i = 0; i < form->words; ++i)
    turned.push_back(fresh(RegisterFile::Word));
  for (unsigned fact : {form->bits, unsigned(form->isSplit)})
    sources.push_back(immediate(fact));
  emitWave(WaveOp::TransposeRows, turned, sources);
  unsigned partBits = call.getType()->getScalarSizeInBits();
  define(call, partBits == 32 ? turned : repack(turned, 32, partBits));
  return true;
}

namespace {
/// The arguments of an instruction with formats that are formats, and words of scales; of which
/// byte, where one is named. 0: none.
struct ScaledArguments {
  llvm::StringLiteral prefix;
  std::array<unsigned, 2> formats, words, bytes;
};
} // namespace
static constexpr ScaledArguments kScaledArguments[] = {
    {"mfma.scale.", {3, 4}, {6, 8}, {5, 7}},
    {"wmma.scale.", {0, 2}, {8, 11}, {}},
};

static const ScaledArguments *findScaledArguments(llvm::IntrinsicInst &call) {
  llvm::StringRef name = call.getCalledFunction()->getName();
  name.consume_front("llvm.amdgcn.");
  for (const ScaledArguments &each : kScaledArguments)
    if (name.starts_with(each.prefix))
      return &each;
  return nullptr;
}

static uint64_t numberOf(llvm::IntrinsicInst &call, unsigned argument) {
  return llvm::cast<llvm::ConstantInt>(call.getArgOperand(argument))->getZExtValue();
}

/// The name of the row of a matrix instruction: its intrinsic's, or that with the formats, which
/// are arguments.
static std::string nameOfMatrix(llvm::IntrinsicInst &call) {
  llvm::StringRef name = call.getCalledFunction()->getName();
  name.consume_front("llvm.amdgcn.");
  const ScaledArguments *arguments = findScaledArguments(call);
  if (!arguments)
    return name.str();
  static constexpr llvm::StringLiteral kFormats[] = {".fp8", ".bf8", ".fp6", ".bf6", ".fp4"};
  std::string row = name.take_front(name.find(".v")).str();
  for (unsigned argument : arguments->formats) {
    uint64_t format = numberOf(call, argument);
    row += format < std::size(kFormats) ? kFormats[format] : ".unknown";
  }
  return row;
}

/// The bytes of the words of an instruction with scales; 0 where it has none. Where a byte is
/// named, LLVM takes the instruction without scales if all of these arguments are the number 0.
static uint64_t scaleFlags(llvm::IntrinsicInst &call, const ScaledArguments &arguments) {
  auto isZero = [&](unsigned argument) {
    auto *number = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(argument));
    return number && number->isZero();
  };
  if (arguments.bytes[0] == 0)
    return kScaledProduct;
  if (llvm::all_of(arguments.bytes, isZero) && llvm::all_of(arguments.words, isZero))
    return 0;
  return kScaledProduct | numberOf(call, arguments.bytes[0]) << kScaleByteOfA |
         numberOf(call, arguments.bytes[1]) << kScaleByteOfB;
}

bool FunctionImporter::importMatrix(llvm::IntrinsicInst &call) {
  std::string name = nameOfMatrix(call);
  int32_t form = findMatrixRow(name);
  if (form < 0)
    return false;
  const MatrixRow &row = *matrixLayout(form).row;
  // Flags stand between the operands: iu8 and iu4 have one before each, f16 of gfx11 one behind
  // them, gfx1250 negations and hints.
  bool hasSigns =
      llvm::StringRef(name).contains(".iu8.") || llvm::StringRef(name).contains(".iu4.");
  const ScaledArguments *scaled = findScaledArguments(call);
  llvm::SmallVector<unsigned> places;
  for (unsigned i = 0; i < call.arg_size() && places.size() < 3; ++i)
    if (!call.paramHasAttr(i, llvm::Attribute::ImmArg))
      places.push_back(i);
  unsigned a = places[0], b = places[1], c = places[2];
  uint64_t flags = 3;
  if (hasSigns)
    flags = (readOne(call.getArgOperand(0)).bits & 1) | (readOne(call.getArgOperand(2)).bits & 1)
                                                            << 1;
  if (row.isSpread)
    flags = readOne(call.getArgOperand(3)).bits & 1;
  if (scaled)
    flags = scaleFlags(call, *scaled);
  auto isRead = [&](unsigned i) {
    return scaled &&
           (llvm::is_contained(scaled->formats, i) || llvm::is_contained(scaled->bytes, i));
  };
  for (unsigned i = hasSigns ? c : 0; i < call.arg_size() && !row.isSpread; ++i)
    if (call.paramHasAttr(i, llvm::Attribute::ImmArg) && !isRead(i) && numberOf(call, i) != 0) {
      refuse("a matrix instruction with broadcasts or negations");
      return true;
    }
  Operands sources;
  for (unsigned operand : {a, b, c})
    sources.push_back(immediate(read(call.getArgOperand(operand)).size()));
  sources.push_back(immediate(flags));
  for (unsigned operand : {a, b, c})
    for (const Operand &each : Operands(read(call.getArgOperand(operand))))
      sources.push_back(each);
  if (scaled && flags)
    for (unsigned words : scaled->words)
      sources.push_back(readOne(call.getArgOperand(words)));
  Operands to = result(call.getType());
  emitWave(WaveOp::Matrix, to, sources).form = form;
  define(call, to);
  return true;
}
