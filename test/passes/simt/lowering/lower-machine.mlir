// Threads read the clock or the processor's number, and all of a program take the answer of the first.
// RUN: tile-opt %s --stage-through-shared --allocate-shared --insert-barriers --lower-simt | FileCheck %s
// RUN: tile-opt %s --stage-through-shared --allocate-shared --insert-barriers --lower-simt --lower-nvidia | FileCheck %s --check-prefix=PTX

module attributes {simt.num_warps = 2 : i32} {
// CHECK-LABEL: llvm.func @kernel
func.func @kernel(%p: !tile.ptr<i64>) {
  // CHECK: simt.machine clock
  // CHECK: simt.barrier
  // PTX: globaltimer
  %t = tile.machine clock
  tile.store %p, %t : !tile.ptr<i64>, i64
  // CHECK: simt.machine processor
  // PTX: smid
  %s = tile.machine processor
  tile.store %p, %s : !tile.ptr<i64>, i64
  return
}
}
