; OpenCL's fmax and fmin may lose NaN and the sign of zero, and SPIR-V has no reversal of 7 bits.
; RUN: tile-opt --target spirv:generic16 --code-pass expand-intrinsics %s | FileCheck %s
target triple = "spirv64v1.4-unknown-unknown"

; CHECK-LABEL: @extrema
; CHECK: fcmp ogt float %x, %y
; CHECK: and i32
; CHECK: fcmp oeq float %x, %y
; CHECK: fcmp uno float %x, %y
; CHECK: fadd float %x, %y
; CHECK: fcmp olt float
; CHECK: or i32
; CHECK-NOT: call
define float @extrema(float %x, float %y) {
  %a = call float @llvm.maximum.f32(float %x, float %y)
  %b = call float @llvm.minnum.f32(float %a, float %y)
  ret float %b
}

; CHECK-LABEL: @reverse
; CHECK: [[BYTE:%.*]] = trunc i32 %x to i8
; CHECK: and i8 [[BYTE]], 85
; CHECK: lshr i8 {{%.*}}, 1
; CHECK-NOT: i7
; CHECK: ret i32
define i32 @reverse(i32 %x) {
  %few = trunc i32 %x to i7
  %turned = call i7 @llvm.bitreverse.i7(i7 %few)
  %r = zext i7 %turned to i32
  ret i32 %r
}

; CHECK-LABEL: @convert
; CHECK: [[RESULT:%.*]] = call i32 @llvm.fptoui.sat.i32.f32(float %x)
; CHECK: [[NAN:%.*]] = fcmp uno float %x, %x
; CHECK: select i1 [[NAN]], i32 0, i32 [[RESULT]]
define i32 @convert(float %x) {
  %r = call i32 @llvm.fptoui.sat.i32.f32(float %x)
  ret i32 %r
}
