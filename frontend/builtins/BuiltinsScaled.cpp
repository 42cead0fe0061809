// check_dot_scaled: refuses operands that tw.dot_scaled does not take. scaled_product: the product
// of those that the machine has an instruction for. converted_product: a remark on others, which
// the library composes.
#include "frontend/builtins/Builtins.h"
#include "frontend/tiles/Operands.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;

namespace {
/// One side of the product as it was given.
struct ScaledSide {
  const char *name; // "lhs"
  bool isLeft;
  std::string format = "None"; // what is not a format
  TypedValue elements = {};
  std::optional<TypedValue> scale = {};
  bool isPackedAlongK = true;

  bool isFp4() const { return format == "e2m1"; }
  bool isTwiceAlong(bool k) const { return isFp4() && isPackedAlongK == k; }
  /// Extents of the elements, which fp4 has two of per byte.
  int64_t extent(bool k) const {
    llvm::ArrayRef<int64_t> shape = elements.shape().take_back(2);
    return shape[k == isLeft] * (isTwiceAlong(k) ? 2 : 1);
  }
};

/// The positions of the signature.
enum { Lhs, LhsScale, LhsFormat, Rhs, RhsScale, RhsFormat, Acc, LhsKPack, RhsKPack, OutDType };
} // namespace

static constexpr BuiltinSignature kSignature =
    "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc, lhs_k_pack, rhs_k_pack, "
    "out_dtype";

static Reason problem(Code code, const ScaledSide &side, std::string message, std::string hint) {
  return operandError(code, "`dot_scaled`: " + std::string(side.name) + message, std::move(hint));
}

/// The dtypes that hold elements of a format, the one of its own first.
static llvm::SmallVector<llvm::StringRef> dtypesOf(llvm::StringRef format) {
  using Names = llvm::SmallVector<llvm::StringRef>;
  return llvm::StringSwitch<Names>(format)
      .Case("e2m1", Names{"uint8", "int8"})
      .Case("e4m3", Names{"float8e4nv", "uint8", "int8"})
      .Case("e5m2", Names{"float8e5", "uint8", "int8"})
      .Case("bf16", Names{"bfloat16", "uint16", "int16"})
      .Case("fp16", Names{"float16", "uint16", "int16"})
      .Default({});
}

static std::optional<Reason> checkElements(const ScaledSide &side) {
  llvm::SmallVector<llvm::StringRef> dtypes = dtypesOf(side.format);
  if (dtypes.empty())
    return problem(Code::ScaledFormat, side, "_format is \"" + side.format + "\"",
                   "the formats are \"e2m1\", \"e4m3\", \"e5m2\", \"bf16\" and \"fp16\"");
  std::string given = " is " + side.elements.str();
  if (!llvm::is_contained(dtypes, side.elements.dtype.str()))
    return problem(Code::ScaledElements, side, given + ", which holds no \"" + side.format + "\"",
                   side.isFp4() ? "two elements of e2m1 lie in each byte of a uint8, the first in "
                                  "the lower half"
                                : "its elements are " + dtypes[0].str() + ", or their bits as " +
                                      dtypes[1].str());
  size_t rank = side.elements.shape().size();
  if (rank != 2 && rank != 3)
    return problem(Code::ScaledShapes, side, given + ", of rank " + std::to_string(rank),
                   "operands have rank 2, or rank 3 with a leading batch dimension");
  if (!side.isPackedAlongK && !side.isFp4())
    return problem(Code::ScaledElements, side,
                   "_k_pack is False, but \"" + side.format + "\" is not packed",
                   "only e2m1 has two elements per byte, which may lie along another dimension "
                   "than K");
  return std::nullopt;
}

static std::optional<Reason> checkScale(const ScaledSide &side) {
  if (!side.scale)
    return std::nullopt;
  std::string scale = "_scale is " + side.scale->str();
  std::string dtype = side.scale->dtype.str();
  bool isE4M3 = dtype == "float8e4nv";
  if (!isE4M3 && dtype != "uint8" && dtype != "int8")
    return problem(Code::ScaledScales, side, scale,
                   "a scale is uint8, of which s means 2 to the power s - 127 for 32 elements "
                   "along K, or float8e4nv for 16 or 32 elements, or None");
  int64_t group = isE4M3 ? 16 : 32, depth = side.extent(/*k=*/true);
  if (depth % group != 0)
    return problem(Code::ScaledScales, side,
                   " has K = " + std::to_string(depth) + ", not a multiple of " +
                       std::to_string(group),
                   "one " + dtype + " scales " + std::to_string(group) + " elements along K");
  auto isInGroupsOf = [&](int64_t size) {
    llvm::SmallVector<int64_t> wanted(side.elements.shape().drop_back(2));
    wanted.append({side.extent(/*k=*/false), depth / size});
    return depth % size == 0 && side.scale->shape() == llvm::ArrayRef<int64_t>(wanted);
  };
  if (isInGroupsOf(group) || isInGroupsOf(32))
    return std::nullopt;
  llvm::SmallVector<int64_t> wanted(side.elements.shape().drop_back(2));
  wanted.append({side.extent(/*k=*/false), depth / group});
  return problem(Code::ScaledScales, side,
                 scale + ", but must be " + shapeText(wanted) + " for " + side.elements.str(),
                 std::string(side.isLeft ? "lhs_scale is [M, K / " : "rhs_scale is [N, K / ") +
                     std::to_string(group) + "]: one number for " + std::to_string(group) +
                     (isE4M3 ? " or 32" : "") + " elements along K");
}

static std::optional<Reason> checkPair(const ScaledSide &lhs, const ScaledSide &rhs,
                                       const std::optional<TypedValue> &acc, DType result) {
  llvm::ArrayRef<int64_t> left = lhs.elements.shape(), right = rhs.elements.shape();
  std::string pair = "`dot_scaled` of " + lhs.elements.str() + " and " + rhs.elements.str();
  if (left.size() != right.size() || left.drop_back(2) != right.drop_back(2))
    return operandError(Code::ScaledShapes, pair + ": their batches differ",
                        "both are of rank 2, or of rank 3 with one batch extent");
  if (lhs.extent(true) != rhs.extent(true))
    return operandError(Code::ScaledShapes,
                        pair + ": lhs has K = " + std::to_string(lhs.extent(true)) +
                            " elements and rhs K = " + std::to_string(rhs.extent(true)),
                        "lhs is [M, K] and rhs is [K, N]; a byte of e2m1 counts as two elements "
                        "along K, or along M or N with k_pack=False");
  if (result != findDType("float32"))
    return operandError(Code::ScaledResult, "`dot_scaled`: out_dtype is " + result.str(),
                        "the result is float32; cast it with .to(...)");
  llvm::SmallVector<int64_t> shape(left.drop_back(2));
  shape.append({lhs.extent(false), rhs.extent(false)});
  if (std::optional<Reason> error = checkTileShape(shape))
    return error;
  if (acc && (acc->dtype != result || acc->shape() != llvm::ArrayRef<int64_t>(shape)))
    return operandError(Code::ScaledResult,
                        "`dot_scaled`: acc is " + acc->str() + ", but must be " + result.str() +
                            shapeText(shape),
                        "acc has the type and shape of the result");
  return std::nullopt;
}

static LogicalResult readSide(BuiltinCall &call, ScaledSide &side) {
  size_t first = side.isLeft ? Lhs : Rhs;
  if (failed(call.readFrom(first, side.elements, side.scale, side.format)))
    return failure();
  return call.readFrom(side.isLeft ? LhsKPack : RhsKPack, side.isPackedAlongK);
}

static FailureOr<PyValue> emitCheckDotScaled(BuiltinCall &call) {
  call.name = "dot_scaled"; // what the user called
  ScaledSide lhs{"lhs", /*isLeft=*/true}, rhs{"rhs", /*isLeft=*/false};
  std::optional<TypedValue> acc;
  DType result;
  if (failed(readSide(call, lhs)) || failed(readSide(call, rhs)) ||
      failed(call.readFrom(Acc, acc)) || failed(call.readFrom(OutDType, result)))
    return failure();
  std::optional<Reason> error;
  for (const ScaledSide *side : {&lhs, &rhs}) {
    error = error ? error : checkElements(*side);
    error = error ? error : checkScale(*side);
  }
  error = error ? error : checkPair(lhs, rhs, acc, result);
  return call.orReport(error, {});
}

/// Emits the product of tiles of 8-bit floats, or bytes of two e2m1 along K, with scales of 8 bits.
static FailureOr<PyValue> emitScaledProduct(BuiltinCall &call) {
  TypedValue lhs, lhsScale, rhs, rhsScale, acc;
  if (failed(call.read(lhs, lhsScale, rhs, rhsScale, acc)))
    return failure();
  return call.orReport(call.tiles().dot(lhs, rhs, {.acc = acc, .scales = {lhsScale, rhsScale}}));
}

/// Says why a product is not by the machine's instruction.
static FailureOr<PyValue> emitConvertedProduct(BuiltinCall &call) {
  std::string reason;
  if (failed(call.read(reason)))
    return failure();
  call.emitter.remark(call.site, "dot_scaled converts its operands before it multiplies: " + reason,
                      Code::ConvertedProduct);
  return PyValue{None{}};
}

static constexpr BuiltinRow kScaledRows[] = {
    {"converted_product", "reason", emitConvertedProduct},
    {"scaled_product", "lhs, lhs_scale, rhs, rhs_scale, acc", emitScaledProduct},
    {"check_dot_scaled", kSignature, emitCheckDotScaled},
};

llvm::ArrayRef<BuiltinRow> tw::scaledBuiltins() { return kScaledRows; }
