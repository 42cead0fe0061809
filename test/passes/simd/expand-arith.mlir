// Operations of arith that upstream leaves undefined for some operands get the meaning of tiles.
// RUN: tile-opt --expand-math --split-input-file %s | FileCheck %s

// CHECK-LABEL: @shifts
// CHECK-SAME: %[[X:.*]]: vector<16xi32>, %[[N:.*]]: vector<16xi32>
func.func @shifts(%x: vector<16xi32>, %n: vector<16xi32>) -> (vector<16xi32>, vector<16xi32>, vector<16xi32>) {
  // CHECK: %[[OK:.*]] = arith.cmpi ult, %[[N]]
  // CHECK: %[[S:.*]] = arith.shli %[[X]], %[[N]]
  // CHECK: arith.select %[[OK]], %[[S]]
  %a = arith.shli %x, %n : vector<16xi32>
  // CHECK: %[[AMOUNT:.*]] = arith.select %{{.*}}, %[[N]], %{{.*}}
  // CHECK: arith.shrsi %[[X]], %[[AMOUNT]]
  %b = arith.shrsi %x, %n : vector<16xi32>
  // CHECK: %[[FIVE:.*]] = arith.constant dense<5>
  // CHECK-NEXT: %[[C:.*]] = arith.shrui %[[X]], %[[FIVE]]
  // CHECK-NEXT: return %{{.*}}, %{{.*}}, %[[C]]
  %five = arith.constant dense<5> : vector<16xi32>
  %c = arith.shrui %x, %five : vector<16xi32>
  return %a, %b, %c : vector<16xi32>, vector<16xi32>, vector<16xi32>
}

// -----

// CHECK-LABEL: @divide
func.func @divide(%x: vector<16xi32>, %y: vector<16xi32>) -> vector<16xi32> {
  // CHECK-NOT: arith.divsi
  // CHECK: arith.divf %{{.*}}, %{{.*}} : vector<16xf64>
  // CHECK-NOT: arith.divsi
  // CHECK: return
  %q = arith.divsi %x, %y : vector<16xi32>
  return %q : vector<16xi32>
}

// -----

// One divisor of all lanes: its reciprocal is a scalar.
// CHECK-LABEL: @divide_by_uniform
func.func @divide_by_uniform(%x: vector<16xi16>, %s: i16) -> vector<16xi16> {
  // CHECK: arith.divf %{{.*}}, %{{.*}} : f32
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<16xf32>
  %y = vector.broadcast %s : i16 to vector<16xi16>
  %q = arith.remui %x, %y : vector<16xi16>
  return %q : vector<16xi16>
}

// -----

// CHECK-LABEL: @divide_by_constants
// CHECK-SAME: %[[X:.*]]: vector<16xi32>
func.func @divide_by_constants(%x: vector<16xi32>) -> (vector<16xi32>, vector<16xi32>, vector<16xi32>) {
  %seven = arith.constant dense<7> : vector<16xi32>
  %zero = arith.constant dense<0> : vector<16xi32>
  %minus_one = arith.constant dense<-1> : vector<16xi32>
  // CHECK: %[[A:.*]] = arith.divsi %[[X]]
  // CHECK: %[[B:.*]] = arith.constant dense<0>
  // CHECK: %[[C:.*]] = arith.subi %{{.*}}, %[[X]]
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %a = arith.divsi %x, %seven : vector<16xi32>
  %b = arith.divsi %x, %zero : vector<16xi32>
  %c = arith.divsi %x, %minus_one : vector<16xi32>
  return %a, %b, %c : vector<16xi32>, vector<16xi32>, vector<16xi32>
}

// -----

// The lanes of a constant are a constant.
// CHECK-LABEL: @divide_by_one_constant
func.func @divide_by_one_constant(%x: vector<16xi32>) -> (vector<16xi32>, vector<16xi32>) {
  // CHECK: %[[LANES:.*]] = arith.constant dense<27> : vector<16xi32>
  // CHECK-NOT: f64
  // CHECK: arith.divsi %{{.*}}, %[[LANES]]
  // CHECK-NOT: f64
  // CHECK: arith.remsi
  // CHECK-NOT: f64
  // CHECK: return
  %c27 = arith.constant 27 : i32
  %y = vector.broadcast %c27 : i32 to vector<16xi32>
  %q = arith.divsi %x, %y : vector<16xi32>
  %r = arith.remsi %x, %y : vector<16xi32>
  return %q, %r : vector<16xi32>, vector<16xi32>
}

// LLVM gives quotients no value where all lanes of the divisor equal 0, nor the least one by -1.
// CHECK-LABEL: @divide_by_one_harmful_constant
// CHECK-NOT: arith.divsi
// CHECK-NOT: arith.remsi
// CHECK: return
func.func @divide_by_one_harmful_constant(%x: vector<16xi32>) -> (vector<16xi32>, vector<16xi32>) {
  %zero = arith.constant 0 : i32
  %minus_one = arith.constant -1 : i32
  %y = vector.broadcast %zero : i32 to vector<16xi32>
  %z = vector.broadcast %minus_one : i32 to vector<16xi32>
  %q = arith.divsi %x, %y : vector<16xi32>
  %r = arith.remsi %x, %z : vector<16xi32>
  return %q, %r : vector<16xi32>, vector<16xi32>
}

// -----

// CHECK-LABEL: @divide_scalars
func.func @divide_scalars(%x: i64, %y: i64) -> i64 {
  // CHECK: %[[SAFE:.*]] = arith.select
  // CHECK: arith.divsi %{{.*}}, %[[SAFE]] : i64
  %q = arith.divsi %x, %y : i64
  return %q : i64
}

// -----

// The compiler's own index arithmetic stays.
// CHECK-LABEL: @index
func.func @index(%x: index, %y: index) -> index {
  // CHECK-NEXT: arith.divsi
  // CHECK-NEXT: return
  %q = arith.divsi %x, %y : index
  return %q : index
}

// -----

// CHECK-LABEL: @saturate
// CHECK-SAME: %[[X:.*]]: vector<16xf32>
func.func @saturate(%x: vector<16xf32>) -> vector<16xi8> {
  // CHECK: arith.cmpf uno, %[[X]], %[[X]]
  // CHECK: arith.fptosi %{{.*}} : vector<16xf32> to vector<16xi32>
  // CHECK: arith.trunci %{{.*}} : vector<16xi32> to vector<16xi8>
  %y = arith.fptosi %x : vector<16xf32> to vector<16xi8>
  return %y : vector<16xi8>
}

// -----

// CHECK-LABEL: @round_narrow
func.func @round_narrow(%x: vector<16xf32>, %y: vector<8xf64>) -> (vector<16xbf16>, vector<16xf16>, vector<8xf16>) {
  // CHECK-NOT: to vector<16xbf16>
  // CHECK: arith.bitcast %{{.*}} : vector<16xi16> to vector<16xbf16>
  %a = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  // CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xf16>
  %b = arith.truncf %x : vector<16xf32> to vector<16xf16>
  // CHECK: arith.truncf %{{.*}} : vector<8xf64> to vector<8xf32>
  // CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
  %c = arith.truncf %y : vector<8xf64> to vector<8xf16>
  return %a, %b, %c : vector<16xbf16>, vector<16xf16>, vector<8xf16>
}

// -----

// CHECK-LABEL: @bf16_arithmetic
func.func @bf16_arithmetic(%x: vector<16xbf16>, %y: vector<16xbf16>) -> vector<16xbf16> {
  // CHECK: arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
  %z = arith.addf %x, %y : vector<16xbf16>
  return %z : vector<16xbf16>
}

// -----

// The maximum of float16 numbers is one of float32, which LLVM cannot narrow again.
// CHECK-LABEL: @larger_half
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.arithmetic.fence"(%{{.*}}) : (vector<16xf32>) -> vector<16xf32>
// CHECK: arith.maxnumf %{{.*}} : vector<16xf32>
// CHECK: %[[MAX:.*]] = arith.select %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: %[[FENCED:.*]] = llvm.call_intrinsic "llvm.arithmetic.fence"(%[[MAX]])
// CHECK: arith.truncf %[[FENCED]] : vector<16xf32> to vector<16xf16>
func.func @larger_half(%a: vector<16xf16>, %b: vector<16xf16>) -> vector<16xf16> {
  %r = arith.maxnumf %a, %b : vector<16xf16>
  return %r : vector<16xf16>
}

// -----

// -0 is less than +0: where the operands are equal, the bits of both decide.
// CHECK-LABEL: @smaller
// CHECK: %[[LESS:.*]] = arith.minnumf %arg1, %arg0
// CHECK: %[[BITS:.*]] = arith.ori %{{.*}}, %{{.*}} : vector<8xi64>
// CHECK: %[[BOTH:.*]] = arith.bitcast %[[BITS]] : vector<8xi64> to vector<8xf64>
// CHECK: %[[EQUAL:.*]] = arith.cmpf oeq, %arg0, %arg1
// CHECK: arith.select %[[EQUAL]], %[[BOTH]], %[[LESS]]
func.func @smaller(%a: vector<8xf64>, %b: vector<8xf64>) -> vector<8xf64> {
  %r = arith.minnumf %a, %b : vector<8xf64>
  return %r : vector<8xf64>
}

// -----

// Beside a constant one comparison does, which takes the constant where the operand is NaN, and the
// operand where the constant is the zero that loses.
// CHECK-LABEL: @at_least_zero
// CHECK-NOT: maxnumf
// CHECK: arith.cmpf ogt, %arg0, %[[ZERO:[^ ]+]]
// CHECK: arith.cmpf ole, %arg0, %[[ZERO]]
// CHECK-NOT: minnumf
func.func @at_least_zero(%a: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>) {
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %r = arith.maxnumf %a, %zero : vector<16xf32>
  %s = arith.minnumf %zero, %a : vector<16xf32>
  return %r, %s : vector<16xf32>, vector<16xf32>
}

// -----

// bf16 is compared as f32.
// CHECK-LABEL: @less
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : vector<16xf32>
func.func @less(%a: vector<16xbf16>, %b: vector<16xbf16>) -> vector<16xi1> {
  %r = arith.cmpf olt, %a, %b : vector<16xbf16>
  return %r : vector<16xi1>
}

// -----

// The larger of two bf16 is chosen as an integer: LLVM would choose single ones in f32, and narrow
// them with an instruction that flushes subnormals.
// CHECK-LABEL: @larger
// CHECK-NOT: arith.select {{.*}} : bf16
// CHECK: arith.select {{.*}} : i16
// CHECK-NOT: arith.select {{.*}} : bf16
func.func @larger(%a: bf16, %b: bf16) -> bf16 {
  %r = arith.maximumf %a, %b : bf16
  return %r : bf16
}
