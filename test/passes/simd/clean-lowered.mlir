// RUN: tile-opt %s --clean-lowered | FileCheck %s

// Constants are one each and stand before the loops, what folds is folded through, and what is of
// no use goes, with its loop.
// CHECK-LABEL: llvm.func @constants
// CHECK-DAG: %[[THREE:.*]] = arith.constant dense<3> : vector<4xi32>
// CHECK-DAG: %[[SEVEN:.*]] = arith.constant dense<7> : vector<4xi32>
// CHECK-NOT: vector.broadcast
// CHECK: scf.for
// CHECK-NOT: arith.constant
// CHECK: %[[V:.*]] = llvm.load
// CHECK: %[[SUM:.*]] = arith.addi %[[V]], %[[THREE]]
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[SUM]], %[[SEVEN]]
// CHECK: llvm.store %[[PRODUCT]]
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @constants(%p: !llvm.ptr, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %three = vector.broadcast %c3 : i32 to vector<4xi32>
    %c7 = arith.addi %c3, %c4 : i32
    %seven = vector.broadcast %c7 : i32 to vector<4xi32>
    %q = llvm.getelementptr %p[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    %v = llvm.load %q : !llvm.ptr -> vector<4xi32>
    %sum = arith.addi %three, %v : vector<4xi32>
    %product = arith.muli %sum, %seven : vector<4xi32>
    llvm.store %product, %q : vector<4xi32>, !llvm.ptr
  }
  scf.for %i = %c0 to %n step %c1 : i32 {
    %unused = arith.muli %i, %i : i32
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @branch
// CHECK-NOT: scf.if
// CHECK: llvm.store
// CHECK: llvm.return
llvm.func @branch(%p: !llvm.ptr, %x: i32) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %isLess = arith.cmpi slt, %c1, %c2 : i32
  scf.if %isLess {
    llvm.store %x, %p : i32, !llvm.ptr
  }
  llvm.return
}
