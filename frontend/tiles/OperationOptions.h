// The options of operations, as kernels write them.
#ifndef FRONTEND_OPERATIONOPTIONS_H
#define FRONTEND_OPERATIONOPTIONS_H
#include "frontend/values/TypedValue.h"
#include <string>

namespace tw {

struct CastOptions {
  bool isBitcast = false;
  llvm::StringRef rounding = ""; // "", "rtne" or "rtz"
};
struct LoadOptions {
  std::string cache, evict; // as the user wrote them; "" for none
  bool isVolatile = false;
};
struct AtomicOptions {
  std::string order = "acq_rel", scope = "gpu";
};
struct DotOptions {
  std::optional<TypedValue> acc = std::nullopt;
  llvm::StringRef precision = "";               // "", tf32, tf32x3, ieee, bf16x3 or bf16x6
  std::optional<DType> outDType = std::nullopt; // without acc
};
} // namespace tw
#endif
