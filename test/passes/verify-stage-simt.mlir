// The stages of machines with threads: every breach is reported where it is.
// RUN: tile-opt --verify-stage=stage=laid-out --split-input-file --verify-diagnostics %s

#line = #tile.layout<[64] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32]]>
#other = #tile.layout<[64] register = [] lane = [[1], [2], [4], [8], [32]] warp = [[16]]>
module attributes {simt.num_warps = 2 : i32} {
func.func @valid(%x: tensor<64xf32, #line>) {
  %y = simt.convert_layout %x : tensor<64xf32, #line> -> tensor<64xf32, #other>
  return
}
}

// -----

func.func @no_layout() {
  %x = tile.arange 0 to 64 : tensor<64xi32> // expected-error {{stage laid-out: 'tile.arange' has a tile without a layout}}
  return
}

// -----

#line = #tile.layout<[64] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32]]>
module attributes {simt.num_warps = 4 : i32} {
func.func @warps() {
  %x = tile.arange 0 to 64 : tensor<64xi32, #line> // expected-error {{has a layout with another number of warps than the program}}
  return
}
}

// -----

#copy = #tile.layout<[32] register = [[0]] lane = [[1], [2], [4], [8], [16]] warp = []>
module attributes {simt.num_warps = 1 : i32, tile.target = #tile.target<warp_size = 64, shared_bytes = 20000, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
func.func @lanes() {
  %x = tile.arange 0 to 32 : tensor<32xi32, #copy> // expected-error {{has a layout with another number of lanes than the target}}
  return
}
}

// -----

#copy = #tile.layout<[32] register = [[0]] lane = [[1], [2], [4], [8], [16]] warp = []>
module attributes {simt.num_warps = 1 : i32} {
func.func @registers() {
  %x = tile.arange 0 to 32 : tensor<32xi32, #copy> // expected-error {{has a layout with registers that repeat others}}
  return
}
}

// -----

func.func @later() {
  simt.barrier // expected-error {{stage laid-out: 'simt.barrier' is a later stage's}}
  return
}
