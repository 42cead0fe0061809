// Conversions between 16-bit and wider floats, each with one rounding to nearest even.
#include "backend/cpu/NarrowFloats.h"
#include "llvm/ADT/APFloat.h"
#include <bit>
#include <cstdint>

using llvm::APFloat;

/// Any 16-bit float is returned as this type: compilers convert a `__bf16` to return it, by the
/// very functions that are defined here.
static _Float16 narrowed(APFloat value, const llvm::fltSemantics &semantics) {
  bool losesInfo = false;
  value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return std::bit_cast<_Float16>(uint16_t(value.bitcastToAPInt().getZExtValue()));
}

static float widened(uint16_t bits, const llvm::fltSemantics &semantics) {
  bool losesInfo = false;
  APFloat value(semantics, llvm::APInt(16, bits));
  value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToFloat();
}

static _Float16 floatToHalf(float value) { return narrowed(APFloat(value), APFloat::IEEEhalf()); }
static _Float16 doubleToHalf(double value) { return narrowed(APFloat(value), APFloat::IEEEhalf()); }
static _Float16 floatToBfloat(float value) { return narrowed(APFloat(value), APFloat::BFloat()); }
static _Float16 doubleToBfloat(double value) { return narrowed(APFloat(value), APFloat::BFloat()); }
static float halfToFloat(_Float16 value) {
  return widened(std::bit_cast<uint16_t>(value), APFloat::IEEEhalf());
}

const tw::HostFunction *tw::narrowFloatFunctions() {
  static const HostFunction functions[] = {
      {"__truncsfhf2", reinterpret_cast<void *>(floatToHalf)},
      {"__truncdfhf2", reinterpret_cast<void *>(doubleToHalf)},
      {"__truncsfbf2", reinterpret_cast<void *>(floatToBfloat)},
      {"__truncdfbf2", reinterpret_cast<void *>(doubleToBfloat)},
      {"__extendhfsf2", reinterpret_cast<void *>(halfToFloat)},
      {nullptr, nullptr}};
  return functions;
}
