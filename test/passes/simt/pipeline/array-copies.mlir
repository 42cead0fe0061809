// Warps copy rows of an array where a load is a box of one: each as many, by one instruction, behind a group of its own.
// RUN: tile-opt --pipeline-loops=num-stages=2 %s 2>/dev/null | tile-opt --canonicalize | FileCheck %s
// RUN: tile-opt --pipeline-loops=num-stages=3 %s 2>/dev/null | FileCheck %s --check-prefix=THREE
// Without a promise of the stride's sign, lanes copy.
// RUN: sed 's/, tile.non_negative//' %s | tile-opt --pipeline-loops=num-stages=2 2>&1 | FileCheck %s --check-prefix=LANES

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 8], [8, 0]] warp = [[16, 0]]>
#row = #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 8], [0, 0]] warp = [[0, 0]]>
#column = #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [8], [0]] warp = [[0]]>
#rows = #tile.layout<[32] lane = [[0], [1], [2], [4], [8]] warp = [[16]]>
#rowsColumn = #tile.layout<[32, 1] lane = [[0, 0], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#machine = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], copies = [#tile.copy<lane_after_lane of [16] by counts>, #tile.copy<boxes of [1, 2, 4, 8] by counts>]>

module attributes {tile.target = #machine, simt.num_warps = 2 : i32} {
// CHECK-LABEL: @product
// CHECK: simt.alloc_shared "load of line {{[0-9]+}}" slots 2
// CHECK: simt.array_copy %arg0[%{{.*}}, %{{.*}}] of {{.*}} pitch {{.*}} to {{.*}} along 1 if
// CHECK: scf.for
// CHECK: simt.async_wait 0
// CHECK-NEXT: simt.barrier
// CHECK: simt.array_copy {{.*}} along 1
// CHECK-NOT: simt.async_copy
// CHECK: return
// THREE-LABEL: @product
// THREE: scf.for
// THREE-NEXT: simt.async_wait 1
// One copy of each iteration counts.
// LANES: threads copy this tile, in place of warps that copy rows of its array: its array is not known to have a stride from 0 on
func.func @product(%x: !tile.ptr<f16> {tile.disjoint, tile.divisibility = 16 : i64}, %stride: i32 {tile.divisibility = 16 : i64, tile.non_negative}, %k: i32, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %upper: i32) -> tensor<32x8xf32, #c> {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %other = arith.constant dense<0.0> : tensor<32x16xf16, #copy>
  %columns = tile.arange 0 to 16 : tensor<16xi32, #column>
  %row = tile.expand_dims %columns axis 0 : tensor<16xi32, #column> -> tensor<1x16xi32, #row>
  %inner = tile.broadcast %row : tensor<1x16xi32, #row> -> tensor<32x16xi32, #copy>
  %lines = tile.arange 0 to 32 : tensor<32xi32, #rows>
  %line = tile.expand_dims %lines axis 1 : tensor<32xi32, #rows> -> tensor<32x1xi32, #rowsColumn>
  %outer = tile.broadcast %line : tensor<32x1xi32, #rowsColumn> -> tensor<32x16xi32, #copy>
  %strides = tile.splat %stride : i32 -> tensor<32x16xi32, #copy>
  %far = arith.muli %outer, %strides : tensor<32x16xi32, #copy>
  %offsets = arith.addi %far, %inner : tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  %limit = tile.splat %k : i32 -> tensor<32x16xi32, #copy>
  %r = scf.for %i = %zero to %upper step %step iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %all = tile.splat %i : i32 -> tensor<32x16xi32, #copy>
    %now = tile.addptr %pointers, %all : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
    %index = arith.addi %inner, %all : tensor<32x16xi32, #copy>
    %mask = arith.cmpi slt, %index, %limit : tensor<32x16xi32, #copy>
    %t = tile.load %now mask %mask : tensor<32x16xi1, #copy> other %other : tensor<32x16xf16, #copy> : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %next = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %next : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}
