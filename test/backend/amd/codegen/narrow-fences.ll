; A barrier does not wait for direct copies that go on beyond it, but where it orders global memory.
; RUN: tile-opt %s --target amd:gfx950 --code-pass narrow-fences | FileCheck %s

declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32, i32, i32, i32, i32)

; CHECK-LABEL: kernel:
; CHECK:       buffer_load_dwordx4 {{.*}} lds
; CHECK-NOT:   vmcnt(0)
; CHECK:       s_waitcnt lgkmcnt(0)
; CHECK-NEXT:  s_barrier
; CHECK:       ds_read_b32
; CHECK:       s_waitcnt vmcnt(0) lgkmcnt(0)
; CHECK-NEXT:  s_barrier
; CHECK:       s_endpgm
define amdgpu_kernel void @kernel(ptr addrspace(8) %from, ptr addrspace(3) noalias %to, ptr addrspace(3) noalias %other, ptr addrspace(1) %out) {
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %from, ptr addrspace(3) %to, i32 16, i32 0, i32 0, i32 0, i32 0), !alias.scope !3
  store i32 7, ptr addrspace(3) %other, !alias.scope !4, !noalias !3
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  %read = load i32, ptr addrspace(3) %other, !alias.scope !4, !noalias !3
  store i32 %read, ptr addrspace(1) %out
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.waitcnt(i32 112)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  store i32 1, ptr addrspace(1) %out
  ret void
}

!0 = !{!"amdgpu-synchronize-as", !"local"}
!1 = distinct !{!1, !"shared memory"}
!2 = distinct !{!2, !1, !"copies"}
!3 = !{!2}
!4 = !{!5}
!5 = distinct !{!5, !1, !"others"}
