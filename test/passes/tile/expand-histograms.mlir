// RUN: tile-opt %s -split-input-file -expand-histograms -verify-diagnostics | FileCheck %s

// Every element is compared with every bin.
// CHECK-LABEL: func.func @count
// CHECK-SAME: (%[[X:.*]]: tensor<32xi64>)
// CHECK-DAG: %[[BINS:.*]] = tile.arange 0 to 8
// CHECK-DAG: %[[WIDE:.*]] = arith.extsi %[[BINS]] : tensor<8xi32> to tensor<8xi64>
// CHECK-DAG: tile.expand_dims %[[X]] axis 1
// CHECK: %[[HITS:.*]] = arith.cmpi eq, {{.*}} : tensor<32x8xi64>
// CHECK: %[[ONES:.*]] = arith.extui %[[HITS]]
// CHECK: tile.reduce(%[[ONES]]) axis 0 commutative
// CHECK:   arith.addi
// CHECK-NOT: tile.histogram
func.func @count(%x: tensor<32xi64>) -> tensor<8xi32> {
  %h = tile.histogram %x : tensor<32xi64> -> tensor<8xi32>
  return %h : tensor<8xi32>
}

// -----

func.func @too_many(%x: tensor<65536xi32>) -> tensor<32xi32> {
  // expected-error @below {{a histogram of 65536 elements in 32 bins compares them in a tile of 2097152 elements; at most 1048576 are possible}}
  // expected-note @below {{count smaller tiles in a loop, and add their histograms}}
  %h = tile.histogram %x : tensor<65536xi32> -> tensor<32xi32>
  return %h : tensor<32xi32>
}
