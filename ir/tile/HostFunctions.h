// The elementwise functions of floats by the host's own library: the rows of Elementwise.td.
#ifndef IR_TILE_HOSTFUNCTIONS_H
#define IR_TILE_HOSTFUNCTIONS_H
#include <cmath>
#include <cstdint>

namespace tw::tile {

/// Operands that a function does not have are ignored.
struct HostFunction {
  const char *Name, *Operation;
  uint8_t NumOperands;
  uint8_t UlpF32; // the largest error of a float32 on any machine, in units in the last place
  double (*OfDouble)(double a, double b, double c);
  long double (*OfLongDouble)(long double a, long double b, long double c);
};
#define GET_HostFunctionTable_IMPL
#include "ir/tile/Elementwise.inc"
#undef GET_HostFunctionTable_IMPL

} // namespace tw::tile
#endif
