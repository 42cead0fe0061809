// Operands of products are loaded in blocks of their arrays, where the machine has a block whose lanes hold what the
// instruction takes.
// RUN: tile-opt --select-mma=num-warps=1 --load-blocks --canonicalize %s | FileCheck %s
// RUN: tile-opt --select-mma=num-warps=1 --load-blocks --assign-layouts=num-warps=1 --cse --stage-through-shared --allocate-shared --insert-barriers --lower-simt %s | FileCheck --check-prefix=THREAD %s

#mma = #tile.mma<8 x 16 x 16, f16 in "m0 m1 m2 | k0 k1 k2 k3", f16 in "k0 k1 k2 k3 | n0 n1 n2 n3" -> f32 in "m0 m1 m2 | n0 n1 n2 n3">
#large = #tile.block<32 x 32, 16 bits of a in "m0 m1 m2 m3 m4 n4 | n0 n1 n2 n3">
#left = #tile.block<16 x 16, 16 bits of a in "m0 m1 m2 m3 | n0 n1 n2 n3">
#right = #tile.block<32 x 16, 16 bits of b in "m0 m1 m2 m3 m4 | n0 n1 n2 n3">
#machine = #tile.target<warp_size = 16, shared_bytes = 65536, registers = 128, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 64, sector_bytes = 64, banks = 32, bank_bytes = 4, mma = [#mma], blocks = [#large, #left, #right]>

// The first array ends where the mask says; the second begins at the tile, and has its extent. A launch checks both.
// CHECK: simt.tensor_maps = [#simt.tensor_map<0 of f16 extents[<1 of[4]>, <1 of[3]>] strides[<1 of[5]>] box[] span 16>,
// CHECK-SAME: #simt.tensor_map<1 of f16 extents[<32>, <32>] strides[<64>] box[] span 64>]
module attributes {tile.target = #machine} {
// CHECK-LABEL: @product
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : i32
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
// CHECK: %[[X:.*]] = simt.load_blocks %arg0[%[[C0]], %[[C0]]] of %arg4 x %arg3 pitch %arg5 by <16 x 16, 16 bits of a in
// CHECK-SAME: along 1 in <[16, 32] register = {{\[\[}}1, 0], [2, 0], [4, 0], [0, 16], [8, 0]] lane = {{\[\[}}0, 1], [0, 2], [0, 4], [0, 8]]>
// CHECK: %[[ROW:.*]] = arith.extsi %arg6 : i32 to i64
// CHECK: %[[OFFSET:.*]] = arith.muli %[[ROW]], %{{.*}} : i64
// CHECK: %[[ARRAY:.*]] = tile.addptr %arg1, %[[OFFSET]] : !tile.ptr<f16>, i64
// CHECK: %[[Y:.*]] = simt.load_blocks %[[ARRAY]][%[[C0]], %[[C0]]] of %[[C32]] x %[[C32]] pitch %[[C64]] by <32 x 16, 16 bits of b in
// CHECK: simt.mma %[[X]], %[[Y]],
// CHECK-NOT: tile.load

// A tile of 16 rows and 32 columns is two blocks of A, and one of B.
// THREAD-LABEL: @product
// THREAD-COUNT-2: simt.load_block {{.*}} by <16 x 16
// THREAD: simt.load_block {{.*}} by <32 x 16
// THREAD-NOT: simt.load_block
// THREAD-COUNT-4: simt.mma_fragment
func.func @product(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "a"}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "b"}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "c"}, %M: i32 {tile.name = "M"}, %K: i32 {tile.name = "K"}, %stride: i32 {tile.divisibility = 16 : i64, tile.name = "stride"}, %first: i32 {tile.name = "first", tile.non_negative}) {
  %cst = arith.constant dense<16> : tensor<16xi32>
  %cst_0 = arith.constant dense<64> : tensor<32xi32>
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
  %cst_2 = arith.constant dense<0.000000e+00> : tensor<16x32xf16>
  %c32_i32 = arith.constant 32 : i32
  %0 = tile.arange 0 to 16 : tensor<16xi32>
  %1 = tile.arange 0 to 32 : tensor<32xi32>
  %2 = tile.splat %stride : i32 -> tensor<16xi32>
  %3 = arith.muli %0, %2 : tensor<16xi32>
  %4 = tile.expand_dims %3 axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %5 = tile.splat %a : !tile.ptr<f16> -> tensor<16x1x!tile.ptr<f16>>
  %6 = tile.addptr %5, %4 : tensor<16x1x!tile.ptr<f16>>, tensor<16x1xi32>
  %7 = tile.expand_dims %1 axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %8 = tile.broadcast %6 : tensor<16x1x!tile.ptr<f16>> -> tensor<16x32x!tile.ptr<f16>>
  %9 = tile.broadcast %7 : tensor<1x32xi32> -> tensor<16x32xi32>
  %10 = tile.addptr %8, %9 : tensor<16x32x!tile.ptr<f16>>, tensor<16x32xi32>
  %11 = tile.splat %M : i32 -> tensor<16xi32>
  %12 = arith.cmpi slt, %0, %11 : tensor<16xi32>
  %13 = tile.expand_dims %12 axis 1 : tensor<16xi1> -> tensor<16x1xi1>
  %14 = tile.splat %K : i32 -> tensor<32xi32>
  %15 = arith.cmpi slt, %1, %14 : tensor<32xi32>
  %16 = tile.expand_dims %15 axis 0 : tensor<32xi1> -> tensor<1x32xi1>
  %17 = tile.broadcast %13 : tensor<16x1xi1> -> tensor<16x32xi1>
  %18 = tile.broadcast %16 : tensor<1x32xi1> -> tensor<16x32xi1>
  %19 = arith.andi %17, %18 : tensor<16x32xi1>
  %20 = tile.load %10 mask %19 : tensor<16x32xi1> other %cst_2 : tensor<16x32xf16> : tensor<16x32x!tile.ptr<f16>> -> tensor<16x32xf16>
  %21 = arith.muli %first, %c32_i32 : i32
  %22 = tile.splat %21 : i32 -> tensor<32xi32>
  %23 = arith.addi %22, %1 : tensor<32xi32>
  %24 = arith.muli %23, %cst_0 : tensor<32xi32>
  %25 = tile.expand_dims %24 axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %26 = tile.splat %b : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
  %27 = tile.addptr %26, %25 : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
  %28 = tile.expand_dims %0 axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %29 = tile.broadcast %27 : tensor<32x1x!tile.ptr<f16>> -> tensor<32x16x!tile.ptr<f16>>
  %30 = tile.broadcast %28 : tensor<1x16xi32> -> tensor<32x16xi32>
  %31 = tile.addptr %29, %30 : tensor<32x16x!tile.ptr<f16>>, tensor<32x16xi32>
  %32 = tile.load %31 : tensor<32x16x!tile.ptr<f16>> -> tensor<32x16xf16>
  %33 = arith.muli %0, %cst : tensor<16xi32>
  %34 = tile.expand_dims %33 axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %35 = tile.splat %c : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %36 = tile.addptr %35, %34 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %37 = tile.broadcast %36 : tensor<16x1x!tile.ptr<f32>> -> tensor<16x16x!tile.ptr<f32>>
  %38 = tile.broadcast %28 : tensor<1x16xi32> -> tensor<16x16xi32>
  %39 = tile.addptr %37, %38 : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
  %40 = tile.dot %20, %32, %cst_1 : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  tile.store %39, %40 : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
  return
}
}
