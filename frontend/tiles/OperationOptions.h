// The operators and options of operations, as kernels write them.
#ifndef FRONTEND_OPERATIONOPTIONS_H
#define FRONTEND_OPERATIONOPTIONS_H
#include <string>

namespace tw {

enum class BinaryOperator {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  LShift,
  RShift,
  BitAnd,
  BitOr,
  BitXor
};
enum class Comparison { Lt, LtE, Gt, GtE, Eq, NotEq };
enum class UnaryOperator { USub, UAdd, Not, Invert };

struct LoadOptions {
  std::string cache, evict; // as the user wrote them; "" for none
  bool isVolatile = false;
};
struct AtomicOptions {
  std::string order = "acq_rel", scope = "gpu";
};
} // namespace tw
#endif
