// The variants of code with the passes around LLVM's.
// RUN: tile-opt --list-stages --target amd:gfx942 | FileCheck %s --check-prefix=ACCUMULATION
// RUN: tile-opt --list-stages --target amd:gfx1100 | FileCheck %s

//      ACCUMULATION: {{^}}then, as code: llvm-unoptimized, llvm, asm, object, hsaco, resources
// ACCUMULATION-NEXT: {{^}}before LLVM's clean-ups:
// ACCUMULATION-NEXT: {{^}}  join-loop-vectors
// ACCUMULATION-NEXT: {{^}}  sink-offsets
// ACCUMULATION-NEXT: {{^}}in LLVM's code generator, without {{[0-9]+}} of its passes:
// ACCUMULATION-NEXT: {{^}}  repeat-conditions {{.*}} (before: AMDGPU DAG->DAG Pattern Instruction Selection)
// ACCUMULATION-NEXT: {{^}}  narrow-fences
// ACCUMULATION-NEXT: {{^}}  sink-copy-offsets
// ACCUMULATION-NEXT: {{^}}  join-scalar-words
// ACCUMULATION-NEXT: {{^}}  fold-zero-sums
// ACCUMULATION-NEXT: {{^}}  limit-scheduler
// ACCUMULATION-NEXT: {{^}}  unlimit-allocation
// ACCUMULATION-NEXT: {{^}}  hoist-scalar-copies {{.*}} (before: SI insert wait instructions)
// ACCUMULATION-NEXT: {{^}}  branch-on-carry
// ACCUMULATION-NEXT: {{^}}  merge-waits {{.*}} (before: Insert required mode register values)
// ACCUMULATION-NEXT: {{^}}variant vector-registers:
//      ACCUMULATION: {{^}}  mix-halves
// ACCUMULATION-NEXT: {{^}}  rematerialize-for-occupancy
// ACCUMULATION-NEXT: {{^}}  attribute amdgpu-agpr-alloc=0
// ACCUMULATION-NEXT: {{^}}variant accumulation-registers, where those before spill:

//      CHECK: {{^}}variant default:
//      CHECK: {{^}}  rematerialize-after-large-products
// CHECK-NEXT: {{^}}variant rematerialized, where those before spill:
//      CHECK: {{^}}  share-offsets
// CHECK-NEXT: {{^}}  rematerialize-before-loops
// CHECK-NEXT: {{^}}  group-matrix-reads
// CHECK-NEXT: {{^}}  without LLVM's "Loop Invariant Code Motion"
// CHECK-NEXT: {{^}}variant rematerialized-in-loops, where those before spill:
//      CHECK: {{^}}variant fewest-registers, where those before spill:
//      CHECK: {{^}}  attribute amdgpu-sched-strategy=iterative-minreg
