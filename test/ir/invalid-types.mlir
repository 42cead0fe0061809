// Types and descriptions of machines that no stage could make sense of.
// RUN: tile-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{a pointer is to numbers or to pointers, not to 'index'}}
func.func @pointer(%p: !tile.ptr<index>)

// -----
// expected-error @+1 {{a pointer is to numbers or to pointers, not to 'vector<4xf32>'}}
func.func @pointer_to_vector(%p: !tile.ptr<vector<4xf32>>)

// -----
// expected-error @+1 {{extents of a matrix instruction are powers of two up to 1024, not 7}}
#m = #tile.mma<16 x 7 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">

// -----
// expected-error @+1 {{a matrix instruction has integers or floats of 8 to 64 bits, not 'i4'}}
#m = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> i4 in "n0 m3 | n1 n2 m0 m1 m2">

// -----
#m = #tile.mma<16 x 8 x 4, f16 in "k0 m3 | k1 - m0 m1 m2", f16 in "k0 | k1 - n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
// expected-error @+1 {{16 bytes or more along k}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#m]>

// -----
// expected-error @+1 {{fragments of an instruction are of one number of lanes}}
#m = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 n2 | k1 k2 n0 n1" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">

// -----
#m = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
// expected-error @+1 {{fragments of matrix instructions are for warps of warp_size lanes}}
#t = #tile.target<warp_size = 64, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#m]>

// -----
// expected-error @+1 {{warp_size is a power of two up to 64}}
#t = #tile.target<warp_size = 0, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>

// -----
// expected-error @+1 {{vector_bits is 32, 64, 128 or 256}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 7, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>

// -----
// expected-error @+1 {{max_warps is a power of two up to 64}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 48, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>

// -----
// expected-error @+1 {{spare_registers are fewer than registers}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 255, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>

// -----
// expected-error @+1 {{line_bytes is a power of two from 16 to 1024}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 0, sector_bytes = 32, banks = 32, bank_bytes = 4>

// -----
// expected-error @+1 {{banks are a power of two up to 256, bank_bytes one up to 16}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 0, bank_bytes = 4>

// -----
// expected-error @+1 {{sector_bytes is a power of two up to line_bytes}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 256, banks = 32, bank_bytes = 4>

// -----
// expected-error @+1 {{lanes of phases are independent, below warp_size}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, phases = [read 16 over 32 banks by lanes [1, 2, 3]]>

// -----
// expected-error @+1 {{lanes of phases are independent, below warp_size}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, phases = [read 16 over 32 banks by lanes [1, 32]]>

// -----
// expected-error @+1 {{phases are of powers of two of bytes and banks}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, phases = [read 16 over 24 banks by lanes [1]]>

// -----
// expected-error @+1 {{expected `read` or `write`}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, phases = [fetch 16 over 32 banks by lanes [1]]>

// -----
// expected-error @+1 {{copies are of powers of two up to 16 bytes}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, copies = [#tile.copy<each_lane of [4, 12] by groups>]>

// -----
// expected-error @+2 {{expected ::tw::tile::WaitKind to be one of: groups, counts, barriers}}
// expected-error @+1 {{failed to parse Tile_CopyAttr parameter 'wait'}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, copies = [#tile.copy<each_lane of [4] by group>]>

// -----
// expected-error @+1 {{elements of a block have 8, 16 or 32 bits}}
#b = #tile.block<8 x 16, 64 bits of a in "m0 m1 m2 | n0 n1 n2 n3">

// -----
// expected-error @+1 {{a block has powers of two of rows and columns, and a fragment}}
#b = #tile.block<6 x 16, 16 bits of a in "m0 m1 m2 | n0 n1 n2 n3">

// -----
// expected-error @+1 {{a block has powers of two of rows and columns, and a fragment}}
#b = #tile.block<8 x 16, 16 bits of a in "rows">

// -----
// expected-error @+1 {{the fragment holds each bit of rows (m) and columns (n) once}}
#b = #tile.block<8 x 16, 16 bits of a in "m0 m1 m1 | n0 n1 n2 n3">

// -----
// expected-error @+1 {{the fragment holds whole words of 32 bits, and nothing else}}
#b = #tile.block<8 x 16, 16 bits of a in "m0 m1 m2 k0 | n0 n1 n2 n3">

// -----
// expected-error @+1 {{the fragment holds whole words of 32 bits, and nothing else}}
#b = #tile.block<1 x 16, 16 bits of a in "| n0 n1 n2 n3">

// -----
// expected-error @+1 {{fragments of blocks are for warps of warp_size lanes}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, blocks = [<8 x 16, 16 bits of a in "m0 m1 m2 | n0 n1 n2 n3">]>

// -----
// expected-error @+1 {{expected one of [load_matrix, float8_casts, atomic_bf16, separate_rounding, load_transposed, fma, scale_by_power, store_matrix, dependent_launches, early_launch, load_transposed_8x8] for what a machine can do beyond what all can, or is asked to, got: load_matrices}}
#t = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 255, spare_registers = 32, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, features = [load_matrices]>

// -----
func.func @dynamic(%x: f32) {
  // expected-error @+1 {{tile of static extents above 0}}
  %0 = tile.splat %x : f32 -> tensor<?xf32>
  return
}

// -----
func.func @empty(%x: f32) {
  // expected-error @+1 {{tile of static extents above 0}}
  %0 = tile.splat %x : f32 -> tensor<8x0xf32>
  return
}

// -----
func.func @accumulator(%a: tensor<8x8xf16>, %c: tensor<8x8xf8E5M2>) {
  // expected-error @+1 {{accumulators have at least 16 bits}}
  %0 = tile.dot %a, %a, %c : tensor<8x8xf16>, tensor<8x8xf16> -> tensor<8x8xf8E5M2>
  return
}

// -----
func.func @float_atomic(%p: !tile.ptr<f32>, %x: f32) {
  // expected-error @+1 {{no add of 'f32'}}
  %0 = tile.atomic_rmw add, %p, %x : !tile.ptr<f32>, f32 -> f32
  return
}

// -----
func.func @integer_atomic(%p: !tile.ptr<i32>, %x: i32) {
  // expected-error @+1 {{no fadd of 'i32'}}
  %0 = tile.atomic_rmw fadd, %p, %x : !tile.ptr<i32>, i32 -> i32
  return
}

// -----
func.func @narrow_atomic(%p: !tile.ptr<f8E5M2>, %x: f8E5M2) {
  // expected-error @+1 {{no fadd of 'f8E5M2'}}
  %0 = tile.atomic_rmw fadd, %p, %x : !tile.ptr<f8E5M2>, f8E5M2 -> f8E5M2
  return
}

// -----
func.func @integer_atomic_of_box(%p: !tile.ptr<f32>, %n: i32, %s: i64, %i: i32, %x: tensor<8xf32>) {
  // expected-error @+1 {{no umax of 'f32'}}
  tile.descriptor_atomic umax, %x to %p shape [%n] strides [%s] at [%i] checked [0] : (!tile.ptr<f32>, i32, i64, i32, tensor<8xf32>) -> ()
  return
}

// -----
// expected-error @+1 {{fragments of a core's products have one lane}}
#p = #tile.product<mma = <16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">, per_cycle = 1>

// -----
// expected-error @+1 {{per_cycle is above 0}}
#p = #tile.product<mma = <1 x 4 x 1, f32 in "- - |", f32 in "n0 n1 |" -> f32 in "n0 n1 |">, per_cycle = 0>

// -----
// expected-error @+1 {{a product without an intrinsic is of 1 x n x 1 elements}}
#p = #tile.product<mma = <1 x 4 x 2, bf16 in "k0 - - |", bf16 in "k0 n0 n1 |" -> f32 in "n0 n1 |">, per_cycle = 1>

// -----
// expected-error @+1 {{neighbours along k fill a lane of 32 bits}}
#p = #tile.product<mma = <1 x 4 x 2, i8 in "k0 - - |", i8 in "k0 n0 n1 |" -> i32 in "n0 n1 |">, per_cycle = 1, intrinsic = "llvm.x">

// -----
// expected-error @+1 {{fragment "n0 k0 n1 k1 |" of a core's product is}}
#p = #tile.product<mma = <4 x 4 x 4, f32 in "k0 k1 m0 m1 |", f32 in "n0 k0 n1 k1 |" -> f32 in "n0 n1 m0 m1 |">, per_cycle = 1, intrinsic = "llvm.x">

// -----
// expected-error @+1 {{there are 8 to 64 matrix registers}}
#r = #tile.matrix_registers<count = 4, rows = 4, row_bytes = 16, configure = "c", release = "llvm.r", zero = "llvm.z", load = "llvm.l", store = "llvm.s">

// -----
// expected-error @+1 {{what configures matrix registers has a name}}
#r = #tile.matrix_registers<count = 8, rows = 4, row_bytes = 16, configure = "", release = "llvm.r", zero = "llvm.z", load = "llvm.l", store = "llvm.s">

// -----
// expected-error @+1 {{vector_bytes is a power of two from 16 to 256}}
#s = #tile.simd<vector_bytes = 24, registers = 16, line_bytes = 64, cache_bytes = 32768>

// -----
// expected-error @+1 {{a core has 8 to 1024 registers}}
#s = #tile.simd<vector_bytes = 16, registers = 4, line_bytes = 64, cache_bytes = 32768>

// -----
// expected-error @+1 {{line_bytes is a power of two up to cache_bytes}}
#s = #tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32>

// -----
// expected-error @+1 {{products of vectors have accumulators of vector_bytes}}
#s = #tile.simd<vector_bytes = 32, registers = 16, line_bytes = 64, cache_bytes = 32768, products = [<mma = <1 x 4 x 1, f32 in "- - |", f32 in "n0 n1 |" -> f32 in "n0 n1 |">, per_cycle = 1>]>

// -----
// expected-error @+1 {{products of matrices fit matrix_registers}}
#s = #tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32768, products = [<mma = <4 x 4 x 8, bf16 in "k0 k1 k2 m0 m1 |", bf16 in "k0 n0 n1 k1 k2 |" -> f32 in "n0 n1 m0 m1 |">, per_cycle = 64, intrinsic = "llvm.x">]>

// -----
// expected-error @+1 {{products of matrices fit matrix_registers}}
#s = #tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32768, products = [<mma = <4 x 4 x 8, bf16 in "k0 k1 k2 m0 m1 |", bf16 in "k0 n0 n1 k1 k2 |" -> f32 in "n0 n1 m0 m1 |">, per_cycle = 64, intrinsic = "llvm.x">], matrix_registers = <count = 8, rows = 2, row_bytes = 16, configure = "c", release = "llvm.r", zero = "llvm.z", load = "llvm.l", store = "llvm.s">>

// -----
// expected-error @+1 {{names of intrinsics begin with llvm.}}
#p = #tile.product<mma = <1 x 4 x 2, bf16 in "k0 - - |", bf16 in "k0 n0 n1 |" -> f32 in "n0 n1 |">, per_cycle = 1, intrinsic = "x">

// -----
// expected-error @+1 {{operands of a core's product are of one type}}
#p = #tile.product<mma = <1 x 4 x 4, f8E5M2 in "k0 k1 - - |", f8E5M2 in "k0 k1 n0 n1 |" -> f32 in "n0 n1 |">, per_cycle = 1, intrinsic = "llvm.x">

// -----
// expected-error @+1 {{a product of vectors has as many steps along k as a lane has elements}}
#p = #tile.product<mma = <1 x 4 x 2, f32 in "k0 - - |", f32 in "n0 n1 k0 |" -> f32 in "n0 n1 |">, per_cycle = 1, intrinsic = "llvm.x">

// -----
// expected-error @+1 {{signs are those of bytes}}
#p = #tile.product<mma = <1 x 4 x 2, bf16 in "k0 - - |", bf16 in "k0 n0 n1 |" -> f32 in "n0 n1 |">, per_cycle = 1, intrinsic = "llvm.x", signs = us>

// -----
// expected-error @+1 {{products of vectors of integers may begin at zero, no others}}
#p = #tile.product<mma = <1 x 4 x 2, bf16 in "k0 - - |", bf16 in "k0 n0 n1 |" -> f32 in "n0 n1 |">, per_cycle = 1, intrinsic = "llvm.x", sums = zero>

// -----
// expected-error @+1 {{names of intrinsics begin with llvm.}}
#r = #tile.matrix_registers<count = 8, rows = 4, row_bytes = 16, configure = "c", release = "r", zero = "llvm.z", load = "llvm.l", store = "llvm.s">

// -----
// expected-error @+1 {{there are 8 to 64 matrix registers}}
#r = #tile.matrix_registers<count = 100, rows = 4, row_bytes = 16, configure = "c", release = "llvm.r", zero = "llvm.z", load = "llvm.l", store = "llvm.s">

// -----
// expected-error @+1 {{products of matrices fit matrix_registers}}
#s = #tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32768, products = [<mma = <4 x 4 x 16, bf16 in "k0 k1 k2 k3 m0 m1 |", bf16 in "k0 n0 n1 k1 k2 k3 |" -> f32 in "n0 n1 m0 m1 |">, per_cycle = 64, intrinsic = "llvm.x">], matrix_registers = <count = 8, rows = 4, row_bytes = 16, configure = "c", release = "llvm.r", zero = "llvm.z", load = "llvm.l", store = "llvm.s">>
