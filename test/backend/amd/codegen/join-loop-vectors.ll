; An accumulator that a loop takes apart at its end and puts together at its beginning is one vector.
; RUN: tile-opt %s --target amd:gfx942 --code-pass join-loop-vectors | FileCheck %s

declare <2 x float> @multiply(<2 x float>)

; CHECK-LABEL: define float @loop
; CHECK:       body:
; CHECK:       phi <2 x float>
; CHECK-NOT:   phi float
define float @loop(float %a, float %b, i32 %n) {
start:
  br label %body
body:
  %i = phi i32 [ 0, %start ], [ %next, %body ]
  %p = phi float [ %a, %start ], [ %x, %body ]
  %q = phi float [ %b, %start ], [ %y, %body ]
  %one = insertelement <2 x float> poison, float %p, i32 0
  %two = insertelement <2 x float> %one, float %q, i32 1
  %sum = call <2 x float> @multiply(<2 x float> %two)
  %x = extractelement <2 x float> %sum, i32 0
  %y = extractelement <2 x float> %sum, i32 1
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %body, label %end
end:
  ret float %y
}
