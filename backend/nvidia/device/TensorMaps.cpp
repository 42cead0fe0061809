// Tensor maps in the form that the CUDA driver gives them.
#include "backend/nvidia/device/TensorMaps.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/MathExtras.h"

using namespace tw;
using namespace tw::gpu;

/// Values of CUtensorMapSwizzle.
static int swizzleNumber(uint32_t spanBytes) {
  return spanBytes < 32 ? 0 : int(llvm::Log2_32(spanBytes)) - 4;
}

std::optional<RuntimeError> nvidia::encodeTensorMap(GpuContext &context,
                                                    const TensorMapRecipe &recipe,
                                                    const TensorMapNumbers &numbers, void *bytes) {
  constexpr int notInterleaved = 0, promotesTo128Bytes = 2, fillsWithZeros = 0;
  constexpr std::array<uint32_t, kMostMapDims> ones = {1, 1, 1, 1, 1};
  DriverResult result = context.call().encodeTensorMap(
      bytes, int(recipe.element), unsigned(recipe.box.size()),
      reinterpret_cast<void *>(numbers.base), numbers.extents.data(), numbers.strides.data(),
      recipe.box.data(), ones.data(), notInterleaved, swizzleNumber(recipe.spanBytes),
      promotesTo128Bytes, fillsWithZeros);
  if (result == kSuccess)
    return std::nullopt;
  RuntimeError error = context.failureOf(result, context.call().encodeTensorMap.name,
                                         "describing an array by a tensor map");
  error.code = Code::TensorMapRefused;
  return error;
}
