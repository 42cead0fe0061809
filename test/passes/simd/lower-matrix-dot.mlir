// RUN: tile-opt %s -split-input-file -lower-simd="vector-bytes=64 num-registers=32 dots=f32::vectors:32,bf16:llvm.bf16_vectors:vectors:16,bf16:llvm.multiply_bf16:matrices:512,i8:llvm.multiply_##:matrices:1024 matrix-unit=llvm.configure,llvm.release,llvm.zero,llvm.load,llvm.store matrix-extent=16" -cse | FileCheck %s
// RUN: tile-opt %s -split-input-file -lower-simd="vector-bytes=64 num-registers=32 dots=f32::vectors:32,bf16:llvm.bf16_vectors:vectors:16 matrix-refusal=because" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REFUSED

// Two operands of each side are loaded for four products; the accumulators go through memory only
// between steps of the user's loop.
// CHECK: llvm.mlir.global internal constant @[[CONFIGURATION:.+]]("\01\00
// CHECK-LABEL: llvm.func @accumulate
// CHECK: call_intrinsic "llvm.configure"
// CHECK: scf.for
// CHECK-COUNT-4: call_intrinsic "llvm.load"
// CHECK: scf.for
// CHECK-COUNT-2: call_intrinsic "llvm.load"
// CHECK-NEXT: call_intrinsic "llvm.multiply_bf16"
// CHECK-NOT: llvm.store
// CHECK-COUNT-3: call_intrinsic "llvm.multiply_bf16"
// CHECK-COUNT-4: call_intrinsic "llvm.store"
// CHECK: call_intrinsic "llvm.release"
// CHECK-NEXT: llvm.return
func.func @accumulate(%x: !tile.ptr<bf16> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %res = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = tile.load %xp : tensor<64x64x!tile.ptr<bf16>> -> tensor<64x64xbf16>
    %d = tile.dot %a, %a, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %res : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// Bytes of both signs; sums that start at zero load nothing.
// CHECK-LABEL: llvm.func @signs
// CHECK: call_intrinsic "llvm.zero"
// CHECK: call_intrinsic "llvm.multiply_su"
// CHECK-NOT: call_intrinsic "llvm.multiply_ss"
func.func @signs(%x: !tile.ptr<i8> {tile.disjoint}, %out: !tile.ptr<i32> {tile.disjoint}) {
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<i8> -> tensor<64x64x!tile.ptr<i8>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<i8>>, tensor<64x64xi32>
  %a = tile.load %xp : tensor<64x64x!tile.ptr<i8>> -> tensor<64x64xi8>
  %aw = arith.extsi %a : tensor<64x64xi8> to tensor<64x64xi32>
  %bw = arith.extui %a : tensor<64x64xi8> to tensor<64x64xi32>
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  %d = tile.dot %aw, %bw, %zero : tensor<64x64xi32>, tensor<64x64xi32> -> tensor<64x64xi32>
  %os = tile.splat %out : !tile.ptr<i32> -> tensor<64x64x!tile.ptr<i32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<i32>>, tensor<64x64xi32>
  tile.store %op, %d : tensor<64x64x!tile.ptr<i32>>, tensor<64x64xi32>
  return
}

// -----

// One row: packing B would take longer than the vectors do. And bf16 is widened to f32 where the
// machine's instruction for pairs is slower than two multiply-adds.
// CHECK-LABEL: llvm.func @one_row
// CHECK-NOT: call_intrinsic
// CHECK: math.fma
// CHECK-NOT: call_intrinsic
// CHECK: llvm.return
// REFUSED: remark: [TW0437] this product does without the processor's matrix unit: because
func.func @one_row(%x: !tile.ptr<bf16> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %s = tile.arange 0 to 64 : tensor<64xi32>
  %so = tile.expand_dims %s axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %xs = tile.splat %x : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %ys = tile.splat %x : !tile.ptr<bf16> -> tensor<1x64x!tile.ptr<bf16>>
  %yp = tile.addptr %ys, %so : tensor<1x64x!tile.ptr<bf16>>, tensor<1x64xi32>
  %a = tile.load %yp : tensor<1x64x!tile.ptr<bf16>> -> tensor<1x64xbf16>
  %b = tile.load %xp : tensor<64x64x!tile.ptr<bf16>> -> tensor<64x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<1x64xf32>
  %d = tile.dot %a, %b, %zero : tensor<1x64xbf16>, tensor<64x64xbf16> -> tensor<1x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<1x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %so : tensor<1x64x!tile.ptr<f32>>, tensor<1x64xi32>
  tile.store %op, %d : tensor<1x64x!tile.ptr<f32>>, tensor<1x64xf32>
  return
}
