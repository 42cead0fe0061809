// RUN: tile-opt %s -split-input-file -lower-simd -cse | FileCheck %s

// A scan along the vectors' own dimension is done within a vector by doubling distances; the last
// lane goes to the next vector.
// CHECK-LABEL: llvm.func @sums
// CHECK: scf.for {{.*}} iter_args(%[[BEFORE:.+]] = {{.*}}) -> (vector<16xf32>)
// CHECK-COUNT-4: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: %[[SUM:.+]] = arith.addf %[[BEFORE]], {{.*}} : vector<16xf32>
// CHECK: %[[LAST:.+]] = vector.extract %[[SUM]][15]
// CHECK: vector.broadcast %[[LAST]] : f32 to vector<16xf32>
func.func @sums(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %o = tile.arange 0 to 256 : tensor<256xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %a = tile.load %xp : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
  %s = tile.scan(%a) axis 0 {
  ^bb0(%l: f32, %r: f32):
    %sum = arith.addf %l, %r : f32
    tile.yield %sum : f32
  } : (tensor<256xf32>) -> tensor<256xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  tile.store %op, %s : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  return
}
