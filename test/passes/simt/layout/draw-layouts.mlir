// Each layout is drawn once: w is the warp, l the lane, r the register; o an offset in a buffer.
// RUN: tile-opt --draw-layouts %s -o /dev/null 2>&1 | FileCheck %s

#pairs = #tile.layout<[4, 4] register = [[0, 1]] lane = [[0, 2], [1, 0], [2, 0], [0, 0], [0, 0]] warp = []>
#rows = #tile.layout<[4, 4] offset = [[0, 1], [0, 2], [1, 0], [2, 0]]>
// CHECK: remark: #tile.layout<[4, 4] register
// CHECK-NEXT: l0 r0 x4 l0 r1 x4 l1 r0 x4 l1 r1 x4
// CHECK-NEXT: l2 r0 x4 l2 r1 x4 l3 r0 x4 l3 r1 x4
// CHECK: remark: #tile.layout<[4, 4] offset
// CHECK-NEXT: o0 o1 o2 o3
// CHECK-NOT: remark
func.func @twice(%x: f32) {
  %a = tile.splat %x : f32 -> tensor<4x4xf32, #pairs>
  %b = arith.addf %a, %a : tensor<4x4xf32, #pairs>
  %buffer = simt.alloc_shared "b" : <[4, 4], f32, #rows>
  simt.store_shared %b, %buffer : tensor<4x4xf32, #pairs>, <[4, 4], f32, #rows>
  return
}
