// The pipeline of a GPU, by stages.
// RUN: tile-opt --list-stages --target nvidia:sm_80 | FileCheck %s

//      CHECK: {{^}}tile: Tile IR as the frontend writes it
//      CHECK: {{^}}tile-passes:
//      CHECK: {{^}}laid-out: tiles have extents of powers of two, and each has a layout
// CHECK-NEXT: {{^}}  describe-target             sets the facts of a GPU
// CHECK-NEXT: {{^}}  order-launches
// CHECK-NEXT: {{^}}  expand-histograms
// CHECK-NEXT: {{^}}  split-loops-by-mask {{.*}} (products=true)
//      CHECK: {{^}}  assign-layouts              every tile gets a layout
//      CHECK: {{^}}scheduled: data crosses warps through buffers
// CHECK-NEXT: {{^}}  choose-registers
// CHECK-NEXT: {{^}}  pipeline-loops {{.*}}one-fewer-where-full=true
//      CHECK: {{^}}  insert-barriers
// CHECK-NEXT: {{^}}  await-products
// CHECK-NEXT: {{^}}lowered: the code of one thread
// CHECK-NEXT: {{^}}  lower-simt
//      CHECK: {{^}}llvm-dialect: the LLVM dialect only
// CHECK-NEXT: {{^}}  lower-nvidia
//      CHECK: {{^}}  attach-line-tables
// CHECK-NEXT: {{^}}then, as code: llvm-unoptimized, llvm, ptx, cubin, resources
