// Tiles take the room of powers of two; what the padding holds is seen by nobody.
// RUN: tile-opt %s -split-input-file -pad-extents -verify-stage=stage=padded -verify-diagnostics | FileCheck %s
// RUN: tile-opt %s -split-input-file -pad-extents -verify-diagnostics | FileCheck %s --check-prefix=WHOLE

// Where all extents are powers of two, nothing changes, not even what could be made simpler.
// WHOLE-LABEL: func.func @powers
// WHOLE-NEXT: %[[I:.*]] = tile.arange 0 to 64
// WHOLE-NEXT: %[[J:.*]] = tile.arange 0 to 64
// WHOLE-NEXT: arith.addi %[[I]], %[[J]]
func.func @powers() -> tensor<64xi32> {
  %i = tile.arange 0 to 64 : tensor<64xi32>
  %j = tile.arange 0 to 64 : tensor<64xi32>
  %k = arith.addi %i, %j : tensor<64xi32>
  return %k : tensor<64xi32>
}

// -----

// CHECK-LABEL: func.func @accesses(
// CHECK-SAME: %[[P:.*]]: tensor<4x128x!tile.ptr<f32>>, %[[M:.*]]: tensor<4x128xi1>
// CHECK-DAG: %[[C:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<128xi32>
// CHECK-DAG: %[[R:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<4xi32>
// CHECK: %[[REAL:.*]] = arith.andi %{{.*}}, %{{.*}} : tensor<4x128xi1>
// CHECK: %[[BOTH:.*]] = arith.andi %[[M]], %[[REAL]]
// CHECK: tile.load %[[P]] mask %[[BOTH]]
// CHECK: tile.store %[[P]], %{{.*}} mask %[[REAL]]
func.func @accesses(%p: tensor<3x100x!tile.ptr<f32>>, %m: tensor<3x100xi1>) {
  // expected-remark @below {{[TW0331] a tile of 3 x 100 elements takes the room of 4 x 128}}
  %x = tile.load %p mask %m : tensor<3x100xi1> : tensor<3x100x!tile.ptr<f32>> -> tensor<3x100xf32>
  tile.store %p, %x : tensor<3x100x!tile.ptr<f32>>, tensor<3x100xf32>
  return
}

// -----

// CHECK-LABEL: func.func @neutral
// CHECK: %[[FILL:.*]] = arith.constant dense<-0.000000e+00> : tensor<64xf32>
// CHECK: %[[X:.*]] = arith.select %{{.*}}, %arg0, %[[FILL]]
// CHECK: tile.reduce(%[[X]])
func.func @neutral(%x: tensor<48xf32>) -> f32 {
  %s = tile.reduce(%x) axis 0 {
  ^bb0(%a: f32, %b: f32):
    %add = arith.addf %a, %b : f32
    tile.yield %add : f32
  } : (tensor<48xf32>) -> f32
  return %s : f32
}

// -----

// The difference has no neutral element: a truth value says what is real.
// CHECK-LABEL: func.func @general
// CHECK: tile.reduce(%arg0, %{{.*}}) axis 0
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[VA:.*]]: i1, %[[B:.*]]: f32, %[[VB:.*]]: i1):
// CHECK: %[[D:.*]] = arith.subf %[[A]], %[[B]]
// CHECK: %[[RIGHT:.*]] = arith.select %[[VA]], %[[D]], %[[B]]
// CHECK: %[[Y:.*]] = arith.select %[[VB]], %[[RIGHT]], %[[A]]
// CHECK: %[[V:.*]] = arith.ori %[[VA]], %[[VB]]
// CHECK: tile.yield %[[Y]], %[[V]]
func.func @general(%x: tensor<48xf32>) -> f32 {
  %s = tile.reduce(%x) axis 0 {
  ^bb0(%a: f32, %b: f32):
    %difference = arith.subf %a, %b : f32
    tile.yield %difference : f32
  } : (tensor<48xf32>) -> f32
  return %s : f32
}

// -----

// From the front the padding comes last, from the back first.
// CHECK-LABEL: func.func @scans
// CHECK: %[[FRONT:.*]] = tile.scan(%arg0) axis 0
// CHECK: %[[X:.*]] = arith.select
// CHECK: tile.scan(%[[X]]) axis 0 reverse
func.func @scans(%x: tensor<48xi32>) -> (tensor<48xi32>, tensor<48xi32>) {
  %f = tile.scan(%x) axis 0 {
  ^bb0(%a: i32, %b: i32):
    %add = arith.addi %a, %b : i32
    tile.yield %add : i32
  } : (tensor<48xi32>) -> tensor<48xi32>
  %r = tile.scan(%f) axis 0 reverse {
  ^bb0(%a: i32, %b: i32):
    %add = arith.maxsi %a, %b : i32
    tile.yield %add : i32
  } : (tensor<48xi32>) -> tensor<48xi32>
  return %f, %r : tensor<48xi32>, tensor<48xi32>
}

// -----

// Rows of a power of two stay where they are; others move. The sum of all elements moves none.
// CHECK-LABEL: func.func @reshapes
// CHECK: tile.reshape %arg0 : tensor<64xi32> -> tensor<4x16xi32>
// CHECK: tile.reduce(%{{.*}}) axis 0
// CHECK-NOT: tile.gather
// CHECK: } : (tensor<64xi32>) -> i32
// CHECK: tile.gather %{{.*}} : tensor<64xi32>, tensor<64xi32> -> tensor<64xi32>
// CHECK: tile.reshape %{{.*}} : tensor<64xi32> -> tensor<16x4xi32>
func.func @reshapes(%x: tensor<48xi32>, %y: tensor<4x12xi32>) -> (tensor<3x16xi32>, i32, tensor<16x3xi32>) {
  %a = tile.reshape %x : tensor<48xi32> -> tensor<3x16xi32>
  %line = tile.reshape %y : tensor<4x12xi32> -> tensor<48xi32>
  %s = tile.reduce(%line) axis 0 {
  ^bb0(%l: i32, %r: i32):
    %add = arith.addi %l, %r : i32
    tile.yield %add : i32
  } : (tensor<48xi32>) -> i32
  %b = tile.reshape %x : tensor<48xi32> -> tensor<16x3xi32>
  return %a, %s, %b : tensor<3x16xi32>, i32, tensor<16x3xi32>
}

// -----

// Along K the padding is 0: that of loads is so already.
// CHECK-LABEL: func.func @product
// CHECK: %[[A:.*]] = tile.load
// CHECK: %[[B:.*]] = arith.select %{{.*}}, %arg1, %{{.*}} : tensor<64x32xi1>, tensor<64x32xf16>
// CHECK: tile.dot %[[A]], %[[B]], %arg2
func.func @product(%p: tensor<16x48x!tile.ptr<f16>>, %b: tensor<48x24xf16>, %c: tensor<16x24xf32>) -> tensor<16x24xf32> {
  // expected-remark @below {{a tile of 16 x 48 elements takes the room of 16 x 64}}
  %a = tile.load %p : tensor<16x48x!tile.ptr<f16>> -> tensor<16x48xf16>
  %d = tile.dot %a, %b, %c : tensor<16x48xf16>, tensor<48x24xf16> -> tensor<16x24xf32>
  return %d : tensor<16x24xf32>
}

// -----

// Indices of the padding are inside of the source; an index of the kernel's that reaches the padding is none.
// CHECK-LABEL: func.func @gathers
// CHECK: %[[THERE:.*]] = arith.cmpi ult, %arg1, %{{.*}} : tensor<32xi32>
// CHECK: %[[CHECKED:.*]] = arith.select %[[THERE]], %arg1, %{{.*}}
// CHECK: %[[INDEX:.*]] = arith.select %{{.*}}, %[[CHECKED]], %{{.*}}
// CHECK: tile.gather %arg0[%[[INDEX]]] axis 0
func.func @gathers(%x: tensor<48xf32>, %i: tensor<20xi32>) -> tensor<20xf32> {
  %y = tile.gather %x[%i] axis 0 : tensor<48xf32>, tensor<20xi32> -> tensor<20xf32>
  return %y : tensor<20xf32>
}

// -----

// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} -> (tensor<64xf32>)
// CHECK: tile.print "x" {extents = array<i64: 48>, {{.*}}} : %{{.*}} : tensor<64xf32>
func.func @carried(%x: tensor<48xf32>, %n: index) -> tensor<48xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (tensor<48xf32>) {
    %w = arith.addf %v, %x : tensor<48xf32>
    scf.yield %w : tensor<48xf32>
  }
  tile.print "x" {hex = false, is_signed = array<i32: 0>} : %y : tensor<48xf32>
  return %y : tensor<48xf32>
}

// -----

func.func @too_large(%x: tensor<100xf32>) {
  %a = tile.expand_dims %x axis 1 : tensor<100xf32> -> tensor<100x1xf32>
  %b = tile.expand_dims %a axis 2 : tensor<100x1xf32> -> tensor<100x1x1xf32>
  // expected-error @below {{[TW0310] a tile of 100 x 100 x 100 elements is too large for this target: it takes 128 x 128 x 128, which are 2097152}}
  // expected-note @below {{the largest tile is of 1048576 elements}}
  %c = tile.broadcast %b : tensor<100x1x1xf32> -> tensor<100x100x100xf32>
  return
}
