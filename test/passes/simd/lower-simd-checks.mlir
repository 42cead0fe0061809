// Accesses of debug builds: one test of the first and the last element in front of the vectors of
// comparisons, which only masks and uneven indices need; nothing without the attribute.
// RUN: tile-opt --lower-simd --split-input-file %s | FileCheck %s

// CHECK-LABEL: llvm.func @even
// The base and size of argument 0, once.
// CHECK: llvm.getelementptr %arg1[48]
// CHECK: llvm.getelementptr %{{.*}}[8]
// CHECK: llvm.getelementptr %{{.*}}[16]
// CHECK-NOT: [16]
// The corners are 63 elements apart.
// CHECK: arith.constant 252 : i64
// CHECK-NEXT: arith.cmpi eq
// CHECK: scf.if
// CHECK: llvm.bitcast %{{.*}} : vector<16xi1> to i16
// CHECK: scf.if
// CHECK: llvm.call @tw_device_outside
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<16xf32>
func.func @even(%x: !tile.ptr<f32>) attributes {tile.checks_accesses} {
  %i = tile.arange 0 to 64 : tensor<64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %p = tile.addptr %xs, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %v = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  tile.store %p, %v : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// -----

// Addresses that were integers lead nowhere that is known.
// CHECK-LABEL: llvm.func @unknown
// CHECK-NOT: tw_device_outside
func.func @unknown(%address: i64) attributes {tile.checks_accesses} {
  %p = tile.int_to_ptr %address : i64 -> !tile.ptr<f32>
  %v = tile.load %p : !tile.ptr<f32> -> f32
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

// CHECK-LABEL: llvm.func @plain
// CHECK-NOT: [48]
// CHECK-NOT: tw_device_outside
func.func @plain(%x: !tile.ptr<f32>, %y: f32) {
  tile.store %x, %y : !tile.ptr<f32>, f32
  return
}

// -----

// CHECK-LABEL: llvm.func @shows
// CHECK: llvm.call @tw_device_assert_of
func.func @shows(%a: i32, %b: i32, %c: i1) {
  tile.assert %c, "fits" of %a, %b : i32, i32 {is_signed, joint = "+"} : i1
  return
}

// -----

// Assertions look at a vector at a time.
// CHECK-LABEL: llvm.func @asserts
// CHECK: %[[BITS:.*]] = llvm.bitcast %{{.*}} : vector<16xi1> to i16
// CHECK: arith.cmpi ne, %[[BITS]]
// CHECK: llvm.intr.cttz
// CHECK: llvm.call @tw_device_assert
// CHECK-NOT: tw_device_assert
func.func @asserts(%n: i32) {
  %i = tile.arange 0 to 64 : tensor<64xi32>
  %ns = tile.splat %n : i32 -> tensor<64xi32>
  %c = arith.cmpi slt, %i, %ns : tensor<64xi32>
  tile.assert %c, "i is too large" : tensor<64xi1>
  return
}
