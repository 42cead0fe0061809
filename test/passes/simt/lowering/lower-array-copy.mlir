// Each warp copies its part of the rows; waits count such copies apart. Threads read padded rows at immediate offsets.
// RUN: tile-opt --lower-simt --canonicalize --cse %s | FileCheck %s

#buffer = #tile.layout<[32, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>
#few = #tile.layout<[1, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8]]>
#read = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4], [8, 0]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [0, 0]] warp = [[16, 0]]>
#machine = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, copies = [#tile.copy<lane_after_lane of [16] by counts>, #tile.copy<boxes of [1, 2, 4, 8] by counts>]>

module attributes {tile.target = #machine, simt.num_warps = 2 : i32, simt.shared_bytes = 4096 : i64} {
// CHECK-LABEL: llvm.func @copies
// CHECK-SAME: (%[[X:arg[0-9]+]]: !llvm.ptr<1>{{.*}}, %[[OUT:arg[0-9]+]]: !llvm.ptr<1>{{.*}}, %[[WIDTH:arg[0-9]+]]: i32, %[[HEIGHT:arg[0-9]+]]: i32, %[[PITCH:arg[0-9]+]]: i64, %[[AT:arg[0-9]+]]: i32
// CHECK-DAG: %[[WARP:.*]] = simt.shuffle index
// CHECK-DAG: %[[OTHER:.*]] = simt.shuffle index
// CHECK: %[[FIRST:.*]] = arith.muli %[[WARP]], %c16_i32
// CHECK: %[[LEFT:.*]] = arith.subi %[[HEIGHT]], %[[FIRST]]
// 16 rows of 32 bytes, and 16 of padding behind each.
// CHECK: arith.muli %{{.*}}, %c768_i32
// CHECK: %[[COLUMNS:.*]] = arith.subi %[[WIDTH]], %[[AT]]
// CHECK: %[[W:.*]] = arith.maxsi %[[COLUMNS]], %c0_i32
// CHECK: %[[H:.*]] = arith.maxsi %[[LEFT]], %c0_i32
// CHECK: simt.copy_array {{.*}} of %[[W]] x %[[H]] pitch %[[PITCH]] box 16 x 16 of 2 pad 16 every 32
// Of one row, the second warp has none.
// CHECK: %[[ANY:.*]] = arith.cmpi ult, %[[OTHER]], %c1_i32
// CHECK: simt.copy_array {{.*}} if %[[ANY]] box 16 x 1 of 2 pad 0 every 0
// CHECK: simt.copies_wait 1 of_arrays
// 8 rows further.
// CHECK: llvm.getelementptr {{.*}}[384]
// CHECK: simt.copies_wait 0 of_arrays
func.func @copies(%x: !tile.ptr<f16>, %out: !tile.ptr<f16>, %width: i32, %height: i32, %pitch: i64, %at: i32) {
  %zero = arith.constant 0 : i32
  %rows = simt.alloc_shared "rows" at 0 : <[32, 16], f16, #buffer pad 16 every 32>
  %few = simt.alloc_shared "few" at 2048 : <[1, 16], f16, #few>
  simt.array_copy %x[%at, %zero] of %width x %height pitch %pitch to %rows along 1 : !tile.ptr<f16> -> <[32, 16], f16, #buffer pad 16 every 32>
  simt.async_commit
  simt.array_copy %x[%zero, %zero] of %width x %height pitch %pitch to %few along 1 : !tile.ptr<f16> -> <[1, 16], f16, #few>
  simt.async_commit
  simt.async_wait 1
  simt.barrier
  %tile = simt.load_shared %rows : <[32, 16], f16, #buffer pad 16 every 32> -> tensor<32x16xf16, #read>
  simt.async_wait 0
  simt.barrier
  %pointers = tile.splat %out : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #read>
  tile.store %pointers, %tile : tensor<32x16x!tile.ptr<f16>, #read>, tensor<32x16xf16, #read>
  return
}
}
