// RUN: tile-opt --expand-math %s | FileCheck %s

// Conversions of 8-bit floats follow from the format: its exponent's bias (11 here: 116 less than
// that of float32), its digits, and the code of its NaN.
// CHECK-LABEL: func.func @extend
// CHECK-DAG: arith.constant dense<973078528> : vector<8xi32>
// CHECK-DAG: arith.constant dense<128> : vector<8xi32>
// CHECK-NOT: arith.extf
func.func @extend(%x: vector<8xf8E4M3B11FNUZ>) -> vector<8xf32> {
  %y = arith.extf %x : vector<8xf8E4M3B11FNUZ> to vector<8xf32>
  return %y : vector<8xf32>
}

// CHECK-LABEL: func.func @round
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast {{.*}} to vector<8xf8E4M3B11FNUZ>
func.func @round(%x: vector<8xf32>) -> vector<8xf8E4M3B11FNUZ> {
  %y = arith.truncf %x : vector<8xf32> to vector<8xf8E4M3B11FNUZ>
  return %y : vector<8xf8E4M3B11FNUZ>
}
