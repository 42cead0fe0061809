// A kernel without an operation on tiles, for a module that describes no machine.
// RUN: tile-opt %s -lower-simd | FileCheck %s

// CHECK: llvm.func @nothing
// CHECK: llvm.return
func.func @nothing() {
  return
}
