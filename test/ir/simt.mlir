// Text of the simt dialect and layouts of tiles: what is printed is read again.
// RUN: tile-opt %s | tile-opt | FileCheck %s

#row = #tile.layout<[8, 16] register = [[0, 1], [0, 2]] lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]] warp = [[0, 0]]>
#line = #tile.layout<[16] register = [[1], [2]] lane = [[4], [8], [0], [0], [0]] warp = [[0]]>
#flat = #tile.layout<[8, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0]]>
#wide = #tile.layout<[1, 16] register = [[0, 1], [0, 2]] lane = [[0, 4], [0, 8], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>
#turned = #tile.layout<[16, 8] register = [[1, 0], [2, 0]] lane = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#swapped = #tile.layout<[16] register = [[2], [1]] lane = [[4], [8], [0], [0], [0]] warp = [[0]]>

// CHECK-LABEL: @shapes
// CHECK: tile.expand_dims %{{.*}} axis 0 : tensor<16xf32, #tile.layout<[16] register = {{\[\[1\], \[2\]\]}} lane = {{\[\[4\], \[8\], \[0\], \[0\], \[0\]\]}} warp = {{\[\[0\]\]}}>>
// CHECK: tile.broadcast
// CHECK: tile.trans
// CHECK: tile.reshape
// CHECK: tile.reduce
func.func @shapes(%x: tensor<16xf32, #line>) {
  %a = tile.expand_dims %x axis 0 : tensor<16xf32, #line> -> tensor<1x16xf32, #wide>
  %b = tile.broadcast %a : tensor<1x16xf32, #wide> -> tensor<8x16xf32, #row>
  %c = tile.trans %b [1, 0] : tensor<8x16xf32, #row> -> tensor<16x8xf32, #turned>
  %d = tile.reshape %a : tensor<1x16xf32, #wide> -> tensor<16xf32, #line>
  %s = tile.reduce (%b) axis 0 commutative {
  ^bb0(%l: f32, %r: f32):
    %t = arith.addf %l, %r : f32
    tile.yield %t : f32
  } : (tensor<8x16xf32, #row>) -> tensor<16xf32, #line>
  return
}

// CHECK-LABEL: @shared
func.func @shared(%x: tensor<8x16xf32, #row>, %i: tensor<8x16xi32, #row>, %s: i1) {
  // CHECK: simt.alloc_shared "b" at 16 : <[8, 16], f32, <[8, 16] offset =
  %b = simt.alloc_shared "b" at 16 : !simt.shared<[8, 16], f32, #flat>
  // CHECK: simt.store_shared
  simt.store_shared %x, %b : tensor<8x16xf32, #row>, !simt.shared<[8, 16], f32, #flat>
  // CHECK: simt.barrier warp
  simt.barrier warp
  // CHECK: simt.load_shared
  %y = simt.load_shared %b : !simt.shared<[8, 16], f32, #flat> -> tensor<8x16xf32, #row>
  // CHECK: simt.gather_shared %{{.*}}[%{{.*}}] axis 1
  %z = simt.gather_shared %b[%i] axis 1 : !simt.shared<[8, 16], f32, #flat>, tensor<8x16xi32, #row> -> tensor<8x16xf32, #row>
  %c = simt.alloc_shared "flag" : !simt.shared<[1], i1, #tile.layout<[1] offset = []>>
  simt.store_shared %s, %c : i1, !simt.shared<[1], i1, #tile.layout<[1] offset = []>>
  return
}

// CHECK-LABEL: @thread
func.func @thread(%p: !llvm.ptr<1>, %m: i1, %v: vector<4xf32>) {
  // CHECK: simt.thread_id
  %t = simt.thread_id
  // CHECK: simt.shuffle xor %{{.*}}, %{{.*}} : i32
  %u = simt.shuffle xor %t, %t : i32
  // CHECK: simt.global_load %{{.*}} mask %{{.*}} other %{{.*}} : vector<4xf32> : !llvm.ptr<1> -> vector<4xf32>
  %x = simt.global_load %p mask %m other %v : vector<4xf32> : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: simt.global_store %{{.*}}, %{{.*}} mask %{{.*}} : !llvm.ptr<1>, vector<4xf32>
  simt.global_store %p, %x mask %m : !llvm.ptr<1>, vector<4xf32>
  return
}
