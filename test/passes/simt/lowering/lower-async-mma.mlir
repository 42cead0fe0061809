// Operands of products of several warps begin where their pieces change places as in the layout: what a slot and a
// warp's rows add to an address is whole pieces of 16 bytes, which the addresses of such products are counted in.
// RUN: tile-opt --lower-simt --split-input-file --verify-diagnostics %s | FileCheck %s

#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#group = #tile.async_mma<mma = #mma, warps = 4, columns = 256, span_bytes = 128, across = true>
#sums = #tile.layout<[64, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0], [32, 0]]>
!a = !simt.shared<[64, 16], f16, #tile.layout<[64, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>>
!b = !simt.shared<[16, 8], f16, #tile.layout<[16, 8] offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2], [8, 4]]>>
!sums = tensor<64x8xf32, #sums>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 232448, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], async_mma = [#group]>} {
// CHECK-LABEL: @in_slots
func.func @in_slots(%slot: i32) {
  %zero = arith.constant dense<0.0> : !sums
  %a = simt.alloc_shared "a" slots 2 at 256 : !a
  %b = simt.alloc_shared "b" at 4352 : !b
  // CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %c2048_i32{{.*}} : i32
  // CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[BYTES]]]
  // CHECK: simt.group_mma {{.*}}(%[[AT]])
  %left = simt.slot %a[%slot] : !a
  %sum = simt.mma_async %left, %b, %zero by #group : !a, !b -> !sums
  %done = simt.mma_wait 0(%sum) : (!sums) -> !sums
  return
}
}

// -----

#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#group = #tile.async_mma<mma = #mma, warps = 4, columns = 256, span_bytes = 128, across = true>
#sums = #tile.layout<[64, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0], [32, 0]]>
!a = !simt.shared<[64, 16], f16, #tile.layout<[64, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>>
!b = !simt.shared<[16, 8], f16, #tile.layout<[16, 8] offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2], [8, 4]]>>
!sums = tensor<64x8xf32, #sums>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 232448, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], async_mma = [#group]>} {
func.func @between_pieces(%slot: i32) {
  %zero = arith.constant dense<0.0> : !sums
  %a = simt.alloc_shared "a" slots 2 at 272 : !a
  %b = simt.alloc_shared "b" at 4608 : !b
  %left = simt.slot %a[%slot] : !a
  // expected-error @below {{an operand begins at 272 in shared memory, with slots of 2048 bytes: instructions need multiples of 256, and slots of whole pieces of 16}}
  %sum = simt.mma_async %left, %b, %zero by #group : !a, !b -> !sums
  %done = simt.mma_wait 0(%sum) : (!sums) -> !sums
  return
}
}
