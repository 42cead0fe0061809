// A tile of more elements than twice the registers of a thread is refused, not spilled for minutes.
// RUN: tile-opt --lower-simt --split-input-file --verify-diagnostics %s

#row = #tile.layout<[32768] register = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]] lane = [[1024], [2048], [4096], [8192], [16384]]>
module attributes {simt.num_warps = 1 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
func.func @too_many(%x: f32) {
  // expected-error @below {{[TW0312] a tile of 32768 elements needs more registers than a thread has}}
  // expected-note @below {{with 32 threads the largest is of 16384: loop over smaller tiles, launch more programs, or raise num_warps}}
  %tile = tile.splat %x : f32 -> tensor<32768xf32, #row>
  return
}
}

// -----

#half = #tile.layout<[16384] register = [[1], [2], [4], [8], [16], [32], [64], [128], [256]] lane = [[512], [1024], [2048], [4096], [8192]]>
module attributes {simt.num_warps = 1 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
func.func @as_many_as_may_be(%x: f32) {
  %tile = tile.splat %x : f32 -> tensor<16384xf32, #half>
  return
}
}
