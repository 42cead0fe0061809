// Products are chosen among tiles that are padded to powers of two, and layouts are assigned to tiles without boxes, for one number of warps.
// RUN: split-file %s %t
// RUN: tile-opt %t/ragged.mlir --select-mma --verify-diagnostics
// RUN: tile-opt %t/box.mlir --assign-layouts --verify-diagnostics
// RUN: tile-opt %t/warps.mlir --assign-layouts --verify-diagnostics

//--- ragged.mlir
func.func @ragged(%x: f32) {
  // expected-error @+1 {{[TW0318] 'tile.splat' has a tile whose extents are not all powers of two: 'tensor<24xf32>'}}
  %y = tile.splat %x : f32 -> tensor<24xf32>
  return
}
//--- box.mlir
func.func @box(%p: !tile.ptr<f32>, %n: i32, %s: i64) {
  // expected-error @+1 {{[TW0318] 'tile.descriptor_load' is an earlier stage's}}
  %x = tile.descriptor_load %p shape [%n] strides [%s] at [%n] checked [0] : (!tile.ptr<f32>, i32, i64, i32) -> tensor<8xf32>
  return
}
//--- warps.mlir
#one = #tile.layout<[32] lane = [[1], [2], [4], [8], [16]]>
module attributes {simt.num_warps = 1 : i32} {
func.func @warps(%x: f32) {
  // expected-error @+1 {{[TW0318] 'tile.splat' has a layout of 1 warps, not 4}}
  %y = tile.splat %x : f32 -> tensor<32xf32, #one>
  return
}
}
