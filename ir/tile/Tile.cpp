// Registers the `tile` dialect and answers questions about its types.
#include "ir/tile/Tile.h"
#include "ir/layout/XorBasis.h"
#include "ir/tile/Fragment.h"
#include "ir/tile/SharedPhaseText.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <array>

using namespace mlir;
using namespace tw::tile;

//===-- Lists in attributes ------------------------------------------------------------------===//

/// [one, other]
template <typename Element>
static ParseResult parseListed(AsmParser &parser, SmallVector<Element> &list) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    FailureOr<Element> element = FieldParser<Element>::parse(parser);
    if (succeeded(element))
      list.push_back(*element);
    return ParseResult(element);
  });
}

template <typename Element> static void printListed(AsmPrinter &printer, ArrayRef<Element> list) {
  printer << '[';
  printer.printStrippedAttrOrType(list);
  printer << ']';
}

#include "ir/tile/TileDialect.cpp.inc"
#include "ir/tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/tile/TileAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tile/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/tile/TileAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/tile/TileOps.cpp.inc"
      >();
}

LogicalResult PtrType::verify(function_ref<InFlightDiagnostic()> emitError, Type pointee) {
  if (isa<PtrType, FloatType>(pointee) || pointee.isSignlessInteger())
    return success();
  return emitError() << "a pointer is to numbers or to pointers, not to " << pointee;
}

LogicalResult CopyAttr::verify(function_ref<InFlightDiagnostic()> emitError, CopyKind kind,
                               ArrayRef<unsigned> sizes, WaitKind) {
  unsigned most = kind == CopyKind::Boxes ? 128 : 16;
  auto isWrong = [&](unsigned bytes) { return !llvm::isPowerOf2_32(bytes) || bytes > most; };
  if (sizes.empty() || llvm::any_of(sizes, isWrong))
    return emitError() << "copies are of powers of two up to " << most << " bytes";
  return success();
}

static size_t numLaneBits(MmaAttr instruction) {
  return parseFragment(instruction.getFragmentA())->lanes.size();
}

/// Returns the mistake in how a machine serves the lanes of a warp; empty if there is none.
static StringRef mistakeIn(const tw::SharedPhase &phase, unsigned warpSize) {
  if (!llvm::isPowerOf2_32(phase.accessBytes) || !llvm::isPowerOf2_32(phase.numBanks))
    return "phases are of powers of two of bytes and banks";
  tw::XorBasis space;
  for (uint8_t lane : phase.span())
    if (lane >= warpSize || !space.insert(lane))
      return "lanes of phases are independent, below warp_size";
  return "";
}

/// Returns the mistake in the facts of a machine's memory; empty if there is none.
static StringRef mistakeInMemory(unsigned vectorBits, unsigned lineBytes, unsigned sectorBytes,
                                 unsigned banks, unsigned bankBytes) {
  if (!llvm::isPowerOf2_32(vectorBits) || vectorBits < 32 || vectorBits > 256)
    return "vector_bits is 32, 64, 128 or 256";
  if (!llvm::isPowerOf2_32(lineBytes) || lineBytes < 16 || lineBytes > 1024)
    return "line_bytes is a power of two from 16 to 1024";
  if (!llvm::isPowerOf2_32(sectorBytes) || sectorBytes > lineBytes)
    return "sector_bytes is a power of two up to line_bytes";
  if (!llvm::isPowerOf2_32(banks) || banks > 256 || !llvm::isPowerOf2_32(bankBytes) ||
      bankBytes > 16)
    return "banks are a power of two up to 256, bank_bytes one up to 16";
  return "";
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, unsigned warpSize,
                                 unsigned sharedBytes, unsigned registers, unsigned spareRegisters,
                                 unsigned maxWarps, unsigned vectorBits, unsigned lineBytes,
                                 unsigned sectorBytes, unsigned banks, unsigned bankBytes,
                                 ArrayRef<tw::SharedPhase> phases, ArrayRef<MmaAttr> instructions,
                                 ArrayRef<AsyncMmaAttr>, ArrayRef<CopyAttr>,
                                 ArrayRef<BlockAttr> blocks, ArrayRef<Feature>) {
  if (!llvm::isPowerOf2_32(warpSize) || warpSize > 1u << tw::SharedPhase::kMostLaneBits)
    return emitError() << "warp_size is a power of two up to 64";
  if (!llvm::isPowerOf2_32(maxWarps) || maxWarps > kMostWarps)
    return emitError() << "max_warps is a power of two up to " << kMostWarps;
  if (registers == 0 || registers > 1024 || sharedBytes > (1u << 30))
    return emitError() << "a thread has 1 to 1024 registers, and a CTA at most 2^30 bytes";
  if (spareRegisters >= registers)
    return emitError() << "spare_registers are fewer than registers";
  StringRef mistake = mistakeInMemory(vectorBits, lineBytes, sectorBytes, banks, bankBytes);
  for (const tw::SharedPhase &phase : phases)
    if (mistake.empty())
      mistake = mistakeIn(phase, warpSize);
  if (!mistake.empty())
    return emitError() << mistake;
  for (MmaAttr instruction : instructions) {
    if (numLaneBits(instruction) != llvm::Log2_32(warpSize))
      return emitError() << "fragments of matrix instructions are for warps of warp_size lanes";
    if (!instruction.isOfWarp())
      return emitError()
             << "matrix instructions of a warp have eight columns or more, and 16 bytes or more "
                "along k";
  }
  for (BlockAttr block : blocks)
    if (parseFragment(block.getFragment())->lanes.size() != llvm::Log2_32(warpSize))
      return emitError() << "fragments of blocks are for warps of warp_size lanes";
  return success();
}

LogicalResult BlockAttr::verify(function_ref<InFlightDiagnostic()> emitError, unsigned m,
                                unsigned n, unsigned bits, BlockUse, StringRef text) {
  if (bits != 8 && bits != 16 && bits != 32)
    return emitError() << "elements of a block have 8, 16 or 32 bits";
  std::optional<Fragment> fragment = parseFragment(text);
  if (!llvm::isPowerOf2_32(m) || !llvm::isPowerOf2_32(n) || !fragment)
    return emitError() << "a block has powers of two of rows and columns, and a fragment";
  SmallVector<FragmentBit> all(fragment->registers);
  all.append(fragment->lanes);
  size_t numBits = llvm::Log2_32(m) + llvm::Log2_32(n);
  for (auto [dim, extent] : {std::pair('m', m), std::pair('n', n)})
    for (unsigned bit = 0; bit < llvm::Log2_32(extent); ++bit)
      if (llvm::count(all, FragmentBit{dim, bit}) != 1)
        return emitError() << "the fragment holds each bit of rows (m) and columns (n) once";
  if (all.size() != numBits || (bits << fragment->registers.size()) % 32 != 0)
    return emitError() << "the fragment holds whole words of 32 bits, and nothing else";
  return success();
}

LogicalResult AsyncMmaAttr::verify(function_ref<InFlightDiagnostic()> emitError, MmaAttr mma,
                                   unsigned warps, unsigned columns, unsigned spanBytes, bool,
                                   unsigned preciseDepth) {
  if (!mma.isOfWarp() || mma.getM() != 16 || mma.getN() != 8 ||
      mma.getK() * registerBits(mma.getA()) != 256)
    return emitError()
           << "is made of a warp's instructions of 16 rows, 8 columns and 32 bytes along k";
  if (!llvm::isPowerOf2_32(warps) || !llvm::isPowerOf2_32(columns) || columns < mma.getN())
    return emitError() << "warps and columns are powers of two, and columns hold an instruction";
  if (spanBytes < 16 || spanBytes > 128 || !llvm::isPowerOf2_32(spanBytes))
    return emitError() << "rows span 16, 32, 64 or 128 bytes";
  if (preciseDepth % mma.getK() != 0 || (preciseDepth != 0 && !mma.getAccumulator().isF32()))
    return emitError() << "sums of f32 that lose bits are those of whole instructions";
  return success();
}

//===-- SIMD machines -------------------------------------------------------------------------===//

/// Returns how many neighbours along k come before the next column of B.
static unsigned groupOf(MmaAttr mma) {
  SmallVector<FragmentBit> bits = parseFragment(mma.getFragmentB())->registers;
  return 1u << (llvm::find_if(bits, [](FragmentBit bit) { return bit.dim == 'n'; }) - bits.begin());
}

unsigned ProductAttr::getGroup() const { return groupOf(getMma()); }

/// Returns the mistake in the operands of a product with an intrinsic; empty if there is none.
static StringRef mistakeInOperands(MmaAttr mma, Signs signs, Sums sums) {
  Type element = mma.getA(), accumulator = mma.getAccumulator();
  if (element != mma.getB() || isa<IntegerType>(element) != isa<IntegerType>(accumulator) ||
      !(isa<IntegerType>(element) || isa<Float16Type, BFloat16Type, Float32Type>(element)))
    return "operands of a core's product are of one type, floats of 16 or 32 bits or integers, and "
           "so are its sums";
  if (registerBits(accumulator) != 32 || groupOf(mma) * registerBits(element) != 32)
    return "neighbours along k fill a lane of 32 bits, which the accumulator has";
  if (mma.getM() == 1 && mma.getK() != groupOf(mma))
    return "a product of vectors has as many steps along k as a lane has elements";
  if (signs != Signs::SS && !element.isInteger(8))
    return "signs are those of bytes";
  if (sums == Sums::Zero && (mma.getM() > 1 || !isa<IntegerType>(accumulator)))
    return "products of vectors of integers may begin at zero, no others";
  return "";
}

LogicalResult ProductAttr::verify(function_ref<InFlightDiagnostic()> emitError, MmaAttr mma,
                                  unsigned perCycle, StringRef intrinsic, Signs signs, Sums sums) {
  if (numLaneBits(mma) != 0)
    return emitError() << "fragments of a core's products have one lane";
  if (perCycle == 0)
    return emitError() << "per_cycle is above 0";
  if (intrinsic.empty() && mma.getM() * mma.getK() != 1)
    return emitError() << "a product without an intrinsic is of 1 x n x 1 elements";
  if (!intrinsic.empty() && !intrinsic.starts_with("llvm."))
    return emitError() << "names of intrinsics begin with llvm.";
  StringRef mistake = intrinsic.empty() ? "" : mistakeInOperands(mma, signs, sums);
  if (!mistake.empty())
    return emitError() << mistake;
  CoreFragments known = coreFragments(mma.getM(), mma.getN(), mma.getK(), groupOf(mma));
  for (auto [text, expected] : {std::pair(mma.getFragmentA(), known.a),
                                {mma.getFragmentB(), known.b},
                                {mma.getFragmentAccumulator(), known.accumulator}})
    if (parseFragment(text)->registers != parseFragment(expected)->registers)
      return emitError() << "fragment \"" << text << "\" of a core's product is \"" << expected
                         << '"';
  return success();
}

LogicalResult MatrixRegistersAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                          unsigned count, unsigned rows, unsigned rowBytes,
                                          StringRef configure, StringRef release, StringRef zero,
                                          StringRef load, StringRef store) {
  auto isExtent = [](unsigned extent) { return llvm::isPowerOf2_32(extent) && extent <= 1024; };
  if (count < 8 || count > 64 || !isExtent(rows) || !isExtent(rowBytes) || rowBytes < 4)
    return emitError()
           << "there are 8 to 64 matrix registers, and rows and row_bytes are powers of "
              "two up to 1024";
  if (configure.empty())
    return emitError() << "what configures matrix registers has a name";
  if (!llvm::all_of(std::array{release, zero, load, store},
                    [](StringRef name) { return name.starts_with("llvm."); }))
    return emitError() << "names of intrinsics begin with llvm.";
  return success();
}

/// Returns the mistake in what a core's registers hold of a product; empty if there is none.
static StringRef mistakeInExtents(ProductAttr product, unsigned vectorBytes,
                                  MatrixRegistersAttr matrices) {
  MmaAttr mma = product.getMma();
  unsigned rowBytes = mma.getN() * elementBytes(mma.getAccumulator());
  if (!product.ofMatrices())
    return rowBytes == vectorBytes ? "" : "products of vectors have accumulators of vector_bytes";
  unsigned numGroups = mma.getK() / product.getGroup();
  bool fits = matrices && std::max(mma.getM(), numGroups) <= matrices.getRows() &&
              std::max(rowBytes, numGroups * 4) <= matrices.getRowBytes();
  return fits ? "" : "products of matrices fit matrix_registers";
}

LogicalResult SimdAttr::verify(function_ref<InFlightDiagnostic()> emitError, unsigned vectorBytes,
                               unsigned registers, unsigned lineBytes, unsigned cacheBytes,
                               ArrayRef<ProductAttr> products, MatrixRegistersAttr matrices,
                               StringRef, ArrayRef<Feature>) {
  if (!llvm::isPowerOf2_32(vectorBytes) || vectorBytes < 16 || vectorBytes > 256)
    return emitError() << "vector_bytes is a power of two from 16 to 256";
  if (registers < 8 || registers > 1024)
    return emitError() << "a core has 8 to 1024 registers";
  if (!llvm::isPowerOf2_32(lineBytes) || lineBytes > cacheBytes)
    return emitError() << "line_bytes is a power of two up to cache_bytes";
  for (ProductAttr product : products)
    if (StringRef mistake = mistakeInExtents(product, vectorBytes, matrices); !mistake.empty())
      return emitError() << mistake;
  return success();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

Type tw::tile::elementTypeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

ArrayRef<int64_t> tw::tile::shapeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

Type tw::tile::withElementType(Type type, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? RankedTensorType::get(tensor.getShape(), element, tensor.getEncoding()) : element;
}

int64_t tw::tile::numElementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 1;
}

unsigned tw::tile::elementBytes(Type element) {
  if (isa<PtrType>(element))
    return 8;
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}
