// RUN: tile-opt %s -split-input-file -split-loops-by-mask -canonicalize -cse 2>/dev/null | FileCheck %s
// RUN: tile-opt %s -split-input-file -split-loops-by-mask=products -canonicalize 2>/dev/null | FileCheck %s --check-prefix=PRODUCTS

// The end of a row: whole tiles are loaded without a mask, and the last one with it.
// CHECK-LABEL: func.func @tail
// CHECK-SAME: %[[X:.*]]: !tile.ptr<f32>, %[[N:.*]]: i32, %[[ZERO:.*]]: tensor<16xf32>
// CHECK-DAG: %[[WIDE:.*]] = arith.extsi %[[N]] : i32 to i64
// CHECK: %[[REACH:.*]] = arith.maxsi %[[WIDE]], %c0_i64
// CHECK: %[[WHOLE:.*]] = arith.divui %[[REACH]], %c16_i64
// CHECK: %[[SPLIT:.*]] = arith.select %{{.*}}, %{{.*}}, %c0_i32 : i32
// CHECK: %[[MAIN:.*]] = scf.for %{{.*}} = %c0_i32 to %[[SPLIT]] step %c16_i32 iter_args(%{{.*}} = %[[ZERO]])
// CHECK-NOT: arith.cmpi
// CHECK:   tile.load %{{[0-9]+}} : tensor<16x!tile.ptr<f32>>
// CHECK: scf.for %{{.*}} = %[[SPLIT]] to %[[N]] step %c16_i32 iter_args(%{{.*}} = %[[MAIN]])
// CHECK:   %[[MASK:.*]] = arith.cmpi slt
// CHECK:   tile.load %{{.*}} mask %[[MASK]]
// CHECK: } {tile.of_end, tile.short}
func.func @tail(%x: !tile.ptr<f32>, %n: i32, %zero: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %r = tile.arange 0 to 16 : tensor<16xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %ns = tile.splat %n : i32 -> tensor<16xi32>
  %sum = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero) -> (tensor<16xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<16xi32>
    %k = arith.addi %is, %r : tensor<16xi32>
    %mask = arith.cmpi slt, %k, %ns : tensor<16xi32>
    %p = tile.addptr %xs, %k : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    %v = tile.load %p mask %mask : tensor<16xi1> other %zero : tensor<16xf32> : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
    %next = arith.addf %acc, %v : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  return %sum : tensor<16xf32>
}

// -----

// A window: choices before, inside and after it. The mixed tiles at its ends are 8 iterations each,
// so these loops are pipelined as well.
// CHECK-LABEL: func.func @window
// CHECK: %[[BEFORE:.*]] = scf.for %{{.*}} = %c0 to %[[FIRST:.*]] step %c2
// CHECK:   arith.select
// CHECK: }
// CHECK-NOT: tile.short
// CHECK: %[[MAIN:.*]] = scf.for %{{.*}} = %[[FIRST]] to %[[END:.*]] step %c2 iter_args(%{{.*}} = %[[BEFORE]])
// CHECK-NOT: arith.select
// CHECK: scf.for %{{.*}} = %[[END]] to %{{.*}} step %c2 iter_args(%{{.*}} = %[[MAIN]])
// CHECK:   arith.select
// CHECK: }
// CHECK-NOT: tile.short
func.func @window(%n: index, %low: i32, %high: i32, %zero: tensor<16xi32>) -> tensor<16xi32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %r = tile.arange 0 to 16 : tensor<16xi32>
  %lows = tile.splat %low : i32 -> tensor<16xi32>
  %highs = tile.splat %high : i32 -> tensor<16xi32>
  %sum = scf.for %i = %c0 to %n step %c2 iter_args(%acc = %zero) -> (tensor<16xi32>) {
    %number = arith.index_cast %i : index to i32
    %is = tile.splat %number : i32 -> tensor<16xi32>
    %k = arith.addi %is, %r : tensor<16xi32>
    %above = arith.cmpi sge, %k, %lows : tensor<16xi32>
    %below = arith.cmpi slt, %k, %highs : tensor<16xi32>
    %mask = arith.andi %above, %below : tensor<16xi1>
    %v = arith.select %mask, %k, %zero : tensor<16xi1>, tensor<16xi32>
    %next = arith.addi %acc, %v : tensor<16xi32>
    scf.yield %next : tensor<16xi32>
  }
  return %sum : tensor<16xi32>
}

// -----

// A mask that is loaded stays, and so does the loop.
// CHECK-LABEL: func.func @loaded
// CHECK: scf.for
// CHECK: arith.cmpi
// CHECK-NOT: scf.for
// CHECK: return
func.func @loaded(%x: !tile.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %r = tile.arange 0 to 16 : tensor<16xi32>
  %xs = tile.splat %x : !tile.ptr<i32> -> tensor<16x!tile.ptr<i32>>
  %p = tile.addptr %xs, %r : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  scf.for %i = %c0 to %n step %c16 : i32 {
    %is = tile.splat %i : i32 -> tensor<16xi32>
    %v = tile.load %p : tensor<16x!tile.ptr<i32>> -> tensor<16xi32>
    %mask = arith.cmpi slt, %v, %is : tensor<16xi32>
    tile.store %p, %is mask %mask : tensor<16xi1> : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  }
  return
}

// -----

// PRODUCTS-LABEL: func.func @scores
// PRODUCTS-SAME: %[[SCALE:[a-z0-9]+]]: f32
// PRODUCTS-DAG: %[[ABOVE:.*]] = arith.cmpf oge, %[[SCALE]], %{{.*}} : f32
// PRODUCTS-DAG: %[[BELOW:.*]] = arith.cmpf ole, %[[SCALE]], %{{.*}} : f32
// PRODUCTS: %[[HOLDS:.*]] = arith.andi %{{.*}}, %[[BELOW]] : i1
// PRODUCTS: %[[END:.*]] = arith.select %[[HOLDS]], %{{.*}}, %c0_i32 : i32
// PRODUCTS: scf.for %{{.*}} = %c0_i32 to %[[END]]
// PRODUCTS:   %[[S:.*]] = tile.dot
// PRODUCTS:   tile.reduce(%[[S]]) axis 1
// PRODUCTS:   arith.mulf {{.*}} : tensor<16xf32>
// PRODUCTS: scf.for %{{.*}} = %[[END]] to
// PRODUCTS:   %[[S:.*]] = tile.dot
// PRODUCTS:   %[[PRODUCT:.*]] = arith.mulf %[[S]]
// PRODUCTS:   tile.reduce(%[[PRODUCT]]) axis 1
// PRODUCTS: } {tile.short}
func.func @scores(%a: tensor<16x16xf32>, %zero: tensor<16x16xf32>, %scale: f32, %n: i32, %rows: tensor<16xf32>)
    -> (tensor<16xf32>, tensor<16x16xf32>) {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %scales = tile.splat %scale : f32 -> tensor<16x16xf32>
  %result:2 = scf.for %i = %c0 to %n step %c16 iter_args(%peak = %rows, %sum = %zero)
      -> (tensor<16xf32>, tensor<16x16xf32>) : i32 {
    %s = tile.dot %a, %a, %zero : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %scaled = arith.mulf %s, %scales : tensor<16x16xf32>
    %most = tile.reduce(%scaled) axis 1 {
    ^bb0(%x: f32, %y: f32):
      %m = arith.maxnumf %x, %y : f32
      tile.yield %m : f32
    } : (tensor<16x16xf32>) -> tensor<16xf32>
    %next = arith.maxnumf %peak, %most : tensor<16xf32>
    %column = tile.expand_dims %next axis 1 : tensor<16xf32> -> tensor<16x1xf32>
    %peaks = tile.broadcast %column : tensor<16x1xf32> -> tensor<16x16xf32>
    %difference = arith.subf %scaled, %peaks : tensor<16x16xf32>
    %p = math.exp %difference : tensor<16x16xf32>
    %total = arith.addf %sum, %p : tensor<16x16xf32>
    scf.yield %next, %total : tensor<16xf32>, tensor<16x16xf32>
  }
  return %result#0, %result#1 : tensor<16xf32>, tensor<16x16xf32>
}

// -----

// A scale that is known to be positive needs no other loop, also below a mask. The products of the
// second maximum are stored, so that nothing is gained.
// PRODUCTS-LABEL: func.func @known_scale
// PRODUCTS: scf.for
// PRODUCTS:   %[[S:.*]] = tile.dot
// PRODUCTS:   %[[MASKED:.*]] = arith.select %{{.*}}, %[[S]], %{{.*}}
// PRODUCTS:   tile.reduce(%[[MASKED]]) axis 1
// PRODUCTS:   arith.mulf {{.*}} : tensor<16xf32>
// PRODUCTS:   %[[PRODUCT:.*]] = arith.mulf
// PRODUCTS:   tile.reduce(%[[PRODUCT]]) axis 1
// PRODUCTS-NOT: scf.for
func.func @known_scale(%a: tensor<16x16xf32>, %mask: tensor<16x16xi1>, %to: tensor<16x16x!tile.ptr<f32>>, %n: i32,
                       %rows: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %scales = arith.constant dense<0.125> : tensor<16x16xf32>
  %outside = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %result = scf.for %i = %c0 to %n step %c16 iter_args(%peak = %rows) -> (tensor<16xf32>) : i32 {
    %s = tile.dot %a, %a, %zero : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %scaled = arith.mulf %s, %scales : tensor<16x16xf32>
    %masked = arith.select %mask, %scaled, %outside : tensor<16x16xi1>, tensor<16x16xf32>
    %most = tile.reduce(%masked) axis 1 {
    ^bb0(%x: f32, %y: f32):
      %m = arith.maximumf %x, %y : f32
      tile.yield %m : f32
    } : (tensor<16x16xf32>) -> tensor<16xf32>
    %again = arith.mulf %s, %scales : tensor<16x16xf32>
    tile.store %to, %again : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
    %stored = tile.reduce(%again) axis 1 {
    ^bb0(%x: f32, %y: f32):
      %m = arith.maximumf %x, %y : f32
      tile.yield %m : f32
    } : (tensor<16x16xf32>) -> tensor<16xf32>
    %both = arith.addf %most, %stored : tensor<16xf32>
    %next = arith.maxnumf %peak, %both : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  return %result : tensor<16xf32>
}
