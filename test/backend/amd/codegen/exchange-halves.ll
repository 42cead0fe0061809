; A word whose halves come from words of two vectors is one v_perm.
; RUN: tile-opt %s --target amd:gfx1100 --code-pass exchange-halves | FileCheck %s

; CHECK-LABEL: define void @halves_of_two
; CHECK-NOT:   insertelement <2 x half>
; CHECK:       %[[WORD:.*]] = call i32 @llvm.amdgcn.perm(i32 %{{.*}}, i32 %{{.*}}, i32 84148994)
; CHECK:       insertelement <1 x i32> poison, i32 %[[WORD]], i64 0
; CHECK:       store <1 x i32>
define void @halves_of_two(<4 x half> %a, <4 x half> %b, ptr addrspace(3) %p) {
  %x = extractelement <4 x half> %a, i32 1
  %y = extractelement <4 x half> %b, i32 0
  %one = insertelement <2 x half> poison, half %x, i32 0
  %two = insertelement <2 x half> %one, half %y, i32 1
  store <2 x half> %two, ptr addrspace(3) %p
  ret void
}

; CHECK-LABEL: define void @one_word
; CHECK-NOT:   perm
; CHECK:       store <2 x half>
define void @one_word(<4 x half> %a, ptr addrspace(3) %p) {
  %x = extractelement <4 x half> %a, i32 2
  %y = extractelement <4 x half> %a, i32 3
  %one = insertelement <2 x half> poison, half %x, i32 0
  %two = insertelement <2 x half> %one, half %y, i32 1
  store <2 x half> %two, ptr addrspace(3) %p
  ret void
}
