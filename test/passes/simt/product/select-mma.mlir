// Products become matrix instructions of the target's table; warps are spread so that operands travel
// least, or along rows where products are chained.
// RUN: tile-opt --select-mma=num-warps=4 --split-input-file %s | FileCheck %s
// RUN: tile-opt --select-mma=num-warps=4 --split-input-file %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-DAG: [[F16:#mma[0-9]*]] = #tile.mma<16 x 8 x 16, f16 in
// CHECK-DAG: [[SHORT:#mma[0-9]*]] = #tile.mma<16 x 8 x 8, f16 in
// CHECK-DAG: [[TF32:#mma[0-9]*]] = #tile.mma<16 x 8 x 8, tf32 in

#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#short = #tile.mma<16 x 8 x 8, f16 in "k0 m3 | k1 k2 m0 m1 m2", f16 in "k0 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#tf32 = #tile.mma<16 x 8 x 8, tf32 in "m3 k2 | k0 k1 m0 m1 m2", tf32 in "k2 | k0 k1 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#machine = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#short, #f16, #tf32], features = [load_matrix]>

module attributes {tile.target = #machine} {
// The instruction with the most steps of k; a square product is shared by two times two warps.
// CHECK-LABEL: @square
// CHECK: simt.mma %{{.*}}, %{{.*}}, %{{.*}} by [[F16]] warps [2, 2] ieee
func.func @square(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %d = tile.dot %a, %b, %c : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// CHECK-LABEL: @wide
// CHECK: warps [1, 4]
func.func @wide(%a: tensor<16x32xf16>, %b: tensor<32x128xf16>, %c: tensor<16x128xf32>) -> tensor<16x128xf32> {
  %d = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<32x128xf16> -> tensor<16x128xf32>
  return %d : tensor<16x128xf32>
}

// CHECK-LABEL: @batched
// CHECK: warps [4, 1, 1]
func.func @batched(%a: tensor<4x32x16xf16>, %b: tensor<4x16x32xf16>, %c: tensor<4x32x32xf32>) -> tensor<4x32x32xf32> {
  %d = tile.dot %a, %b, %c : tensor<4x32x16xf16>, tensor<4x16x32xf16> -> tensor<4x32x32xf32>
  return %d : tensor<4x32x32xf32>
}

// The first product is the second's left operand: its rows stay in their warps.
// CHECK-LABEL: @chained
// CHECK: simt.mma {{.*}} warps [4, 1]
// CHECK: simt.mma {{.*}} warps [4, 1]
func.func @chained(%q: tensor<64x32xf16>, %k: tensor<32x64xf16>, %v: tensor<64x32xf16>, %s: tensor<64x64xf32>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %p = tile.dot %q, %k, %s : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  %h = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
  %d = tile.dot %h, %v, %c : tensor<64x64xf16>, tensor<64x32xf16> -> tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}

// Also where the second product alone would rather be square.
// CHECK-LABEL: @chained_to_a_wide_product
// CHECK: simt.mma {{.*}} warps [4, 1]
// CHECK: simt.mma {{.*}} warps [4, 1]
func.func @chained_to_a_wide_product(%q: tensor<128x32xf16>, %k: tensor<32x64xf16>, %v: tensor<64x128xf16>, %s: tensor<128x64xf32>, %c: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %p = tile.dot %q, %k, %s : tensor<128x32xf16>, tensor<32x64xf16> -> tensor<128x64xf32>
  %h = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xf16>
  %d = tile.dot %h, %v, %c : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
  return %d : tensor<128x128xf32>
}

// Eight steps of k: the shorter instruction.
// CHECK-LABEL: @short
// CHECK: by [[SHORT]]
func.func @short(%a: tensor<16x8xf16>, %b: tensor<8x16xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %d = tile.dot %a, %b, %c : tensor<16x8xf16>, tensor<8x16xf16> -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}

// CHECK-LABEL: @rounded
// CHECK: by [[TF32]] warps [2, 2] tf32x3
func.func @rounded(%a: tensor<32x16xf32>, %b: tensor<16x32xf32>, %c: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %d = tile.dot %a, %b, %c {precision = 1 : i32} : tensor<32x16xf32>, tensor<16x32xf32> -> tensor<32x32xf32>
  return %d : tensor<32x32xf32>
}

// float32 without leave to round stays exact.
// CHECK-LABEL: @exact
// CHECK: tile.dot
// REMARK: remark: [TW0355] product by scalar multiply-adds: no matrix instruction multiplies f32[32, 16] by f32[16, 32] into f32[32, 32] without rounding
func.func @exact(%a: tensor<32x16xf32>, %b: tensor<16x32xf32>, %c: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %d = tile.dot %a, %b, %c : tensor<32x16xf32>, tensor<16x32xf32> -> tensor<32x32xf32>
  return %d : tensor<32x32xf32>
}

// Types that an instruction takes, in a tile that none fits.
// CHECK-LABEL: @too_narrow
// CHECK: tile.dot
// REMARK: remark: [TW0355] product by scalar multiply-adds: no matrix instruction multiplies f16[16, 4] by f16[4, 8] into f32[16, 8]: the smallest takes M = 16, N = 8 and K = 8
// REMARK: note: use larger tiles, filled up with zeros by masks
func.func @too_narrow(%a: tensor<16x4xf16>, %b: tensor<4x8xf16>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %d = tile.dot %a, %b, %c : tensor<16x4xf16>, tensor<4x8xf16> -> tensor<16x8xf32>
  return %d : tensor<16x8xf32>
}

// Floats of 8 bits are exact in f16, which this target multiplies.
// CHECK-LABEL: @widened
// CHECK: %[[A:.*]] = arith.extf %{{.*}} : tensor<32x16xf8E4M3FN> to tensor<32x16xf16>
// CHECK: simt.mma %[[A]]
func.func @widened(%a: tensor<32x16xf8E4M3FN>, %b: tensor<16x32xf8E5M2>, %c: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %d = tile.dot %a, %b, %c : tensor<32x16xf8E4M3FN>, tensor<16x32xf8E5M2> -> tensor<32x32xf32>
  return %d : tensor<32x32xf32>
}
}

// -----

// Without a description of the target nothing is assumed.
// CHECK-LABEL: @unknown
// CHECK: tile.dot
func.func @unknown(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %d = tile.dot %a, %b, %c : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// Scales go with the operands, K in its order. Bytes are two elements of e2m1 along k, which only an
// instruction with scales takes; floats of 8 bits without scales take it, too.
// CHECK: [[SCALED:#mma[0-9]*]] = #tile.mma<16 x 16 x 128, f8E4M3FN in "{{[^"]*}}", f4E2M1FN in
// CHECK: [[DEEP:#mma[0-9]*]] = #tile.mma<16 x 16 x 128, f8E4M3FN in "{{[^"]*}}", f8E4M3FN in
#plain = #tile.mma<16 x 16 x 32, f8E4M3FN in "k0 k1 k4 | m0 m1 m2 m3 k2 k3", f8E4M3FN in "k0 k1 k4 | n0 n1 n2 n3 k2 k3" -> f32 in "n0 n1 | m0 m1 m2 m3 n2 n3">
#scaled = #tile.mma<16 x 16 x 128, f8E4M3FN in "k0 k1 k2 k3 k6 | m0 m1 m2 m3 k4 k5", f4E2M1FN in "k0 k1 k2 k3 | n0 n1 n2 n3 k4 k5" -> f32 in "n0 n1 | m0 m1 m2 m3 n2 n3" scales in "| m0 m1 m2 m3 k0 k1">
#deep = #tile.mma<16 x 16 x 128, f8E4M3FN in "k0 k1 k2 k3 k6 | m0 m1 m2 m3 k4 k5", f8E4M3FN in "k0 k1 k2 k3 k6 | n0 n1 n2 n3 k4 k5" -> f32 in "n0 n1 | m0 m1 m2 m3 n2 n3" scales in "| m0 m1 m2 m3 k0 k1">
#machine = #tile.target<warp_size = 64, shared_bytes = 65536, registers = 512, spare_registers = 52, max_warps = 16, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#scaled, #deep, #plain]>

module attributes {tile.target = #machine} {
// CHECK-LABEL: @scaled
// CHECK: simt.mma %{{.*}}, %{{.*}}, %{{.*}} scaled(%{{.*}}, %{{.*}} : tensor<64x8xi8>, tensor<64x8xi8>) by [[SCALED]] warps [2, 2] ieee
func.func @scaled(%a: tensor<64x256xf8E4M3FN>, %b: tensor<128x64xi8>, %c: tensor<64x64xf32>, %s: tensor<64x8xi8>, %t: tensor<64x8xi8>) -> tensor<64x64xf32> {
  %d = tile.dot %a, %b, %c scaled (%s, %t : tensor<64x8xi8>, tensor<64x8xi8>) : tensor<64x256xf8E4M3FN>, tensor<128x64xi8> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// CHECK-LABEL: @without_scales
// CHECK: simt.mma %{{.*}}, %{{.*}}, %{{.*}} by [[DEEP]] warps
func.func @without_scales(%a: tensor<64x256xf8E4M3FN>, %b: tensor<256x64xf8E4M3FN>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %d = tile.dot %a, %b, %c : tensor<64x256xf8E4M3FN>, tensor<256x64xf8E4M3FN> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}
}
