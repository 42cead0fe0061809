// RUN: tile-opt %s -split-input-file -spread-hints | FileCheck %s

// A promise as a statement of its own: uses after it profit, those before it do not.
// CHECK-LABEL: func.func @statement
// CHECK-SAME: %[[P:[^:]*]]: tensor<8x!tile.ptr<f16>>
// CHECK: tile.load %[[P]]
// CHECK: %[[H:.*]] = tile.hint %[[P]]
// CHECK: tile.load %[[H]]
// CHECK: scf.for
// CHECK:   tile.store %[[H]]
func.func @statement(%p: tensor<8x!tile.ptr<f16>>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = tile.load %p : tensor<8x!tile.ptr<f16>> -> tensor<8xf16>
  %h = tile.hint %p {divisibility = array<i64: 16>} : tensor<8x!tile.ptr<f16>>
  %y = tile.load %p : tensor<8x!tile.ptr<f16>> -> tensor<8xf16>
  scf.for %i = %c0 to %n step %c1 : i32 {
    tile.store %p, %y : tensor<8x!tile.ptr<f16>>, tensor<8xf16>
  }
  return
}

// -----

// What is promised in a branch holds in that branch.
// CHECK-LABEL: func.func @branch
// CHECK-SAME: %[[P:[^:]*]]: tensor<8x!tile.ptr<f16>>
// CHECK: scf.if
// CHECK:   %[[H:.*]] = tile.hint %[[P]]
// CHECK:   tile.load %[[H]]
// CHECK: tile.load %[[P]]
func.func @branch(%p: tensor<8x!tile.ptr<f16>>, %c: i1) {
  scf.if %c {
    %h = tile.hint %p {divisibility = array<i64: 16>} : tensor<8x!tile.ptr<f16>>
    %x = tile.load %p : tensor<8x!tile.ptr<f16>> -> tensor<8xf16>
  }
  %y = tile.load %p : tensor<8x!tile.ptr<f16>> -> tensor<8xf16>
  return
}
