; SPIR-V has integers of 8, 16, 32 and 64 bits: others are computed in the next wider ones, and what
; exceeds their bits is cut off.
; RUN: tile-opt --target spirv:generic16 --code-pass widen-integers %s | FileCheck %s
target triple = "spirv64v1.4-unknown-unknown"

; CHECK-LABEL: @shifted
; CHECK-NOT: i5
; CHECK: [[CUT:%.*]] = and i8 {{%.*}}, 31
; CHECK: [[SHIFTED:%.*]] = shl i8 [[CUT]], 3
; CHECK: [[INSIDE:%.*]] = and i8 [[SHIFTED]], 31
; CHECK: [[RESULT:%.*]] = zext i8 [[INSIDE]] to i32
; CHECK: ret i32 [[RESULT]]
define i32 @shifted(i32 %x) {
  %t = trunc i32 %x to i5
  %s = shl i5 %t, 3
  %z = zext i5 %s to i32
  ret i32 %z
}

; A sign is the highest of the bits that there were.
; CHECK-LABEL: @negative
; CHECK-NOT: i3
; CHECK: [[RAISED:%.*]] = shl i8 {{%.*}}, 5
; CHECK: [[SIGNED:%.*]] = ashr i8 [[RAISED]], 5
; CHECK: icmp slt i8 [[SIGNED]], -2
define i1 @negative(i64 %x) {
  %t = trunc i64 %x to i3
  %c = icmp slt i3 %t, -2
  ret i1 %c
}

; CHECK-LABEL: @chosen
; CHECK-NOT: i24
; CHECK: phi i32
define i32 @chosen(i32 %x, i1 %c) {
entry:
  %t = trunc i32 %x to i24
  br i1 %c, label %other, label %end
other:
  %a = add i24 %t, -1
  br label %end
end:
  %p = phi i24 [ %t, %entry ], [ %a, %other ]
  %z = sext i24 %p to i32
  ret i32 %z
}
