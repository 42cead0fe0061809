// RUN: tile-opt %s --lower-amd --split-input-file | FileCheck %s

// Lanes combine what they have until all have the combination of the wave. The last row of 16 lanes
// gets it by broadcasts (row_bcast:15 is 322, row_bcast:31 is 323), which need no LDS; all lanes read
// the last one's.

module attributes {simt.num_warps = 1 : i32} {
// CHECK-LABEL: llvm.func amdgpu_kernelcc @whole
// CHECK-NOT: ds.swizzle
// CHECK: %[[ROWS:.*]] = llvm.mlir.constant(322 : i32)
// CHECK: %[[LOWER:.*]] = llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"(%{{.*}}, %[[ROW:.*]], %[[ROWS]],
// CHECK: %[[HALF:.*]] = arith.addi %[[ROW]], %[[LOWER]]
// CHECK: %[[HALVES:.*]] = llvm.mlir.constant(323 : i32)
// CHECK: %[[OTHER:.*]] = llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"(%{{.*}}, %[[HALF]], %[[HALVES]],
// CHECK: %[[WHOLE:.*]] = arith.addi %[[HALF]], %[[OTHER]]
// CHECK: %[[LAST:.*]] = llvm.mlir.constant(63 : i32)
// CHECK: %[[ALL:.*]] = llvm.call_intrinsic "llvm.amdgcn.readlane.i32"(%[[WHOLE]], %[[LAST]])
// CHECK: buffer.store.i32"(%[[ALL]],
llvm.func @whole(%p: !llvm.ptr<1> {tile.forward}) attributes {simt.kernel} {
  %t = simt.thread_id
  %1 = arith.constant 1 : i32
  %3 = arith.constant 3 : i32
  %7 = arith.constant 7 : i32
  %15 = arith.constant 15 : i32
  %16 = arith.constant 16 : i32
  %32 = arith.constant 32 : i32
  %a1 = simt.shuffle xor %t, %1 : i32
  %s1 = arith.addi %t, %a1 : i32
  %a3 = simt.shuffle xor %s1, %3 : i32
  %s3 = arith.addi %s1, %a3 : i32
  %a7 = simt.shuffle xor %s3, %7 : i32
  %s7 = arith.addi %s3, %a7 : i32
  %a15 = simt.shuffle xor %s7, %15 : i32
  %s15 = arith.addi %s7, %a15 : i32
  %a16 = simt.shuffle xor %s15, %16 : i32
  %s16 = arith.addi %s15, %a16 : i32
  %a32 = simt.shuffle xor %s16, %32 : i32
  %s32 = arith.addi %s16, %a32 : i32
  %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  simt.global_store %a, %s32 : !llvm.ptr<1>, i32
  llvm.return
}
}

// -----

// Of halves that are needed themselves, each lane has to get its own.
module attributes {simt.num_warps = 1 : i32} {
// CHECK-LABEL: llvm.func amdgpu_kernelcc @halves
// CHECK: ds.swizzle
// CHECK: ds.bpermute
// CHECK-NOT: readlane
llvm.func @halves(%p: !llvm.ptr<1> {tile.forward}) attributes {simt.kernel} {
  %t = simt.thread_id
  %1 = arith.constant 1 : i32
  %3 = arith.constant 3 : i32
  %7 = arith.constant 7 : i32
  %15 = arith.constant 15 : i32
  %16 = arith.constant 16 : i32
  %32 = arith.constant 32 : i32
  %a1 = simt.shuffle xor %t, %1 : i32
  %s1 = arith.addi %t, %a1 : i32
  %a3 = simt.shuffle xor %s1, %3 : i32
  %s3 = arith.addi %s1, %a3 : i32
  %a7 = simt.shuffle xor %s3, %7 : i32
  %s7 = arith.addi %s3, %a7 : i32
  %a15 = simt.shuffle xor %s7, %15 : i32
  %s15 = arith.addi %s7, %a15 : i32
  %a16 = simt.shuffle xor %s15, %16 : i32
  %s16 = arith.addi %s15, %a16 : i32
  %a32 = simt.shuffle xor %s16, %32 : i32
  %s32 = arith.addi %s16, %a32 : i32
  %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  simt.global_store %a, %s32 : !llvm.ptr<1>, i32
  simt.global_store %a, %s16 : !llvm.ptr<1>, i32
  llvm.return
}
}
