// Builtins that are one method of TileBuilder, whose operands are the arguments in their order.
#ifndef FRONTEND_METHODBUILTIN_H
#define FRONTEND_METHODBUILTIN_H
#include "frontend/builtins/Builtins.h"
#include <tuple>

namespace tw {

/// The type that an argument for a parameter of the method is read into.
template <typename Operand> struct PlaceOf {
  using Type = Operand;
};
template <typename Item> struct PlaceOf<llvm::ArrayRef<Item>> {
  using Type = std::vector<Item>;
};

template <typename... Operands>
mlir::FailureOr<PyValue> callTileMethod(BuiltinCall &call,
                                        TileOr (TileBuilder::*method)(Operands...)) {
  std::tuple<typename PlaceOf<Operands>::Type...> places;
  auto read = [&](auto &...place) { return call.read(place...); };
  if (mlir::failed(std::apply(read, places)))
    return mlir::failure();
  auto build = [&](auto &...place) { return (call.tiles().*method)(place...); };
  return call.orReport(std::apply(build, places));
}
/// For the table of builtins: emitMethod<&TileBuilder::gather>.
template <auto method> mlir::FailureOr<PyValue> emitMethod(BuiltinCall &call) {
  return callTileMethod(call, method);
}

} // namespace tw
#endif
