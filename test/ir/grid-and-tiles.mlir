// Round trips of the operations that make tiles and change their shape.
// RUN: tile-opt %s | tile-opt | FileCheck %s

// CHECK-LABEL: func.func @grid
func.func @grid() -> (i32, i32) {
  // CHECK: tile.program_id 0
  %id = tile.program_id 0
  // CHECK: tile.num_programs 2
  %count = tile.num_programs 2
  return %id, %count : i32, i32
}

// CHECK-LABEL: func.func @make
func.func @make(%x: f32, %p: !tile.ptr<f16>) {
  // CHECK: tile.arange -2 to 6 : tensor<8xi32>
  %a = tile.arange -2 to 6 : tensor<8xi32>
  // CHECK: tile.splat %{{.*}} : f32 -> tensor<4x100xf32>
  %s = tile.splat %x : f32 -> tensor<4x100xf32>
  // CHECK: tile.splat %{{.*}} : !tile.ptr<f16> -> tensor<4x!tile.ptr<f16>>
  %t = tile.splat %p : !tile.ptr<f16> -> tensor<4x!tile.ptr<f16>>
  return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<8x3xf32>) {
  // CHECK: tile.expand_dims %{{.*}} axis 1 : tensor<8x3xf32> -> tensor<8x1x3xf32>
  %e = tile.expand_dims %x axis 1 : tensor<8x3xf32> -> tensor<8x1x3xf32>
  // CHECK: tile.broadcast %{{.*}} : tensor<8x1x3xf32> -> tensor<8x5x3xf32>
  %b = tile.broadcast %e : tensor<8x1x3xf32> -> tensor<8x5x3xf32>
  // CHECK: tile.reshape %{{.*}} : tensor<8x3xf32> -> tensor<24xf32>
  %r = tile.reshape %x : tensor<8x3xf32> -> tensor<24xf32>
  // CHECK: tile.reshape %{{.*}} reorder : tensor<8x3xf32> -> tensor<24xf32>
  %q = tile.reshape %x reorder : tensor<8x3xf32> -> tensor<24xf32>
  // CHECK: tile.trans %{{.*}} [2, 0, 1] : tensor<8x5x3xf32> -> tensor<3x8x5xf32>
  %t = tile.trans %b [2, 0, 1] : tensor<8x5x3xf32> -> tensor<3x8x5xf32>
  return
}

// CHECK-LABEL: func.func @pairs
func.func @pairs(%x: tensor<8xf32>, %i: tensor<3xi64>) {
  // CHECK: tile.join %{{.*}}, %{{.*}} : tensor<8xf32> -> tensor<8x2xf32>
  %j = tile.join %x, %x : tensor<8xf32> -> tensor<8x2xf32>
  // CHECK: tile.split %{{.*}} : tensor<8x2xf32> -> tensor<8xf32>
  %l, %r = tile.split %j : tensor<8x2xf32> -> tensor<8xf32>
  // CHECK: tile.gather %{{.*}}[%{{.*}}] axis 0 : tensor<8xf32>, tensor<3xi64> -> tensor<3xf32>
  %g = tile.gather %x[%i] axis 0 : tensor<8xf32>, tensor<3xi64> -> tensor<3xf32>
  return
}
