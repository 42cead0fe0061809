; A loop that counts down takes the carry of its addition for the branch back.
; RUN: tile-opt %s --target amd:gfx942 --code-pass branch-on-carry | FileCheck %s
; RUN: tile-opt %s --target amd:gfx1100 --code-pass branch-on-carry | FileCheck %s
; RUN: tile-opt %s --target amd:gfx1201 --code-pass branch-on-carry | FileCheck %s

; CHECK-LABEL: down:
; CHECK:       s_add{{(_co)?}}_i32 [[N:s[0-9]+]], [[N]], -1
; CHECK:       [[LOOP:.LBB[0-9_]+]]:
; CHECK-NOT:   s_cmp
; CHECK:       s_add{{(_co)?}}_u32 [[N]], [[N]], -1
; CHECK:       s_cbranch_scc1 [[LOOP]]
define amdgpu_kernel void @down(ptr addrspace(1) inreg %out, i32 inreg %n) {
entry:
  br label %loop
loop:
  %left = phi i32 [ %n, %entry ], [ %next, %loop ]
  store volatile i32 0, ptr addrspace(1) %out
  %next = add i32 %left, -1
  %again = icmp ne i32 %next, 0
  br i1 %again, label %loop, label %exit
exit:
  ret void
}

; The number is used in the loop.
; CHECK-LABEL: used:
; CHECK:       s_cmp_lg_u32
; CHECK:       s_cbranch_scc1
define amdgpu_kernel void @used(ptr addrspace(1) inreg %out, i32 inreg %n) {
entry:
  br label %loop
loop:
  %left = phi i32 [ %n, %entry ], [ %next, %loop ]
  store volatile i32 %left, ptr addrspace(1) %out
  %next = add i32 %left, -1
  %again = icmp ne i32 %next, 0
  br i1 %again, label %loop, label %exit
exit:
  ret void
}

; The number is used behind the loop.
; CHECK-LABEL: kept:
; CHECK:       s_cmp_lg_u32
; CHECK:       s_cbranch_scc1
define amdgpu_kernel void @kept(ptr addrspace(1) inreg %out, i32 inreg %n) {
entry:
  br label %loop
loop:
  %left = phi i32 [ %n, %entry ], [ %next, %loop ]
  store volatile i32 0, ptr addrspace(1) %out
  %next = add i32 %left, -1
  %again = icmp ne i32 %next, 0
  br i1 %again, label %loop, label %exit
exit:
  %last = phi i32 [ %left, %loop ]
  store volatile i32 %last, ptr addrspace(1) %out
  ret void
}
