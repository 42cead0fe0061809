// TileBuilder's operations on shapes, memory, reductions and matrix products, and its hints.
#include "frontend/values/TypeRules.h"
#include "runtime/codes/Codes.h"
#include "test/unit/frontend/TileBuilderFixture.h"

using namespace tw;
using Tile = TypedValue;

namespace {

//===-- Making tiles -------------------------------------------------------------------------===//

TEST_F(TileBuilderTest, ArangeTakesAnyExtent) {
  EXPECT_EQ(result(tiles.arange(0, 100)), "tile.arange int32[100]");
  EXPECT_EQ(result(tiles.arange(-3, 4)), "tile.arange int32[7]");
  EXPECT_EQ(result(tiles.arange(4, 4)), "TW0210");
  EXPECT_EQ(result(tiles.arange(4, 0)), "TW0210");
  EXPECT_EQ(result(tiles.arange(int64_t(1) << 31, (int64_t(1) << 31) + 4)), "TW0210");
  EXPECT_EQ(result(tiles.arange(0, tile::kMostTileElements)), "tile.arange int32[1048576]");
  EXPECT_EQ(result(tiles.arange(0, tile::kMostTileElements + 1)), "TW0209");
}

TEST_F(TileBuilderTest, FullConvertsItsScalar) {
  EXPECT_EQ(result(tiles.full({4, 8}, tiles.floatLiteral(0.1), dtype("bf16"))),
            "tile.splat bfloat16[4, 8]");
  EXPECT_EQ(result(tiles.full({}, literal(1), dtype("i8"))), "arith.constant int8");
  EXPECT_EQ(result(tiles.full({4, 0}, literal(1), dtype("i8"))), "TW0208");
  EXPECT_EQ(result(tiles.full({4096, 4096}, literal(1), dtype("i8"))), "TW0209");
  EXPECT_EQ(result(tiles.full({INT64_MAX, INT64_MAX}, literal(1), dtype("i8"))), "TW0209");
  EXPECT_EQ(result(tiles.full({4}, value("i8", {4}), dtype("i8"))), "TW0220");
}

//===-- Broadcasting -------------------------------------------------------------------------===//

TEST_F(TileBuilderTest, BroadcastAddsLeadingDimensions) {
  auto both = tiles.broadcast(value("i32", {8}), value("fp32", {4, 1}));
  ASSERT_TRUE(bool(both));
  EXPECT_EQ(both->first.str() + " " + both->second.str(), "int32[4, 8] float32[4, 8]");
  EXPECT_EQ(result(tiles.broadcastTo(value("i32"), {2, 2})), "tile.splat int32[2, 2]");
  EXPECT_EQ(result(tiles.broadcastTo(value("i32", {1, 4}), {3, 4})), "tile.broadcast int32[3, 4]");
  EXPECT_EQ(result(tiles.broadcastTo(value("i32", {4}), {3, 4})), "tile.broadcast int32[3, 4]");
  EXPECT_EQ(result(tiles.broadcastTo(value("i32", {2, 4}), {4})), "TW0205");
  EXPECT_EQ(result(tiles.broadcastTo(value("i32", {2}), {3})), "TW0205");
}

TEST_F(TileBuilderTest, ShapeMismatchNamesShapesAndDimension) {
  auto error =
      tiles.binary(BinaryOperator::Add, value("fp32", {64, 32}), value("i32", {16})).reason();
  EXPECT_EQ(error.code, Code::ShapeMismatch);
  EXPECT_EQ(error.message, "shapes [64, 32] and [16] do not fit: dimension 1 is 32 and 16");
  EXPECT_NE(error.hint.find("[:, None]"), std::string::npos);
  ASSERT_EQ(error.labels.size(), 2u);
  EXPECT_EQ(error.labels[0], std::pair(0, std::string("this is float32[64, 32]")));
  EXPECT_EQ(error.labels[1], std::pair(1, std::string("this is int32[16]")));
}

TEST_F(TileBuilderTest, BroadcastingTwoLongTilesIsTooLarge) {
  auto error =
      tiles.binary(BinaryOperator::Add, value("i32", {2048, 1}), value("i32", {1, 2048})).reason();
  EXPECT_EQ(error.code, Code::TileTooLarge);
  EXPECT_NE(error.message.find("1048576"), std::string::npos);
  EXPECT_EQ(error.labels.size(), 2u);
}

//===-- Shapes -------------------------------------------------------------------------------===//

TEST_F(TileBuilderTest, ExpandDimsReshapePermute) {
  EXPECT_EQ(result(tiles.expandDims(value("i32", {8}), -1)), "tile.expand_dims int32[8, 1]");
  EXPECT_EQ(result(tiles.expandDims(value("i32", {8}), 0)), "tile.expand_dims int32[1, 8]");
  EXPECT_EQ(result(tiles.expandDims(value("i32"), 0)), "tile.splat int32[1]");
  EXPECT_EQ(result(tiles.expandDims(value("i32", {8}), 2)), "TW0207");
  EXPECT_EQ(result(tiles.reshape(value("i32", {8, 3}), {24}, true)), "tile.reshape int32[24]");
  EXPECT_EQ(result(tiles.reshape(value("i32", {8, 3}), {25}, false)), "TW0208");
  EXPECT_EQ(result(tiles.reshape(value("i32", {1, 1}), {}, false)), "tile.reduce int32");
  EXPECT_EQ(result(tiles.reshape(value("i32"), {1, 1}, false)), "tile.splat int32[1, 1]");
  EXPECT_EQ(result(tiles.permute(value("i32", {2, 3, 4}), {-1, 0, 1})),
            "tile.trans int32[4, 2, 3]");
  EXPECT_EQ(result(tiles.permute(value("i32", {2, 3}), {0, 0})), "TW0208");
  EXPECT_EQ(result(tiles.permute(value("i32", {2, 3}), {0})), "TW0208");
  EXPECT_EQ(result(tiles.permute(value("i32", {2, 3}), {0, 2})), "TW0207");
}

TEST_F(TileBuilderTest, JoinSplitCatGather) {
  EXPECT_EQ(result(tiles.join(value("fp16", {8}), literal(0))), "tile.join float16[8, 2]");
  EXPECT_EQ(result(tiles.join(value("i32"), value("i32"))), "tile.reshape int32[2]");
  EXPECT_EQ(result(tiles.split(value("i8", {8, 2}))), "tile.split int8[8], tile.split int8[8]");
  EXPECT_EQ(result(tiles.split(value("i8", {2}))), "tile.reduce int8, tile.reduce int8");
  EXPECT_EQ(result(tiles.split(value("i8", {4}))), "TW0208");
  EXPECT_EQ(result(tiles.split(value("i8"))), "TW0219");
  EXPECT_EQ(result(tiles.cat(value("i8", {4}), value("i8", {4}), true, 0)), "tile.reshape int8[8]");
  EXPECT_EQ(result(tiles.cat(value("i8", {4, 3}), value("i8", {4, 3}), false, -1)),
            "tile.reshape int8[4, 6]");
  EXPECT_EQ(result(tiles.cat(value("i8", {4, 3}), value("i8", {2, 3}), false, 0)),
            "arith.select int8[6, 3]");
  EXPECT_EQ(result(tiles.cat(value("i8", {4, 3}), value("i8", {4, 2}), false, 0)), "TW0205");
  EXPECT_EQ(tiles.cat(value("i8", {4}), value("i8"), false, 0).reason().labels,
            (std::vector<std::pair<int, std::string>>{{1, "this is int8"}}));
  EXPECT_EQ(result(tiles.gather(value("fp32", {8, 4}), value("i64", {3, 4}), 0)),
            "tile.gather float32[3, 4]");
  EXPECT_EQ(result(tiles.gather(value("fp32", {8, 4}), value("i64", {3, 5}), 0)), "TW0205");
  EXPECT_EQ(result(tiles.gather(value("fp32", {8}), value("fp32", {8}), 0)), "TW0201");
}

//===-- Memory -------------------------------------------------------------------------------===//

TEST_F(TileBuilderTest, LoadsBroadcastMaskAndOther) {
  Tile pointers = value("*fp16", {8, 4});
  EXPECT_EQ(result(tiles.load(pointers, {}, {}, {})), "tile.load float16[8, 4]");
  EXPECT_EQ(result(tiles.load(pointers, value("i1", {4}), literal(0), {})),
            "tile.load float16[8, 4]");
  EXPECT_EQ(result(tiles.load(value("*fp16", {8, 1}), value("i1", {4}), {}, {})),
            "tile.load float16[8, 4]");
  EXPECT_EQ(result(tiles.load(value("*u8"), value("i1"), tiles.floatLiteral(1), {})),
            "tile.load uint8");
  EXPECT_EQ(result(tiles.load(value("fp16", {8}), {}, {}, {})), "TW0211");
  EXPECT_EQ(result(tiles.load(pointers, value("i32", {4}), {}, {})), "TW0212");
  EXPECT_EQ(result(tiles.load(value("*fp16"), value("i1", {4}), {}, {})), "TW0213");
  EXPECT_EQ(result(tiles.load(pointers, {}, literal(0), {})), "TW0214");
  EXPECT_EQ(result(tiles.load(pointers, value("i1", {5}), {}, {})), "TW0205");
  EXPECT_EQ(result(tiles.load(pointers, value("i1"), value("*i8"), {})), "TW0206");
}

TEST_F(TileBuilderTest, CacheHintsAreCarriedAndChecked) {
  (void)tiles.load(value("*i8"), {}, {}, {".cg", "evict_last", true});
  EXPECT_TRUE(contains("cache = 2 : i32") && contains("evict = 2 : i32"));
  EXPECT_TRUE(contains("is_volatile"));
  EXPECT_EQ(result(tiles.load(value("*i8"), {}, {}, {".wb", "", false})), "TW0216");
  EXPECT_EQ(result(tiles.store(value("*i8"), literal(1), {}, {".cv", "", false})), "TW0216");
  EXPECT_EQ(result(tiles.store(value("*i8"), literal(1), {}, {".wt", "evict_first", false})),
            "built");
  EXPECT_EQ(result(tiles.load(value("*i8"), {}, {}, {"", "never", false})), "TW0216");
}

TEST_F(TileBuilderTest, StoresConvertToThePointee) {
  EXPECT_EQ(result(tiles.store(value("*fp16", {8}), value("fp32"), value("i1", {8}), {})), "built");
  EXPECT_TRUE(contains("arith.truncf %"));
  EXPECT_EQ(result(tiles.store(value("*fp16"), value("fp32", {8}), {}, {})), "TW0213");
  EXPECT_EQ(result(tiles.store(value("*i64"), value("*fp32"), {}, {})), "TW0206");
  EXPECT_EQ(result(tiles.store(value("i64"), value("i64"), {}, {})), "TW0211");
}

TEST_F(TileBuilderTest, BoolsTakeAByteInMemory) {
  EXPECT_EQ(result(tiles.load(value("*i1", {8}), {}, {}, {})), "arith.cmpi int1[8]");
  EXPECT_EQ(result(tiles.store(value("*i1", {8}), value("i32", {8}), {}, {})), "built");
  EXPECT_TRUE(contains("arith.extui %"));
  EXPECT_TRUE(contains("!tile.ptr<i8>"));
  EXPECT_FALSE(contains("!tile.ptr<i1>"));
}

TEST_F(TileBuilderTest, AtomicsExistForSomeTypes) {
  auto atomic = [&](const char *kind, const char *element) {
    std::string pointer = std::string("*") + element;
    TileOr built = tiles.atomic(kind, value(pointer, {8}), literal(1), {}, {});
    if (!built)
      return codeName(*built.reason().code);
    auto op = built->value.getDefiningOp<tile::AtomicRmwOp>();
    return tile::stringifyAtomicKind(op.getKind()).str() + " " + built->str();
  };
  EXPECT_EQ(atomic("add", "i32"), "add int32[8]");
  EXPECT_EQ(atomic("add", "u64"), "add uint64[8]");
  EXPECT_EQ(atomic("add", "fp16"), "fadd float16[8]");
  EXPECT_EQ(atomic("add", "bf16"), "fadd bfloat16[8]");
  EXPECT_EQ(atomic("max", "fp32"), "fmax float32[8]");
  EXPECT_EQ(atomic("max", "i32"), "max int32[8]");
  EXPECT_EQ(atomic("max", "u32"), "umax uint32[8]");
  EXPECT_EQ(atomic("min", "u64"), "umin uint64[8]");
  EXPECT_EQ(atomic("min", "fp64"), "fmin float64[8]");
  EXPECT_EQ(atomic("xchg", "fp32"), "xchg float32[8]");
  EXPECT_EQ(atomic("and", "u32"), "and uint32[8]");
  EXPECT_EQ(atomic("or", "fp32"), "TW0215");
  EXPECT_EQ(atomic("max", "fp16"), "TW0215");
  EXPECT_EQ(atomic("add", "i16"), "TW0215");
  EXPECT_EQ(atomic("add", "i1"), "TW0215");
  EXPECT_EQ(atomic("nand", "i32"), "TW0216");
  Tile pointer = value("*i32");
  EXPECT_EQ(result(tiles.atomic("add", pointer, literal(1), {}, {"later", "gpu"})), "TW0216");
  EXPECT_EQ(result(tiles.atomic("add", pointer, literal(1), {}, {"relaxed", "all"})), "TW0216");
  EXPECT_EQ(result(tiles.atomic("add", value("i32"), literal(1), {}, {})), "TW0211");
}

TEST_F(TileBuilderTest, ValuesOfAtomicsGrowTogether) {
  auto swap = [&](Tile pointer, Tile compare, Tile desired, std::optional<Tile> mask = {}) {
    auto emit = [](mlir::OpBuilder &b, mlir::Location loc, const AtomicOperands &of) {
      return tile::AtomicCasOp::create(b, loc, of.pointer, of.values[0], of.values[1], of.mask,
                                       of.order, of.scope)
          .getResult();
    };
    AtomicRule rule{"cas", AtomicElements::Bits};
    return result(tiles.atomic(rule, pointer, {compare, desired}, mask, {}, emit));
  };
  EXPECT_EQ(swap(value("*i32", {8}), literal(0), value("i64", {1})), "tile.atomic_cas int32[8]");
  EXPECT_EQ(swap(value("*fp32"), literal(0), literal(1)), "tile.atomic_cas float32");
  EXPECT_EQ(swap(value("*i32", {1}), value("i32", {8}), literal(1), value("i1", {4, 1})),
            "tile.atomic_cas int32[4, 8]");
  EXPECT_EQ(swap(value("*i32"), literal(0), value("i32", {8})), "TW0213");
  EXPECT_EQ(swap(value("*i8", {8}), literal(0), literal(1)), "TW0215");
  EXPECT_EQ(swap(value("*i32", {8}), literal(0), literal(1), value("i32", {8})), "TW0212");
}

//===-- Reductions, scans, matrix products ---------------------------------------------------===//

TEST_F(TileBuilderTest, ReduceWithACombiningFunction) {
  CombineBody add = [&](const std::vector<Tile> &scalars) -> TilesOr {
    auto sum = tiles.binary(BinaryOperator::Add, scalars[0], scalars[1]);
    return std::vector<Tile>{*sum};
  };
  Tile tile = value("fp32", {8, 4});
  EXPECT_EQ(result(tiles.reduce({tile}, 0, false, add)), "tile.reduce float32[4]");
  EXPECT_EQ(result(tiles.reduce({tile}, -1, true, add)), "tile.expand_dims float32[8, 1]");
  EXPECT_EQ(result(tiles.reduce({value("i32", {8})}, 0, false, add)), "tile.reduce int32");
  EXPECT_EQ(result(tiles.reduce({value("i32", {8})}, 0, true, add)), "tile.splat int32[1]");
  EXPECT_EQ(result(tiles.reduce({tile}, 2, false, add)), "TW0207");
  EXPECT_EQ(result(tiles.reduce({value("i32")}, 0, false, add)), "TW0219");
  EXPECT_EQ(result(tiles.scan({tile}, 1, true, add)), "tile.scan float32[8, 4]");
  EXPECT_TRUE(contains("reverse"));
}

TEST_F(TileBuilderTest, ReduceSeveralTilesTogether) {
  CombineBody keepLarger = [&](const std::vector<Tile> &s) -> TilesOr {
    Tile isLarger = *tiles.compare(Comparison::Gt, s[0], s[2]);
    return std::vector<Tile>{*tiles.where(isLarger, s[0], s[2]),
                             *tiles.where(isLarger, s[1], s[3])};
  };
  EXPECT_EQ(result(tiles.reduce({value("fp32", {8}), value("i32", {8})}, 0, false, keepLarger)),
            "tile.reduce float32, tile.reduce int32");
  EXPECT_EQ(result(tiles.scan({value("fp32", {8}), value("i32", {4})}, 0, false, keepLarger)),
            "TW0205");
}

TEST_F(TileBuilderTest, WrongCombiningFunctionsLeaveNothingBehind) {
  auto reduceBy = [&](std::function<Tile(const Tile &)> body) {
    CombineBody combine = [&](const std::vector<Tile> &s) -> TilesOr {
      return std::vector<Tile>{body(s[0])};
    };
    return result(tiles.reduce({value("fp16", {8})}, 0, false, combine));
  };
  EXPECT_EQ(reduceBy([&](const Tile &x) { return *tiles.binary(BinaryOperator::Div, x, x); }),
            "TW0217");
  EXPECT_EQ(reduceBy([&](const Tile &x) { return *tiles.expandDims(x, 0); }), "TW0217");
  CombineBody nothing = [](const std::vector<Tile> &) -> TilesOr { return std::vector<Tile>{}; };
  EXPECT_EQ(result(tiles.reduce({value("fp16", {8})}, 0, false, nothing)), "TW0217");
  CombineBody failing = [&](const std::vector<Tile> &) -> TilesOr {
    return tiles.arange(0, 0).reason();
  };
  EXPECT_EQ(result(tiles.reduce({value("fp16", {8})}, 0, false, failing)), "TW0210");
  EXPECT_FALSE(contains("tile.reduce"));
  EXPECT_EQ(reduceBy([&](const Tile &) { return literal(1); }), "tile.reduce float16");
}

TEST_F(TileBuilderTest, DotAccumulatesWide) {
  auto dot = [&](const char *a, const char *b, std::optional<DType> out) {
    return result(tiles.dot(value(a, {8, 16}), value(b, {16, 4}), {.outDType = out}));
  };
  EXPECT_EQ(dot("fp32", "fp32", {}), "tile.dot float32[8, 4]");
  EXPECT_EQ(dot("fp16", "fp16", {}), "tile.dot float32[8, 4]");
  EXPECT_EQ(dot("fp16", "fp16", dtype("fp16")), "tile.dot float16[8, 4]");
  EXPECT_EQ(dot("bf16", "bf16", {}), "tile.dot float32[8, 4]");
  EXPECT_EQ(dot("bf16", "bf16", dtype("bf16")), "TW0218");
  EXPECT_EQ(dot("fp64", "fp64", {}), "tile.dot float64[8, 4]");
  EXPECT_EQ(dot("i8", "i8", {}), "tile.dot int32[8, 4]");
  EXPECT_EQ(dot("u8", "u8", {}), "tile.dot int32[8, 4]");
  EXPECT_EQ(dot("i8", "u8", {}), "tile.dot int32[8, 4]");
  EXPECT_EQ(dot("fp16", "fp32", {}), "TW0218");
  EXPECT_EQ(dot("i32", "i32", {}), "TW0218");
  EXPECT_TRUE(contains("tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>"));
}

TEST_F(TileBuilderTest, DotChecksShapesAndPrecision) {
  Tile a = value("fp32", {8, 16}), b = value("fp32", {16, 4});
  EXPECT_EQ(result(tiles.dot(a, b, {.acc = value("fp32", {8, 4}), .precision = "tf32x3"})),
            "tile.dot float32[8, 4]");
  EXPECT_EQ(result(tiles.dot(a, b, {.acc = value("fp32", {4, 8})})), "TW0218");
  EXPECT_EQ(result(tiles.dot(a, b, {.acc = value("fp16", {8, 4})})), "TW0218");
  EXPECT_EQ(result(tiles.dot(a, a)), "TW0218");
  EXPECT_EQ(result(tiles.dot(a, b, {.precision = "fp8"})), "TW0216");
  EXPECT_EQ(result(tiles.dot(a, value("fp32", {16}))), "TW0218");
  EXPECT_EQ(result(tiles.dot(a, value("fp32"))), "TW0218");
  EXPECT_EQ(result(tiles.dot(value("fp32", {3, 8, 16}), value("fp32", {3, 16, 4}))),
            "tile.dot float32[3, 8, 4]");
  EXPECT_EQ(result(tiles.dot(value("fp32", {3, 8, 16}), value("fp32", {2, 16, 4}))), "TW0218");
  auto error = tiles.dot(a, a).reason();
  EXPECT_NE(error.message.find("K = 16"), std::string::npos);
  EXPECT_NE(error.message.find("K = 8"), std::string::npos);
}

//===-- Facts and debugging ------------------------------------------------------------------===//

TEST_F(TileBuilderTest, HintsAndAssertions) {
  EXPECT_EQ(result(tiles.hint(value("i32"), "multiple_of", {16})), "tile.hint int32");
  EXPECT_EQ(result(tiles.hint(value("i32", {8, 4}), "max_contiguous", {1, 4})),
            "tile.hint int32[8, 4]");
  EXPECT_EQ(result(tiles.hint(value("i32", {8, 4}), "max_constancy", {4})), "TW0221");
  EXPECT_EQ(result(tiles.hint(value("i32"), "multiple_of", {0})), "TW0221");
  EXPECT_EQ(result(tiles.hint(value("i32"), "is_even", {1})), "TW0216");
  EXPECT_EQ(result(tiles.assume(value("i32"))), "built");
  EXPECT_EQ(result(tiles.assume(value("i1", {8}))), "TW0220");
  EXPECT_EQ(result(tiles.deviceAssert(value("fp32", {8}), "is not 0", value("i1"))), "built");
  EXPECT_EQ(result(tiles.deviceAssert(value("i1", {8}), "", value("i1", {4}))), "TW0205");
  EXPECT_EQ(result(tiles.deviceAssert(value("i1"), "", value("i32"))), "TW0212");
  tiles.print("x = ", true, {value("u8"), value("i8", {4})});
  tiles.barrier();
  EXPECT_TRUE(contains("is_signed = array<i32: 0, 1>"));
}

TEST_F(TileBuilderTest, OperationsCarryTheLocation) {
  mlir::Location here = mlir::FileLineColLoc::get(&context, "kernel.py", 7, 3);
  tiles.setLocation(here);
  EXPECT_EQ(tiles.arange(0, 8)->value.getLoc(), here);
  EXPECT_EQ(tiles.programId(2).value.getLoc(), here);
  EXPECT_EQ(tiles.numPrograms(0).dtype, dtype("i32"));
}

} // namespace
