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

// CHECK: module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents[<2147483648>, <1 of[1]>] strides[<1 of[2]>] box[32, 8] span 64>]}
module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
// CHECK-LABEL: @boxes
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>, %e: i1) {
  // CHECK: %[[PHASES:.*]] = simt.alloc_shared "phases" slots 2
  %phases = simt.alloc_shared "phases" slots 2 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  // CHECK: simt.phase_init %[[PHASES]] slots 2
  simt.phase_init %phases slots 2 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %zero = arith.constant 0 : i32
  %on = simt.slot %phases[%zero] : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  // CHECK: simt.box_copy maps [0] at[%{{.*}}, %{{.*}}] to %{{.*}} on %{{.*}} if %{{.*}}
  simt.box_copy maps [0] at [%m, %s] to %b on %on if %e : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  // CHECK: simt.phase_await %{{.*}}, %{{.*}} : !simt.shared<[1], i64
  simt.phase_await %on, %zero : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  // CHECK: simt.fence_async global
  simt.fence_async global
  // CHECK: simt.box_store map 0 at[%{{.*}}, %{{.*}}] from %{{.*}} : <[8, 32]
  simt.box_store map 0 at [%m, %s] from %b : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  // CHECK: simt.box_store map 0 at[%{{.*}}, %{{.*}}] from %{{.*}} combining fadd ordered : <[8, 32]
  simt.box_store map 0 at [%m, %s] from %b combining fadd ordered : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  // CHECK: simt.phase_drop %[[PHASES]] slots 2
  simt.phase_drop %phases slots 2 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}

// CHECK-LABEL: @one_thread
func.func @one_thread(%p: !llvm.ptr<3>, %c: i32) {
  // CHECK: simt.elect
  %e = simt.elect
  // CHECK: simt.tensor_map 0 : !llvm.ptr
  %map = simt.tensor_map 0 : !llvm.ptr
  // CHECK: simt.phase_expect %{{.*}}, 512 : !llvm.ptr<3>
  simt.phase_expect %p, 512 : !llvm.ptr<3>
  // CHECK: simt.copy_box %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} on %{{.*}} : !llvm.ptr, !llvm.ptr<3> on !llvm.ptr<3>
  simt.copy_box %map[%c, %c], %p on %p : !llvm.ptr, !llvm.ptr<3> on !llvm.ptr<3>
  // CHECK: simt.stores_wait{{$}}
  simt.stores_wait
  // CHECK: simt.store_box %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} : !llvm.ptr, !llvm.ptr<3>
  simt.store_box %map[%c, %c], %p : !llvm.ptr, !llvm.ptr<3>
  // CHECK: simt.store_box %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} combining add : !llvm.ptr, !llvm.ptr<3>
  simt.store_box %map[%c, %c], %p combining add : !llvm.ptr, !llvm.ptr<3>
  // CHECK: simt.stores_wait read
  simt.stores_wait read
  // CHECK: simt.store_matrix %{{.*}}, %{{.*}}, %{{.*}} transposed : !llvm.ptr<3>, i32, i32
  simt.store_matrix %p, %c, %c transposed : !llvm.ptr<3>, i32, i32
  return
}
}

// CHECK: module attributes {simt.loader_warps = 1 : i32
module attributes {simt.loader_warps = 1 : i32, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
// CHECK-LABEL: @loader
func.func @loader(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>, %full: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  %zero = arith.constant 0 : i32
  // CHECK: %[[FREE:.*]] = simt.alloc_shared "free"
  %free = simt.alloc_shared "free" : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  // CHECK: simt.phase_init %[[FREE]] slots 1 count 4
  simt.phase_init %free slots 1 count 4 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  // CHECK: simt.loader {
  simt.loader {
    // CHECK-NEXT: simt.phase_await %[[FREE]]
    simt.phase_await %free, %zero : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
    // CHECK-NEXT: simt.box_copy maps [0] at[%{{.*}}, %{{.*}}] to %{{.*}} on %{{.*}} :
    simt.box_copy maps [0] at [%m, %s] to %b on %full : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  }
  // CHECK: %[[PLACES:.*]]:2 = simt.loader {
  // CHECK-NEXT: simt.yield %{{.*}}, %{{.*}} : i32, i32
  // CHECK-NEXT: } -> i32, i32
  %places:2 = simt.loader {
    simt.yield %zero, %m : i32, i32
  } -> i32, i32
  // CHECK: simt.release %{{.*}} on %{{.*}} by %[[FREE]]
  simt.release %b on %full by %free : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>> by !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
// CHECK-LABEL: @roles
func.func @roles(%p: !llvm.ptr<3>) {
  // CHECK: simt.share_registers{{$}}
  simt.share_registers
  // CHECK: simt.share_registers needed 200
  simt.share_registers needed 200
  // CHECK: simt.barrier loader
  simt.barrier loader
  // CHECK: simt.phase_arrive %{{.*}} : !llvm.ptr<3>
  simt.phase_arrive %p : !llvm.ptr<3>
  return
}
}
