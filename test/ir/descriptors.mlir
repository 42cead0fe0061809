// Operations on boxes of strided arrays: their form, and what their verifier refuses.
// RUN: tile-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @accesses
func.func @accesses(%p: !tile.ptr<f32>, %m: i32, %n: i64, %i: i32, %rows: tensor<8xi64>) {
  %one = arith.constant 1 : i32
  // CHECK: tile.descriptor_load %{{.*}} shape[%{{.*}}, %{{.*}}] strides[%{{.*}}, %{{.*}}] at[%{{.*}}, %{{.*}}] checked [0, 1] {nan_outside} : (!tile.ptr<f32>, i32, i64, i64, i32, i32, i32) -> tensor<4x8xf32>
  %0 = tile.descriptor_load %p shape [%m, %n] strides [%n, %one] at [%i, %i] checked [0, 1] {nan_outside} : (!tile.ptr<f32>, i32, i64, i64, i32, i32, i32) -> tensor<4x8xf32>
  // CHECK: tile.descriptor_store %{{.*}} to %{{.*}} checked []
  tile.descriptor_store %0 to %p shape [%m, %n] strides [%n, %one] at [%i, %i] checked [] : (!tile.ptr<f32>, i32, i64, i64, i32, i32, i32, tensor<4x8xf32>) -> ()
  %1 = tile.descriptor_load %p shape [%m, %n] strides [%n, %one] at [%rows, %i] checked [0] : (!tile.ptr<f32>, i32, i64, i64, i32, tensor<8xi64>, i32) -> tensor<8x8xf32>
  // CHECK: tile.descriptor_atomic fadd, %{{.*}} to %{{.*}} at[%{{.*}}, %{{.*}}]
  tile.descriptor_atomic fadd, %1 to %p shape [%m, %n] strides [%n, %one] at [%rows, %i] checked [0, 1] : (!tile.ptr<f32>, i32, i64, i64, i32, tensor<8xi64>, i32, tensor<8x8xf32>) -> ()
  return
}

// -----
func.func @rank(%p: !tile.ptr<f32>, %n: i32) {
  // expected-error @+1 {{has one extent, stride and offset per dimension of the tile}}
  %0 = tile.descriptor_load %p shape [%n] strides [%n] at [%n] checked [0] : (!tile.ptr<f32>, i32, i32, i32) -> tensor<4x4xf32>
  return
}

// -----
func.func @no_dimension(%p: !tile.ptr<f32>) {
  // expected-error @+1 {{a box has at least one dimension}}
  %0 = tile.descriptor_load %p shape [] strides [] at [] checked [] : (!tile.ptr<f32>) -> tensor<f32>
  return
}

// -----
func.func @element(%p: !tile.ptr<f32>, %n: i32) {
  // expected-error @+1 {{elements of the tile must have the pointee's type}}
  %0 = tile.descriptor_load %p shape [%n] strides [%n] at [%n] checked [0] : (!tile.ptr<f32>, i32, i32, i32) -> tensor<4xf16>
  return
}

// -----
func.func @list(%p: !tile.ptr<f32>, %n: i32, %rows: tensor<8xi32>) {
  // expected-error @+1 {{a list of indices is 1-D and has one index per element of dimension 0}}
  %0 = tile.descriptor_load %p shape [%n] strides [%n] at [%rows] checked [0] : (!tile.ptr<f32>, i32, i32, tensor<8xi32>) -> tensor<4xf32>
  return
}

// -----
func.func @checked(%p: !tile.ptr<f32>, %n: i32, %v: tensor<4xf32>) {
  // expected-error @+1 {{checked dimensions are ascending and below the rank}}
  tile.descriptor_store %v to %p shape [%n] strides [%n] at [%n] checked [1] : (!tile.ptr<f32>, i32, i32, i32, tensor<4xf32>) -> ()
  return
}

// -----
func.func @nan_of_integers(%p: !tile.ptr<i32>, %n: i32) {
  // expected-error @+1 {{only floats have a NaN}}
  %0 = tile.descriptor_load %p shape [%n] strides [%n] at [%n] checked [0] {nan_outside} : (!tile.ptr<i32>, i32, i32, i32) -> tensor<4xi32>
  return
}
