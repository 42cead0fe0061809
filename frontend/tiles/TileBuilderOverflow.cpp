// The check of debug builds that a sum, difference or product of integers fits its type.
#include "frontend/tiles/TileBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace tw;
namespace arith = mlir::arith;
namespace scf = mlir::scf;

/// Sums and differences of 32 bits by their signs or their order (Warren, Hacker's Delight 2nd ed.,
/// 2-13): as fast as the operation itself.
static mlir::Value fitsByOrder(mlir::OpBuilder &builder, mlir::Location loc, bool isAdd,
                               TypedValue lhs, TypedValue rhs, mlir::Value result,
                               mlir::Value zero) {
  auto bitsThatDiffer = [&](mlir::Value a, mlir::Value b) -> mlir::Value {
    return arith::XOrIOp::create(builder, loc, a, b);
  };
  auto compare = [&](arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) -> mlir::Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  if (!lhs.dtype.isSigned())
    return isAdd ? compare(arith::CmpIPredicate::uge, result, lhs.value)
                 : compare(arith::CmpIPredicate::uge, lhs.value, rhs.value);
  // The sign is wrong where it differs from that of the left operand, and, in a sum, also from that
  // of the right one; in a difference the operands' signs differ.
  mlir::Value both = arith::AndIOp::create(builder, loc, bitsThatDiffer(lhs.value, result),
                                           bitsThatDiffer(rhs.value, isAdd ? result : lhs.value));
  return compare(arith::CmpIPredicate::sge, both, zero);
}

void TileBuilder::checkOverflow(BinaryOperator op, TypedValue lhs, TypedValue rhs,
                                mlir::Value result) {
  if (!checksOverflow || !lhs.dtype.isInt() || lhs.dtype.bits() > 32)
    return;
  mlir::Value fits;
  if (lhs.dtype.bits() == 32 && op != BinaryOperator::Mul) {
    mlir::Value zero = constantLike(lhs, lhs.dtype, 0).value;
    fits = fitsByOrder(builder, loc, op == BinaryOperator::Add, lhs, rhs, result, zero);
  } else {
    // Exact in twice the bits, and equal to the result if that fits.
    DType wide = findDType(lhs.dtype.bits() == 32 ? "int64" : "int32");
    mlir::Value a = convert(lhs, wide).value, b = convert(rhs, wide).value, exact;
    if (op == BinaryOperator::Add)
      exact = create<arith::AddIOp>(a, b);
    else if (op == BinaryOperator::Sub)
      exact = create<arith::SubIOp>(a, b);
    else
      exact = create<arith::MulIOp>(a, b);
    mlir::Value widened = convert(typed(result, lhs.dtype), wide).value;
    fits = create<arith::CmpIOp>(arith::CmpIPredicate::eq, exact, widened);
  }
  std::string kind = "int" + std::to_string(lhs.dtype.bits());
  const char *joint = op == BinaryOperator::Add ? "+" : op == BinaryOperator::Sub ? "-" : "*";
  tile::AssertOp::create(builder, loc, fits, mlir::Value(),
                         kind + " overflow detected for operation " + rowOf(op).method.str(),
                         mlir::ValueRange{lhs.value, rhs.value}, builder.getStringAttr(joint),
                         lhs.dtype.isSigned());
}

//===-- In combining functions ---------------------------------------------------------------===//
// Elements are combined in any order and any number of times, so that nothing is asserted
// meanwhile: what the function checks of its sums is folded beside its values and asserted of the
// results.

using Messages = llvm::SmallVector<std::string>;

static mlir::Value takeAsserts(mlir::OpBuilder &builder, mlir::Block &block, Messages &messages);

static mlir::Value holdsAlways(mlir::OpBuilder &builder, mlir::Location loc) {
  return arith::ConstantIntOp::create(builder, loc, 1, 1);
}

/// The conditions of both branches as one more result; null where nothing is asserted in them.
static mlir::Value takeFromBranches(mlir::OpBuilder &builder, scf::IfOp branch,
                                    Messages &messages) {
  mlir::Value holds[2];
  for (auto [region, held] : llvm::zip(branch->getRegions(), holds))
    if (!region.empty())
      held = takeAsserts(builder, region.front(), messages);
  if (!holds[0] && !holds[1])
    return {};
  llvm::SmallVector<mlir::Type> types(branch.getResultTypes());
  types.push_back(builder.getI1Type());
  builder.setInsertionPoint(branch);
  auto extended = scf::IfOp::create(builder, branch.getLoc(), types, branch.getCondition(), true);
  for (auto [from, to, held] : llvm::zip(branch->getRegions(), extended->getRegions(), holds)) {
    llvm::SmallVector<mlir::Value> yielded;
    if (!from.empty()) {
      to.takeBody(from);
      mlir::Operation *end = to.front().getTerminator();
      yielded.assign(end->operand_begin(), end->operand_end());
      end->erase();
    }
    builder.setInsertionPointToEnd(&to.front());
    yielded.push_back(held ? held : holdsAlways(builder, branch.getLoc()));
    scf::YieldOp::create(builder, branch.getLoc(), yielded);
  }
  branch.replaceAllUsesWith(extended.getResults().drop_back());
  branch.erase();
  return extended.getResults().back();
}

/// Takes the assertions out of a block and gives their conjunction at its end; null where there are
/// none. Those in loops are left out.
static mlir::Value takeAsserts(mlir::OpBuilder &builder, mlir::Block &block, Messages &messages) {
  llvm::SmallVector<mlir::Value> conditions;
  for (mlir::Operation &op : llvm::make_early_inc_range(block)) {
    if (auto check = llvm::dyn_cast<tile::AssertOp>(op)) {
      conditions.push_back(check.getCondition());
      if (!llvm::is_contained(messages, check.getMessage()))
        messages.push_back(check.getMessage().str());
      check.erase();
    } else if (auto branch = llvm::dyn_cast<scf::IfOp>(op)) {
      conditions.push_back(takeFromBranches(builder, branch, messages));
    } else {
      op.walk([](tile::AssertOp check) { check.erase(); });
    }
  }
  bool isEnded = !block.empty() && block.back().hasTrait<mlir::OpTrait::IsTerminator>();
  builder.setInsertionPoint(&block, isEnded ? std::prev(block.end()) : block.end());
  mlir::Value all;
  for (mlir::Value condition : conditions)
    if (condition)
      all = all ? arith::AndIOp::create(builder, condition.getLoc(), all, condition) : condition;
  return all;
}

/// Takes the assertions out of the function that has just answered `values`.
static mlir::Value takeAsserts(mlir::OpBuilder &builder, std::vector<TypedValue> &values,
                               Messages &messages) {
  llvm::SmallVector<mlir::Value> answers;
  for (const TypedValue &value : values)
    answers.push_back(value.value);
  // Holds the answers while operations that make them are replaced.
  mlir::Block &block = *builder.getInsertionBlock();
  auto anchor = tile::YieldOp::create(builder, builder.getUnknownLoc(), answers);
  mlir::Value fits = takeAsserts(builder, block, messages);
  for (auto [value, answer] : llvm::zip(values, anchor->getOperands()))
    value.value = answer;
  anchor.erase();
  builder.setInsertionPointToEnd(&block);
  return fits;
}

/// Erases a fold whose results nobody uses, with what keeps its axis.
static void eraseFold(const std::vector<TypedValue> &results) {
  mlir::Operation *fold = nullptr;
  for (const TypedValue &result : results) {
    mlir::Operation *op = result.value.getDefiningOp();
    fold = op;
    if (llvm::isa<tile::ReduceOp, tile::ScanOp>(op))
      continue;
    fold = op->getOperand(0).getDefiningOp();
    op->erase();
  }
  fold->erase();
}

void TileBuilder::assertFolded(TypedValue fits, llvm::ArrayRef<std::string> messages) {
  tile::AssertOp::create(builder, loc, fits.value, mlir::Value(), llvm::join(messages, "; or "));
}

TilesOr TileBuilder::checkedFold(const std::vector<TypedValue> &sources, const CombineBody &combine,
                                 const Fold &fold) {
  Messages messages;
  TilesOr results = fold(sources, [&](const std::vector<TypedValue> &scalars) {
    TilesOr combined = combine(scalars);
    if (combined)
      takeAsserts(builder, *combined, messages);
    return combined;
  });
  if (!results || messages.empty())
    return results;
  eraseFold(*results);
  size_t count = sources.size();
  std::vector<TypedValue> extended = sources;
  extended.push_back(splatTo(boolLiteral(true), sources.front().shape()));
  results = fold(extended, [&](const std::vector<TypedValue> &scalars) -> TilesOr {
    std::vector<TypedValue> values(scalars.begin(), scalars.begin() + count);
    values.insert(values.end(), scalars.begin() + count + 1, scalars.end() - 1);
    TilesOr combined = combine(values);
    if (!combined)
      return combined;
    mlir::Value fits = takeAsserts(builder, *combined, messages);
    for (const TypedValue &before : {scalars[count], scalars.back()})
      fits = create<arith::AndIOp>(fits, before.value);
    combined->push_back(typed(fits, findDType("int1")));
    return combined;
  });
  if (!results)
    return results;
  assertFolded(results->back(), messages);
  results->pop_back();
  return results;
}

TilesOr TileBuilder::mapChecked(const std::vector<TypedValue> &columns, const CombineBody &apply) {
  Messages messages;
  TilesOr results = mapColumns(columns, [&](const std::vector<TypedValue> &scalars) -> TilesOr {
    TilesOr applied = apply(scalars);
    mlir::Value fits = applied ? takeAsserts(builder, *applied, messages) : mlir::Value();
    if (fits)
      applied->push_back(typed(fits, findDType("int1")));
    return applied;
  });
  if (!results || messages.empty())
    return results;
  assertFolded(results->back(), messages);
  results->pop_back();
  return results;
}
