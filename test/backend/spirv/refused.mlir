// What OpenCL has no word for is refused by name.
// RUN: not tile-compile %s --target spirv:generic16 --emit spirv 2>&1 | FileCheck %s
// RUN: not tile-compile %s --target spirv:generic16 --num-warps 32 --emit lowered 2>&1 | FileCheck %s --check-prefix=WARPS

// CHECK: error[TW0312]: OpenCL has neither a clock in nanoseconds nor numbers of processors
// WARPS: error[TW0313]: a program cannot have 32 warps on generic16: num_warps is 1, 2, 4, 8 or 16
func.func @ticks(%x: !tile.ptr<i64> {tile.name = "x", tile.divisibility = 16 : i64}) {
  %t = tile.machine clock
  tile.store %x, %t : !tile.ptr<i64>, i64
  return
}
