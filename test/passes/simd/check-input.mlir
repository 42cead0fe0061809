// CPUs' lowering takes kernels only: of numbers and pointers, without results, with a body.
// RUN: tile-opt %s --split-input-file --lower-simd --verify-diagnostics

// expected-error @+1 {{[TW0318] a kernel has no results; it stores them}}
func.func @result(%x: f32) -> f32 {
  return %x : f32
}

// -----
// expected-error @+1 {{[TW0318] a kernel's parameters are pointers and numbers of a machine, not 'tensor<8xf32>'}}
func.func @tile(%x: tensor<8xf32>) {
  return
}

// -----
// expected-error @+1 {{[TW0318] a function without a body cannot be compiled}}
func.func private @declared(%x: f32)

// -----
func.func @narrow(%p: !tile.ptr<f8E5M2>) {
  %x = tile.load %p : !tile.ptr<f8E5M2> -> f8E5M2
  // expected-error @+1 {{[TW0318] 'arith.addf' computes with 8-bit floats, which have to be widened first}}
  %y = arith.addf %x, %x : f8E5M2
  return
}

// -----
// expected-error @+1 {{[TW0318] a kernel's parameters are pointers and numbers of a machine, not 'f128'}}
func.func @wide(%x: f128) {
  return
}
