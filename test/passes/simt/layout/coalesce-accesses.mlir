// RUN: tile-opt %s -split-input-file -assign-layouts=num-warps=4 -coalesce-accesses -verify-diagnostics | FileCheck %s

// Each lane reads 16 bytes: conversions lead to the layout of the access and back.
// CHECK-LABEL: func.func @wide
// CHECK: %[[PTR:.*]] = simt.convert_layout {{.*}} -> tensor<1024x!tile.ptr<f32>, [[WIDE:#tile.layout<\[1024\] register = \[\[1\], \[2\], \[512\]\] lane = \[\[4\], \[8\], \[16\], \[32\], \[64\]\] warp = \[\[128\], \[256\]\]>]]>
// CHECK: %[[MASK:.*]] = simt.convert_layout {{.*}} -> tensor<1024xi1, [[WIDE]]>
// CHECK: %[[V:.*]] = tile.load %[[PTR]] mask %[[MASK]]
// CHECK: simt.convert_layout %[[V]] : tensor<1024xf32, [[WIDE]]> ->
module attributes {tile.target = #tile.target<warp_size = 32, shared_bytes = 101376, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
func.func @wide(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32 {tile.divisibility = 16 : i64}) -> tensor<1024xf32> {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %r, %ns : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %q = tile.addptr %ps, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %q mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  return %v : tensor<1024xf32>
}
}

// -----

// Accesses that share a shape share a layout: the f16 ones decide, each lane stores f32 in two parts.
// CHECK-LABEL: func.func @shared_by_two_types
// CHECK: tile.load {{.*}} -> tensor<1024xf16, [[BOTH:#tile.layout<\[1024\] register = \[\[1\], \[2\], \[4\]\] lane = \[\[8\][^>]*>]]>
// CHECK: tile.store {{.*}} : tensor<1024x!tile.ptr<f32>, [[BOTH]]>, tensor<1024xf32, [[BOTH]]>
func.func @shared_by_two_types(%p: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<f16> -> tensor<1024x!tile.ptr<f16>>
  %q = tile.addptr %ps, %r : tensor<1024x!tile.ptr<f16>>, tensor<1024xi32>
  %v = tile.load %q : tensor<1024x!tile.ptr<f16>> -> tensor<1024xf16>
  %w = arith.extf %v : tensor<1024xf16> to tensor<1024xf32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %d = tile.addptr %os, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %d, %w : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// A tile whose columns are contiguous is read along them; its rows are summed without crossing warps.
// CHECK-LABEL: func.func @columns
// CHECK: tile.load {{.*}} -> tensor<64x32xf32, #tile.layout<[64, 32] register = {{\[}}[1, 0], [2, 0], [0, 8], [0, 16]] lane = {{\[}}[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]] warp = {{\[}}[0, 2], [0, 4]]>>
func.func @columns(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %stride: i32 {tile.divisibility = 16 : i64}) -> tensor<64x32xf32> {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %c = tile.arange 0 to 32 : tensor<32xi32>
  %s = tile.splat %stride : i32 -> tensor<32xi32>
  %cs = arith.muli %c, %s : tensor<32xi32>
  %r2 = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %c2 = tile.expand_dims %cs axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %rb = tile.broadcast %r2 : tensor<64x1xi32> -> tensor<64x32xi32>
  %cb = tile.broadcast %c2 : tensor<1x32xi32> -> tensor<64x32xi32>
  %i = arith.addi %rb, %cb : tensor<64x32xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x32x!tile.ptr<f32>>
  %q = tile.addptr %ps, %i : tensor<64x32x!tile.ptr<f32>>, tensor<64x32xi32>
  %v = tile.load %q : tensor<64x32x!tile.ptr<f32>> -> tensor<64x32xf32>
  return %v : tensor<64x32xf32>
}

// -----

// The remarks say what keeps accesses narrow.
func.func @narrow(%p: !tile.ptr<f32> {tile.name = "x"}, %a: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %as = tile.splat %a : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %q = tile.addptr %ps, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  // expected-remark @below {{accesses of 4 bytes instead of 16: the addresses are only known to be divisible by 4; argument `x` is not known to be divisible by 16}}
  %v = tile.load %q : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %b = tile.addptr %as, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %m = arith.cmpi slt, %r, %ns : tensor<1024xi32>
  // expected-remark @below {{accesses of 4 bytes instead of 16: the mask is only known to be the same for 1 element}}
  tile.store %b, %v mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  %i = arith.addi %r, %ns : tensor<1024xi32>
  %u = tile.addptr %as, %i : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  // expected-remark @below {{an offset or a stride is not known to be divisible by 4}}
  tile.store %u, %v : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  %k = arith.muli %r, %ns : tensor<1024xi32>
  %w = tile.addptr %as, %k : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  // expected-remark @below {{the addresses of neighbours are not known to be consecutive}}
  tile.store %w, %v : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
