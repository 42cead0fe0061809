; Accumulators that both branches of a loop change: the second branch runs behind the first one and
; takes what that one left.
; RUN: tile-opt %s --target amd:gfx1201 --code-pass serialize-branches | FileCheck %s


; CHECK-LABEL: define amdgpu_kernel void @kernel
; CHECK:       loop:
; CHECK:       %acc = phi <128 x float>
; CHECK:       br i1 %rare, label %[[BETWEEN:.*]], label %product
; CHECK:       [[BETWEEN]]:
; CHECK-NEXT:  %[[NOW:.*]] = phi <128 x float> [ %acc, %loop ], [ %sum, %product ]
; CHECK-NEXT:  br i1 %rare, label %slow, label %merge
; CHECK:       slow:
; CHECK-NEXT:  %part = phi <128 x float> [ %[[NOW]], %[[BETWEEN]] ], [ %more, %slow ]
; CHECK:       product:
; CHECK:       br label %[[BETWEEN]]
; CHECK:       merge:
; CHECK-NEXT:  phi <128 x float> [ %more, %slow ], [ %[[NOW]], %[[BETWEEN]] ]
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, <128 x float> %a, i32 %n) {
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %merge ]
  %acc = phi <128 x float> [ zeroinitializer, %0 ], [ %result, %merge ]
  %rare = icmp eq i32 %i, 7
  br i1 %rare, label %slow, label %product
slow:
  %part = phi <128 x float> [ %acc, %loop ], [ %more, %slow ]
  %k = phi i32 [ 0, %loop ], [ %after, %slow ]
  %more = fadd <128 x float> %part, %a
  %after = add i32 %k, 1
  %again = icmp slt i32 %after, %n
  br i1 %again, label %slow, label %merge
product:
  %sum = fmul <128 x float> %acc, %a
  br label %merge
merge:
  %result = phi <128 x float> [ %more, %slow ], [ %sum, %product ]
  %next = add i32 %i, 1
  %goes = icmp slt i32 %next, %n
  br i1 %goes, label %loop, label %end
end:
  store <128 x float> %result, ptr addrspace(1) %out
  ret void
}

; Few registers are not worth it.
; CHECK-LABEL: define amdgpu_kernel void @small
; CHECK:       br i1 %rare, label %yes, label %no
define amdgpu_kernel void @small(ptr addrspace(1) %out, <8 x float> %a, i32 %n) {
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %merge ]
  %acc = phi <8 x float> [ zeroinitializer, %0 ], [ %result, %merge ]
  %rare = icmp eq i32 %i, 7
  br i1 %rare, label %yes, label %no
yes:
  %more = fadd <8 x float> %acc, %a
  br label %merge
no:
  %sum = fmul <8 x float> %acc, %a
  br label %merge
merge:
  %result = phi <8 x float> [ %more, %yes ], [ %sum, %no ]
  %next = add i32 %i, 1
  %goes = icmp slt i32 %next, %n
  br i1 %goes, label %loop, label %end
end:
  store <8 x float> %result, ptr addrspace(1) %out
  ret void
}
