// RUN: tile-opt %s -expand-histograms=num-warps=1 | FileCheck %s

// Words of 32 elements, a word for each bit of the number of a bin, and one for the elements in any.
// CHECK-LABEL: func.func @count
// CHECK-SAME: (%[[X:.*]]: tensor<64xi32>)
// CHECK: %[[E:.*]] = tile.reshape %[[X]] reorder : tensor<64xi32> -> tensor<2x32xi32>
// CHECK: arith.cmpi ult, %[[E]]
// CHECK-COUNT-4: tile.reduce({{.*}}) axis 1 commutative
// CHECK-NOT: scf.for
// CHECK: %[[N:.*]] = math.ctpop {{.*}} : tensor<2x8xi32>
// CHECK: %[[SUM:.*]] = tile.reduce(%[[N]]) axis 0 commutative
// CHECK: return %[[SUM]] : tensor<8xi32>
func.func @count(%x: tensor<64xi32>) -> tensor<8xi32> {
  %h = tile.histogram %x : tensor<64xi32> -> tensor<8xi32>
  return %h : tensor<8xi32>
}

// What one warp of 32 lanes holds in 16 registers: 16 bins of 32 words.
// CHECK-LABEL: func.func @in_groups
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0> : tensor<16x16xi32>
// CHECK: %[[ROWS:.*]] = scf.for %[[GROUP:.*]] = %{{.*}} to %c16_i32 {{.*}} iter_args(%[[OLD:.*]] = %[[ZERO]])
// CHECK: math.ctpop {{.*}} : tensor<32x16xi32>
// CHECK: %[[IS_ROW:.*]] = arith.cmpi eq
// CHECK: %[[NEW:.*]] = arith.select %[[IS_ROW]], {{.*}}, %[[OLD]]
// CHECK: scf.yield %[[NEW]]
// CHECK: tile.reshape %[[ROWS]] : tensor<16x16xi32> -> tensor<256xi32>
func.func @in_groups(%x: tensor<1024xi32>) -> tensor<256xi32> {
  %h = tile.histogram %x : tensor<1024xi32> -> tensor<256xi32>
  return %h : tensor<256xi32>
}

// CHECK-LABEL: func.func @many_rows
// CHECK: tile.reshape %{{.*}} reorder : tensor<160xi32> -> tensor<5x32xi32>
// CHECK: math.ctpop {{.*}} : tensor<5x8xi32>
func.func @many_rows(%x: tensor<160xi32>) -> tensor<8xi32> {
  %h = tile.histogram %x : tensor<160xi32> -> tensor<8xi32>
  return %h : tensor<8xi32>
}

// Elements that fill up words are in no bin, and bins that fill up a power of two are left out.
// CHECK-LABEL: func.func @no_powers_of_two
// CHECK-SAME: (%[[X:.*]]: tensor<100xi64>)
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[X]], {{.*}} : tensor<100xi64>
// CHECK: %[[LOW:.*]] = arith.trunci %[[X]]
// CHECK: %[[NARROW:.*]] = arith.select %[[INSIDE]], %[[LOW]]
// CHECK: %[[PADDED:.*]] = tile.gather %[[NARROW]]
// CHECK: %[[FILLED:.*]] = arith.select {{.*}}, %[[PADDED]], {{.*}} : tensor<128xi1>, tensor<128xi32>
// CHECK: tile.reshape %[[FILLED]] reorder : tensor<128xi32> -> tensor<32x4xi32>
// CHECK: tile.trans
// CHECK: %[[H:.*]] = tile.gather {{.*}} : tensor<16xi32>, tensor<10xi32> -> tensor<10xi32>
// CHECK: return %[[H]]
func.func @no_powers_of_two(%x: tensor<100xi64>) -> tensor<10xi32> {
  %h = tile.histogram %x : tensor<100xi64> -> tensor<10xi32>
  return %h : tensor<10xi32>
}
