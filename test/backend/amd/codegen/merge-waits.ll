; Waits that few instructions stand between become one.
; RUN: tile-opt %s --target amd:gfx942 --code-pass merge-waits | FileCheck %s
; RUN: tile-opt %s --target amd:gfx1100 --code-pass merge-waits | FileCheck %s
; RUN: tile-opt %s --target amd:gfx1201 --code-pass merge-waits | FileCheck %s --check-prefix=RDNA4

declare i32 @llvm.amdgcn.workitem.id.x()

; CHECK-LABEL: near:
; CHECK:       s_waitcnt vmcnt(0)
; CHECK-NOT:   vmcnt
; CHECK:       s_endpgm
; RDNA4-LABEL: near:
; RDNA4:       s_wait_loadcnt 0x0
; RDNA4-NOT:   s_wait_loadcnt
; RDNA4:       s_endpgm
define amdgpu_kernel void @near(ptr addrspace(1) inreg %x, ptr addrspace(1) inreg %y, ptr addrspace(1) inreg %out) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %id
  %q = getelementptr float, ptr addrspace(1) %y, i32 %id
  %a = load float, ptr addrspace(1) %p
  %b = load float, ptr addrspace(1) %q
  %square = fmul float %a, %a
  %product = fmul float %b, %square
  %r = getelementptr float, ptr addrspace(1) %out, i32 %id
  store float %product, ptr addrspace(1) %r
  ret void
}

; Much is computed of the first before the second is needed.
; CHECK-LABEL: far:
; CHECK:       s_waitcnt vmcnt(1)
; CHECK:       s_waitcnt vmcnt(0)
; RDNA4-LABEL: far:
; RDNA4:       s_wait_loadcnt 0x1
; RDNA4:       s_wait_loadcnt 0x0
define amdgpu_kernel void @far(ptr addrspace(1) inreg %x, ptr addrspace(1) inreg %y, ptr addrspace(1) inreg %out) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %id
  %q = getelementptr float, ptr addrspace(1) %y, i32 %id
  %a = load float, ptr addrspace(1) %p
  %b = load float, ptr addrspace(1) %q
  %a2 = fmul float %a, %a
  %a3 = fadd float %a2, %a
  %a4 = fmul float %a3, %a2
  %a5 = fadd float %a4, %a3
  %a6 = fmul float %a5, %a4
  %a7 = fadd float %a6, %a5
  %product = fmul float %b, %a7
  %r = getelementptr float, ptr addrspace(1) %out, i32 %id
  store float %product, ptr addrspace(1) %r
  ret void
}

