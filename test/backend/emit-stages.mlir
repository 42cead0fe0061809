// RUN: tile-compile %s --emit tile | FileCheck %s --check-prefix=TILE
// RUN: tile-compile %s --emit llvm-dialect | FileCheck %s --check-prefix=DIALECT
// RUN: tile-compile %s --emit llvm | FileCheck %s --check-prefix=LLVM
// RUN: tile-compile %s --emit asm | FileCheck %s --check-prefix=ASM
// RUN: tile-compile %s --emit object -o %t.o && llvm-nm %t.o | FileCheck %s --check-prefix=OBJECT
// RUN: not tile-compile %s --emit sausage 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Each stage of one kernel can be seen.

// TILE: tile.store
// DIALECT: llvm.func @put.kernel
// DIALECT-NOT: tile.
// LLVM: target triple
// LLVM: define void @put.kernel(ptr {{.*}}, ptr
// LLVM: attributes {{.*}}"target-cpu"
// ASM: put.kernel:
// OBJECT: T put.kernel
// UNKNOWN: error[TW0401]: there is no stage `sausage`
// UNKNOWN: hint: stages: tile,
func.func @put(%x: !tile.ptr<f32> {tile.name = "x"}, %v: f32 {tile.name = "v"}) {
  tile.store %x, %v : !tile.ptr<f32>, f32
  return
}
