// Where the machine has instructions of several warps, products whose right operand is loaded as it is become
// them; a remark says why others do not.
// RUN: tile-opt --select-mma=num-warps=4 --split-input-file %s 2>&1 | FileCheck %s

#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#bytes = #tile.mma<16 x 8 x 32, i8 in "k0 k1 m3 k4 | k2 k3 m0 m1 m2", i8 in "k0 k1 k4 | k2 k3 n0 n1 n2" -> i32 in "n0 m3 | n1 n2 m0 m1 m2">
#unsigned = #tile.mma<16 x 8 x 32, ui8 in "k0 k1 m3 k4 | k2 k3 m0 m1 m2", i8 in "k0 k1 k4 | k2 k3 n0 n1 n2" -> i32 in "n0 m3 | n1 n2 m0 m1 m2">
#floats = #tile.mma<16 x 8 x 32, f8E4M3FN in "k0 k1 m3 k4 | k2 k3 m0 m1 m2", f8E5M2 in "k0 k1 k4 | k2 k3 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#group = #tile.async_mma<mma = #mma, warps = 4, columns = 256, span_bytes = 128, across = true>
#bytegroup = #tile.async_mma<mma = #bytes, warps = 4, columns = 256, span_bytes = 128, across = false>
#unsignedgroup = #tile.async_mma<mma = #unsigned, warps = 4, columns = 256, span_bytes = 128, across = false>
#floatgroup = #tile.async_mma<mma = #floats, warps = 4, columns = 256, span_bytes = 128, across = false, precise_depth = 64>
#machine = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma, #bytes, #unsigned], async_mma = [#group, #bytegroup, #unsignedgroup, #floatgroup], features = [load_matrix]>

module attributes {tile.target = #machine} {
// CHECK: remark: [TW0367] product by matrix instructions of single warps: its right operand is computed, not loaded as it is
// CHECK: remark: [TW0367] {{.*}}: it has fewer than 16 rows for each warp
// CHECK: remark: [TW0367] {{.*}}: its right operand's elements are not neighbours along k in memory

// The left operand may come from anywhere.
// CHECK-LABEL: @loaded
// CHECK: simt.mma {{.*}} warps [4, 1] ieee async
func.func @loaded(%a: tensor<64x32xf16>, %p: tensor<32x64x!tile.ptr<f16>>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %b = tile.load %p : tensor<32x64x!tile.ptr<f16>> -> tensor<32x64xf16>
  %d = tile.dot %a, %b, %c : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// A transposed tile lies as it was loaded.
// CHECK-LABEL: @transposed
// CHECK: simt.mma {{.*}} warps [4, 1] ieee async
func.func @transposed(%a: tensor<64x32xi8>, %p: tensor<64x32x!tile.ptr<i8>>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %b = tile.load %p : tensor<64x32x!tile.ptr<i8>> -> tensor<64x32xi8>
  %t = tile.trans %b [1, 0] : tensor<64x32xi8> -> tensor<32x64xi8>
  %d = tile.dot %a, %t, %c : tensor<64x32xi8>, tensor<32x64xi8> -> tensor<64x64xi32>
  return %d : tensor<64x64xi32>
}

// CHECK-LABEL: @computed
// CHECK-NOT: async
func.func @computed(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %d = tile.dot %a, %b, %c : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// CHECK-LABEL: @few_rows
// CHECK-NOT: async
func.func @few_rows(%a: tensor<32x32xf16>, %p: tensor<32x64x!tile.ptr<f16>>, %c: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %b = tile.load %p : tensor<32x64x!tile.ptr<f16>> -> tensor<32x64xf16>
  %d = tile.dot %a, %b, %c : tensor<32x32xf16>, tensor<32x64xf16> -> tensor<32x64xf32>
  return %d : tensor<32x64xf32>
}

// CHECK-LABEL: @across
// CHECK-NOT: async
func.func @across(%a: tensor<64x32xi8>, %p: tensor<32x64x!tile.ptr<i8>>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %b = tile.load %p : tensor<32x64x!tile.ptr<i8>> -> tensor<32x64xi8>
  %d = tile.dot %a, %b, %c : tensor<64x32xi8>, tensor<32x64xi8> -> tensor<64x64xi32>
  return %d : tensor<64x64xi32>
}

// Bytes without a sign come extended: the instruction extends them by itself.
// CHECK-LABEL: @unsigned
// CHECK: simt.mma %arg0, {{.*}} warps [4, 1] ieee async {{.*}} : tensor<64x32xi8>, tensor<32x64xi8>
func.func @unsigned(%a: tensor<64x32xi8>, %p: tensor<64x32x!tile.ptr<i8>>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %b = tile.load %p : tensor<64x32x!tile.ptr<i8>> -> tensor<64x32xi8>
  %t = tile.trans %b [1, 0] : tensor<64x32xi8> -> tensor<32x64xi8>
  %x = arith.extui %a : tensor<64x32xi8> to tensor<64x32xi16>
  %y = arith.extsi %t : tensor<32x64xi8> to tensor<32x64xi16>
  %d = tile.dot %x, %y, %c : tensor<64x32xi16>, tensor<32x64xi16> -> tensor<64x64xi32>
  return %d : tensor<64x64xi32>
}

// Sums that lose bits are of as many elements as the machine's row says, or the dot: whole instructions. One
// that adds to nothing, and has no more elements, is a sum of its own; where all may be added so, none is apart.
// CHECK-LABEL: @floats
func.func @floats(%a: tensor<64x128xf8E4M3FN>, %p: tensor<64x128x!tile.ptr<f8E5M2>>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %b = tile.load %p : tensor<64x128x!tile.ptr<f8E5M2>> -> tensor<64x128xf8E5M2>
  %t = tile.trans %b [1, 0] : tensor<64x128xf8E5M2> -> tensor<128x64xf8E5M2>
  // CHECK: simt.mma {{.*}} async {{.*}} partial_depth 64 :
  %0 = tile.dot %a, %t, %c : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E5M2> -> tensor<64x64xf32>
  // CHECK: simt.mma {{.*}} async {{.*}} partial_depth 96 :
  %1 = tile.dot %a, %t, %0 {max_imprecise = 100 : i64} : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E5M2> -> tensor<64x64xf32>
  // CHECK: simt.mma {{.*}} async {{.*}} partial_depth 32 :
  %2 = tile.dot %a, %t, %1 {max_imprecise = 0 : i64} : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E5M2> -> tensor<64x64xf32>
  // CHECK: simt.mma {{.*}} async {{.*}} partial_depth 128 :
  %3 = tile.dot %a, %t, %2 {max_imprecise = 500 : i64} : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E5M2> -> tensor<64x64xf32>
  // CHECK: simt.mma
  // CHECK-NOT: partial_depth
  %4 = tile.dot %a, %t, %3 {max_imprecise = 1073741824 : i64} : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E5M2> -> tensor<64x64xf32>
  %5 = tile.dot %a, %t, %zero {max_imprecise = 128 : i64} : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E5M2> -> tensor<64x64xf32>
  %6 = arith.addf %4, %5 : tensor<64x64xf32>
  // CHECK: return
  return %6 : tensor<64x64xf32>
}
}
