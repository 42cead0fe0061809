// Copies that put lane after lane: a loop's operand is copied so where its lanes follow a buffer that suits the readers, all
// masked elements are zeros, and all operands can be.
// RUN: tile-opt --pipeline-loops=num-stages=2 %s 2>/dev/null | tile-opt --canonicalize | FileCheck %s
// RUN: tile-opt --pipeline-loops=num-stages=3 %s 2>/dev/null | FileCheck %s --check-prefix=THREE
// Rows that lie in the buffer as in global memory would be read with conflicts of banks.
// RUN: sed 's/\[4, 8\]/[4, 0]/; s/lane = \[\[8\], \[0\], \[0\], \[8\]/lane = [[8], [0], [0], [0]/; s/\[0, 8\], \[0, 0\]\] warp/[0, 0], [0, 0]] warp/' %s | tile-opt --pipeline-loops=num-stages=2 2>/dev/null | FileCheck %s --check-prefix=REGISTERS
// RUN: sed 's/of \[16\]/of [4]/' %s | tile-opt --pipeline-loops=num-stages=2 2>/dev/null | FileCheck %s --check-prefix=REGISTERS

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 8], [8, 0]] warp = [[16, 0]]>
#row = #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 8], [0, 0]] warp = [[0, 0]]>
#column = #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [8], [0]] warp = [[0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#machine = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], copies = [#tile.copy<lane_after_lane of [16] by counts>]>

module attributes {tile.target = #machine, simt.num_warps = 2 : i32} {
// After the 8 elements of a piece, the lanes and the warp.
// CHECK-LABEL: @product
// CHECK: simt.alloc_shared "load of line {{[0-9]+}}" slots 2 : <[32, 16], f16, <[32, 16] offset = {{\[\[}}0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0]]>>
// Pairs of iterations: each waits for its copies, and starts those of the next one.
// CHECK: scf.for
// CHECK: simt.async_wait 0
// CHECK-NEXT: simt.barrier
// CHECK: simt.async_copy {{.*}} pieces 8 along 1
// CHECK: simt.mma
// CHECK: simt.async_wait 0
// CHECK-NEXT: simt.barrier
// CHECK: simt.async_copy {{.*}} mask
// CHECK: simt.mma
// CHECK: scf.yield
// The last one has nothing to copy.
// CHECK: scf.if
// CHECK: simt.async_wait 0
// CHECK-NOT: simt.async_copy
// CHECK: simt.mma
// CHECK: return
// THREE-LABEL: @product
// THREE: scf.for
// THREE-NEXT: simt.async_wait 1
// REGISTERS-NOT: simt.async
// REGISTERS-LABEL: @product
// REGISTERS: simt.store_shared
// REGISTERS: return
// REGISTERS-NOT: simt.async
func.func @product(%x: !tile.ptr<f16> {tile.disjoint, tile.divisibility = 16 : i64}, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : tensor<16xi32, #column>
  %row = tile.expand_dims %columns axis 0 : tensor<16xi32, #column> -> tensor<1x16xi32, #row>
  %offsets = tile.broadcast %row : tensor<1x16xi32, #row> -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %all = tile.splat %i : i32 -> tensor<32x16xi32, #copy>
    %sixteen = arith.constant dense<16> : tensor<32x16xi32, #copy>
    %scaled = arith.muli %all, %sixteen : tensor<32x16xi32, #copy>
    %now = tile.addptr %pointers, %scaled : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
    %t = tile.load %now : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}

// Where masked elements are not zeros, data goes through registers.
// CHECK-LABEL: @ones
// CHECK-NOT: simt.async_copy
// CHECK: return
func.func @ones(%x: !tile.ptr<f16> {tile.disjoint, tile.divisibility = 16 : i64}, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32, %m: i1) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : tensor<16xi32, #column>
  %row = tile.expand_dims %columns axis 0 : tensor<16xi32, #column> -> tensor<1x16xi32, #row>
  %offsets = tile.broadcast %row : tensor<1x16xi32, #row> -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  %mask = tile.splat %m : i1 -> tensor<32x16xi1, #copy>
  %other = arith.constant dense<1.0> : tensor<32x16xf16, #copy>
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %all = tile.splat %i : i32 -> tensor<32x16xi32, #copy>
    %sixteen = arith.constant dense<16> : tensor<32x16xi32, #copy>
    %scaled = arith.muli %all, %sixteen : tensor<32x16xi32, #copy>
    %now = tile.addptr %pointers, %scaled : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
    %t = tile.load %now mask %mask : tensor<32x16xi1, #copy> other %other : tensor<32x16xf16, #copy> : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}
