// RUN: tile-opt %s -split-input-file -lower-simd="vector-bytes=64 num-registers=32 bf16-dot=llvm.x86.avx512bf16.dpbf16ps.512" -cse | FileCheck %s

// A loop-carried accumulator is updated in place by a register-tiled loop over k.
// CHECK-LABEL: llvm.func @accumulate
// CHECK: scf.for
// CHECK:   scf.for {{.*}} -> (vector<16xf32>
// CHECK-COUNT-16: math.fma {{.*}} : vector<16xf32>
func.func @accumulate(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %res = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = tile.load %xp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
    %d = tile.dot %a, %a, %acc : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %res : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// bf16 operands go through the pairwise dot instruction where the machine has one.
// CHECK-LABEL: llvm.func @pairs
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @pairs(%x: !tile.ptr<bf16> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %xp : tensor<64x64x!tile.ptr<bf16>> -> tensor<64x64xbf16>
  %d = tile.dot %a, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %d : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
