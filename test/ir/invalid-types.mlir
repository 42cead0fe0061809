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
// expected-error @+1 {{16 bytes or more along k}}
#m = #tile.mma<16 x 8 x 4, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">

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
// expected-error @+1 {{expected one of [load_matrix, float8_casts, atomic_bf16, separate_rounding, load_transposed] for what a machine can do beyond what all can, or is asked to, got: load_matrices}}
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
