; PTX takes 32 bits of a shift's amount: wider amounts are bounded by the width first.
; RUN: tile-opt %s --target nvidia:sm_80 --code-pass bound-shifts | FileCheck %s

; CHECK-LABEL: define i64 @wide
; CHECK:       %[[BOUNDED:.*]] = call i64 @llvm.umin.i64(i64 %by, i64 64)
; CHECK:       icmp ult i64 %[[BOUNDED]], 64
; CHECK:       shl i64 %x, %[[BOUNDED]]
define i64 @wide(i64 %x, i64 %by) {
  %fits = icmp ult i64 %by, 64
  %shifted = shl i64 %x, %by
  %result = select i1 %fits, i64 %shifted, i64 0
  ret i64 %result
}

; CHECK-LABEL: define i32 @narrow
; CHECK-NOT:   umin
; CHECK:       ret i32
define i32 @narrow(i32 %x, i32 %by) {
  %fits = icmp ult i32 %by, 32
  %shifted = shl i32 %x, %by
  %result = select i1 %fits, i32 %shifted, i32 0
  ret i32 %result
}
