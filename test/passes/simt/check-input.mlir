// Products are chosen among tiles that have grown to powers of two, and layouts are assigned to tiles without boxes.
// RUN: split-file %s %t
// RUN: tile-opt %t/ragged.mlir --select-mma --verify-diagnostics
// RUN: tile-opt %t/box.mlir --assign-layouts --verify-diagnostics

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
