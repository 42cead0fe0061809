// Remarks on accesses of shared memory whose lanes share banks.
// RUN: tile-opt --lower-simt --verify-diagnostics %s

// A lane has a row of 128 bytes, and so have all others: 8 of them are served together.
#rows = #tile.layout<[32, 32] register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = []>
// A lane has a column: neighbours are in banks of their own.
#columns = #tile.layout<[32, 32] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = []>
#buffer = #tile.layout<[32, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>
module attributes {simt.num_warps = 1 : i32} {
func.func @conflicts(%x: f32) {
  %t = tile.splat %x : f32 -> tensor<32x32xf32, #columns>
  %s = simt.alloc_shared "tile" at 0 : !simt.shared<[32, 32], f32, #buffer>
  simt.store_shared %t, %s : tensor<32x32xf32, #columns>, !simt.shared<[32, 32], f32, #buffer>
  simt.barrier
  // expected-remark @+1 {{[TW0372] reads of shared memory take 8.0 times as long: bank conflicts}}
  %y = simt.load_shared %s : !simt.shared<[32, 32], f32, #buffer> -> tensor<32x32xf32, #rows>
  simt.barrier
  // expected-remark @+1 {{[TW0372] writes of shared memory take 8.0 times as long: bank conflicts}}
  simt.store_shared %y, %s : tensor<32x32xf32, #rows>, !simt.shared<[32, 32], f32, #buffer>
  return
}
}
