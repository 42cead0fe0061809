// Reductions, scans and matrix products.
#include "frontend/tiles/Operands.h"
#include "frontend/tiles/TileBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tw;
using Shape = llvm::SmallVector<int64_t>;

//===-- Reductions and scans -----------------------------------------------------------------===//

/// The axis of sources that a reduction or scan accepts: tiles of one shape.
static OrReason<int64_t> checkSources(llvm::ArrayRef<TypedValue> sources, int64_t axis) {
  for (const TypedValue &source : sources) {
    if (!source.isTile())
      return operandError(Code::NeedsTile, "reductions and scans need tiles, not scalars",
                          "a scalar is its own reduction", sources);
    if (source.shape() != sources.front().shape())
      return operandError(Code::ShapeMismatch, "tiles that are reduced together need one shape",
                          "broadcast them with tw.broadcast first", sources);
  }
  return normalizeAxis(axis, sources.front().shape().size(), sources.front());
}

static Reason wrongCombineResult(std::string message) {
  return operandError(Code::CombineResult, std::move(message),
                      "the combining function returns one scalar per source, of the source's type; "
                      "cast with .to(...)");
}

/// Drops what was computed for its type alone, as in `(x + tw.zeros((1,), tw.int1)).dtype`.
static void dropUnused(mlir::Region &region) {
  for (mlir::Block &block : region)
    for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (mlir::isOpTriviallyDead(&op))
        op.erase();
}

/// Combining functions are computed on scalars, in any order and any number of times.
static std::optional<Reason> checkCombine(mlir::Region &region) {
  std::optional<Reason> error;
  auto refuse = [&](const char *what, const char *hint) {
    error = operandError(Code::CombineBody, what, hint);
    return mlir::WalkResult::interrupt();
  };
  region.walk([&](mlir::Operation *op) {
    auto isTensor = [](mlir::Type type) { return llvm::isa<mlir::RankedTensorType>(type); };
    if (llvm::any_of(op->getOperandTypes(), isTensor) ||
        llvm::any_of(op->getResultTypes(), isTensor))
      return refuse("the combining function computes with tiles",
                    "compute them before the reduction: a combining function takes and returns "
                    "scalars");
    if (!mlir::isMemoryEffectFree(op))
      return refuse("the combining function has an effect on memory or output",
                    "combine values only, and do the rest before or after the reduction");
    return mlir::WalkResult::advance();
  });
  return error;
}

std::optional<Reason> TileBuilder::fillCombine(mlir::Region &region,
                                               const std::vector<TypedValue> &sources,
                                               const CombineBody &combine) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  std::vector<mlir::Type> types;
  for (size_t side = 0; side < 2; ++side)
    for (const TypedValue &source : sources)
      types.push_back(tile::elementTypeOf(source.value.getType()));
  mlir::Block *body =
      builder.createBlock(&region, {}, types, std::vector<mlir::Location>(types.size(), loc));
  std::vector<TypedValue> arguments;
  for (auto [index, argument] : llvm::enumerate(body->getArguments()))
    arguments.push_back(typed(argument, sources[index % sources.size()].dtype));
  mlir::Location reduction = loc;
  TilesOr results = combine(arguments);
  loc = reduction;
  if (!results)
    return results.reason();
  if (results->size() != sources.size())
    return wrongCombineResult("the combining function returns " + std::to_string(results->size()) +
                              " values for " + std::to_string(sources.size()) + " sources");
  std::vector<mlir::Value> yielded;
  for (auto [result, source] : llvm::zip(*results, sources)) {
    bool givesWay =
        result.isLiteral && !source.dtype.isPointer && kindOf(result.dtype) <= kindOf(source.dtype);
    if (result.isTile() || (result.dtype != source.dtype && !givesWay))
      return wrongCombineResult("the combining function returns " + result.str() + " for " +
                                source.dtype.str());
    yielded.push_back(givesWay ? convert(result, source.dtype).value : result.value);
  }
  tile::YieldOp::create(builder, loc, yielded);
  dropUnused(region);
  return checkCombine(region);
}

TilesOr TileBuilder::reduce(std::vector<TypedValue> sources, int64_t axis, bool keepDims,
                            const CombineBody &combine, bool isCommutative) {
  OrReason<int64_t> dim = checkSources(sources, axis);
  if (!dim)
    return dim.reason();
  return checkedFold(sources, combine, [&](const auto &folded, const CombineBody &body) {
    return reduceAlong(folded, *dim, keepDims, body, isCommutative);
  });
}

TilesOr TileBuilder::reduceAlong(const std::vector<TypedValue> &sources, int64_t dim, bool keepDims,
                                 const CombineBody &combine, bool isCommutative) {
  Shape shape(sources.front().shape());
  shape.erase(shape.begin() + dim);
  std::vector<mlir::Value> values;
  std::vector<mlir::Type> types;
  for (const TypedValue &source : sources) {
    mlir::Type element = tile::elementTypeOf(source.value.getType());
    values.push_back(source.value);
    types.push_back(shape.empty() ? element : mlir::RankedTensorType::get(shape, element));
  }
  auto op = tile::ReduceOp::create(builder, loc, types, values, int32_t(dim), isCommutative);
  if (std::optional<Reason> error = fillCombine(op.getCombine(), sources, combine)) {
    op.erase();
    return *error;
  }
  std::vector<TypedValue> results;
  for (auto [result, source] : llvm::zip(op.getResults(), sources)) {
    TypedValue reduced = typed(result, source.dtype);
    results.push_back(keepDims ? *expandDims(reduced, dim) : reduced);
  }
  return results;
}

TilesOr TileBuilder::scan(std::vector<TypedValue> sources, int64_t axis, bool reverse,
                          const CombineBody &combine) {
  OrReason<int64_t> dim = checkSources(sources, axis);
  if (!dim)
    return dim.reason();
  return checkedFold(sources, combine, [&](const auto &folded, const CombineBody &body) {
    return scanAlong(folded, *dim, reverse, body);
  });
}

TilesOr TileBuilder::scanAlong(const std::vector<TypedValue> &sources, int64_t dim, bool reverse,
                               const CombineBody &combine) {
  std::vector<mlir::Value> values;
  std::vector<mlir::Type> types;
  for (const TypedValue &source : sources) {
    values.push_back(source.value);
    types.push_back(source.value.getType());
  }
  auto op = tile::ScanOp::create(builder, loc, types, values, int32_t(dim), reverse);
  if (std::optional<Reason> error = fillCombine(op.getCombine(), sources, combine)) {
    op.erase();
    return *error;
  }
  std::vector<TypedValue> results;
  for (auto [result, source] : llvm::zip(op.getResults(), sources))
    results.push_back(typed(result, source.dtype));
  return results;
}

//===-- Matrix products ----------------------------------------------------------------------===//

static Reason dotError(std::string message, std::string hint, const TypedValue &a,
                       const TypedValue &b, const std::optional<TypedValue> &acc) {
  llvm::SmallVector<TypedValue> operands{a, b};
  if (acc)
    operands.push_back(*acc);
  return operandError(Code::DotOperands, std::move(message), std::move(hint), operands);
}

/// The accumulator dtypes of an operand dtype, the default first; none when dot does not take it.
static llvm::SmallVector<DType> accumulatorsOf(DType operand) {
  using Names = llvm::SmallVector<const char *>;
  Names names = operand.isFloat8() ? Names{"float32", "float16"}
                                   : llvm::StringSwitch<Names>(operand.str())
                                         .Cases({"int8", "uint8"}, Names{"int32"})
                                         .Case("float16", Names{"float32", "float16"})
                                         .Cases({"bfloat16", "float32"}, Names{"float32"})
                                         .Case("float64", Names{"float64"})
                                         .Default({});
  return llvm::map_to_vector(names, [](const char *name) { return findDType(name); });
}

/// Only products of float16 and 8-bit floats have a choice, as in Triton: the others accumulate in
/// one type, whatever is asked for. A bfloat16 accumulator nobody has.
static bool hasChoiceOfAccumulator(DType operand) { return accumulatorsOf(operand).size() > 1; }

/// The shape [M, N] or [B, M, N], or what does not fit.
static OrReason<Shape> productShape(const TypedValue &a, const TypedValue &b,
                                    const std::optional<TypedValue> &acc) {
  size_t rank = a.shape().size();
  if (rank < 2 || b.shape().size() != rank)
    return dotError("dot needs two tiles of one rank: 2, or more with leading batch dimensions",
                    "add a dimension with [None, :, :], or reshape", a, b, acc);
  if (a.shape().drop_back(2) != b.shape().drop_back(2))
    return dotError("dot has batches of " + shapeText(a.shape().drop_back(2)) + " and " +
                        shapeText(b.shape().drop_back(2)),
                    "the leading dimensions must be equal", a, b, acc);
  if (a.shape()[rank - 1] != b.shape()[rank - 2])
    return dotError("dot sums over K, but a has K = " + std::to_string(a.shape()[rank - 1]) +
                        " and b has K = " + std::to_string(b.shape()[rank - 2]),
                    "a is [M, K] and b is [K, N]; transpose one with .T", a, b, acc);
  Shape shape(a.shape().drop_back());
  shape.push_back(b.shape().back());
  if (acc && acc->shape() != llvm::ArrayRef<int64_t>(shape))
    return dotError("dot's accumulator must be " + shapeText(shape), "acc is [M, N]", a, b, acc);
  if (std::optional<Reason> error = checkTileShape(shape))
    return *error;
  return shape;
}

static bool isByte(DType dtype) { return dtype.isInt() && dtype.bits() == 8; }

/// Checks that dot multiplies elements of these types.
static std::optional<Reason> checkOperands(const TypedValue &a, const TypedValue &b,
                                           const std::optional<TypedValue> &acc) {
  std::string pair = "dot of " + a.dtype.str() + " and " + b.dtype.str();
  for (const TypedValue &operand : {a, b})
    if (accumulatorsOf(operand.dtype).empty())
      return dotError(pair + ": it does not take " + operand.dtype.str(),
                      std::string(operand.dtype.isPointer ? "load the tile that is multiplied"
                                                          : "convert it with .to(...)") +
                          ": operands are int8, uint8, 8-bit floats, float16, bfloat16, float32 or "
                          "float64",
                      a, b, acc);
  bool mayDiffer =
      (a.dtype.isFloat8() && b.dtype.isFloat8()) || (isByte(a.dtype) && isByte(b.dtype));
  if (a.dtype == b.dtype || mayDiffer)
    return std::nullopt;
  return dotError(pair, "both operands must have one type: convert one with .to(...)", a, b, acc);
}

static std::optional<Reason> checkAccumulator(const TypedValue &a, const TypedValue &b,
                                              const std::optional<TypedValue> &acc, DType dtype) {
  if (std::optional<Reason> error = checkOperands(a, b, acc))
    return error;
  llvm::SmallVector<DType> accumulators = accumulatorsOf(a.dtype);
  if (llvm::is_contained(accumulators, dtype))
    return std::nullopt;
  return dotError("dot of " + a.dtype.str() + " cannot accumulate in " + dtype.str(),
                  "accumulate in " + accumulators.front().str() + " and cast the result with .to(" +
                      "...)",
                  a, b, acc);
}

TileOr TileBuilder::dot(TypedValue a, TypedValue b, const DotOptions &options) {
  auto [acc, precision, outDType, maxImprecise, scales] = options;
  if (!scales.empty())
    return typed(create<tile::DotOp>(a.value, b.value, acc->value,
                                     mlir::ValueRange{scales[0].value, scales[1].value},
                                     tile::InputPrecision::IEEE, mlir::IntegerAttr()),
                 acc->dtype);
  std::optional<tile::InputPrecision> inputPrecision =
      precision.empty() ? tile::InputPrecision::IEEE : tile::symbolizeInputPrecision(precision);
  if (!inputPrecision)
    return operandError(Code::UnknownOption, "unknown input precision \"" + precision.str() + "\"",
                        "choose one of \"tf32\", \"tf32x3\", \"ieee\", \"bf16x3\", \"bf16x6\"");
  if (maxImprecise && *maxImprecise < 0)
    return operandError(Code::UnknownOption,
                        "max_num_imprecise_acc is " + std::to_string(*maxImprecise),
                        "give a number of elements along K, or None for the target's own");
  OrReason<Shape> shape = productShape(a, b, acc);
  if (!shape)
    return shape.reason();
  llvm::SmallVector<DType> accumulators = accumulatorsOf(a.dtype);
  bool isChosen =
      outDType && (hasChoiceOfAccumulator(a.dtype) || *outDType == findDType("bfloat16"));
  if (!isChosen)
    outDType = std::nullopt;
  DType dtype =
      acc ? acc->dtype : outDType.value_or(accumulators.empty() ? a.dtype : accumulators.front());
  if (std::optional<Reason> error = checkAccumulator(a, b, acc, dtype))
    return *error;
  if (acc && outDType && *outDType != dtype)
    return dotError("dot's accumulator is " + dtype.str() + ", but out_dtype is " + outDType->str(),
                    "leave out_dtype out: the result has the accumulator's type", a, b, acc);
  if (!acc)
    acc = splatTo(scalarConstant(dtype, 0), *shape);
  // float16 holds every 8-bit float.
  if (a.dtype.isE4B15() || b.dtype.isE4B15()) {
    a = convert(a, findDType("float16"));
    b = convert(b, findDType("float16"));
  }
  // Integer operands of tile.dot are signed: unsigned bytes widen to a type that holds them, and
  // what is beside them, too.
  if (a.dtype == findDType("uint8") || b.dtype == findDType("uint8")) {
    a = convert(a, findDType("int16"));
    b = convert(b, findDType("int16"));
  }
  mlir::IntegerAttr most =
      maxImprecise ? builder.getI64IntegerAttr(*maxImprecise) : mlir::IntegerAttr();
  auto multiply = [&](mlir::Value left, mlir::Value right, mlir::Value sums) {
    return typed(create<tile::DotOp>(left, right, sums, mlir::ValueRange(), *inputPrecision, most),
                 dtype);
  };
  if (shape->size() <= 3)
    return multiply(a.value, b.value, acc->value);
  // One batch dimension stands for all of them.
  auto flat = [&](TypedValue tile) {
    int64_t batch = mlir::ShapedType::getNumElements(tile.shape().drop_back(2));
    Shape last{batch, tile.shape()[shape->size() - 2], tile.shape().back()};
    return reshape(tile, last, /*allowReorder=*/false)->value;
  };
  return reshape(multiply(flat(a), flat(b), flat(*acc)), *shape, /*allowReorder=*/false);
}
