// A counter that might pass the largest integer is compared before the step is added.
// RUN: tile-opt --lower-to-llvm --canonicalize --split-input-file %s | FileCheck %s

// CHECK-LABEL: @signed
// CHECK-SAME: %arg0: i32, %[[UPPER:.*]]: i32, %[[STEP:.*]]: i32
// CHECK: %[[LOWEST:.*]] = llvm.mlir.constant(-2147483648 : i32)
// CHECK: %[[NEAREST:.*]] = llvm.add %[[STEP]], %[[LOWEST]]
// CHECK: %[[IS_NEAR:.*]] = llvm.icmp "slt" %[[UPPER]], %[[NEAREST]]
// CHECK: %[[DIFFERENCE:.*]] = llvm.sub %[[UPPER]], %[[STEP]]
// CHECK: %[[LAST:.*]] = llvm.select %[[IS_NEAR]], %[[LOWEST]], %[[DIFFERENCE]]
// CHECK: llvm.cond_br %{{.*}}, ^[[BODY:.*]](%arg0, %{{.*}} : i32, i32), ^[[END:.*]](%{{.*}} : i32)
// CHECK: ^[[BODY]](%[[I:.*]]: i32, %[[SUM:.*]]: i32):
// CHECK: %[[TOTAL:.*]] = llvm.add %[[SUM]], %[[I]]
// CHECK: %[[NEXT:.*]] = llvm.add %[[I]], %[[STEP]]
// CHECK: %[[REPEATS:.*]] = llvm.icmp "slt" %[[I]], %[[LAST]]
// CHECK: llvm.cond_br %[[REPEATS]], ^[[BODY]](%[[NEXT]], %[[TOTAL]] : i32, i32), ^[[END]](%[[TOTAL]] : i32)
llvm.func @signed(%lower: i32, %upper: i32, %step: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = scf.for %i = %lower to %upper step %step iter_args(%a = %zero) -> (i32) : i32 {
    %b = arith.addi %a, %i : i32
    scf.yield %b : i32
  }
  llvm.return %sum : i32
}

// -----

// CHECK-LABEL: @unsigned
// CHECK: llvm.icmp "ult"
// CHECK: llvm.icmp "ult"
// CHECK: llvm.add
// CHECK: llvm.icmp "ult"
llvm.func @unsigned(%lower: i32, %upper: i32, %step: i32) {
  scf.for unsigned %i = %lower to %upper step %step : i32 {
    llvm.call @use(%i) : (i32) -> ()
  }
  llvm.return
}
llvm.func @use(i32)

// -----

// Steps of one, and bounds that leave room for a step, need nothing.
// CHECK-LABEL: @plain
// CHECK-NOT: llvm.select
llvm.func @plain(%lower: i32, %upper: i32) {
  %one = arith.constant 1 : i32
  %far = arith.constant 2147483632 : i32
  %sixteen = arith.constant 16 : i32
  scf.for %i = %lower to %upper step %one : i32 {
    llvm.call @use(%i) : (i32) -> ()
  }
  scf.for %i = %lower to %far step %sixteen : i32 {
    llvm.call @use(%i) : (i32) -> ()
  }
  llvm.return
}
llvm.func @use(i32)

// -----

// CHECK-LABEL: @no_room
// CHECK-DAG: %[[FAR:.*]] = llvm.mlir.constant(2147483633 : i32)
// CHECK-DAG: %[[STEP:.*]] = llvm.mlir.constant(16 : i32)
// CHECK: %[[LAST:.*]] = llvm.sub %[[FAR]], %[[STEP]]
// CHECK: llvm.select %{{.*}}, %{{.*}}, %[[LAST]]
llvm.func @no_room(%lower: i32) {
  %far = arith.constant 2147483633 : i32
  %sixteen = arith.constant 16 : i32
  scf.for %i = %lower to %far step %sixteen : i32 {
    llvm.call @use(%i) : (i32) -> ()
  }
  llvm.return
}
llvm.func @use(i32)

// -----

// From a constant that is not negative, the next counter less the upper bound is always a number.
// CHECK-LABEL: @from_zero
// CHECK-SAME: %[[UPPER:.*]]: i32, %[[STEP:.*]]: i32
// CHECK-NOT: llvm.select
// CHECK: %[[NEXT:.*]] = llvm.add %{{.*}}, %[[STEP]]
// CHECK: %[[DISTANCE:.*]] = llvm.sub %[[NEXT]], %[[UPPER]]
// CHECK: llvm.icmp "slt" %[[DISTANCE]]
llvm.func @from_zero(%upper: i32, %step: i32) {
  %zero = arith.constant 0 : i32
  scf.for %i = %zero to %upper step %step : i32 {
    llvm.call @use(%i) : (i32) -> ()
  }
  llvm.return
}
llvm.func @use(i32)
