// The layout of a tile: its text, what its verifier asks, and types with and without it.
#include "ir/tile/Tile.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

/// Reads `[[0, 1], [2, 0]]` into bases of a tile of `shape`.
static ParseResult parseBases(AsmParser &parser, ArrayRef<int64_t> shape,
                              LinearLayout::Bases &bases) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    SMLoc place = parser.getCurrentLocation();
    SmallVector<int64_t> coordinates;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(coordinates.emplace_back());
        }))
      return failure();
    if (coordinates.size() != shape.size())
      return parser.emitError(place, "a basis has a coordinate per dimension");
    uint32_t element = 0;
    for (auto [coordinate, extent] : llvm::zip(coordinates, shape)) {
      if (coordinate < 0 || coordinate >= extent)
        return parser.emitError(place, "a basis lies outside the tile");
      element = element * uint32_t(extent) + uint32_t(coordinate);
    }
    bases.push_back(element);
    return success();
  });
}

static std::optional<Place> placeOf(StringRef name) {
  for (unsigned place = 0; place < kNumPlaces; ++place)
    if (nameOf(Place(place)) == name)
      return Place(place);
  return std::nullopt;
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(shape.emplace_back());
      }))
    return nullptr;
  uint64_t numElements = 1;
  for (int64_t extent : shape) {
    if (extent < 1 || extent > (1 << 24) || !llvm::isPowerOf2_64(extent) ||
        (numElements *= extent) > (uint64_t(1) << 31)) {
      parser.emitError(start, "extents are powers of two, of less than 2^32 elements");
      return nullptr;
    }
  }
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  StringRef name;
  while (succeeded(parser.parseOptionalKeyword(&name))) {
    std::optional<Place> place = placeOf(name);
    if (!place || parser.parseEqual() || parseBases(parser, shape, bases[unsigned(*place)])) {
      if (!place)
        parser.emitError(start, "unknown place ") << name;
      return nullptr;
    }
  }
  if (parser.parseGreater())
    return nullptr;
  return LayoutAttr::get(parser.getContext(), LinearLayout(shape, std::move(bases)));
}

void LayoutAttr::print(AsmPrinter &printer) const {
  const LinearLayout &layout = getValue();
  printer << "<[";
  llvm::interleaveComma(layout.shape(), printer);
  printer << "] " << layout.text() << ">";
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (ArrayRef<int64_t>(getValue().shape()) != shape)
    return emitError() << "the layout is of another shape than the tile";
  if (!getValue().isSurjective())
    return emitError() << "the layout leaves elements of the tile out";
  return success();
}

llvm::hash_code tw::hash_value(const LinearLayout &layout) {
  llvm::hash_code hash = llvm::hash_combine_range(layout.shape());
  for (unsigned place = 0; place < kNumPlaces; ++place)
    hash = llvm::hash_combine(hash, llvm::hash_combine_range(layout.bases(Place(place))));
  return hash;
}

const LinearLayout &tw::tile::layoutOf(Type tile) {
  return cast<LayoutAttr>(cast<RankedTensorType>(tile).getEncoding()).getValue();
}

bool tw::tile::hasLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<LayoutAttr>(tensor.getEncoding());
}

RankedTensorType tw::tile::withLayout(Type tile, const LinearLayout &layout) {
  auto tensor = cast<RankedTensorType>(tile);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               LayoutAttr::get(tile.getContext(), layout));
}

Type tw::tile::reducedType(Type tile, unsigned axis) {
  auto tensor = cast<RankedTensorType>(tile);
  SmallVector<int64_t> shape(tensor.getShape());
  shape.erase(shape.begin() + axis);
  if (shape.empty())
    return tensor.getElementType();
  auto result = RankedTensorType::get(shape, tensor.getElementType());
  if (!hasLayout(tile))
    return result;
  return withLayout(result, layoutOf(tile).withoutDim(axis).withoutFreeRegisters());
}
