// The execution of wgmma: operands from shared memory and registers to numbers, products on the
// accumulator's registers.
#include "backend/warpsim/core/matrix/WarpgroupMultiply.h"
#include "backend/warpsim/core/matrix/MatrixFragments.h"
#include "backend/warpsim/core/matrix/WarpgroupArithmetic.h"
#include "backend/warpsim/core/matrix/WarpgroupForm.h"
#include <algorithm>

using namespace tw::warpsim;

WarpgroupForm::WarpgroupForm(const Instruction &instruction)
    : isAInRegisters(hasMatrixInRegisters(instruction)), a(instruction.sources.data()),
      b(a + (isAInRegisters ? 4 : 1)), readsAccumulator(b + 1) {
  const Operand *next = readsAccumulator + 1;
  if (instruction.type != Type::S32) {
    isNegated = next[0].bits != next[1].bits;
    next += 2;
  }
  if (bytesOf(instruction.sourceType) != 2)
    return;
  if (!isAInRegisters)
    isAKMajor = !(next++)->bits;
  isBKMajor = !next->bits;
}

/// Returns the kernel's registers: products are issued there, and may be computed while the warp is
/// in a function that it calls.
static WarpRegisters &registersOf(Warp &warp) { return warp.frames.front()->registers; }

namespace {
/// The codes of an operand in shared memory, in the order of its pieces.
struct OperandBytes {
  alignas(32) uint8_t bytes[kMaxPieces * kMatrixPieceBytes];
};
} // namespace

/// Calls `mark(row or column)` for each element of a piece that has no value.
template <typename Mark>
static void findUnset(const TrackedBytes &shared, uint64_t offset, const MatrixPart &part,
                      unsigned piece, Mark mark) {
  if (part.isKMajor)
    return mark(piece / 2);
  constexpr unsigned kElements = 8;
  unsigned first = piece % (part.count / kElements) * kElements;
  for (unsigned e = 0; e < kElements; ++e)
    if (!shared.isDefined(offset + 2 * e, 2))
      mark(first + e);
}

/// Copies the pieces of an operand. `mark` is told of rows or columns, from the part's first on,
/// that have elements without a value.
template <typename Mark>
static void copyPieces(const Cta &cta, uint64_t descriptor, const MatrixPart &part,
                       OperandBytes &into, Mark mark) {
  MatrixPieces pieces;
  findPieces(MatrixDescriptor(descriptor), part, pieces);
  bool checks = cta.launch.launch.options.checksInitialized;
  for (unsigned i = 0; i < pieces.count; ++i) {
    uint64_t offset = pieces.at[i] - cta.launch.program.sharedBase;
    uint8_t *to = into.bytes + i * kMatrixPieceBytes;
    if (offset + kMatrixPieceBytes > cta.launch.sharedBytes) {
      memset(to, 0, kMatrixPieceBytes);
      continue; // told when the product was issued
    }
    memcpy(to, cta.shared.bytes.data() + offset, kMatrixPieceBytes);
    if (checks && !cta.shared.isDefined(offset, kMatrixPieceBytes))
      findUnset(cta.shared, offset, part, i, mark);
  }
}

template <typename T> static std::vector<T> &numbersOf(DecodedColumns &columns) {
  if constexpr (std::is_same_v<T, float>)
    return columns.floats;
  else
    return columns.integers;
}

/// Reads B.
template <typename T>
static void decodeColumns(const Cta &cta, const Instruction &instruction, const WarpgroupForm &form,
                          uint64_t descriptor, DecodedColumns &columns) {
  OperandBytes codes;
  MatrixPart part = {0, instruction.columns, form.isBKMajor};
  copyPieces(cta, descriptor, part, codes,
             [&](unsigned column) { columns.unset[column / 64] |= uint64_t(1) << column % 64; });
  unsigned depth = instruction.depth;
  std::vector<T> &numbers = numbersOf<T>(columns);
  numbers.resize(instruction.columns / kMatrixColumns * blockSizeOf(depth));
  T values[kMaxColumns * kMaxWarpgroupDepth];
  decodeElements(instruction.secondType, codes.bytes, instruction.columns * depth, values);
  unsigned alongK = form.isBKMajor ? 1 : instruction.columns,
           alongColumns = form.isBKMajor ? depth : 1;
  for (unsigned column = 0; column < instruction.columns; ++column) {
    T *to = numbers.data() + placeInColumns(depth, 0, column);
    for (unsigned k = 0; k < depth; ++k)
      to[16 * k] = to[16 * k + 4] = values[k * alongK + column * alongColumns];
  }
}

/// The shape of mma whose A has the same fragments.
static Fragment fragmentOfA(const Instruction &instruction, const Operand *registers) {
  MatrixShape shape = instruction.depth == 8    ? MatrixShape::M16n8k8
                      : instruction.depth == 16 ? MatrixShape::M16n8k16
                                                : MatrixShape::M16n8k32;
  PreparedForm prepared = formOf(shape, elementBitsOf(instruction.sourceType));
  return {prepared.form->a, *prepared.a, registers};
}

/// Reads the warp's rows of A, row-major. Returns a bit for each that has elements without a value.
template <typename T>
static uint32_t decodeRows(Cta &cta, Warp &warp, const Instruction &instruction,
                           const WarpgroupForm &form, uint64_t descriptor, T *rows) {
  uint32_t unset = 0;
  if (form.isAInRegisters) {
    Fragment fragment = fragmentOfA(instruction, form.a);
    gatherMatrix(fragment, instruction.sourceType, registersOf(warp), rows);
    addUnset(fragment, registersOf(warp), false, unset);
    return unset;
  }
  OperandBytes codes;
  MatrixPart part = {warp.index % kWarpsOfGroup * kRowsOfWarp, kRowsOfWarp, form.isAKMajor};
  copyPieces(cta, descriptor, part, codes, [&](unsigned row) { unset |= 1u << row; });
  unsigned depth = instruction.depth;
  if (form.isAKMajor) {
    decodeElements(instruction.sourceType, codes.bytes, kRowsOfWarp * depth, rows);
    return unset;
  }
  T values[kRowsOfWarp * kMaxWarpgroupDepth];
  decodeElements(instruction.sourceType, codes.bytes, kRowsOfWarp * depth, values);
  for (unsigned row = 0; row < kRowsOfWarp; ++row)
    for (unsigned k = 0; k < depth; ++k)
      rows[row * depth + k] = values[k * kRowsOfWarp + row];
  return unset;
}

namespace {
/// The parts of a product under execution that all element types have in common.
struct ProductStep {
  Cta &cta;
  Warp &warp;
  const Instruction &instruction;
  const ProductInFlight &product;
  uint32_t unsetRows = 0;
  const DecodedColumns *columns = nullptr;

  bool isHalf() const { return instruction.type == Type::F16; }
  /// The accumulator's registers with eight columns.
  unsigned numRegisters() const { return isHalf() ? 2 : 4; }
};
} // namespace

static void readRegister(const LaneValues<uint32_t> &words, bool isHalf, unsigned i,
                         AccumulatorBlock<float> &block) {
  if (!isHalf)
    return decodeElements(Type::F32, words.lanes, kWarpSize, block.sums[i]);
  float values[2 * kWarpSize];
  decodeElements(Type::F16, words.lanes, 2 * kWarpSize, values);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    block.sums[2 * i][lane] = values[2 * lane];
    block.sums[2 * i + 1][lane] = values[2 * lane + 1];
  }
}
static void readRegister(const LaneValues<uint32_t> &words, bool, unsigned i,
                         AccumulatorBlock<int32_t> &block) {
  memcpy(block.sums[i], words.lanes, sizeof(words.lanes));
}

static void writeRegister(const AccumulatorBlock<float> &block, bool isHalf, unsigned i,
                          LaneValues<uint32_t> &words) {
  if (isHalf)
    encodeHalves(block.sums[2 * i], block.sums[2 * i + 1], kWarpSize, words.lanes);
  else
    encodeFloats(block.sums[i], kWarpSize, words.lanes);
}
static void writeRegister(const AccumulatorBlock<int32_t> &block, bool, unsigned i,
                          LaneValues<uint32_t> &words) {
  memcpy(words.lanes, block.sums[i], sizeof(words.lanes));
}

/// Lanes of register `i` of a block whose elements follow from values only.
static LaneMask setLanesOf(const ProductStep &step, unsigned block, unsigned i) {
  const Operand &reg = step.instruction.results[block * step.numRegisters() + i];
  LaneMask set = ~LaneMask(0);
  if (step.product.readsAccumulator)
    set = wholeLanes(reg, registersOf(step.warp));
  uint32_t columns = uint32_t(step.columns->unset[block / 8] >> block % 8 * 8 & 0xff);
  if (!step.unsetRows && !columns)
    return set;
  unsigned upper = step.isHalf() ? i : i / 2;
  unsigned parities = step.isHalf() ? 3 : 1 << i % 2;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    bool isUnset =
        (step.unsetRows >> (lane / 4 + 8 * upper) & 1) || (columns >> lane % 4 * 2 & parities);
    set &= ~(LaneMask(isUnset) << lane);
  }
  return set;
}

/// Adds a block of products to the registers of the accumulator with these columns.
template <typename T, typename Add>
static void updateBlock(const ProductStep &step, unsigned number, Add add) {
  AccumulatorBlock<T> block = {};
  WarpRegisters &registers = registersOf(step.warp);
  const Operand *results = &step.instruction.results[number * step.numRegisters()];
  LaneValues<uint32_t> words;
  for (unsigned i = 0; i < step.numRegisters() && step.product.readsAccumulator; ++i) {
    memcpy(words.lanes, registers.words[results[i].reg.number].data(), sizeof(words.lanes));
    readRegister(words, step.isHalf(), i, block);
  }
  add(block);
  for (unsigned i = 0; i < step.numRegisters(); ++i) {
    writeRegister(block, step.isHalf(), i, words);
    writeLanes(results[i], registers, step.product.lanes, words, setLanesOf(step, number, i));
  }
}

template <typename T> static LaneRows<T> spreadRows(const T *rows, unsigned depth) {
  LaneRows<T> spread;
  for (unsigned k = 0; k < depth; ++k)
    for (unsigned row = 0; row < kRowsOfWarp; ++row)
      std::fill_n(&spread.values[k][row / 8][row % 8 * 4], 4, rows[row * depth + k]);
  return spread;
}

/// Adds the products block by block; `multiply` is given a small matrix where the sums are not
/// simply chained.
template <typename T, typename Multiply>
static void multiplyRows(const ProductStep &step, const T *rows, const T *columns, bool isChained,
                         Multiply multiply) {
  unsigned depth = step.instruction.depth;
  LaneRows<T> spread;
  if (isChained)
    spread = spreadRows(rows, depth);
  for (unsigned number = 0; number < step.instruction.columns / kMatrixColumns; ++number) {
    const T *b = columns + number * blockSizeOf(depth);
    updateBlock<T>(step, number, [&](AccumulatorBlock<T> &block) {
      if (isChained)
        addProducts(spread, b, depth, block);
      else
        multiplyBlock(rows, b, depth, block, multiply);
    });
  }
}

/// Returns B as numbers: as another warp of the warpgroup has read it, or read now.
template <typename T>
static const DecodedColumns &columnsOf(const ProductStep &step, const WarpgroupForm &form,
                                       GroupProduct &shared, DecodedColumns &own) {
  uint64_t descriptor = step.product.b;
  bool isSame = shared.pc == step.product.pc && shared.b == descriptor;
  if (isSame && shared.columns)
    return *shared.columns;
  if (isSame)
    shared.columns = std::make_shared<DecodedColumns>();
  DecodedColumns &columns = isSame ? *shared.columns : own;
  decodeColumns<T>(step.cta, step.instruction, form, descriptor, columns);
  return columns;
}

static void computeFloats(ProductStep &step, const WarpgroupForm &form, GroupProduct &shared) {
  float rows[kRowsOfWarp * kMaxWarpgroupDepth];
  DecodedColumns own;
  step.unsetRows = decodeRows(step.cta, step.warp, step.instruction, form, step.product.a, rows);
  if (form.isNegated)
    for (unsigned i = 0; i < kRowsOfWarp * step.instruction.depth; ++i)
      rows[i] = -rows[i];
  step.columns = &columnsOf<float>(step, form, shared, own);
  bool isExact = step.cta.launch.launch.options.arithmetic == LaunchOptions::Arithmetic::Exact;
  TensorCoreRule rule = ruleOf(step.instruction, step.cta.launch.arch);
  multiplyRows(step, rows, step.columns->floats.data(), !isExact,
               [&](MatrixProduct<float> &product) { multiplyExactly(product, rule); });
}

static void computeIntegers(ProductStep &step, const WarpgroupForm &form, GroupProduct &shared) {
  int32_t rows[kRowsOfWarp * kMaxWarpgroupDepth];
  DecodedColumns own;
  step.unsetRows = decodeRows(step.cta, step.warp, step.instruction, form, step.product.a, rows);
  step.columns = &columnsOf<int32_t>(step, form, shared, own);
  multiplyRows(step, rows, step.columns->integers.data(), !step.instruction.isSatFinite,
               [](MatrixProduct<int32_t> &product) { multiplyIntegers(product, true); });
}

void tw::warpsim::computeProduct(Cta &cta, Warp &warp, const ProductInFlight &product) {
  const Instruction &instruction = cta.launch.program.code[product.pc];
  WarpgroupForm form(instruction);
  GroupProduct &shared = cta.products.productOf(warp.index, product.number);
  ProductStep step = {cta, warp, instruction, product};
  if (instruction.type == Type::S32)
    computeIntegers(step, form, shared);
  else
    computeFloats(step, form, shared);
  shared.computed |= uint8_t(1 << warp.index % kWarpsOfGroup);
  if (shared.computed == 0xf)
    shared.columns = nullptr;
}
