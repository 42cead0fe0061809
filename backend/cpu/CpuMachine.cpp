// Describes a processor's core to the passes, as rows: vectors, products and how fast they are.
#include "backend/cpu/CpuMachine.h"
#include "backend/cpu/MatrixUnit.h"
#include "ir/tile/Fragment.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <vector>

using namespace tw;

namespace {
/// The multiply-adds that a core does in a cycle, by LLVM's name of the processor.
struct ProcessorRates {
  llvm::StringRef processor;
  int f32, pairsOfBf16, quadsOfBytes;
};

/// An instruction that multiplies m x n x k elements, `group` of them in each lane of 32 bits.
struct Product {
  unsigned m, n, k, group;
  llvm::StringRef element, accumulator;
  int rate; // per cycle
  std::string intrinsic = {};
  llvm::StringRef signs = "ss", sums = "accumulator";
};
} // namespace

// Measured with loops over registers (f32 and bf16; of the second and third row as the first and
// the fourth); of bytes as the instruction tables at uops.info have it.
static constexpr ProcessorRates kRates[] = {
    {"sapphirerapids", 32, 16, 128}, {"emeraldrapids", 32, 16, 128}, {"graniterapids", 32, 16, 128},
    {"znver5", 32, 64, 128},         {"znver4", 16, 32, 64},
};
// The same for all processors that have the unit.
static constexpr int kMatricesOf16Bits = 512, kMatricesOfBytes = 1024;

// The smallest nearest cache of processors with vectors of 32 bytes.
static constexpr unsigned kCacheBytes = 32 << 10, kLineBytes = 64;

static constexpr llvm::StringLiteral kMatrixRegisters =
    "<count = 8, rows = 16, row_bytes = 64, configure = \"{0}\", release = "
    "\"llvm.x86.tilerelease\", "
    "zero = \"llvm.x86.tilezero\", load = \"llvm.x86.tileloadd64\", "
    "store = \"llvm.x86.tilestored64\">";

/// Returns the rates of a processor. One that is not in the table is taken to start as many of each
/// instruction in a cycle.
static ProcessorRates ratesOf(llvm::StringRef processor, unsigned vectorBytes) {
  for (const ProcessorRates &rates : kRates)
    if (rates.processor == processor)
      return rates;
  int f32 = 2 * int(vectorBytes) / 4;
  return {"", f32, 2 * f32, 4 * f32};
}

static std::string rowOf(const Product &product) {
  tile::CoreFragments fragments =
      tile::coreFragments(product.m, product.n, product.k, product.group);
  std::string mma =
      llvm::formatv("<{0} x {1} x {2}, {3} in \"{4}\", {3} in \"{5}\" -> {6} in \"{7}\">",
                    product.m, product.n, product.k, product.element, fragments.a, fragments.b,
                    product.accumulator, fragments.accumulator);
  std::string row = llvm::formatv("<mma = {0}, per_cycle = {1}", mma, product.rate);
  if (!product.intrinsic.empty())
    row += llvm::formatv(", intrinsic = \"{0}\", signs = {1}, sums = {2}", product.intrinsic,
                         product.signs, product.sums);
  return row + ">";
}

static std::vector<Product> vectorProducts(const CpuModel &model, unsigned vectorBytes) {
  const unsigned lanes = vectorBytes / 4;
  const bool isWide = vectorBytes == 64, isHalf = vectorBytes == 32;
  const bool hasFma = model.features.contains("fma");
  llvm::StringRef known = model.emulatesMatrices ? kRates[0].processor : model.name;
  ProcessorRates rates = ratesOf(known, vectorBytes);
  std::vector<Product> products = {
      {1, lanes, 1, 1, "f32", "f32", hasFma ? rates.f32 : rates.f32 / 2}};
  if (isWide && model.features.contains("avx512bf16"))
    products.push_back(
        {1, lanes, 2, 2, "bf16", "f32", rates.pairsOfBf16, "llvm.x86.avx512bf16.dpbf16ps.512"});
  if (isWide ? model.features.contains("avx512vnni") : isHalf && model.features.contains("avxvnni"))
    products.push_back({1, lanes, 4, 4, "i8", "i32", rates.quadsOfBytes,
                        "llvm.x86.avx512.vpdpbusd." + std::to_string(8 * vectorBytes), "us"});
  // In the ports of the multiply-add, twice as many lanes; the sums go elsewhere.
  products.push_back({1, lanes, 2, 2, "i16", "i32", 2 * rates.f32,
                      isWide   ? "llvm.x86.avx512.pmaddw.d.512"
                      : isHalf ? "llvm.x86.avx2.pmadd.wd"
                               : "llvm.x86.sse2.pmadd.wd",
                      "ss", "zero"});
  return products;
}

static std::vector<Product> matrixProducts(const CpuModel &model) {
  auto has = [&](llvm::StringRef feature) {
    return model.emulatesMatrices || model.features.contains(feature);
  };
  std::vector<Product> products;
  if (has("amx-bf16"))
    products.push_back({16, 16, 32, 2, "bf16", "f32", kMatricesOf16Bits, "llvm.x86.tdpbf16ps"});
  if (has("amx-fp16"))
    products.push_back({16, 16, 32, 2, "f16", "f32", kMatricesOf16Bits, "llvm.x86.tdpfp16ps"});
  if (has("amx-int8"))
    for (llvm::StringRef signs : {"ss", "su", "us", "uu"})
      products.push_back({16, 16, 64, 4, "i8", "i32", kMatricesOfBytes,
                          ("llvm.x86.tdpb" + signs + "d").str(), signs});
  return products;
}

CpuMachine tw::describeCpu(const CpuModel &model) {
  auto hasAll = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names, [&](llvm::StringRef name) { return model.features.contains(name); });
  };
  const bool isWide = hasAll({"avx512f", "avx512bw", "avx512vl", "avx512dq"});
  const bool isHalf = !isWide && hasAll({"avx2", "fma"});
  const unsigned vectorBytes = isWide ? 64 : isHalf ? 32 : 16;
  const bool hasMatrices = model.emulatesMatrices || model.features.contains("amx-tile");

  std::vector<Product> products = vectorProducts(model, vectorBytes);
  if (hasMatrices)
    llvm::append_range(products, matrixProducts(model));
  std::string text = llvm::formatv(
      "#tile.simd<vector_bytes = {0}, registers = {1}, line_bytes = {2}, cache_bytes = {3}, "
      "products = [{4}]",
      vectorBytes, isWide ? 32 : 16, kLineBytes, kCacheBytes,
      llvm::join(llvm::map_range(products, rowOf), ", "));
  if (hasMatrices)
    text += ", matrix_registers = " +
            llvm::formatv(kMatrixRegisters.data(), kConfigureMatrixUnit).str();
  std::string refusal;
  if (model.isHost && !mayUseMatrixUnit(&refusal) && !refusal.empty())
    text += ", matrix_refusal = \"" + refusal + '"';
  llvm::SmallVector<llvm::StringRef> features;
  if (model.features.contains("fma"))
    features.push_back("fma");
  if (isWide)
    features.push_back("scale_by_power");
  if (!features.empty())
    text += ", features = [" + llvm::join(features, ", ") + "]";
  return {vectorBytes, text + ">"};
}
