// Before layouts, tiles have taken the room of powers of two.
// RUN: tile-opt --verify-stage=stage=padded --split-input-file --verify-diagnostics %s

func.func @valid(%n: i32) {
  %x = tile.splat %n : i32 -> tensor<1x64xi32>
  return
}

// -----

func.func @odd(%n: i32) {
  %x = tile.splat %n : i32 -> tensor<64x3xi32> // expected-error {{stage padded: 'tile.splat' has a tile whose extents are not all powers of two: 'tensor<64x3xi32>'}}
  return
}

// -----

#line = #tile.layout<[64] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32]]>
func.func @layout() {
  %x = tile.arange 0 to 64 : tensor<64xi32, #line> // expected-error {{has a tile with a layout, which is a later stage's}}
  return
}
