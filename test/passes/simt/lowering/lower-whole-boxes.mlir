// One copy brings several slabs of a buffer, where the map has a dimension over them.
// RUN: tile-opt %s --lower-simt | FileCheck %s

!two = !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>>
!four = !simt.shared<[8, 64], f16, #tile.layout<[8, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16], [0, 32]]>>
!phase = !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 232448, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>, simt.loader_warps = 1 : i32, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>, <2>] strides [<1 of [2]>, <16>] box [16, 8, 2] span 32>]} {
// CHECK-LABEL: llvm.func @whole
func.func @whole(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %a = simt.alloc_shared "a" slots 1 at 0 : !two
  %full = simt.alloc_shared "full" slots 1 at 1024 : !phase
  %free = simt.alloc_shared "free" slots 1 at 1040 : !phase
  %zero = arith.constant 0 : i32
  simt.loader {
    simt.phase_await %free, %zero : !phase
    // CHECK: simt.phase_expect %{{.*}}, 512
    // CHECK: simt.copy_box %{{.*}}[%arg1, %arg2, %c0_i32{{.*}}], %{{.*}} on
    // CHECK-NOT: simt.copy_box
    simt.box_copy maps [0] at [%m, %s, %zero] to %a on %full : !two on !phase
  }
  simt.release %a on %full by %free : !two on !phase by !phase
  return
}
// Two of them bring four slabs.
// CHECK-LABEL: llvm.func @halves
func.func @halves(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %a = simt.alloc_shared "a" slots 1 at 0 : !four
  %full = simt.alloc_shared "full" slots 1 at 1024 : !phase
  %free = simt.alloc_shared "free" slots 1 at 1040 : !phase
  %zero = arith.constant 0 : i32
  simt.loader {
    simt.phase_await %free, %zero : !phase
    // CHECK: %[[FIRST:.*]] = simt.shared_address 0
    // CHECK: simt.copy_box %{{.*}}[%arg1, %arg2, %c0_i32{{.*}}], %[[FIRST]] on
    // CHECK: %[[COLUMN:.*]] = arith.addi %arg1, %c32_i32
    // CHECK: %[[SECOND:.*]] = simt.shared_address 512
    // CHECK: simt.copy_box %{{.*}}[%[[COLUMN]], %arg2, %c0_i32{{.*}}], %[[SECOND]] on
    // CHECK-NOT: simt.copy_box
    simt.box_copy maps [0] at [%m, %s, %zero] to %a on %full : !four on !phase
  }
  simt.release %a on %full by %free : !four on !phase by !phase
  return
}
}
