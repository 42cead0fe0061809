// The whole pipeline of a target, by stages, with the options that are not the defaults.
// RUN: tile-opt --list-stages | FileCheck %s --check-prefix=NAMES
// RUN: tile-opt --list-stages --target cpu:x86-64-v3 | FileCheck %s
// RUN: not tile-opt --list-stages --target gpu 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// NAMES: {{^}}cpu{{$}}
// UNKNOWN: error: there is no {{.*}}`gpu`

//      CHECK: {{^}}tile: Tile IR as the frontend writes it
// CHECK-NEXT: {{^}}tile-passes: all accesses go through pointers and masks
// CHECK-NEXT: {{^}}  spread-hints                what is promised of a value holds
//      CHECK: {{^}}  expand-descriptors
//      CHECK: {{^}}  split-loops-by-mask         iterations in which masks are all true run in a loop of their own, without them{{$}}
//      CHECK: {{^}}lowered: functions of scalars, vectors and loops
// CHECK-NEXT: {{^}}  attach-target {{.*}} (target={{.*}}#tile.simd<vector_bytes = 32, registers = 16, {{.*}}per_cycle = 32, intrinsic = "llvm.x86.avx2.pmadd.wd", signs = ss, sums = zero>], features = [fma]>{{.*}})
// CHECK-NEXT: {{^}}  lower-simd                  tiles become loops
//      CHECK: {{^}}  share-nests                 loop nests that do the same become one function{{$}}
//      CHECK: {{^}}llvm-dialect: the LLVM dialect only
// CHECK-NEXT: {{^}}  lower-to-llvm
// CHECK-NEXT: {{^}}  carry-bf16-as-bits
// CHECK-NEXT: {{^}}then, as code: llvm-unoptimized, llvm, asm, object
