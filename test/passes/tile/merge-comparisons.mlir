// Two bounds of one number become one.
// RUN: tile-opt --merge-comparisons --split-input-file %s | FileCheck %s

// Where m is the greatest number, m + 1 is none: n alone bounds the columns then.
// CHECK-LABEL: @end_and_diagonal
// CHECK-SAME: %[[COLUMNS:.*]]: tensor<64xi32>, %[[ROWS:.*]]: tensor<128xi32>, %[[N:.*]]: i32
func.func @end_and_diagonal(%columns: tensor<64xi32>, %rows: tensor<128xi32>, %n: i32) -> tensor<128x64xi1> {
  // CHECK-DAG: %[[LAST:.*]] = arith.constant dense<2147483646> : tensor<128xi32>
  // CHECK-DAG: %[[END:.*]] = tile.splat %[[N]] : i32 -> tensor<128xi32>
  // CHECK-DAG: %[[AT_MOST:.*]] = arith.minsi %[[ROWS]], %[[LAST]]
  // CHECK: %[[BEHIND:.*]] = arith.addi %[[AT_MOST]]
  // CHECK: %[[LIMIT:.*]] = arith.minsi %[[END]], %[[BEHIND]] : tensor<128xi32>
  // CHECK: %[[C:.*]] = tile.expand_dims %[[COLUMNS]] axis 0
  // CHECK: %[[CS:.*]] = tile.broadcast %[[C]]
  // CHECK: %[[L:.*]] = tile.expand_dims %[[LIMIT]] axis 1
  // CHECK: %[[LS:.*]] = tile.broadcast %[[L]]
  // CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[CS]], %[[LS]] : tensor<128x64xi32>
  // CHECK: return %[[MASK]]
  %end = tile.splat %n : i32 -> tensor<64xi32>
  %inside = arith.cmpi slt, %columns, %end : tensor<64xi32>
  %inside1 = tile.expand_dims %inside axis 0 : tensor<64xi1> -> tensor<1x64xi1>
  %inside2 = tile.broadcast %inside1 : tensor<1x64xi1> -> tensor<128x64xi1>
  %c = tile.expand_dims %columns axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %cs = tile.broadcast %c : tensor<1x64xi32> -> tensor<128x64xi32>
  %r = tile.expand_dims %rows axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %rs = tile.broadcast %r : tensor<128x1xi32> -> tensor<128x64xi32>
  %seen = arith.cmpi sge, %rs, %cs : tensor<128x64xi32>
  %mask = arith.andi %inside2, %seen : tensor<128x64xi1>
  return %mask : tensor<128x64xi1>
}

// -----

// What is outside of either bound; the other kind of comparison changes.
// CHECK-LABEL: @outside
// CHECK-SAME: %[[X:.*]]: tensor<64xi32>, %[[M:.*]]: i32, %[[N:.*]]: i32
func.func @outside(%x: tensor<64xi32>, %m: i32, %n: i32) -> tensor<64xi1> {
  // CHECK: %[[LAST:.*]] = arith.constant 2147483646 : i32
  // CHECK: %[[AT_MOST:.*]] = arith.minsi %[[N]], %[[LAST]]
  // CHECK: %[[BEHIND:.*]] = arith.addi %[[AT_MOST]]
  // CHECK: %[[LIMIT:.*]] = arith.minsi %[[M]], %[[BEHIND]] : i32
  // CHECK: %[[LIMITS:.*]] = tile.splat %[[LIMIT]]
  // CHECK: %[[MASK:.*]] = arith.cmpi sge, %[[X]], %[[LIMITS]]
  // CHECK: return %[[MASK]]
  %a = tile.splat %m : i32 -> tensor<64xi32>
  %b = tile.splat %n : i32 -> tensor<64xi32>
  %past = arith.cmpi sge, %x, %a : tensor<64xi32>
  %above = arith.cmpi sgt, %x, %b : tensor<64xi32>
  %mask = arith.ori %past, %above : tensor<64xi1>
  return %mask : tensor<64xi1>
}

// -----

// Masks between the two stay where they were.
// CHECK-LABEL: @third_mask
// CHECK-SAME: %[[X:.*]]: tensor<64xi32>, %[[M:.*]]: i32, %[[N:.*]]: i32, %[[OTHER:.*]]: tensor<64xi1>
func.func @third_mask(%x: tensor<64xi32>, %m: i32, %n: i32, %other: tensor<64xi1>) -> tensor<64xi1> {
  // CHECK: %[[LIMIT:.*]] = arith.maxui %[[M]], %[[N]] : i32
  // CHECK: %[[LIMITS:.*]] = tile.splat %[[LIMIT]]
  // CHECK: %[[MASK:.*]] = arith.cmpi ugt, %[[X]], %[[LIMITS]]
  // CHECK: arith.andi %[[MASK]], %[[OTHER]]
  %a = tile.splat %m : i32 -> tensor<64xi32>
  %b = tile.splat %n : i32 -> tensor<64xi32>
  %past = arith.cmpi ugt, %x, %a : tensor<64xi32>
  %above = arith.cmpi ult, %b, %x : tensor<64xi32>
  %some = arith.andi %past, %other : tensor<64xi1>
  %mask = arith.andi %some, %above : tensor<64xi1>
  return %mask : tensor<64xi1>
}

// -----

// A bound on each side, different signs, and bounds that are as large as the mask stay apart.
// CHECK-LABEL: @apart
func.func @apart(%x: tensor<64xi32>, %y: tensor<64xi32>, %n: i32) -> (tensor<64xi1>, tensor<64xi1>, tensor<64xi1>) {
  // CHECK-COUNT-3: arith.andi
  %a = tile.splat %n : i32 -> tensor<64xi32>
  %below = arith.cmpi slt, %x, %a : tensor<64xi32>
  %above = arith.cmpi sgt, %x, %y : tensor<64xi32>
  %unsigned = arith.cmpi ult, %x, %a : tensor<64xi32>
  %low = arith.cmpi slt, %x, %y : tensor<64xi32>
  %sides = arith.andi %below, %above : tensor<64xi1>
  %signs = arith.andi %below, %unsigned : tensor<64xi1>
  %large = arith.andi %below, %low : tensor<64xi1>
  return %sides, %signs, %large : tensor<64xi1>, tensor<64xi1>, tensor<64xi1>
}
