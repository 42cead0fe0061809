; A saturating difference of a scalar and a constant is a maximum and a difference.
; RUN: tile-opt %s --target amd:gfx942 --code-pass expand-saturating-differences | FileCheck %s

; CHECK-LABEL: define i32 @scalar
; CHECK:       %[[MOST:.*]] = call i32 @llvm.umax.i32(i32 %n, i32 3)
; CHECK:       sub i32 %[[MOST]], 3
define i32 @scalar(i32 %n) {
  %left = call i32 @llvm.usub.sat.i32(i32 %n, i32 3)
  ret i32 %left
}

; CHECK-LABEL: define <2 x i32> @vector
; CHECK:       llvm.usub.sat.v2i32
define <2 x i32> @vector(<2 x i32> %n) {
  %left = call <2 x i32> @llvm.usub.sat.v2i32(<2 x i32> %n, <2 x i32> splat (i32 3))
  ret <2 x i32> %left
}
