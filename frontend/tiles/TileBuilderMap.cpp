// A function of scalars on every element of tiles, with control flow of its own.
#include "frontend/tiles/Operands.h"
#include "frontend/tiles/TileBuilder.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using Shape = llvm::SmallVector<int64_t>;

/// The columns of [n, pack], in order.
std::vector<TypedValue> TileBuilder::unpacked(TypedValue rows, int64_t pack) {
  int64_t numRows = tile::numElementsOf(rows.value.getType()) / pack;
  if (pack == 1)
    return {*reshape(rows, {numRows}, /*allowReorder=*/false)};
  TilesOr halves = split(*reshape(rows, {numRows, pack / 2, 2}, /*allowReorder=*/false));
  std::vector<TypedValue> even = unpacked((*halves)[0], pack / 2),
                          odd = unpacked((*halves)[1], pack / 2), columns;
  for (auto [first, second] : llvm::zip(even, odd)) {
    columns.push_back(first);
    columns.push_back(second);
  }
  return columns;
}

/// The inverse of `unpacked`, of any shape.
TypedValue TileBuilder::repacked(std::vector<TypedValue> columns) {
  if (columns.size() == 1)
    return columns.front();
  std::vector<TypedValue> even, odd;
  for (auto [i, column] : llvm::enumerate(columns))
    (i % 2 ? odd : even).push_back(column);
  return *join(repacked(std::move(even)), repacked(std::move(odd)));
}

/// A fold of every element with itself calls the combining function once for each. Sources of the
/// results' types give it the room to answer in.
TilesOr TileBuilder::mapColumns(const std::vector<TypedValue> &columns, const CombineBody &apply) {
  std::vector<TypedValue> sources = columns, answers;
  auto fold = [&](bool isDraft) -> std::optional<Reason> {
    std::vector<mlir::Value> values;
    std::vector<mlir::Type> types;
    for (const TypedValue &source : sources) {
      values.push_back(join(source, source)->value);
      types.push_back(source.value.getType());
    }
    auto op = tile::ReduceOp::create(builder, loc, types, values, /*axis=*/1, false);
    auto combine = [&](const std::vector<TypedValue> &scalars) -> TilesOr {
      std::vector<TypedValue> arguments(scalars.begin(), scalars.begin() + columns.size());
      TilesOr applied = apply(arguments);
      if (!applied)
        return applied;
      answers = *applied;
      for (const TypedValue &answer : answers)
        if (answer.isTile())
          return operandError(Code::CombineResult,
                              "a mapped function returns " + answer.str() + ", not a scalar",
                              "it takes and returns single elements");
      if (!isDraft)
        llvm::append_range(arguments, *applied);
      return arguments;
    };
    std::optional<Reason> error = fillCombine(op.getCombine(), sources, combine);
    if (error || isDraft) {
      op.erase();
      return error;
    }
    for (auto [answer, result] : llvm::zip(answers, op.getResults().drop_front(columns.size())))
      answer = typed(result, answer.dtype);
    return std::nullopt;
  };
  if (std::optional<Reason> error = fold(/*isDraft=*/true))
    return *error;
  for (TypedValue &answer : answers) {
    TypedValue zero = scalarConstant(answer.dtype, 0);
    sources.push_back(splatTo(zero, columns.front().shape()));
  }
  if (std::optional<Reason> error = fold(/*isDraft=*/false))
    return *error;
  return answers;
}

TilesOr TileBuilder::map(const std::vector<TypedValue> &sources, int64_t pack,
                         const CombineBody &apply) {
  OrReason<Shape> shape = commonShape(sources);
  if (!shape)
    return shape.reason();
  if (shape->empty())
    return pack == 1 ? apply(sources)
                     : TilesOr(operandError(Code::NeedsTile, "scalars are mapped one at a time",
                                            "leave out pack, or pass tiles", sources));
  int64_t numElements = mlir::ShapedType::getNumElements(*shape);
  if (pack < 1 || !llvm::isPowerOf2_64(pack) || numElements % pack != 0)
    return operandError(Code::InvalidShape,
                        std::to_string(numElements) + " elements cannot be mapped in packs of " +
                            std::to_string(pack),
                        "a pack is a power of two that divides the number of elements", sources);
  std::vector<TypedValue> columns;
  for (const TypedValue &source : sources)
    llvm::append_range(columns, unpacked(expandTo(source, *shape), pack));
  TilesOr mapped = mapChecked(columns, apply);
  if (!mapped)
    return mapped;
  if (mapped->empty() || mapped->size() % pack != 0)
    return operandError(Code::CombineResult,
                        "a mapped function returns " + std::to_string(mapped->size()) +
                            " values for packs of " + std::to_string(pack),
                        "it returns one value for each element of a pack and each result");
  std::vector<TypedValue> results;
  for (size_t first = 0; first < mapped->size(); first += pack) {
    auto begin = mapped->begin() + first;
    TypedValue packed = repacked({begin, begin + pack});
    results.push_back(*reshape(packed, *shape, /*allowReorder=*/false));
  }
  return results;
}
