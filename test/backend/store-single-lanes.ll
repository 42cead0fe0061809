; A masked store with one true lane is a scalar store; others stay.
; RUN: tile-opt %s --target cpu --code-pass store-single-lanes | FileCheck %s

; CHECK-LABEL: define void @third
; CHECK:       %[[X:.*]] = extractelement <4 x float> %v, i64 2
; CHECK:       %[[AT:.*]] = getelementptr inbounds float, ptr %p, i64 2
; CHECK:       store float %[[X]], ptr %[[AT]], align 1
; CHECK-LABEL: define void @two
; CHECK:       llvm.masked.store
define void @third(<4 x float> %v, ptr %p) {
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v, ptr align 4 %p, <4 x i1> <i1 0, i1 0, i1 1, i1 0>)
  ret void
}
define void @two(<4 x float> %v, ptr %p) {
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v, ptr align 4 %p, <4 x i1> <i1 0, i1 1, i1 1, i1 0>)
  ret void
}
