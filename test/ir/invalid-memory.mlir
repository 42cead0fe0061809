// What the verifiers of pointers, accesses and atomics refuse.
// RUN: tile-opt %s -split-input-file -verify-diagnostics

func.func @addptr(%p: !tile.ptr<f32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{pointers and offsets must have one shape}}
  %0 = tile.addptr %p, %i : !tile.ptr<f32>, tensor<4xi32>
  return
}

// -----
func.func @ptr_cast(%p: !tile.ptr<f32>) {
  // expected-error @+1 {{result must have the source's shape}}
  %0 = tile.ptr_cast %p : !tile.ptr<f32> -> tensor<4x!tile.ptr<i8>>
  return
}

// -----
func.func @ptr_to_int_width(%p: !tile.ptr<f32>) {
  // expected-error @+1 {{addresses are i64}}
  %0 = tile.ptr_to_int %p : !tile.ptr<f32> -> i32
  return
}

// -----
func.func @ptr_to_int_shape(%p: !tile.ptr<f32>) {
  // expected-error @+1 {{result must have the source's shape}}
  %0 = tile.ptr_to_int %p : !tile.ptr<f32> -> tensor<1xi64>
  return
}

// -----
func.func @int_to_ptr(%i: i32) {
  // expected-error @+1 {{addresses are i64}}
  %0 = tile.int_to_ptr %i : i32 -> !tile.ptr<f32>
  return
}

// -----
func.func @load_type(%p: !tile.ptr<f32>) {
  // expected-error @+1 {{value must have the pointee's type and the pointers' shape}}
  %0 = tile.load %p : !tile.ptr<f32> -> f16
  return
}

// -----
func.func @load_mask(%p: tensor<4x!tile.ptr<f32>>, %m: i1) {
  // expected-error @+1 {{mask must be i1 of the pointers' shape}}
  %0 = tile.load %p mask %m : i1 : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  return
}

// -----
func.func @load_other(%p: !tile.ptr<f32>, %m: i1, %o: f64) {
  // expected-error @+1 {{other must have the result's type}}
  %0 = tile.load %p mask %m : i1 other %o : f64 : !tile.ptr<f32> -> f32
  return
}

// -----
func.func @store_shape(%p: tensor<4x!tile.ptr<f32>>, %x: f32) {
  // expected-error @+1 {{value must have the pointee's type and the pointers' shape}}
  tile.store %p, %x : tensor<4x!tile.ptr<f32>>, f32
  return
}

// -----
func.func @atomic_rmw_result(%p: !tile.ptr<i32>, %x: i32) {
  // expected-error @+1 {{result must have the value's type}}
  %0 = tile.atomic_rmw add, %p, %x : !tile.ptr<i32>, i32 -> i64
  return
}

// -----
func.func @atomic_rmw_value(%p: !tile.ptr<i32>, %x: i64) {
  // expected-error @+1 {{value must have the pointee's type and the pointers' shape}}
  %0 = tile.atomic_rmw add, %p, %x : !tile.ptr<i32>, i64 -> i64
  return
}

// -----
func.func @atomic_cas(%p: !tile.ptr<i32>, %x: i64) {
  // expected-error @+1 {{value must have the pointee's type and the pointers' shape}}
  %0 = tile.atomic_cas %p, %x, %x : !tile.ptr<i32>, i64
  return
}

// -----
func.func @atomic_cas_mask(%p: !tile.ptr<i32>, %x: i32, %m: tensor<8xi1>) {
  // expected-error @+1 {{mask must be i1 of the pointers' shape}}
  %0 = tile.atomic_cas %p, %x, %x mask %m : tensor<8xi1> : !tile.ptr<i32>, i32
  return
}
