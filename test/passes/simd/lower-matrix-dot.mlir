// A processor that nobody sells: its matrix registers hold 8 rows of 8 lanes.
// DEFINE: %{machine} = #tile.simd<vector_bytes = 32, registers = 24, line_bytes = 32, cache_bytes = 8192, products = [ \
// DEFINE:   <mma = <1 x 8 x 1, f32 in "- - - |", f32 in "n0 n1 n2 |" -> f32 in "n0 n1 n2 |">, per_cycle = 16>, \
// DEFINE:   <mma = <1 x 8 x 2, bf16 in "k0 - - - |", bf16 in "k0 n0 n1 n2 |" -> f32 in "n0 n1 n2 |">, per_cycle = 8, intrinsic = "llvm.bf16_vectors">, \
// DEFINE:   <mma = <8 x 8 x 16, bf16 in "k0 k1 k2 k3 m0 m1 m2 |", bf16 in "k0 n0 n1 n2 k1 k2 k3 |" -> f32 in "n0 n1 n2 m0 m1 m2 |">, per_cycle = 128, intrinsic = "llvm.multiply_bf16">, \
// DEFINE:   <mma = <8 x 8 x 32, i8 in "k0 k1 k2 k3 k4 m0 m1 m2 |", i8 in "k0 k1 n0 n1 n2 k2 k3 k4 |" -> i32 in "n0 n1 n2 m0 m1 m2 |">, per_cycle = 256, intrinsic = "llvm.multiply_ss", signs = ss>, \
// DEFINE:   <mma = <8 x 8 x 32, i8 in "k0 k1 k2 k3 k4 m0 m1 m2 |", i8 in "k0 k1 n0 n1 n2 k2 k3 k4 |" -> i32 in "n0 n1 n2 m0 m1 m2 |">, per_cycle = 256, intrinsic = "llvm.multiply_su", signs = su> \
// DEFINE: ], matrix_registers = <count = 8, rows = 8, row_bytes = 32, configure = "configure", release = "llvm.release", zero = "llvm.zero", load = "llvm.load", store = "llvm.store">, features = [fma]>
// DEFINE: %{refusing} = #tile.simd<vector_bytes = 32, registers = 24, line_bytes = 32, cache_bytes = 8192, products = [ \
// DEFINE:   <mma = <1 x 8 x 1, f32 in "- - - |", f32 in "n0 n1 n2 |" -> f32 in "n0 n1 n2 |">, per_cycle = 16>, \
// DEFINE:   <mma = <1 x 8 x 2, bf16 in "k0 - - - |", bf16 in "k0 n0 n1 n2 |" -> f32 in "n0 n1 n2 |">, per_cycle = 8, intrinsic = "llvm.bf16_vectors"> \
// DEFINE: ], matrix_refusal = "because", features = [fma]>
// RUN: tile-opt %s -split-input-file -attach-target='target={%{machine}}' -lower-simd -cse | FileCheck %s
// RUN: tile-opt %s -split-input-file -attach-target='target={%{refusing}}' -lower-simd -o /dev/null 2>&1 | FileCheck %s --check-prefix=REFUSED

// Two operands of each side are loaded for four products; the accumulators go through memory only
// between steps of the user's loop.
// CHECK-LABEL: llvm.func @accumulate
// CHECK: llvm.call @configure(%c8_i32, %c32_i32, %c8_i32, %c32_i32,
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
