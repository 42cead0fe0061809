// Too much shared memory: the error names the buffers that need it at once, and what fits.
// RUN: tile-opt --allocate-shared --split-input-file --verify-diagnostics %s

#row = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [8, 0], [16, 0], [32, 0]] lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]] warp = [[2, 0], [4, 0]]>
#buffer = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 20000, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
func.func @too_large(%x: tensor<64x64xf32, #row>, %y: tensor<64x64xf32, #row>) {
  // expected-error @below {{[TW0311] this kernel needs 32768 bytes of shared memory, but the target has 20000}}
  // expected-note @below {{in use at once: operand A of dot: f32[64, 64], 16384 bytes; operand B of dot: f32[64, 64], 16384 bytes; halve each of these tiles: f32[32, 64] in place of f32[64, 64]}}
  %a = simt.alloc_shared "operand A of dot" : !simt.shared<[64, 64], f32, #buffer>
  simt.store_shared %x, %a : tensor<64x64xf32, #row>, !simt.shared<[64, 64], f32, #buffer>
  // expected-note @below {{operand B of dot: f32[64, 64], 16384 bytes}}
  %b = simt.alloc_shared "operand B of dot" : !simt.shared<[64, 64], f32, #buffer>
  simt.store_shared %y, %b : tensor<64x64xf32, #row>, !simt.shared<[64, 64], f32, #buffer>
  %z = simt.dot_shared %a, %b, %x ieee : !simt.shared<[64, 64], f32, #buffer>, !simt.shared<[64, 64], f32, #buffer> -> tensor<64x64xf32, #row>
  return
}
}

// -----

// Buffers that share memory stay within the limit.
#row = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [8, 0], [16, 0], [32, 0]] lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]] warp = [[2, 0], [4, 0]]>
#buffer = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 20000, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
// expected-remark @below {{shared memory: 16384 bytes in 2 buffers}}
func.func @fits(%x: tensor<64x64xf32, #row>) {
  %a = simt.alloc_shared "a" : !simt.shared<[64, 64], f32, #buffer>
  simt.store_shared %x, %a : tensor<64x64xf32, #row>, !simt.shared<[64, 64], f32, #buffer>
  %y = simt.load_shared %a : !simt.shared<[64, 64], f32, #buffer> -> tensor<64x64xf32, #row>
  %b = simt.alloc_shared "b" : !simt.shared<[64, 64], f32, #buffer>
  simt.store_shared %y, %b : tensor<64x64xf32, #row>, !simt.shared<[64, 64], f32, #buffer>
  %z = simt.load_shared %b : !simt.shared<[64, 64], f32, #buffer> -> tensor<64x64xf32, #row>
  return
}
}

// -----

// A ring of slots: fewer iterations in work fit.
#rows = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
#spread = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [8, 0], [16, 0], [32, 0]] lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]] warp = [[2, 0], [4, 0]]>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 20000, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
func.func @too_many_stages(%x: tensor<64x64xf16, #spread>, %number: i32) {
  // expected-error @below {{[TW0311] this kernel needs 24576 bytes of shared memory, but the target has 20000}}
  // expected-note @below {{in use at once: load of line 7: f16[64, 64] in 3 slots, 24576 bytes; use num_stages=2, or halve the tile: }}
  %ring = simt.alloc_shared "load of line 7" slots 3 : !simt.shared<[64, 64], f16, #rows>
  %slot = simt.slot %ring[%number] : !simt.shared<[64, 64], f16, #rows>
  simt.store_shared %x, %slot : tensor<64x64xf16, #spread>, !simt.shared<[64, 64], f16, #rows>
  return
}
}

// -----

// What nothing accesses takes no memory.
#rows = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 20000, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
func.func @unused_slot(%number: i32) {
  %ring = simt.alloc_shared "load of line 7" slots 3 : !simt.shared<[64, 64], f16, #rows>
  %slot = simt.slot %ring[%number] : !simt.shared<[64, 64], f16, #rows>
  return
}
}
