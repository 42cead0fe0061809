// Reads fragments of matrix instructions and checks that they hold every element.
#include "ir/tile/Fragment.h"
#include "ir/tile/Tile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw::tile;

static std::optional<FragmentBit> parseBit(StringRef word) {
  if (word == "-")
    return FragmentBit();
  FragmentBit bit{word.front()};
  bool isBit = StringRef("mnk").contains(bit.dim) && !word.drop_front().getAsInteger(10, bit.bit);
  return isBit && bit.bit < 32 ? std::optional(bit) : std::nullopt;
}

static bool parseBits(StringRef text, SmallVectorImpl<FragmentBit> &bits) {
  SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  for (StringRef word : words) {
    std::optional<FragmentBit> bit = parseBit(word);
    if (!bit)
      return false;
    bits.push_back(*bit);
  }
  return true;
}

std::optional<Fragment> tw::tile::parseFragment(StringRef text) {
  auto [registers, lanes] = text.split('|');
  Fragment fragment;
  bool isRead = text.contains('|') && parseBits(registers, fragment.registers) &&
                parseBits(lanes, fragment.lanes);
  return isRead ? std::optional(std::move(fragment)) : std::nullopt;
}

/// Why a text is not a fragment of a matrix with these dimensions; nothing when it is one.
static std::string problemOf(StringRef text, ArrayRef<std::pair<char, unsigned>> extents) {
  std::optional<Fragment> fragment = parseFragment(text);
  if (!fragment)
    return "is not a list of bits such as \"k0 m3 | k1 m0\"";
  SmallVector<FragmentBit> bits(fragment->registers);
  bits.append(fragment->lanes);
  size_t numBits = llvm::count_if(bits, [](FragmentBit bit) { return bit.dim != '-'; });
  size_t numExpected = 0;
  for (auto [dim, extent] : extents)
    for (unsigned bit = 0; bit < llvm::Log2_32(extent); ++bit, ++numExpected)
      if (llvm::count(bits, FragmentBit{dim, bit}) != 1)
        return ("must hold bit " + Twine(dim) + Twine(bit) + " once").str();
  return numBits == numExpected ? "" : "holds bits that the matrix does not have";
}

/// " n0 n1": bits of a dimension.
static std::string bitsOf(char dim, unsigned from, unsigned to) {
  std::string text;
  for (unsigned bit = from; bit < to; ++bit)
    text += (" " + Twine(dim) + Twine(bit)).str();
  return text;
}

CoreFragments tw::tile::coreFragments(unsigned m, unsigned n, unsigned k, unsigned group) {
  unsigned rows = llvm::Log2_32(m), columns = llvm::Log2_32(n), depth = llvm::Log2_32(k);
  unsigned inLane = std::min(llvm::Log2_32(group), depth);
  std::string a = bitsOf('k', 0, depth) + bitsOf('m', 0, rows);
  for (unsigned bit = 0; m == 1 && bit < columns; ++bit)
    a += " -";
  std::string b = bitsOf('k', 0, inLane) + bitsOf('n', 0, columns) + bitsOf('k', inLane, depth);
  std::string sums = bitsOf('n', 0, columns) + bitsOf('m', 0, rows);
  auto finished = [](StringRef text) { return (text.ltrim() + " |").str(); };
  return {finished(a), finished(b), finished(sums)};
}

Type tw::tile::storedType(Type type) {
  if (type.isUnsignedInteger(8) || isa<Float4E2M1FNType>(type))
    return IntegerType::get(type.getContext(), 8);
  return isa<FloatTF32Type>(type) ? Type(Float32Type::get(type.getContext())) : type;
}

unsigned tw::tile::packedInStored(Type type) { return isa<Float4E2M1FNType>(type) ? 2 : 1; }

unsigned tw::tile::registerBits(Type type) {
  return type.isIntOrFloat() ? storedType(type).getIntOrFloatBitWidth() : 0;
}

bool MmaAttr::isOfWarp() const { return getN() >= 8 && getK() * registerBits(getA()) >= 128; }

LogicalResult MmaAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, unsigned m,
                              unsigned n, unsigned k, Type a, Type b, Type accumulator,
                              StringRef fragmentA, StringRef fragmentB,
                              StringRef fragmentAccumulator, StringRef fragmentScales) {
  for (unsigned extent : {m, n, k})
    if (!llvm::isPowerOf2_32(extent) || extent > 1024)
      return emitError() << "extents of a matrix instruction are powers of two up to 1024, not "
                         << extent;
  for (Type type : {a, b, accumulator})
    if (!isa<IntegerType, FloatType>(type) || !llvm::isPowerOf2_32(registerBits(type)) ||
        registerBits(type) < 8 || registerBits(type) > 64)
      return emitError() << "a matrix instruction has integers or floats of 8 to 64 bits, not "
                         << type;
  if (registerBits(a) != registerBits(b))
    return emitError() << "a matrix instruction has operands of one width";
  using Extent = std::pair<char, unsigned>;
  SmallVector<std::tuple<StringRef, Extent, Extent>> fragments = {
      {fragmentA, {'m', m}, {'k', k / packedInStored(a)}},
      {fragmentB, {'k', k / packedInStored(b)}, {'n', n}},
      {fragmentAccumulator, {'m', m}, {'n', n}}};
  if (!fragmentScales.empty())
    fragments.push_back({fragmentScales, {'m', m}, {'k', k / kScaledGroup}});
  for (auto [text, first, second] : fragments)
    if (std::string problem = problemOf(text, {first, second}); !problem.empty())
      return emitError() << "fragment \"" << text << "\" " << problem;
  size_t numLaneBits = parseFragment(fragmentA)->lanes.size();
  for (auto [text, first, second] : fragments)
    if (std::optional<Fragment> fragment = parseFragment(text);
        fragment->lanes.size() != numLaneBits || numLaneBits > 6 || fragment->registers.size() > 10)
      return emitError() << "fragments of an instruction are of one number of lanes, up to 64, and "
                            "have at most 1024 registers";
  return success();
}
