// Round trips of assembly text.
// RUN: tile-opt %s | tile-opt | FileCheck %s

// CHECK-LABEL: func.func @packed
func.func @packed(%x: tensor<64xi8>, %s: f32) -> (tensor<64xi32>, tensor<64xf32>, f32) {
  // CHECK: tile.inline_asm pure "bfe.u32 $0, $8, 0, 8;" "=r,=r,=r,=r,=f,=f,=f,=f,r" pack 4{{ ?}}(%{{.*}}) : (tensor<64xi8>) -> (tensor<64xi32>, tensor<64xf32>)
  %a, %b = tile.inline_asm pure "bfe.u32 $0, $8, 0, 8;" "=r,=r,=r,=r,=f,=f,=f,=f,r" pack 4(%x) : (tensor<64xi8>) -> (tensor<64xi32>, tensor<64xf32>)
  // CHECK: tile.inline_asm "mov.b32 $0, $1;" "=f,f" pack 1{{ ?}}(%{{.*}}) : (f32) -> f32
  %c = tile.inline_asm "mov.b32 $0, $1;" "=f,f" pack 1(%s) : (f32) -> f32
  return %a, %b, %c : tensor<64xi32>, tensor<64xf32>, f32
}
