// Functions without a formula call the vector math library in the widest forms that the lanes fill.
// RUN: tile-opt --expand-math --split-input-file %s | FileCheck %s --check-prefixes=CHECK,V64
// RUN: tile-opt -attach-target='target={#tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32768, features = [fma]>}' --expand-math --split-input-file %s | FileCheck %s --check-prefixes=CHECK,V16
// RUN: tile-opt --expand-math=vector-library=false --split-input-file %s | FileCheck %s --check-prefix=NONE

// V64: llvm.func @_ZGVeN16v_tanf(vector<16xf32>) -> vector<16xf32>
// V64-SAME: memory_effects
// V16: llvm.func @_ZGVbN4v_tanf(vector<4xf32>) -> vector<4xf32>
// NONE-COUNT-16: llvm.call @tanf
// CHECK-LABEL: func.func @tangent
func.func @tangent(%x: vector<16xf32>) -> vector<16xf32> {
  // V64: llvm.call @_ZGVeN16v_tanf(%{{.*}}) : (vector<16xf32>) -> vector<16xf32>
  // V16-COUNT-4: llvm.call @_ZGVbN4v_tanf
  // CHECK-NOT: llvm.call
  // CHECK: return
  // NONE: llvm.call @tw_lanes_tanf_16
  %y = math.tan %x : vector<16xf32>
  return %y : vector<16xf32>
}

// -----

// 11 lanes of f64: 8, then 2, then 1 in the narrowest form.
// CHECK-LABEL: func.func @power
func.func @power(%x: vector<11xf64>, %y: vector<11xf64>) -> vector<11xf64> {
  // V64: llvm.call @_ZGVeN8vv_pow(
  // V64: llvm.call @_ZGVbN2vv_pow(
  // V64: vector.shuffle %{{.*}}, %{{.*}} [10, 0] : vector<11xf64>, vector<11xf64>
  // V64: llvm.call @_ZGVbN2vv_pow(
  // V64-NOT: llvm.call
  // V16-COUNT-6: llvm.call @_ZGVbN2vv_pow(
  // CHECK: return
  %z = math.powf %x, %y : vector<11xf64>
  return %z : vector<11xf64>
}

// -----

// CHECK-LABEL: func.func @scalars
func.func @scalars(%x: f32, %y: f64) -> (f32, f64) {
  // CHECK: llvm.call @atanf(%{{.*}}) : (f32) -> f32
  // CHECK: llvm.call @exp(%{{.*}}) : (f64) -> f64
  %a = math.atan %x : f32
  %b = math.exp %y : f64
  return %a, %b : f32, f64
}

// -----

// CHECK-LABEL: func.func @matrix
func.func @matrix(%x: vector<4x4xf32>) -> vector<4x4xf32> {
  // V64: vector.shape_cast %{{.*}} : vector<4x4xf32> to vector<16xf32>
  // V64: llvm.call @_ZGVeN16v_cbrtf
  // V64: vector.shape_cast %{{.*}} : vector<16xf32> to vector<4x4xf32>
  %y = math.cbrt %x : vector<4x4xf32>
  return %y : vector<4x4xf32>
}
