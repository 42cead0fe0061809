// Targets without assembly text say so at its place.
// RUN: tile-opt %s --refuse-assembly -verify-diagnostics

func.func @kernel(%x: f32) {
  // expected-error @+2 {{[TW0301] inline assembly is for GPUs}}
  // expected-note @+1 {{write the operation with functions of the language}}
  %0 = tile.inline_asm "mov.b32 $0, $1;" "=f,f" pack 1(%x) : (f32) -> f32
  return
}
