; A sum of f32 and a number extended from f16 is a fused product with an opaque 1.
; RUN: tile-opt %s --target amd:gfx942 --code-pass mix-halves | FileCheck %s

; CHECK-LABEL: define float @sum
; CHECK:       %[[ONE:.*]] = call float @llvm.arithmetic.fence.f32(float 1.000000e+00)
; CHECK:       %[[WIDE:.*]] = fpext half %h to float
; CHECK:       call float @llvm.fma.f32(float %[[WIDE]], float %[[ONE]], float %x)
; CHECK-NOT:   fadd
define float @sum(half %h, float %x) {
  %wide = fpext half %h to float
  %sum = fadd float %wide, %x
  ret float %sum
}

; CHECK-LABEL: define float @needed_wide
; CHECK-NOT:   fma
; CHECK:       fadd
define float @needed_wide(half %h, float %x, ptr %p) {
  %wide = fpext half %h to float
  store float %wide, ptr %p
  %sum = fadd float %wide, %x
  ret float %sum
}
