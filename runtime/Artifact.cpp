// Encodes artifacts as self-contained bytes, and decodes them with every length checked.
#include "runtime/Artifact.h"
#include <cstring>
#include <string_view>

using namespace tw;

namespace {
constexpr std::string_view kMagic = "TWARTIFACT";
constexpr uint32_t kVersion = 7;

/// Appends values in the machine's byte order: artifacts do not travel between kinds of machine.
class Encoder {
public:
  template <typename T> void addNumber(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void addText(std::string_view text) {
    addNumber<uint64_t>(text.size());
    bytes.append(text);
  }
  std::string bytes;
};

/// Takes values from the front. After the first failure everything fails and reads as empty.
class Decoder {
public:
  explicit Decoder(std::string_view bytes) : rest(bytes) {}
  template <typename T> T takeNumber() {
    T value{};
    if (rest.size() < sizeof(T)) {
      fail();
      return value;
    }
    memcpy(&value, rest.data(), sizeof(T));
    rest.remove_prefix(sizeof(T));
    return value;
  }
  std::string takeText() {
    uint64_t size = takeNumber<uint64_t>();
    if (size > rest.size()) {
      fail();
      return {};
    }
    std::string text(rest.substr(0, size));
    rest.remove_prefix(size);
    return text;
  }
  /// A count of things that take at least `bytesEach`: a huge one is refused before anything is
  /// allocated for it.
  uint64_t takeCount(size_t bytesEach) {
    uint64_t count = takeNumber<uint64_t>();
    if (count > rest.size() / bytesEach) {
      fail();
      return 0;
    }
    return count;
  }
  bool isComplete() const { return !failed && rest.empty(); }

private:
  void fail() {
    failed = true;
    rest = {};
  }
  std::string_view rest;
  bool failed = false;
};
} // namespace

static void addProducts(Encoder &encoder, const std::vector<LaunchProduct> &products) {
  encoder.addNumber<uint64_t>(products.size());
  for (const LaunchProduct &product : products) {
    encoder.addNumber(product.factor);
    encoder.addNumber<uint64_t>(product.parameters.size());
    for (uint32_t parameter : product.parameters)
      encoder.addNumber(parameter);
  }
}

static void addTensorMap(Encoder &encoder, const TensorMapRecipe &recipe) {
  encoder.addNumber(recipe.parameter);
  encoder.addNumber(uint32_t(recipe.element));
  addProducts(encoder, recipe.extents);
  addProducts(encoder, recipe.strides);
  encoder.addNumber<uint64_t>(recipe.box.size());
  for (uint32_t extent : recipe.box)
    encoder.addNumber(extent);
  encoder.addNumber(recipe.spanBytes);
}

static std::vector<LaunchProduct> takeProducts(Decoder &decoder) {
  std::vector<LaunchProduct> products(decoder.takeCount(2 * sizeof(uint64_t)));
  for (LaunchProduct &product : products) {
    product.factor = decoder.takeNumber<int64_t>();
    product.parameters.resize(decoder.takeCount(sizeof(uint32_t)));
    for (uint32_t &parameter : product.parameters)
      parameter = decoder.takeNumber<uint32_t>();
  }
  return products;
}

static TensorMapRecipe takeTensorMap(Decoder &decoder) {
  TensorMapRecipe recipe;
  recipe.parameter = decoder.takeNumber<uint32_t>();
  recipe.element = MapElement(decoder.takeNumber<uint32_t>());
  recipe.extents = takeProducts(decoder);
  recipe.strides = takeProducts(decoder);
  recipe.box.resize(decoder.takeCount(sizeof(uint32_t)));
  for (uint32_t &extent : recipe.box)
    extent = decoder.takeNumber<uint32_t>();
  recipe.spanBytes = decoder.takeNumber<uint32_t>();
  return recipe;
}

std::string tw::encodeArtifact(const Artifact &artifact) {
  Encoder encoder;
  encoder.addText(kMagic);
  encoder.addNumber(kVersion);
  encoder.addText(artifact.target);
  encoder.addText(artifact.symbol);
  encoder.addText(artifact.binary);
  encoder.addNumber(artifact.scratchBytes);
  encoder.addNumber(artifact.codeBytes);
  encoder.addNumber<uint64_t>(artifact.parameters.size());
  for (const ArtifactParameter &parameter : artifact.parameters) {
    encoder.addText(parameter.name);
    encoder.addText(parameter.type);
    encoder.addNumber<uint8_t>(parameter.isStored + 2 * parameter.isLoaded);
    encoder.addNumber<int32_t>(parameter.sourceIndex);
  }
  encoder.addText(artifact.assembled);
  encoder.addText(artifact.assembler);
  encoder.addText(artifact.buildOptions);
  encoder.addNumber<uint64_t>(artifact.resources.size());
  for (const auto &[name, amount] : artifact.resources) {
    encoder.addText(name);
    encoder.addNumber(amount);
  }
  encoder.addNumber<uint64_t>(artifact.sharedBuffers.size());
  for (const ArtifactBuffer &buffer : artifact.sharedBuffers) {
    encoder.addText(buffer.name);
    encoder.addNumber(buffer.offset);
    encoder.addNumber(buffer.bytes);
  }
  encoder.addNumber<uint64_t>(artifact.tensorMaps.size());
  for (const TensorMapRecipe &recipe : artifact.tensorMaps)
    addTensorMap(encoder, recipe);
  encoder.addNumber<uint64_t>(artifact.promises.size());
  for (const std::string &form : artifact.promises)
    encoder.addText(form);
  encoder.addNumber<uint64_t>(artifact.milliseconds.size());
  for (const auto &[piece, milliseconds] : artifact.milliseconds) {
    encoder.addText(piece);
    encoder.addNumber(milliseconds);
  }
  return std::move(encoder.bytes);
}

bool tw::decodeArtifact(const std::string &bytes, Artifact &artifact) {
  Decoder decoder(bytes);
  if (decoder.takeText() != kMagic || decoder.takeNumber<uint32_t>() != kVersion)
    return false;
  Artifact result;
  result.target = decoder.takeText();
  result.symbol = decoder.takeText();
  result.binary = decoder.takeText();
  result.scratchBytes = decoder.takeNumber<uint64_t>();
  result.codeBytes = decoder.takeNumber<uint64_t>();
  uint64_t numParameters = decoder.takeCount(2 * sizeof(uint64_t) + 5);
  for (uint64_t i = 0; i < numParameters; ++i) {
    ArtifactParameter parameter;
    parameter.name = decoder.takeText();
    parameter.type = decoder.takeText();
    uint8_t uses = decoder.takeNumber<uint8_t>();
    parameter.isStored = uses & 1;
    parameter.isLoaded = uses & 2;
    parameter.sourceIndex = decoder.takeNumber<int32_t>();
    result.parameters.push_back(std::move(parameter));
  }
  result.assembled = decoder.takeText();
  result.assembler = decoder.takeText();
  result.buildOptions = decoder.takeText();
  uint64_t numResources = decoder.takeCount(2 * sizeof(uint64_t));
  for (uint64_t i = 0; i < numResources; ++i) {
    std::string name = decoder.takeText();
    result.resources[name] = decoder.takeNumber<int64_t>();
  }
  uint64_t numBuffers = decoder.takeCount(3 * sizeof(uint64_t));
  for (uint64_t i = 0; i < numBuffers; ++i) {
    ArtifactBuffer buffer;
    buffer.name = decoder.takeText();
    buffer.offset = decoder.takeNumber<uint64_t>();
    buffer.bytes = decoder.takeNumber<uint64_t>();
    result.sharedBuffers.push_back(std::move(buffer));
  }
  uint64_t numMaps = decoder.takeCount(5 * sizeof(uint64_t));
  bool areMapsWellFormed = true;
  for (uint64_t i = 0; i < numMaps; ++i) {
    result.tensorMaps.push_back(takeTensorMap(decoder));
    areMapsWellFormed &= isWellFormed(result.tensorMaps.back(), result.parameters);
  }
  uint64_t numForms = decoder.takeCount(sizeof(uint64_t));
  for (uint64_t i = 0; i < numForms; ++i)
    result.promises.push_back(decoder.takeText());
  uint64_t numPieces = decoder.takeCount(2 * sizeof(uint64_t));
  for (uint64_t i = 0; i < numPieces; ++i) {
    std::string piece = decoder.takeText();
    result.milliseconds[piece] = decoder.takeNumber<double>();
  }
  if (!decoder.isComplete() || !areMapsWellFormed)
    return false;
  artifact = std::move(result);
  return true;
}
