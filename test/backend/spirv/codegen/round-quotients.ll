; OpenCL rounds quotients and roots of float64 correctly; of float32 it need not. What may be
; approximate stays.
; RUN: tile-opt --target spirv:generic16 --code-pass round-quotients %s | FileCheck %s
; RUN: not tile-opt --target spirv:xe-hpg --code-pass round-quotients %s 2>&1 | FileCheck %s --check-prefix=XE
target triple = "spirv64v1.4-unknown-unknown"

; XE: round-quotients
; CHECK-LABEL: @divide
; CHECK: fpext float %x to double
; CHECK: fpext float %y to double
; CHECK: [[WIDE:%.*]] = fdiv double
; CHECK: fptrunc double [[WIDE]] to float
; CHECK: call double @llvm.sqrt.f64
; CHECK: fdiv afn float
define float @divide(float %x, float %y) {
  %q = fdiv float %x, %y
  %r = call float @llvm.sqrt.f32(float %q)
  %n = fdiv afn float %r, %y
  ret float %n
}
