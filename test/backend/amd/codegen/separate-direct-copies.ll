; Direct copies do not alias other accesses of shared memory, and begin at a scalar address.
; RUN: tile-opt %s --target amd:gfx950 --code-pass separate-direct-copies | FileCheck %s

declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32, i32, i32, i32, i32)

; CHECK-LABEL: define amdgpu_kernel void @copy_and_read
; CHECK:       %[[BASE:.*]] = getelementptr i8, ptr addrspace(3) %shared, i32 %wave
; CHECK:       %[[FIRST:.*]] = call ptr addrspace(3) @llvm.amdgcn.readfirstlane.p3(ptr addrspace(3) %[[BASE]])
; CHECK:       %[[TO:.*]] = getelementptr i8, ptr addrspace(3) %[[FIRST]], i32 1024
; CHECK:       raw.ptr.buffer.load.lds(ptr addrspace(8) %from, ptr addrspace(3) %[[TO]], {{.*}}), !alias.scope ![[COPIES:[0-9]+]]
; CHECK:       load float, ptr addrspace(3) %base, align 4, !alias.scope ![[OTHERS:[0-9]+]], !noalias ![[COPIES]]
; CHECK:       load float, ptr addrspace(1) %global, align 4{{$}}
define amdgpu_kernel void @copy_and_read(ptr addrspace(8) %from, ptr addrspace(3) %shared, ptr addrspace(1) %global, i32 %wave) {
  %base = getelementptr i8, ptr addrspace(3) %shared, i32 %wave
  %to = getelementptr i8, ptr addrspace(3) %base, i32 1024
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %from, ptr addrspace(3) %to, i32 16, i32 0, i32 0, i32 0, i32 0)
  %read = load float, ptr addrspace(3) %base
  %other = load float, ptr addrspace(1) %global
  %sum = fadd float %read, %other
  store float %sum, ptr addrspace(1) %global
  ret void
}
