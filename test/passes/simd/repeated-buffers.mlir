// RUN: tile-opt %s -lower-simd -cse | FileCheck %s

// The pointers of rows that four sums read are kept once a row, not for each column. Vectors run
// along the rows' consecutive elements, however many tiles with one number a row are read as well.
// CHECK-LABEL: llvm.func @rows
// CHECK-NOT: llvm.intr.masked.gather
// CHECK:     llvm.store {{.*}} : vector<4x!llvm.ptr>, !llvm.ptr
// CHECK-NOT: llvm.store {{.*}}x!llvm.ptr>, !llvm.ptr
// CHECK-NOT: llvm.intr.masked.gather
// CHECK:     llvm.return
func.func @rows(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %stride: i32,
                %end: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 256 : i32
  %none = arith.constant dense<0.0> : tensor<4xf32>
  %r = tile.arange 0 to 4 : tensor<4xi32>
  %c = tile.arange 0 to 256 : tensor<256xi32>
  %s = tile.splat %stride : i32 -> tensor<4xi32>
  %r1 = arith.addi %r, %s : tensor<4xi32>
  %rs = arith.muli %r1, %s : tensor<4xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
  %rows = tile.addptr %xs, %rs : tensor<4x!tile.ptr<f32>>, tensor<4xi32>
  %column = tile.expand_dims %rows axis 1 : tensor<4x!tile.ptr<f32>> -> tensor<4x1x!tile.ptr<f32>>
  %base = tile.broadcast %column : tensor<4x1x!tile.ptr<f32>> -> tensor<4x256x!tile.ptr<f32>>
  %first = scf.for %i = %zero to %end step %step iter_args(%t = %none) -> (tensor<4xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<256xi32>
    %ic = arith.addi %is, %c : tensor<256xi32>
    %c1 = tile.expand_dims %ic axis 0 : tensor<256xi32> -> tensor<1x256xi32>
    %cs = tile.broadcast %c1 : tensor<1x256xi32> -> tensor<4x256xi32>
    %p = tile.addptr %base, %cs : tensor<4x256x!tile.ptr<f32>>, tensor<4x256xi32>
    %v = tile.load %p : tensor<4x256x!tile.ptr<f32>> -> tensor<4x256xf32>
    %top = tile.reduce(%v) axis 1 {
    ^bb0(%a: f32, %b: f32):
      %larger = arith.maxnumf %a, %b : f32
      tile.yield %larger : f32
    } : (tensor<4x256xf32>) -> tensor<4xf32>
    %most = arith.maxnumf %t, %top : tensor<4xf32>
    %most1 = tile.expand_dims %most axis 1 : tensor<4xf32> -> tensor<4x1xf32>
    %mosts = tile.broadcast %most1 : tensor<4x1xf32> -> tensor<4x256xf32>
    %d = arith.subf %v, %mosts : tensor<4x256xf32>
    %e = math.exp %d : tensor<4x256xf32>
    %sum = tile.reduce(%e) axis 1 {
    ^bb0(%a: f32, %b: f32):
      %both = arith.addf %a, %b : f32
      tile.yield %both : f32
    } : (tensor<4x256xf32>) -> tensor<4xf32>
    scf.yield %sum : tensor<4xf32>
  }
  %before = tile.expand_dims %first axis 1 : tensor<4xf32> -> tensor<4x1xf32>
  %befores = tile.broadcast %before : tensor<4x1xf32> -> tensor<4x256xf32>
  %second = scf.for %i = %zero to %end step %step iter_args(%t = %first) -> (tensor<4xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<256xi32>
    %ic = arith.addi %is, %c : tensor<256xi32>
    %c1 = tile.expand_dims %ic axis 0 : tensor<256xi32> -> tensor<1x256xi32>
    %cs = tile.broadcast %c1 : tensor<1x256xi32> -> tensor<4x256xi32>
    %p = tile.addptr %base, %cs : tensor<4x256x!tile.ptr<f32>>, tensor<4x256xi32>
    %v = tile.load %p : tensor<4x256x!tile.ptr<f32>> -> tensor<4x256xf32>
    %top = tile.reduce(%v) axis 1 {
    ^bb0(%a: f32, %b: f32):
      %larger = arith.maxnumf %a, %b : f32
      tile.yield %larger : f32
    } : (tensor<4x256xf32>) -> tensor<4xf32>
    %most = arith.maxnumf %t, %top : tensor<4xf32>
    %most1 = tile.expand_dims %most axis 1 : tensor<4xf32> -> tensor<4x1xf32>
    %mosts = tile.broadcast %most1 : tensor<4x1xf32> -> tensor<4x256xf32>
    %d = arith.subf %v, %mosts : tensor<4x256xf32>
    %d2 = arith.subf %d, %befores : tensor<4x256xf32>
    %e = math.exp %d2 : tensor<4x256xf32>
    %sum = tile.reduce(%e) axis 1 {
    ^bb0(%a: f32, %b: f32):
      %both = arith.addf %a, %b : f32
      tile.yield %both : f32
    } : (tensor<4x256xf32>) -> tensor<4xf32>
    scf.yield %sum : tensor<4xf32>
  }
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<4x!tile.ptr<f32>>, tensor<4xi32>
  tile.store %op, %second : tensor<4x!tile.ptr<f32>>, tensor<4xf32>
  return
}
