// RUN: tile-opt %s -lower-simd -cse | FileCheck %s

// Four copies of the bins: neighbours count in different ones. What is in no bin counts behind them.
// CHECK-LABEL: llvm.func @count
// CHECK: llvm.store {{.*}} : vector<16xi32>
// CHECK: scf.for
// CHECK:   %[[X:.*]] = llvm.load {{.*}} -> vector<16xi32>
// CHECK:   %[[AT:.*]] = arith.minui %[[X]], {{.*}} : vector<16xi32>
// CHECK-COUNT-16: vector.extract %[[AT]]
// CHECK: scf.for
// CHECK-COUNT-3: arith.addi {{.*}} : vector<16xi32>
func.func @count(%x: !tile.ptr<i32> {tile.disjoint}, %out: !tile.ptr<i32> {tile.disjoint}) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<i32> -> tensor<1024x!tile.ptr<i32>>
  %xp = tile.addptr %xs, %r : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  %v = tile.load %xp : tensor<1024x!tile.ptr<i32>> -> tensor<1024xi32>
  %h = tile.histogram %v : tensor<1024xi32> -> tensor<64xi32>
  %b = tile.arange 0 to 64 : tensor<64xi32>
  %os = tile.splat %out : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>
  %op = tile.addptr %os, %b : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  tile.store %op, %h : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  return
}
