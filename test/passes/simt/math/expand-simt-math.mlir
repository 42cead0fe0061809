// Functions of one thread become short formulas; what the target selects well stays.
// RUN: tile-opt --expand-simt-math --split-input-file %s | FileCheck %s

// Seven instructions, none of them a branch.
// CHECK-LABEL: @exp
llvm.func @exp(%x: f32) -> f32 {
  // CHECK: %[[X:.*]] = arith.maximumf
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %[[X]]
  // CHECK: %[[T:.*]] = arith.minimumf %[[PRODUCT]]
  // CHECK: %[[E:.*]] = simt.approx exp2_flushed %[[T]]
  // CHECK: %[[R:.*]] = math.fma %[[T]], %{{.*}}, %[[X]]
  // CHECK: %[[REST:.*]] = math.fma %[[T]], %{{.*}}, %[[R]]
  // CHECK: math.fma %[[E]], %[[REST]], %[[E]]
  // CHECK-NEXT: llvm.return
  %y = math.exp %x : f32
  llvm.return %y : f32
}

// -----

// Where one number is subtracted from several, the exponentials are two instructions, and one where
// it is subtracted from a product with a factor that others have.
// CHECK-LABEL: @softmax
llvm.func @softmax(%x: f32, %y: f32, %peak: f32, %scale: f32) -> f32 {
  // CHECK-DAG: %[[PEAK:.*]] = arith.mulf %arg2, %{{.*}} : f32
  // CHECK-DAG: %[[SCALE:.*]] = arith.mulf %arg3, %{{.*}} : f32
  // CHECK: %[[DIFFERENCE:.*]] = arith.subf %arg0, %arg2
  // CHECK: %[[T:.*]] = arith.mulf %[[DIFFERENCE]]
  // CHECK: simt.approx exp2_flushed %[[T]]
  %d = arith.subf %x, %peak fastmath<contract> : f32
  %a = math.exp %d : f32
  // CHECK: %[[NEGATED:.*]] = arith.negf %[[PEAK]]
  // CHECK: %[[FUSED:.*]] = math.fma %arg1, %[[SCALE]], %[[NEGATED]]
  // CHECK: simt.approx exp2_flushed %[[FUSED]]
  %p = arith.mulf %y, %scale fastmath<contract> : f32
  %q = arith.mulf %x, %scale fastmath<contract> : f32
  %e = arith.subf %p, %peak fastmath<contract> : f32
  %b = math.exp %e : f32
  // A formula's own differences, and those with a number or a constant that no other has.
  // CHECK: arith.maximumf
  %f = arith.subf %q, %peak : f32
  %c = math.exp %f : f32
  // CHECK: arith.maximumf
  %g = arith.subf %x, %y fastmath<contract> : f32
  %h = math.exp %g : f32
  %ab = arith.addf %a, %b : f32
  %abc = arith.addf %ab, %c : f32
  %abch = arith.addf %abc, %h : f32
  llvm.return %abch : f32
}

// -----

// CHECK-LABEL: @constant_differences
llvm.func @constant_differences(%x: f32, %y: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  // CHECK: arith.maximumf
  %d = arith.subf %x, %one fastmath<contract> : f32
  %a = math.exp %d : f32
  // CHECK: arith.maximumf
  %e = arith.subf %y, %one fastmath<contract> : f32
  %b = math.exp %e : f32
  %c = arith.addf %a, %b : f32
  llvm.return %c : f32
}

// -----

// Bytes become f16 in words: the upper byte 0x64 makes n to 1024 + n.
// CHECK-LABEL: @bytes
llvm.func @bytes(%x: vector<4xi8>, %y: vector<4xi8>) -> vector<4xf16> {
  // CHECK: %[[FLIPPED:.*]] = arith.xori %{{.*}}, %{{.*}} : i32
  // CHECK: %[[SIGNED:.*]] = llvm.bitcast %[[FLIPPED]] : i32 to vector<4xi8>
  // CHECK: %[[LOW:.*]] = vector.shuffle %[[SIGNED]], %{{.*}} [0, 4, 1, 4]
  // CHECK: arith.subf
  // CHECK: vector.shuffle %[[SIGNED]], %{{.*}} [2, 4, 3, 4]
  %a = arith.sitofp %x : vector<4xi8> to vector<4xf16>
  // CHECK-NOT: xori
  // CHECK: vector.shuffle %arg1, %{{.*}} [0, 4, 1, 4]
  %b = arith.uitofp %y : vector<4xi8> to vector<4xf16>
  %c = arith.addf %a, %b : vector<4xf16>
  llvm.return %c : vector<4xf16>
}

// -----

// Divisors that many share, or that are constant, become factors. The last one is alone.
// CHECK-LABEL: @divisors
llvm.func @divisors(%x: f32, %y: f32, %d: f32) -> f32 {
  // CHECK: %[[SCALED:.*]] = arith.mulf %arg2
  // CHECK: %[[SMALL:.*]] = simt.approx reciprocal_flushed %[[SCALED]]
  // CHECK: %[[INVERSE:.*]] = arith.mulf %[[SMALL]]
  // CHECK-NOT: simt.divide
  // CHECK: %[[A:.*]] = arith.mulf %arg0
  // CHECK: %[[B:.*]] = arith.mulf %arg1, %[[INVERSE]]
  // CHECK: %[[THIRD:.*]] = arith.constant 0.333333
  // CHECK: %[[C:.*]] = arith.mulf %[[B]], %[[THIRD]]
  // CHECK: simt.divide %[[A]], %[[C]]
  %three = arith.constant 3.0 : f32
  %a = arith.divf %x, %d fastmath<arcp> : f32
  %b = arith.divf %y, %d fastmath<arcp> : f32
  %c = arith.divf %b, %three fastmath<arcp> : f32
  %e = arith.divf %a, %c fastmath<arcp> : f32
  llvm.return %e : f32
}

// -----

// A quotient by a square root is a product with one approximation; an exact one is left.
// CHECK-LABEL: @roots
llvm.func @roots(%x: f32, %y: f32) -> f32 {
  // CHECK: %[[ROOT:.*]] = math.sqrt %arg1
  // CHECK: %[[INVERSE:.*]] = simt.approx rsqrt %arg1
  // CHECK: %[[A:.*]] = arith.mulf %arg0, %[[INVERSE]]
  // CHECK: arith.divf %[[A]], %[[ROOT]] : f32
  %root = math.sqrt %y : f32
  %a = arith.divf %x, %root fastmath<arcp> : f32
  %b = arith.divf %a, %root : f32
  llvm.return %b : f32
}

// -----

// CHECK-LABEL: @instructions
llvm.func @instructions(%x: f32) -> f32 {
  // CHECK-NEXT: simt.approx exp2
  // CHECK-NEXT: simt.approx rsqrt
  // CHECK-NEXT: math.sqrt
  // CHECK-NEXT: math.floor
  // CHECK-NEXT: math.fma
  // CHECK-NEXT: llvm.return
  %a = math.exp2 %x : f32
  %b = math.rsqrt %a : f32
  %c = math.sqrt %b : f32
  %d = math.floor %c : f32
  %e = math.fma %d, %d, %x : f32
  llvm.return %e : f32
}

// -----

// No function is called, and only large angles branch.
// CHECK-LABEL: @library_free
llvm.func @library_free(%x: f32, %y: f64) -> f64 {
  // CHECK-NOT: llvm.call @
  // CHECK-NOT: math.{{(log|tanh|powf|sin|erfc)}}
  // CHECK: scf.if
  // CHECK-NOT: scf.if
  %a = math.log %x : f32
  %b = math.tanh %a : f32
  %c = math.powf %b, %a : f32
  %d = math.sin %c : f32
  %e = math.erfc %d : f32
  %f = arith.extf %e : f32 to f64
  %g = math.log %f : f64
  %h = math.powf %g, %y : f64
  llvm.return %h : f64
}

// -----

// CHECK-LABEL: @narrow
llvm.func @narrow(%x: bf16, %y: f16) -> f16 {
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK-NEXT: simt.approx exp2
  // CHECK-NEXT: arith.truncf %{{.*}} : f32 to bf16
  // CHECK-NEXT: arith.addf %{{.*}} : bf16
  // CHECK: arith.addf %{{.*}} : f16
  %a = math.exp2 %x : bf16
  %b = arith.addf %a, %x : bf16
  %c = arith.extf %b : bf16 to f32
  %d = arith.truncf %c : f32 to f16
  %e = arith.addf %d, %y : f16
  llvm.return %e : f16
}

// -----

// CHECK-LABEL: @division
llvm.func @division(%x: f32, %y: f32, %z: f64, %h: f16) -> f16 {
  // CHECK-NEXT: %[[NEAR:.*]] = simt.divide %{{.*}}, %{{.*}}
  // CHECK-NEXT: arith.divf %[[NEAR]], %{{.*}} : f32
  // CHECK-NEXT: arith.divf %{{.*}}, %{{.*}} : f64
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: simt.divide
  // CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
  %a = arith.divf %x, %y fastmath<arcp> : f32
  %b = arith.divf %a, %y : f32
  %c = arith.divf %z, %z fastmath<arcp> : f64
  %d = arith.divf %h, %h fastmath<arcp> : f16
  llvm.return %d : f16
}

// -----

// CHECK-LABEL: @conversions
llvm.func @conversions(%x: f32, %y: bf16, %n: i32) -> bf16 {
  // CHECK-NEXT: llvm.call_intrinsic "llvm.fptosi.sat"(%{{.*}}) : (f32) -> i32
  // CHECK-NEXT: arith.extf %{{.*}} : bf16 to f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.fptoui.sat"(%{{.*}}) : (f32) -> i8
  // CHECK-NEXT: arith.sitofp %{{.*}} : i32 to f64
  // CHECK-NEXT: arith.truncf %{{.*}} : f64 to bf16
  %a = arith.fptosi %x : f32 to i32
  %b = arith.fptoui %y : bf16 to i8
  %c = arith.sitofp %n : i32 to bf16
  llvm.return %c : bf16
}

// -----

// Shifts by the width or more are 0, division by 0 is 0, remainders of floats are exact.
// CHECK-LABEL: @guarded
llvm.func @guarded(%n: i32, %m: i32, %x: f32, %y: f32) -> f32 {
  // CHECK: arith.cmpi ult
  // CHECK: arith.shli
  // CHECK: arith.select
  // CHECK: arith.divsi
  // CHECK-NOT: arith.remf
  // CHECK: scf.while
  // CHECK: arith.remui %{{.*}} : i64
  %a = arith.shli %n, %m : i32
  %b = arith.divsi %a, %m : i32
  %c = arith.remf %x, %y : f32
  llvm.return %c : f32
}
