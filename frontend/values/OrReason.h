// A value, or the reason why there is none, for a caller that knows the place in the source. Where
// the report is made already, functions answer mlir::FailureOr instead.
#ifndef FRONTEND_ORREASON_H
#define FRONTEND_ORREASON_H
#include "runtime/codes/Code.h"
#include "llvm/ADT/Twine.h"
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tw {

/// Why something is refused. Without a code, whoever reports it has code and hint of its own.
struct Reason {
  std::optional<Code> code;
  std::string message, hint;
  std::vector<std::pair<int, std::string>> labels; // operand index, text: "this is float32[64, 32]"

  bool isReported() const { return message.empty(); }
};
inline Reason refuse(const llvm::Twine &message) { return {std::nullopt, message.str(), "", {}}; }
/// Stands for an error that is reported at a place of its own, as in a combining function.
inline Reason alreadyReported() { return {}; }

template <typename T> class OrReason {
public:
  OrReason(T value) : state(std::move(value)) {}
  OrReason(Reason reason) : state(std::move(reason)) {}
  explicit operator bool() const { return std::holds_alternative<T>(state); }
  T &operator*() { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  Reason &reason() { return std::get<Reason>(state); }

private:
  std::variant<T, Reason> state;
};

} // namespace tw
#endif
