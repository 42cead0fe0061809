// Stage scheduled: what threads wrote is fenced before a box of it is stored.
// RUN: tile-opt --verify-stage=stage=scheduled --split-input-file --verify-diagnostics %s

#line = #tile.layout<[8, 32] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]] warp = []>
!slab = !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
module attributes {simt.num_warps = 1 : i32, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @fenced(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %x = arith.constant dense<1.0> : tensor<8x32xf16, #line>
  %b = simt.alloc_shared "b" at 0 : !slab
  simt.store_shared %x, %b : tensor<8x32xf16, #line>, !slab
  simt.fence_async
  simt.barrier {warp}
  simt.box_store map 0 at [%m, %m] from %b : !slab
  return
}
}

// -----

#line = #tile.layout<[8, 32] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]] warp = []>
!slab = !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
module attributes {simt.num_warps = 1 : i32, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @unfenced(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %x = arith.constant dense<1.0> : tensor<8x32xf16, #line>
  %b = simt.alloc_shared "b" at 0 : !slab
  simt.store_shared %x, %b : tensor<8x32xf16, #line>, !slab
  simt.barrier {warp}
  // expected-error @below {{'simt.box_store' is reached without a fence behind the writing of what is read without the threads}}
  simt.box_store map 0 at [%m, %m] from %b : !slab
  return
}
}
