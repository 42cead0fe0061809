; One pass around LLVM's runs alone; an unknown one is refused with the names of those that there are.
; RUN: tile-opt %s --target cpu --code-pass sink-offsets | FileCheck %s
; RUN: not tile-opt %s --target cpu:x86-64-v3 --code-pass mix-halves 2>&1 | FileCheck %s --check-prefix=UNKNOWN
; RUN: not tile-opt %s --target reference --code-pass sink-offsets 2>&1 | FileCheck %s --check-prefix=NO-CODE

; UNKNOWN: error: cpu:x86-64-v3 has no code pass `mix-halves`; there are: configure-matrix-unit, sink-offsets, split-functions, store-single-lanes
; NO-CODE: error: reference has no code by LLVM

; The constant part of an address goes behind the index.
; CHECK-LABEL: define float @sink
; CHECK:       %[[INDEXED:.*]] = getelementptr float, ptr %x, i64 %i
; CHECK:       %[[AT:.*]] = getelementptr i8, ptr %[[INDEXED]], i64 64
; CHECK:       load float, ptr %[[AT]]
define float @sink(ptr %x, i64 %i) {
  %shifted = getelementptr float, ptr %x, i64 16
  %at = getelementptr float, ptr %shifted, i64 %i
  %value = load float, ptr %at
  ret float %value
}
