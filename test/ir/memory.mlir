// Round trips of pointers, memory accesses and atomics.
// RUN: tile-opt %s | tile-opt | FileCheck %s

// CHECK-LABEL: func.func @pointers
func.func @pointers(%p: !tile.ptr<f32>, %ps: tensor<8x!tile.ptr<f32>>, %i: tensor<8xi32>, %n: i64) {
  // CHECK: tile.addptr %{{.*}}, %{{.*}} : !tile.ptr<f32>, i64
  %a = tile.addptr %p, %n : !tile.ptr<f32>, i64
  // CHECK: tile.addptr %{{.*}}, %{{.*}} : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %b = tile.addptr %ps, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  // CHECK: tile.ptr_cast %{{.*}} : !tile.ptr<f32> -> !tile.ptr<i8>
  %c = tile.ptr_cast %p : !tile.ptr<f32> -> !tile.ptr<i8>
  // CHECK: tile.ptr_to_int %{{.*}} : tensor<8x!tile.ptr<f32>> -> tensor<8xi64>
  %d = tile.ptr_to_int %ps : tensor<8x!tile.ptr<f32>> -> tensor<8xi64>
  // CHECK: tile.int_to_ptr %{{.*}} : i64 -> !tile.ptr<bf16>
  %e = tile.int_to_ptr %n : i64 -> !tile.ptr<bf16>
  return
}

// CHECK-LABEL: func.func @loads
func.func @loads(%p: !tile.ptr<f32>, %ps: tensor<8x!tile.ptr<f32>>, %m: tensor<8xi1>, %o: tensor<8xf32>) {
  // CHECK: tile.load %{{.*}} : !tile.ptr<f32> -> f32
  %a = tile.load %p : !tile.ptr<f32> -> f32
  // CHECK: tile.load %{{.*}} mask %{{.*}} : tensor<8xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  %b = tile.load %ps mask %m : tensor<8xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  // CHECK: tile.load %{{.*}} mask %{{.*}} : tensor<8xi1> other %{{.*}} : tensor<8xf32> {cache = 4 : i32, evict = 1 : i32, is_volatile}
  %c = tile.load %ps mask %m : tensor<8xi1> other %o : tensor<8xf32> {cache = 4 : i32, evict = 1 : i32, is_volatile} : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @stores
func.func @stores(%p: !tile.ptr<i8>, %x: i8, %ps: tensor<8x!tile.ptr<i8>>, %xs: tensor<8xi8>, %m: tensor<8xi1>) {
  // CHECK: tile.store %{{.*}}, %{{.*}} : !tile.ptr<i8>, i8
  tile.store %p, %x : !tile.ptr<i8>, i8
  // CHECK: tile.store %{{.*}}, %{{.*}} mask %{{.*}} : tensor<8xi1> {cache = 3 : i32} : tensor<8x!tile.ptr<i8>>, tensor<8xi8>
  tile.store %ps, %xs mask %m : tensor<8xi1> {cache = 3 : i32} : tensor<8x!tile.ptr<i8>>, tensor<8xi8>
  return
}

// CHECK-LABEL: func.func @atomics
func.func @atomics(%p: !tile.ptr<i32>, %x: i32, %ps: tensor<8x!tile.ptr<f32>>, %xs: tensor<8xf32>, %m: tensor<8xi1>) {
  // CHECK: tile.atomic_rmw umax, %{{.*}}, %{{.*}} {order = 0 : i32, scope = 2 : i32} : !tile.ptr<i32>, i32 -> i32
  %a = tile.atomic_rmw umax, %p, %x {order = 0 : i32, scope = 2 : i32} : !tile.ptr<i32>, i32 -> i32
  // CHECK: tile.atomic_rmw fadd, %{{.*}}, %{{.*}} mask %{{.*}} : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  %b = tile.atomic_rmw fadd, %ps, %xs mask %m : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  // CHECK: tile.atomic_cas %{{.*}}, %{{.*}}, %{{.*}} : !tile.ptr<i32>, i32
  %c = tile.atomic_cas %p, %x, %a : !tile.ptr<i32>, i32
  // CHECK: tile.atomic_cas %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} : i1 : !tile.ptr<i32>, i32
  %true = arith.constant true
  %d = tile.atomic_cas %p, %x, %a mask %true : i1 : !tile.ptr<i32>, i32
  return
}
