// RUN: tile-opt %s -split-input-file -lower-simd | FileCheck %s

// A buffer that nothing reads any more gives its place to the next one: two are in use at once.
// CHECK: module attributes {simd.scratch_bytes = 65536 : i64}
// CHECK-LABEL: llvm.func @one_after_the_other
func.func @one_after_the_other(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 8192 : tensor<8192xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<8192x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<8192x!tile.ptr<f32>>, tensor<8192xi32>
  %v = tile.load %xp : tensor<8192x!tile.ptr<f32>> -> tensor<8192xf32>
  %a = tile.scan(%v) axis 0 {
  ^bb0(%l: f32, %m: f32):
    %sum = arith.addf %l, %m : f32
    tile.yield %sum : f32
  } : (tensor<8192xf32>) -> tensor<8192xf32>
  %b = tile.scan(%a) axis 0 {
  ^bb0(%l: f32, %m: f32):
    %sum = arith.addf %l, %m : f32
    tile.yield %sum : f32
  } : (tensor<8192xf32>) -> tensor<8192xf32>
  %c = tile.scan(%b) axis 0 {
  ^bb0(%l: f32, %m: f32):
    %sum = arith.addf %l, %m : f32
    tile.yield %sum : f32
  } : (tensor<8192xf32>) -> tensor<8192xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<8192x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<8192x!tile.ptr<f32>>, tensor<8192xi32>
  tile.store %op, %c : tensor<8192x!tile.ptr<f32>>, tensor<8192xf32>
  return
}

// -----

// One that is read at the end keeps its place until then.
// CHECK: module attributes {simd.scratch_bytes = 98304 : i64}
// CHECK-LABEL: llvm.func @read_at_the_end
func.func @read_at_the_end(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 8192 : tensor<8192xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<8192x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<8192x!tile.ptr<f32>>, tensor<8192xi32>
  %v = tile.load %xp : tensor<8192x!tile.ptr<f32>> -> tensor<8192xf32>
  %a = tile.scan(%v) axis 0 {
  ^bb0(%l: f32, %m: f32):
    %sum = arith.addf %l, %m : f32
    tile.yield %sum : f32
  } : (tensor<8192xf32>) -> tensor<8192xf32>
  %b = tile.scan(%a) axis 0 {
  ^bb0(%l: f32, %m: f32):
    %sum = arith.addf %l, %m : f32
    tile.yield %sum : f32
  } : (tensor<8192xf32>) -> tensor<8192xf32>
  %c = tile.scan(%b) axis 0 {
  ^bb0(%l: f32, %m: f32):
    %sum = arith.addf %l, %m : f32
    tile.yield %sum : f32
  } : (tensor<8192xf32>) -> tensor<8192xf32>
  %e = arith.addf %a, %c : tensor<8192xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<8192x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<8192x!tile.ptr<f32>>, tensor<8192xi32>
  tile.store %op, %e : tensor<8192x!tile.ptr<f32>>, tensor<8192xf32>
  return
}

// -----

// Paths that meet again at the same element of one store compute a value once: no buffer is needed.
// CHECK-LABEL: llvm.func @paths_that_meet
func.func @paths_that_meet(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  // CHECK-NOT: alloca
  // CHECK: scf.for
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  // CHECK: llvm.return
  %r = tile.arange 0 to 512 : tensor<512xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %v = tile.load %xp : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
  %e = math.exp %v : tensor<512xf32>
  %a = arith.mulf %e, %v : tensor<512xf32>
  %b = arith.addf %e, %v : tensor<512xf32>
  %c = arith.divf %a, %b : tensor<512xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  tile.store %op, %c : tensor<512x!tile.ptr<f32>>, tensor<512xf32>
  return
}
