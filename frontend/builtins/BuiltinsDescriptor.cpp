// Builtins that make block pointers and tensor descriptors, move them, and access blocks.
#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/operators/Operators.h"
#include "frontend/tiles/BoxBuilder.h"
#include "frontend/tiles/Operands.h"
#include "frontend/values/DescriptorContents.h"
#include "frontend/values/TypeRules.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

static constexpr size_t kMaxDescriptorRank = 5; // what hardware that copies blocks can describe

//===-- Integers -----------------------------------------------------------------------------===//

static LogicalResult wrongPart(BuiltinCall &call, size_t i, const PyValue &item,
                               llvm::StringRef what) {
  const TypedValue *typed = item.as<TypedValue>();
  llvm::StringRef hint = "pass integers of the language or of Python";
  if (typed && typed->dtype.isPointer)
    hint = "an array of one element is a pointer here: pass x.item(), or load the number";
  else if (typed && typed->isTile())
    hint = "give the position of the block's first element; a block covers the rest by itself";
  return call.report(operandError(Code::DescriptorParts,
                                  what.str() + " must be integers, not " + typeName(item),
                                  hint.str()),
                     {i});
}

/// A number that fits 64 bits, or a run-time scalar of 32 or 64 bits.
static FailureOr<PyValue> readInteger(BuiltinCall &call, size_t i, const PyValue &item,
                                      llvm::StringRef what) {
  if (std::optional<int64_t> number = toInt64(item))
    return makeInt(*number);
  const TypedValue *typed = item.as<TypedValue>();
  if (!typed || typed->isTile() || !typed->dtype.isInt())
    return wrongPart(call, i, item, what);
  bool isNarrow = typed->dtype.bits() < 32;
  DType wanted =
      typed->dtype == findDType("int32") || isNarrow ? findDType("int32") : findDType("int64");
  TileOr cast = call.tiles().cast(*typed, wanted);
  if (!cast)
    return call.report(cast.reason(), {i});
  return PyValue{TypedValue{cast->value, wanted}};
}

/// The items of a tuple of integers; one integer stands for a tuple of one.
static FailureOr<std::vector<PyValue>> readIntegers(BuiltinCall &call, size_t i,
                                                    llvm::StringRef what) {
  const PyValue &given = call.value(i);
  const Tuple *tuple = given.as<Tuple>();
  std::vector<PyValue> integers;
  for (const PyValue &item : tuple ? (*tuple)->items : std::vector<PyValue>{given}) {
    FailureOr<PyValue> integer = readInteger(call, i, item, what);
    if (failed(integer))
      return failure();
    integers.push_back(*integer);
  }
  return integers;
}

/// The parts of a descriptor are int64 at run time, so that any two of them can be joined.
static std::vector<PyValue> widened(BuiltinCall &call, std::vector<PyValue> integers) {
  for (PyValue &integer : integers)
    if (const TypedValue *typed = integer.as<TypedValue>())
      integer = {*call.tiles().cast(*typed, findDType("int64"))};
  return integers;
}

static TypedValue toOperand(BuiltinCall &call, const PyValue &integer) {
  if (const TypedValue *typed = integer.as<TypedValue>())
    return *typed;
  mlir::OpBuilder &builder = call.emitter.builder;
  llvm::APSInt number = toInteger(integer);
  DType dtype = findDType(number.isSignedIntN(32) ? "int32" : "int64");
  mlir::TypedAttr value = numberAttribute(number, dtype, builder.getContext());
  return {mlir::arith::ConstantOp::create(builder, call.emitter.location(), value), dtype};
}

static std::vector<TypedValue> toOperands(BuiltinCall &call, llvm::ArrayRef<PyValue> integers) {
  std::vector<TypedValue> operands;
  for (const PyValue &integer : integers)
    operands.push_back(toOperand(call, integer));
  return operands;
}

//===-- Making descriptors -------------------------------------------------------------------===//

static LogicalResult wrongCount(BuiltinCall &call, size_t i, llvm::StringRef what, size_t count,
                                size_t rank) {
  return call.report(
      operandError(Code::DescriptorRank,
                   (what + " has " + llvm::Twine(count) + (count == 1 ? " number" : " numbers") +
                    " for " + llvm::Twine(rank) + (rank == 1 ? " dimension" : " dimensions"))
                       .str(),
                   "give one number for each dimension"),
      {i});
}

/// The base pointer, which is one address.
static FailureOr<TypedValue> readBase(BuiltinCall &call, size_t i) {
  const TypedValue *base = call.value(i).as<TypedValue>();
  if (base && base->dtype.isPointer && !base->isTile())
    return *base;
  return call.report(operandError(Code::DescriptorParts,
                                  "the base must be one pointer, not " + typeName(call.value(i)),
                                  "pass the tensor itself, or the tensor and one offset"),
                     {i});
}

/// Reads base, shape, strides and, where it is not 0, offsets at these positions, and the block's
/// shape behind them.
static FailureOr<PyValue> readDescriptor(BuiltinCall &call, DescriptorType type, size_t offsets,
                                         size_t block) {
  FailureOr<TypedValue> base = readBase(call, 0);
  std::vector<int64_t> extents;
  if (failed(base) || failed(call.readFrom(block, extents)))
    return failure();
  if (std::optional<Reason> error = checkTileShape(extents))
    return call.report(*error, {block});
  std::vector<PyValue> parts{{TypedValue{base->value, base->dtype}}};
  static constexpr llvm::StringLiteral kNames[] = {"", "shape", "strides", "offsets"};
  for (size_t i : {size_t(1), size_t(2), offsets}) {
    if (i == 0)
      continue;
    FailureOr<std::vector<PyValue>> integers = readIntegers(call, i, kNames[i]);
    if (failed(integers))
      return failure();
    if (integers->size() != extents.size())
      return wrongCount(call, i, kNames[i], integers->size(), extents.size());
    llvm::append_range(parts, widened(call, *integers));
  }
  if (extents.empty())
    return wrongCount(call, block, "block_shape", 0, 1);
  type.block = {base->dtype.pointee(), extents};
  type.isConst = base->dtype.isConst;
  return makeDescriptor(std::move(type), std::move(parts));
}

/// The order of dimensions in memory, fastest first, follows from the strides; it must be one.
static LogicalResult checkOrder(BuiltinCall &call, size_t i, size_t rank) {
  std::vector<int64_t> sorted;
  if (failed(call.readFrom(i, sorted)))
    return failure();
  llvm::sort(sorted);
  if (llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return success();
  return call.report(
      operandError(Code::DescriptorRank,
                   "order names each dimension once, from 0 to " + std::to_string(rank - 1),
                   "for row-major arrays it is (" + std::to_string(rank - 1) +
                       (rank == 1 ? ",)" : ", ..., 0)")),
      {i});
}

static FailureOr<PyValue> emitMakeBlockPointer(BuiltinCall &call) {
  DescriptorType type;
  type.isBlockPointer = true;
  FailureOr<PyValue> pointer = readDescriptor(call, type, 3, 4);
  if (failed(pointer) || failed(checkOrder(call, 5, (*pointer->as<Descriptor>())->rank())))
    return failure();
  return *pointer;
}

/// "zero" or "nan", which only floats have (float8e4b15 has none).
static FailureOr<bool> readOutside(BuiltinCall &call, size_t i, DType element) {
  std::string text;
  if (failed(call.readFrom(i, text)))
    return failure();
  if (text != "nan" && text != "zero" && !text.empty())
    return call.badOption(i, "\"zero\", \"nan\"");
  if (text == "nan" && (!element.isFloat() || element.isE4B15()))
    return call.report(
        operandError(Code::BoundaryCheck,
                     "padding with NaN needs floats that have one, these are " + element.str(),
                     "pad with \"zero\""),
        {i});
  return text == "nan";
}

static FailureOr<PyValue> emitMakeDescriptor(BuiltinCall &call) {
  FailureOr<PyValue> descriptor = readDescriptor(call, {}, 0, 3);
  if (failed(descriptor))
    return failure();
  const DescriptorContents &contents = **descriptor->as<Descriptor>();
  if (contents.rank() > kMaxDescriptorRank)
    return call.report(operandError(Code::DescriptorRank,
                                    "a tensor descriptor has at most 5 dimensions, not " +
                                        std::to_string(contents.rank()),
                                    "join dimensions, or use tw.make_block_ptr"),
                       {3});
  std::optional<int64_t> last = toInt64(contents.strides().back());
  if (last && *last != 1)
    return call.report(
        operandError(Code::LastStride,
                     "the last stride of a tensor descriptor is 1, not " + std::to_string(*last),
                     "describe the transposed array and use .T on its blocks, or use "
                     "tw.make_block_ptr"),
        {2});
  FailureOr<bool> nanOutside = readOutside(call, 4, contents.type.block.element);
  if (failed(nanOutside))
    return failure();
  DescriptorType type = contents.type;
  type.nanOutside = *nanOutside;
  return makeDescriptor(type, contents.parts);
}

//===-- Block pointers -----------------------------------------------------------------------===//

static FailureOr<PyValue> emitAdvance(BuiltinCall &call) {
  const Descriptor *pointer = call.value(0).as<Descriptor>();
  if (!pointer || !(*pointer)->type.isBlockPointer)
    return call.report(
        operandError(Code::DescriptorUse,
                     "advance moves block pointers, this is " + typeName(call.value(0)),
                     "add offsets to plain pointers: p + n"),
        {0});
  FailureOr<std::vector<PyValue>> steps = readIntegers(call, 1, "offsets");
  if (failed(steps))
    return failure();
  size_t rank = (*pointer)->rank();
  if (steps->size() != rank)
    return wrongCount(call, 1, "offsets", steps->size(), rank);
  std::vector<PyValue> parts = (*pointer)->parts;
  for (auto [part, step] :
       llvm::zip(llvm::MutableArrayRef(parts).take_back(rank), widened(call, *steps))) {
    if (step.isNumber() && toInteger(step).isZero())
      continue;
    FailureOr<PyValue> sum = emitBinary(call.emitter, BinaryOperator::Add, part, step, call.site,
                                        call.site, call.node(1));
    if (failed(sum))
      return failure();
    FailureOr<PyValue> moved = readInteger(call, 1, *sum, "offsets");
    if (failed(moved))
      return failure();
    part = *moved;
  }
  return makeDescriptor((*pointer)->type, std::move(parts));
}

static FailureOr<std::vector<int32_t>> readBoundaryCheck(BuiltinCall &call, size_t i, size_t rank) {
  std::vector<int32_t> dims;
  if (!call.has(i))
    return dims;
  std::vector<int64_t> given;
  if (failed(call.readFrom(i, given)))
    return failure();
  for (int64_t dim : given) {
    if (dim < 0 || dim >= int64_t(rank) || llvm::is_contained(dims, dim))
      return call.report(operandError(Code::BoundaryCheck,
                                      "boundary_check names dimensions from 0 to " +
                                          std::to_string(rank - 1) + ", each once",
                                      "name the dimensions in which a block may reach outside"),
                         {i});
    dims.push_back(int32_t(dim));
  }
  llvm::sort(dims);
  return dims;
}

/// The pointer as one that tw.load and tw.store take, which have a mask at these positions.
static LogicalResult checkBlockAccess(BuiltinCall &call, const Descriptor &pointer,
                                      llvm::ArrayRef<size_t> masks) {
  if (!pointer->type.isBlockPointer)
    return rejectDescriptor(call.emitter, call.value(0), call.node(0));
  for (size_t i : masks)
    if (call.has(i))
      return call.report(operandError(Code::BlockPointerMask,
                                      "a block pointer takes no mask and no `other`",
                                      "name the dimensions that may reach outside with "
                                      "boundary_check=(0, 1), and what is read there with "
                                      "padding_option"),
                         {i});
  return success();
}

static BoxOperands boxOf(BuiltinCall &call, const DescriptorContents &descriptor,
                         std::vector<TypedValue> offsets, std::vector<int32_t> checked) {
  return {descriptor.base(),
          toOperands(call, descriptor.shape()),
          toOperands(call, descriptor.strides()),
          std::move(offsets),
          std::move(checked),
          descriptor.type.block.shape};
}

static BoxBuilder boxes(BuiltinCall &call) {
  return BoxBuilder(call.tiles(), call.emitter.builder);
}

FailureOr<PyValue> tw::loadBlock(BuiltinCall &call, const Descriptor &pointer,
                                 const LoadOptions &options) {
  if (failed(checkBlockAccess(call, pointer, {1, 2})))
    return failure();
  FailureOr<std::vector<int32_t>> checked = readBoundaryCheck(call, 3, pointer->rank());
  if (failed(checked))
    return failure();
  FailureOr<bool> nanOutside = readOutside(call, 4, pointer->type.block.element);
  if (failed(nanOutside))
    return failure();
  BoxOperands box = boxOf(call, *pointer, toOperands(call, pointer->offsets()), *checked);
  return call.orReport(boxes(call).load(box, *nanOutside, options), {0});
}

FailureOr<PyValue> tw::storeBlock(BuiltinCall &call, const Descriptor &pointer,
                                  const LoadOptions &options) {
  if (failed(checkBlockAccess(call, pointer, {2})))
    return failure();
  FailureOr<std::vector<int32_t>> checked = readBoundaryCheck(call, 3, pointer->rank());
  TypedValue value;
  if (failed(checked) || failed(call.readFrom(1, value)))
    return failure();
  BoxOperands box = boxOf(call, *pointer, toOperands(call, pointer->offsets()), *checked);
  return call.orReport(boxes(call).store(box, value, 1, options), {0, 1});
}

//===-- Tensor descriptors -------------------------------------------------------------------===//

static FailureOr<Descriptor> readSelf(BuiltinCall &call) {
  // A combining function reads and writes no memory, by whatever name.
  if (failed(call.emitter.refuseInCombine(call.site, "`" + call.name + "`")))
    return failure();
  const Descriptor *self = call.value(0).as<Descriptor>();
  if (self && !(*self)->type.isBlockPointer)
    return *self;
  return call.report(operandError(Code::DescriptorUse,
                                  "`" + call.name.str() + "` needs a tensor descriptor, this is " +
                                      typeName(call.value(0)),
                                  "make one with tw.make_tensor_descriptor, or pass a "
                                  "TensorDescriptor to the kernel"),
                     {0});
}

static std::vector<int32_t> allDims(size_t rank) {
  llvm::iota_range<int32_t> dims = llvm::seq<int32_t>(0, int32_t(rank));
  return std::vector<int32_t>(dims.begin(), dims.end());
}

/// The box of a descriptor at the offsets in an argument; all its dimensions are checked.
static FailureOr<BoxOperands> readBox(BuiltinCall &call, size_t i) {
  FailureOr<Descriptor> self = readSelf(call);
  if (failed(self))
    return failure();
  FailureOr<std::vector<PyValue>> offsets = readIntegers(call, i, "offsets");
  if (failed(offsets))
    return failure();
  if (offsets->size() != (*self)->rank())
    return wrongCount(call, i, "offsets", offsets->size(), (*self)->rank());
  return boxOf(call, **self, toOperands(call, *offsets), allDims((*self)->rank()));
}

static bool nanOutside(BuiltinCall &call) {
  return (*call.value(0).as<Descriptor>())->type.nanOutside;
}

static FailureOr<PyValue> emitDescriptorLoad(BuiltinCall &call) {
  FailureOr<BoxOperands> box = readBox(call, 1);
  LoadOptions options;
  if (failed(box) || failed(readCacheHints(call, 2, 3, /*isStore=*/false, options)))
    return failure();
  return call.orReport(boxes(call).load(*box, nanOutside(call), options), {0, 1});
}

/// A store of the value at one position to the box at the offsets at another one.
template <size_t offsets, size_t stored>
static FailureOr<PyValue> emitDescriptorStore(BuiltinCall &call) {
  FailureOr<BoxOperands> box = readBox(call, offsets);
  TypedValue value;
  if (failed(box) || failed(call.readFrom(stored, value)))
    return failure();
  return call.orReport(boxes(call).store(*box, value, stored, {}), {0, 1, 2});
}

static FailureOr<PyValue> emitDescriptorAtomic(BuiltinCall &call) {
  FailureOr<BoxOperands> box = readBox(call, 1);
  TypedValue value;
  if (failed(box) || failed(call.readFrom(2, value)))
    return failure();
  llvm::StringRef kind = call.name;
  kind.consume_front("atomic_");
  return call.orReport(boxes(call).atomic(kind, *box, value, 2), {0, 1, 2});
}

/// The numbers of rows as a 1-D tile of int32 or int64.
static FailureOr<TypedValue> readRowNumbers(BuiltinCall &call, size_t i) {
  TypedValue numbers;
  if (failed(call.readFrom(i, numbers)))
    return failure();
  if (!numbers.dtype.isInt() || numbers.shape().size() != 1)
    return call.report(
        operandError(Code::DescriptorParts,
                     "the row numbers must be a 1-D tile of integers, not " + numbers.str(),
                     "make them with tw.arange or load them"),
        {i});
  bool isInt32 = numbers.dtype.bits() < 32 || numbers.dtype == findDType("int32");
  TileOr cast = call.tiles().cast(numbers, findDType(isInt32 ? "int32" : "int64"));
  if (!cast)
    return call.report(cast.reason(), {i});
  return *cast;
}

/// Rows of a matrix by their numbers: the box of gather and scatter.
static FailureOr<BoxOperands> readRows(BuiltinCall &call, size_t rows, size_t column) {
  FailureOr<Descriptor> self = readSelf(call);
  if (failed(self))
    return failure();
  llvm::ArrayRef<int64_t> block = (*self)->type.block.shape;
  if (block.size() != 2 || block[0] != 1)
    return call.report(operandError(Code::DescriptorRank,
                                    "`" + call.name.str() +
                                        "` needs a descriptor of blocks of one row, not of " +
                                        shapeText(block),
                                    "make the descriptor with block_shape=[1, N]"),
                       {0});
  FailureOr<TypedValue> numbers = readRowNumbers(call, rows);
  if (failed(numbers))
    return failure();
  FailureOr<PyValue> first = readInteger(call, column, call.value(column), "the column");
  if (failed(first))
    return failure();
  BoxOperands box = boxOf(call, **self, {*numbers, toOperand(call, *first)}, allDims(2));
  box.extents = {numbers->shape()[0], block[1]};
  return box;
}

static FailureOr<PyValue> emitDescriptorGather(BuiltinCall &call) {
  FailureOr<BoxOperands> box = readRows(call, 1, 2);
  if (failed(box))
    return failure();
  return call.orReport(boxes(call).load(*box, nanOutside(call), {}), {0, 1});
}

static FailureOr<PyValue> emitDescriptorScatter(BuiltinCall &call) {
  FailureOr<BoxOperands> box = readRows(call, 2, 3);
  TypedValue value;
  if (failed(box) || failed(call.readFrom(1, value)))
    return failure();
  return call.orReport(boxes(call).store(*box, value, 1, {}), {0, 1, 2});
}

/// The older spellings say again what a block is.
static LogicalResult checkBlock(BuiltinCall &call, size_t shape, size_t dtype) {
  FailureOr<Descriptor> self = readSelf(call);
  TileType given;
  if (failed(self) || failed(call.readFrom(shape, given.shape)) ||
      failed(call.readFrom(dtype, given.element)))
    return failure();
  if (given == (*self)->type.block)
    return success();
  return call.report(operandError(Code::DescriptorRank,
                                  "the descriptor is of other blocks: " + typeName(call.value(0)),
                                  "give the block's shape and type as the descriptor has them"),
                     {shape});
}

static FailureOr<PyValue> emitOlderLoad(BuiltinCall &call) {
  if (failed(checkBlock(call, 2, 3)))
    return failure();
  FailureOr<BoxOperands> box = readBox(call, 1);
  if (failed(box))
    return failure();
  return call.orReport(boxes(call).load(*box, nanOutside(call), {}), {0, 1});
}

//===-- Tables -------------------------------------------------------------------------------===//

static constexpr BuiltinSignature kMakeDescriptor =
    "base, shape, strides, block_shape, padding_option=\"zero\"";
static constexpr BuiltinSignature kLoad =
    "desc, offsets, cache_modifier=\"\", eviction_policy=\"\"";
static constexpr BuiltinSignature kStore = "desc, offsets, value";

static constexpr BuiltinRow kDescriptorRows[] = {
    {"make_block_ptr", "base, shape, strides, offsets, block_shape, order", emitMakeBlockPointer},
    {"advance", "base, offsets", emitAdvance},
    {"make_tensor_descriptor", kMakeDescriptor, emitMakeDescriptor},
    {"load_tensor_descriptor", kLoad, emitDescriptorLoad},
    {"store_tensor_descriptor", kStore, emitDescriptorStore<1, 2>},
    {"_experimental_descriptor_load", "desc, offsets, block_shape, dtype", emitOlderLoad},
    {"_experimental_descriptor_store", "desc, value, offsets", emitDescriptorStore<2, 1>},
};

static constexpr BuiltinRow kMethods[] = {
    {"load", kLoad, emitDescriptorLoad},
    {"store", kStore, emitDescriptorStore<1, 2>},
    {"gather", "desc, x_offsets, y_offset", emitDescriptorGather},
    {"scatter", "desc, value, x_offsets, y_offset", emitDescriptorScatter},
    {"atomic_add", kStore, emitDescriptorAtomic},
    {"atomic_min", kStore, emitDescriptorAtomic},
    {"atomic_max", kStore, emitDescriptorAtomic},
    {"atomic_and", kStore, emitDescriptorAtomic},
    {"atomic_or", kStore, emitDescriptorAtomic},
    {"atomic_xor", kStore, emitDescriptorAtomic},
};

llvm::ArrayRef<BuiltinRow> tw::descriptorBuiltins() { return kDescriptorRows; }
llvm::ArrayRef<BuiltinRow> tw::descriptorMethods() { return kMethods; }

const BuiltinRow *tw::findDescriptorMethod(const DescriptorType &type, llvm::StringRef name) {
  llvm::ArrayRef<BuiltinRow> rows = kMethods;
  if (type.isBlockPointer)
    rows = llvm::ArrayRef(kDescriptorRows).slice(1, 1);
  const BuiltinRow *row = llvm::find_if(rows, [&](const BuiltinRow &r) { return r.name == name; });
  return row == rows.end() ? nullptr : row;
}
