// RUN: tile-compile %s --run --arg 'f32[1]=8' --show 1 | FileCheck %s
// RUN: tile-compile %s --target reference --run --arg 'f32[1]=8' --show 1 | FileCheck %s

// A kernel may be called like a library function that its own code calls.

// CHECK: compiled cbrtf
// CHECK: arg 0 f32[1] sum 2.0
func.func @cbrtf(%x: !tile.ptr<f32> {tile.name = "x"}) {
  %v = tile.load %x : !tile.ptr<f32> -> f32
  %w = math.cbrt %v : f32
  tile.store %x, %w : !tile.ptr<f32>, f32
  return
}
