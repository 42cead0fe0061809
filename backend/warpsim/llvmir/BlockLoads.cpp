// Loads of blocks of arrays by a subgroup (SPV_INTEL_2d_block_io): each lane reads its elements one
// by one, and writes them to its own memory.
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <array>

using namespace tw::warpsim;

namespace {
enum class BlockForm : uint8_t { None, Plain, Transformed, Transposed };

/// The constants of a load.
struct BlockShape {
  unsigned elementBytes, width, height, count;
};

/// Where an element of a lane is in the block, beside what all elements of the lane share.
struct ElementPlace {
  unsigned row, column;
};
} // namespace

static BlockForm formNamed(llvm::StringRef name) {
  return llvm::StringSwitch<BlockForm>(name)
      .StartsWith("_Z32__spirv_Subgroup2DBlockLoadINTEL", BlockForm::Plain)
      .StartsWith("_Z41__spirv_Subgroup2DBlockLoadTransformINTEL", BlockForm::Transformed)
      .StartsWith("_Z41__spirv_Subgroup2DBlockLoadTransposeINTEL", BlockForm::Transposed)
      .Default(BlockForm::None);
}

/// Returns true if Intel's GPUs with subgroups of 16 load such blocks ("Supported 2D block I/O
/// variants" of the Intel Graphics Compiler), in a form that fills whole lanes.
static bool isLoaded(BlockForm form, const BlockShape &shape) {
  auto isOneOf = [](unsigned number, std::initializer_list<unsigned> all) {
    return std::find(all.begin(), all.end(), number) != all.end();
  };
  if (!isOneOf(shape.height, {1, 2, 4, 8, 16, 32}))
    return false;
  unsigned rowBytes = shape.width * shape.elementBytes;
  switch (form) {
  case BlockForm::Plain: // rows of all blocks have 64 bytes at most
    return isOneOf(shape.elementBytes, {1, 2, 4}) && isOneOf(rowBytes, {32, 64}) &&
           isOneOf(shape.count, {1, 2}) && rowBytes * shape.count <= 64;
  case BlockForm::Transformed:
    return isOneOf(shape.elementBytes, {1, 2}) && shape.width == 16 &&
           shape.height * shape.elementBytes >= 4 && isOneOf(shape.count, {1, 2, 4}) &&
           rowBytes * shape.count <= 64;
  case BlockForm::Transposed:
    return shape.elementBytes == 4 && shape.width == 8 && shape.height == 16 && shape.count == 1;
  case BlockForm::None:
    return false;
  }
  return false;
}

/// Returns the elements of a lane in their order. Elements go to the lanes row after row, in groups
/// of neighbours of a row if it has more of them than there are lanes. Transformed, a lane has a
/// column, and transposed a row.
static std::vector<ElementPlace> elementsOfLane(BlockForm form, const BlockShape &shape,
                                                unsigned lanes) {
  std::vector<ElementPlace> elements;
  unsigned group = std::max(1u, shape.width / lanes),
           rowsAtOnce = std::max(1u, lanes / shape.width);
  for (unsigned block = 0; block < shape.count; ++block) {
    unsigned first = block * shape.width;
    if (form == BlockForm::Transposed) {
      for (unsigned column = 0; column < shape.width; ++column)
        elements.push_back({0, first + column});
      continue;
    }
    for (unsigned row = 0; row < shape.height; row += rowsAtOnce)
      for (unsigned column = 0; column < group; ++column)
        elements.push_back({row, first + column});
  }
  return elements;
}

/// Imports a load; false if the function is another one.
bool FunctionImporter::importBlockLoad(llvm::CallInst &call, llvm::StringRef name) {
  BlockForm form = formNamed(name);
  if (form == BlockForm::None)
    return false;
  std::array<unsigned, 4> numbers = {};
  for (unsigned i = 0; i < numbers.size(); ++i)
    if (auto *number = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(i)))
      numbers[i] = unsigned(number->getZExtValue());
  BlockShape shape{numbers[0], numbers[1], numbers[2], numbers[3]};
  unsigned lanes = program.waveSize;
  if (!llvm::StringRef(program.target).starts_with("xe") || lanes != 16 || !isLoaded(form, shape))
    return refuse("a load of a block that the machine does not have");
  Operand base = readOne(call.getArgOperand(4)), width = readOne(call.getArgOperand(5)),
          height = readOne(call.getArgOperand(6)), pitch = readOne(call.getArgOperand(7));
  Operands corner = read(call.getArgOperand(8));
  emitWave(WaveOp::CheckBlock, {},
           {base, width, height, pitch, corner[0], corner[1], immediate(shape.elementBytes)});
  Operand lane = fresh(RegisterFile::Word);
  emit(Op::WaveLane, Type::U32, {lane}, {});
  Operand column = lane, row = immediate(0);
  if (form == BlockForm::Transposed) {
    std::swap(row, column);
  } else if (shape.width < lanes) {
    column = word(Op::Rem, Type::U32, {lane, immediate(shape.width)});
    row = word(Op::Div, Type::U32, {lane, immediate(shape.width)});
  } else if (shape.width > lanes) {
    column = word(Op::Mul, Type::U32, {lane, immediate(shape.width / lanes)});
  }
  column = word(Op::Add, Type::S32, {column, corner[0]});
  row = word(Op::Add, Type::S32, {row, corner[1]});
  unsigned bits = 8 * shape.elementBytes;
  PointerParts target = partsOf(call.getArgOperand(9));
  for (const ElementPlace &element : elementsOfLane(form, shape, lanes)) {
    Operand loaded = loadFromArray({base, width, height, pitch}, bits,
                                   word(Op::Add, Type::S32, {row, immediate(element.row)}),
                                   word(Op::Add, Type::S32, {column, immediate(element.column)}));
    storeParts(target, Space::Local, {loaded}, bits, shape.elementBytes);
    target.offset += shape.elementBytes;
  }
  return true;
}

/// Reads an element, or 0 where the array has none of this row and column.
Operand FunctionImporter::loadFromArray(const ArrayOfRows &array, unsigned bits, const Operand &row,
                                        const Operand &column) {
  Operand bytes = word(Op::Mul, Type::S32, {column, immediate(bits / 8)});
  // Without a sign, what is below 0 is beyond the end as well.
  Operand isInRow = compare(Compare::Lo, Type::U32, bytes, array.width);
  Operand isRow = compare(Compare::Lo, Type::U32, row, array.height);
  Operand offset = wide(Op::MulWide, Type::S32, {row, array.pitch});
  offset = wide(Op::Add, Type::S64, {offset, convert(Type::S64, Type::S32, bytes)});
  Operand address = wide(Op::Add, Type::U64, {array.base, offset});
  Operand isInside = predicate(Op::And, Type::Pred, {isInRow, isRow});
  Operand loaded = word(Op::Mov, Type::B32, {immediate(0)});
  Instruction &load = emit(Op::Ld,
                           bits == 8    ? Type::U8
                           : bits == 16 ? Type::B16
                                        : Type::B32,
                           {loaded}, {});
  load.space = Space::Global;
  load.address = {address, 0};
  load.vectorWidth = 1;
  load.guard = isInside;
  return loaded;
}
