// Where an operand's rows or columns, and not its neighbours along K, are consecutive in memory, lanes hold
// neighbours of them, unless the machine transposes such elements while it reads them.
// RUN: tile-opt --select-mma=num-warps=4 %s | FileCheck %s

#i8 = #tile.mma<16 x 8 x 32, i8 in "k0 k1 m3 k4 | k2 k3 m0 m1 m2", i8 in "k0 k1 k4 | k2 k3 n0 n1 n2" -> i32 in "n0 m3 | n1 n2 m0 m1 m2">
#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#f64 = #tile.mma<8 x 8 x 4, f64 in "| k0 k1 m0 m1 m2", f64 in "| k0 k1 n0 n1 n2" -> f64 in "n0 | n1 n2 m0 m1 m2">
#machine = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#i8, #f16, #f64], features = [load_matrix]>

module attributes {tile.target = #machine} {
// Pairs of bytes, which the machine transposes as if they were one element.
// CHECK-LABEL: @bytes(
// CHECK: simt.mma {{.*}} warps [2, 2] interleaved [1, 2, 1]
func.func @bytes(%p: !tile.ptr<i8> {tile.divisibility = 16 : i64}, %row: i32 {tile.divisibility = 16 : i64}, %a: tensor<64x32xi8>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %r = tile.arange 0 to 32 : tensor<32xi32>
  %rs = tile.expand_dims %r axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %step = tile.splat %row : i32 -> tensor<32x1xi32>
  %at = arith.muli %rs, %step : tensor<32x1xi32>
  %rows = tile.broadcast %at : tensor<32x1xi32> -> tensor<32x64xi32>
  %n = tile.arange 0 to 64 : tensor<64xi32>
  %ns = tile.expand_dims %n axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %columns = tile.broadcast %ns : tensor<1x64xi32> -> tensor<32x64xi32>
  %o = arith.addi %rows, %columns : tensor<32x64xi32>
  %ps = tile.splat %p : !tile.ptr<i8> -> tensor<32x64x!tile.ptr<i8>>
  %q = tile.addptr %ps, %o : tensor<32x64x!tile.ptr<i8>>, tensor<32x64xi32>
  %0 = tile.load %q : tensor<32x64x!tile.ptr<i8>> -> tensor<32x64xi8>
  %d = tile.dot %a, %0, %c : tensor<64x32xi8>, tensor<32x64xi8> -> tensor<64x64xi32>
  return %d : tensor<64x64xi32>
}

// Elements of 16 bits are transposed one by one.
// CHECK-LABEL: @halves(
// CHECK: simt.mma {{.*}} warps [2, 2] ieee
func.func @halves(%p: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %row: i32 {tile.divisibility = 16 : i64}, %a: tensor<64x32xf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = tile.arange 0 to 32 : tensor<32xi32>
  %rs = tile.expand_dims %r axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %step = tile.splat %row : i32 -> tensor<32x1xi32>
  %at = arith.muli %rs, %step : tensor<32x1xi32>
  %rows = tile.broadcast %at : tensor<32x1xi32> -> tensor<32x64xi32>
  %n = tile.arange 0 to 64 : tensor<64xi32>
  %ns = tile.expand_dims %n axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %columns = tile.broadcast %ns : tensor<1x64xi32> -> tensor<32x64xi32>
  %o = arith.addi %rows, %columns : tensor<32x64xi32>
  %ps = tile.splat %p : !tile.ptr<f16> -> tensor<32x64x!tile.ptr<f16>>
  %q = tile.addptr %ps, %o : tensor<32x64x!tile.ptr<f16>>, tensor<32x64xi32>
  %0 = tile.load %q : tensor<32x64x!tile.ptr<f16>> -> tensor<32x64xf16>
  %d = tile.dot %a, %0, %c : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// 16 bytes at once.
// CHECK-LABEL: @doubles(
// CHECK: simt.mma {{.*}} warps [2, 2] interleaved [1, 2, 1]
func.func @doubles(%p: !tile.ptr<f64> {tile.divisibility = 16 : i64}, %row: i32 {tile.divisibility = 16 : i64}, %a: tensor<64x32xf64>, %c: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %r = tile.arange 0 to 32 : tensor<32xi32>
  %rs = tile.expand_dims %r axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %step = tile.splat %row : i32 -> tensor<32x1xi32>
  %at = arith.muli %rs, %step : tensor<32x1xi32>
  %rows = tile.broadcast %at : tensor<32x1xi32> -> tensor<32x64xi32>
  %n = tile.arange 0 to 64 : tensor<64xi32>
  %ns = tile.expand_dims %n axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %columns = tile.broadcast %ns : tensor<1x64xi32> -> tensor<32x64xi32>
  %o = arith.addi %rows, %columns : tensor<32x64xi32>
  %ps = tile.splat %p : !tile.ptr<f64> -> tensor<32x64x!tile.ptr<f64>>
  %q = tile.addptr %ps, %o : tensor<32x64x!tile.ptr<f64>>, tensor<32x64xi32>
  %0 = tile.load %q : tensor<32x64x!tile.ptr<f64>> -> tensor<32x64xf64>
  %d = tile.dot %a, %0, %c : tensor<64x32xf64>, tensor<32x64xf64> -> tensor<64x64xf64>
  return %d : tensor<64x64xf64>
}

// What counts is what memory holds.
// CHECK-LABEL: @bytes_as_halves(
// CHECK: simt.mma {{.*}} warps [2, 2] interleaved [1, 2, 1]
func.func @bytes_as_halves(%p: !tile.ptr<i8> {tile.divisibility = 16 : i64}, %row: i32 {tile.divisibility = 16 : i64}, %a: tensor<64x32xf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = tile.arange 0 to 32 : tensor<32xi32>
  %rs = tile.expand_dims %r axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %step = tile.splat %row : i32 -> tensor<32x1xi32>
  %at = arith.muli %rs, %step : tensor<32x1xi32>
  %rows = tile.broadcast %at : tensor<32x1xi32> -> tensor<32x64xi32>
  %n = tile.arange 0 to 64 : tensor<64xi32>
  %ns = tile.expand_dims %n axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %columns = tile.broadcast %ns : tensor<1x64xi32> -> tensor<32x64xi32>
  %o = arith.addi %rows, %columns : tensor<32x64xi32>
  %ps = tile.splat %p : !tile.ptr<i8> -> tensor<32x64x!tile.ptr<i8>>
  %q = tile.addptr %ps, %o : tensor<32x64x!tile.ptr<i8>>, tensor<32x64xi32>
  %0 = tile.load %q : tensor<32x64x!tile.ptr<i8>> -> tensor<32x64xi8>
  %2 = arith.sitofp %0 : tensor<32x64xi8> to tensor<32x64xf16>
  %d = tile.dot %a, %2, %c : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// Neighbours along K are in words already.
// CHECK-LABEL: @along_k(
// CHECK: simt.mma {{.*}} warps [2, 2] ieee
func.func @along_k(%p: !tile.ptr<i8> {tile.divisibility = 16 : i64}, %row: i32 {tile.divisibility = 16 : i64}, %a: tensor<64x32xi8>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %rs = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %step = tile.splat %row : i32 -> tensor<64x1xi32>
  %at = arith.muli %rs, %step : tensor<64x1xi32>
  %rows = tile.broadcast %at : tensor<64x1xi32> -> tensor<64x32xi32>
  %n = tile.arange 0 to 32 : tensor<32xi32>
  %ns = tile.expand_dims %n axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %columns = tile.broadcast %ns : tensor<1x32xi32> -> tensor<64x32xi32>
  %o = arith.addi %rows, %columns : tensor<64x32xi32>
  %ps = tile.splat %p : !tile.ptr<i8> -> tensor<64x32x!tile.ptr<i8>>
  %q = tile.addptr %ps, %o : tensor<64x32x!tile.ptr<i8>>, tensor<64x32xi32>
  %0 = tile.load %q : tensor<64x32x!tile.ptr<i8>> -> tensor<64x32xi8>
  %1 = tile.trans %0 [1, 0] : tensor<64x32xi8> -> tensor<32x64xi8>
  %d = tile.dot %a, %1, %c : tensor<64x32xi8>, tensor<32x64xi8> -> tensor<64x64xi32>
  return %d : tensor<64x64xi32>
}
}
