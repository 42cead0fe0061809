// Functions of f32 become formulas; what LLVM selects natively stays.
// RUN: tile-opt --expand-math --split-input-file %s | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: tile-opt -attach-target='target={#tile.simd<vector_bytes = 32, registers = 16, line_bytes = 64, cache_bytes = 32768, features = [fma]>}' --expand-math --split-input-file %s | FileCheck %s --check-prefixes=CHECK,NARROW

// CHECK-LABEL: @exp
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-NOT: math.exp
  // CHECK-COUNT-9: math.fma
  // WIDE: llvm.call_intrinsic "llvm.ldexp"
  // NARROW-NOT: ldexp
  // NARROW-COUNT-2: arith.mulf
  %y = math.exp %x : vector<16xf32>
  return %y : vector<16xf32>
}

// -----

// CHECK-LABEL: @scalar
func.func @scalar(%x: f32) -> f32 {
  // CHECK-NOT: math.{{(log|tanh|erf)}}
  // CHECK-NOT: llvm.call @
  %a = math.log %x : f32
  %b = math.tanh %a : f32
  %c = math.erf %b : f32
  // CHECK: return
  return %c : f32
}

// -----

// The large arguments of a vector's sine are left to the library, out of line.
// CHECK: llvm.func internal @tw_lanes_sinf_8(%{{.*}}: vector<8xf32>) -> vector<8xf32> attributes {{.*}}no_inline
// CHECK-COUNT-8: llvm.call @sinf
// CHECK-LABEL: func.func @sin
func.func @sin(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK: %[[ANY:.*]] = vector.reduction <or>
  // CHECK: scf.if %[[ANY]]
  // CHECK-NEXT: llvm.call @tw_lanes_sinf_8
  // CHECK: else
  %y = math.sin %x : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// CHECK-LABEL: @native
func.func @native(%x: vector<16xf32>, %y: vector<8xf64>) -> (vector<16xf32>, vector<8xf64>) {
  // CHECK-NEXT: math.sqrt
  // CHECK-NEXT: math.round
  // CHECK-NEXT: math.floor
  // CHECK-NEXT: return
  %a = math.sqrt %x : vector<16xf32>
  %b = math.round %a : vector<16xf32>
  %c = math.floor %y : vector<8xf64>
  return %b, %c : vector<16xf32>, vector<8xf64>
}

// -----

// CHECK-LABEL: @rsqrt
func.func @rsqrt(%x: vector<8xf64>) -> vector<8xf64> {
  // CHECK: %[[ROOT:.*]] = math.sqrt
  // CHECK: arith.divf %{{.*}}, %[[ROOT]]
  %y = math.rsqrt %x : vector<8xf64>
  return %y : vector<8xf64>
}

// -----

// CHECK-LABEL: @half
func.func @half(%x: vector<16xf16>, %y: vector<16xbf16>) -> (vector<16xf16>, vector<16xbf16>) {
  // CHECK: %[[X:.*]] = arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
  // CHECK: %[[ROOT:.*]] = math.sqrt %[[X]] : vector<16xf32>
  // CHECK: arith.truncf %[[ROOT]] : vector<16xf32> to vector<16xf16>
  %a = math.sqrt %x : vector<16xf16>
  // CHECK: arith.bitcast %{{.*}} : vector<16xbf16> to vector<16xi16>
  // CHECK-NOT: arith.{{truncf|extf}}
  // CHECK: arith.bitcast %{{.*}} : vector<16xi16> to vector<16xbf16>
  %b = math.exp2 %y : vector<16xbf16>
  return %a, %b : vector<16xf16>, vector<16xbf16>
}
