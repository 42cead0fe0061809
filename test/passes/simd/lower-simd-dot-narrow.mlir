// DEFINE: %{machine} = #tile.simd<vector_bytes = 32, registers = 16, line_bytes = 64, cache_bytes = 32768, products = [ \
// DEFINE:   <mma = <1 x 8 x 1, f32 in "- - - |", f32 in "n0 n1 n2 |" -> f32 in "n0 n1 n2 |">, per_cycle = 8>, \
// DEFINE:   <mma = <1 x 8 x 2, i16 in "k0 - - - |", i16 in "k0 n0 n1 n2 |" -> i32 in "n0 n1 n2 |">, per_cycle = 32, intrinsic = "llvm.x86.avx2.pmadd.wd", sums = zero> \
// DEFINE: ]>
// RUN: tile-opt %s -split-input-file -attach-target='target={%{machine}}' -lower-simd -cse | FileCheck %s

// Without an instruction for both, products are rounded before they are added.
// CHECK-LABEL: llvm.func @separate
// CHECK-NOT: math.fma
// CHECK: %[[PRODUCT:.+]] = arith.mulf {{.*}} : vector<8xf32>
// CHECK: arith.addf %{{.*}}, %[[PRODUCT]] : vector<8xf32>
func.func @separate(%x: !tile.ptr<f32>) {
  %r = tile.arange 0 to 256 : tensor<256xi32>
  %o = tile.reshape %r : tensor<256xi32> -> tensor<16x16xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
  %a = tile.load %xp : tensor<16x16x!tile.ptr<f32>> -> tensor<16x16xf32>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %d = tile.dot %a, %a, %zero : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  tile.store %xp, %d : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
  return
}

// -----

// Bytes are widened to 16 bits by their own signs while they are packed, and multiplied in pairs:
// nothing is shifted, and the sums are added apart.
// CHECK-LABEL: llvm.func @bytes
// CHECK-DAG: arith.extui {{.*}} : vector<{{.*}}xi8> to vector<{{.*}}xi16>
// CHECK-DAG: arith.extsi {{.*}} : vector<{{.*}}xi8> to vector<{{.*}}xi16>
// CHECK: %[[SUMS:.+]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%{{.*}}, %{{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// CHECK: arith.addi %{{.*}}, %[[SUMS]] : vector<8xi32>
func.func @bytes(%x: !tile.ptr<i8>, %y: !tile.ptr<i8>, %out: !tile.ptr<i32>) {
  %r = tile.arange 0 to 256 : tensor<256xi32>
  %o = tile.reshape %r : tensor<256xi32> -> tensor<16x16xi32>
  %xs = tile.splat %x : !tile.ptr<i8> -> tensor<16x16x!tile.ptr<i8>>
  %xp = tile.addptr %xs, %o : tensor<16x16x!tile.ptr<i8>>, tensor<16x16xi32>
  %ys = tile.splat %y : !tile.ptr<i8> -> tensor<16x16x!tile.ptr<i8>>
  %yp = tile.addptr %ys, %o : tensor<16x16x!tile.ptr<i8>>, tensor<16x16xi32>
  %a8 = tile.load %xp : tensor<16x16x!tile.ptr<i8>> -> tensor<16x16xi8>
  %b8 = tile.load %yp : tensor<16x16x!tile.ptr<i8>> -> tensor<16x16xi8>
  %a = arith.extui %a8 : tensor<16x16xi8> to tensor<16x16xi32>
  %b = arith.extsi %b8 : tensor<16x16xi8> to tensor<16x16xi32>
  %zero = arith.constant dense<0> : tensor<16x16xi32>
  %d = tile.dot %a, %b, %zero : tensor<16x16xi32>, tensor<16x16xi32> -> tensor<16x16xi32>
  %os = tile.splat %out : !tile.ptr<i32> -> tensor<16x16x!tile.ptr<i32>>
  %op = tile.addptr %os, %o : tensor<16x16x!tile.ptr<i32>>, tensor<16x16xi32>
  tile.store %op, %d : tensor<16x16x!tile.ptr<i32>>, tensor<16x16xi32>
  return
}

// -----

// Integers of 16 bits are multiplied in pairs as they are.
// CHECK-LABEL: llvm.func @shorts
// CHECK-NOT: arith.extsi
// CHECK: %[[SUMS:.+]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%{{.*}}, %{{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// CHECK: arith.addi %{{.*}}, %[[SUMS]] : vector<8xi32>
func.func @shorts(%x: !tile.ptr<i16>, %out: !tile.ptr<i32>) {
  %r = tile.arange 0 to 256 : tensor<256xi32>
  %o = tile.reshape %r : tensor<256xi32> -> tensor<16x16xi32>
  %xs = tile.splat %x : !tile.ptr<i16> -> tensor<16x16x!tile.ptr<i16>>
  %xp = tile.addptr %xs, %o : tensor<16x16x!tile.ptr<i16>>, tensor<16x16xi32>
  %a = tile.load %xp : tensor<16x16x!tile.ptr<i16>> -> tensor<16x16xi16>
  %zero = arith.constant dense<0> : tensor<16x16xi32>
  %d = tile.dot %a, %a, %zero : tensor<16x16xi16>, tensor<16x16xi16> -> tensor<16x16xi32>
  %os = tile.splat %out : !tile.ptr<i32> -> tensor<16x16x!tile.ptr<i32>>
  %op = tile.addptr %os, %o : tensor<16x16x!tile.ptr<i32>>, tensor<16x16xi32>
  tile.store %op, %d : tensor<16x16x!tile.ptr<i32>>, tensor<16x16xi32>
  return
}
