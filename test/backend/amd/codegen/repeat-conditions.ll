; Each branch compares scalars itself: no condition is carried in a vector register.
; RUN: tile-opt %s --target amd:gfx942 --code-pass repeat-conditions | FileCheck %s

; CHECK-LABEL: kernel:
; CHECK-NOT:   v_cndmask
; CHECK-NOT:   s_cselect
; CHECK-COUNT-2: s_cmp_
; CHECK:       s_endpgm
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, i32 %n, i32 %m) {
  %few = icmp slt i32 %n, 8
  br i1 %few, label %then, label %join
then:
  store volatile i32 1, ptr addrspace(1) %out
  br label %join
join:
  store volatile i32 %m, ptr addrspace(1) %out
  br i1 %few, label %last, label %end
last:
  store volatile i32 2, ptr addrspace(1) %out
  br label %end
end:
  ret void
}
