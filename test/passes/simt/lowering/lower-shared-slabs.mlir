// Two programs of a cluster copy two of four slabs each for both: by one instruction where the map
// has a dimension over slabs, else by one for each slab.
// RUN: tile-opt %s --lower-simt | FileCheck %s

!four = !simt.shared<[8, 64], f16, #tile.layout<[8, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16], [0, 32]]>>
!phase = !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 232448, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>, simt.loader_warps = 1 : i32, simt.cluster = array<i64: 2, 1, 1>, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>, <2>] strides [<1 of [2]>, <16>] box [16, 8, 2] span 32>, #simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [16, 8] span 32>]} {
// CHECK-LABEL: llvm.func @together
func.func @together(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %a = simt.alloc_shared "a" slots 1 at 0 : !four
  %full = simt.alloc_shared "full" slots 1 at 1024 : !phase
  %free = simt.alloc_shared "free" slots 1 at 1040 : !phase
  %zero = arith.constant 0 : i32
  simt.loader {
    simt.phase_await %free, %zero cluster : !phase
    // CHECK: simt.phase_expect %{{.*}}, 1024
    // CHECK: %[[RANK:.*]] = simt.cluster_rank
    // CHECK: %[[BEGIN:.*]] = simt.shared_address 0
    // CHECK: %[[COLUMNS:.*]] = arith.muli %[[RANK]], %c32_i32
    // CHECK: %[[COLUMN:.*]] = arith.addi %arg1, %[[COLUMNS]]
    // CHECK: %[[BYTES:.*]] = arith.muli %[[RANK]], %c512_i32
    // CHECK: %[[TO:.*]] = llvm.getelementptr %[[BEGIN]][%[[BYTES]]]
    // CHECK: simt.copy_box %{{.*}}[%[[COLUMN]], %arg2, %c0_i32{{.*}}], %[[TO]] on %{{.*}} to %c3_i32
    // CHECK-NOT: simt.copy_box
    simt.box_copy maps [0] at [%m, %s, %zero] to %a on %full multicast [1] : !four on !phase
  }
  simt.release %a on %full by %free cluster [1] : !four on !phase by !phase
  return
}
// CHECK-LABEL: llvm.func @one_by_one
func.func @one_by_one(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %a = simt.alloc_shared "a" slots 1 at 0 : !four
  %full = simt.alloc_shared "full" slots 1 at 1024 : !phase
  %free = simt.alloc_shared "free" slots 1 at 1040 : !phase
  %zero = arith.constant 0 : i32
  simt.loader {
    simt.phase_await %free, %zero cluster : !phase
    // CHECK: simt.shared_address 0
    // CHECK: simt.copy_box
    // CHECK: %[[NEXT:.*]] = arith.addi %arg1, %c16_i32
    // CHECK: simt.shared_address 256
    // CHECK: arith.addi %[[NEXT]], %{{.*}} : i32
    // CHECK: simt.copy_box
    // CHECK-NOT: simt.copy_box
    simt.box_copy maps [1] at [%m, %s] to %a on %full multicast [1] : !four on !phase
  }
  simt.release %a on %full by %free cluster [1] : !four on !phase by !phase
  return
}
}
