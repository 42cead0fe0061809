// RUN: tile-compile %s --run --arg 'const i32[32]=iota' --arg 'i32[32]=-1' --arg i32=30 --grid 4 --show 32 | FileCheck %s
// RUN: tile-compile %s --target reference --run --arg 'const i32[32]=iota' --arg 'i32[32]=-1' --arg i32=30 --grid 4 --show 32 | FileCheck %s
// RUN: not tile-compile %s --run --arg 'i32[32]=iota' --arg 'const i32[32]=-1' --arg i32=30 2>&1 | FileCheck %s --check-prefix=READONLY
// RUN: not tile-compile %s --run --arg 'i32[32]=iota' --arg 'i32[32]=-1' --arg i32=30 --grid=-1 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: tile-compile %s --run --arg 'i32[32]=iota' --arg 'i32[32]=5' --arg i32=30 --grid=0 | FileCheck %s --check-prefix=NOTHING
// RUN: not tile-compile %s --run --arg 'i32[32]=iota' 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not tile-compile %s --run --arg 'i31[32]=iota' 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: tile-compile %s --run --arg 'const i32[32]=iota' --arg 'i32[32]=-1' --arg i32=30 --grid 4 --num-threads 1 --time 3 --options verify | FileCheck %s --check-prefix=TIME

// y[i] = 2 * x[i] for i < n, by programs of 8 elements; the rest keeps its poison.

// CHECK: arg 1 i32[32] sum 868.0
// CHECK-NEXT: 0 2 4 6 8 10 12 14 16 {{.*}} 58 -1 -1
// READONLY: error[TW0403]: argument `y` is read-only
// GRID: error[TW0402]: the grid (-1, 1, 1) has a negative extent
// NOTHING: arg 1 i32[32] sum 160.0
// COUNT: error[TW0404]: kernel twice takes 3 run-time arguments, 1 were given
// TIME: arg 1 i32[32] sum 868.0
// TIME: launch median {{.*}} us, least {{.*}} us of 3
// MALFORMED: error: argument `i31[32]=iota` is not like
func.func @twice(%x: !tile.ptr<i32> {tile.name = "x"}, %y: !tile.ptr<i32> {tile.name = "y"},
                 %n: i32 {tile.name = "n"}) {
  %pid = tile.program_id 0
  %c8 = arith.constant 8 : i32
  %start = arith.muli %pid, %c8 : i32
  %range = tile.arange 0 to 8 : tensor<8xi32>
  %starts = tile.splat %start : i32 -> tensor<8xi32>
  %i = arith.addi %starts, %range : tensor<8xi32>
  %ns = tile.splat %n : i32 -> tensor<8xi32>
  %m = arith.cmpi slt, %i, %ns : tensor<8xi32>
  %xs = tile.splat %x : !tile.ptr<i32> -> tensor<8x!tile.ptr<i32>>
  %xp = tile.addptr %xs, %i : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
  %v = tile.load %xp mask %m : tensor<8xi1> : tensor<8x!tile.ptr<i32>> -> tensor<8xi32>
  %w = arith.addi %v, %v : tensor<8xi32>
  %ys = tile.splat %y : !tile.ptr<i32> -> tensor<8x!tile.ptr<i32>>
  %yp = tile.addptr %ys, %i : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
  tile.store %yp, %w mask %m : tensor<8xi1> : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
  return
}
