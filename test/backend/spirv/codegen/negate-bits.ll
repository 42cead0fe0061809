; Behind a barrier, Intel's driver of processors gives each subgroup the negative that the last one
; computed. Without a barrier, and on Intel's GPUs, negatives stay.
; RUN: tile-opt --target spirv:generic16 --code-pass negate-bits %s | FileCheck %s
; RUN: sed '/call spir_func/d' %s | tile-opt --target spirv:generic16 --code-pass negate-bits - | FileCheck %s --check-prefix=ALONE
; RUN: not tile-opt --target spirv:xe-hpg --code-pass negate-bits %s 2>&1 | FileCheck %s --check-prefix=XE
target triple = "spirv64v1.4-unknown-unknown"

; XE: negate-bits
; ALONE: fneg float %x
; ALONE: or i32 %bits, -2147483648
declare spir_func void @_Z22__spirv_ControlBarrieriii(i32, i32, i32)

; CHECK-LABEL: @across_barrier
; CHECK: [[DIMENSIONS:%.*]] = call spir_func i32 @_Z12get_work_dimv()
; CHECK: [[NEGATIVE:%.*]] = sub i32 0, [[DIMENSIONS]]
; CHECK: [[BITS:%.*]] = bitcast float %x to i32
; CHECK: [[SIGN:%.*]] = and i32 [[NEGATIVE]], -2147483648
; CHECK: xor i32 [[BITS]], [[SIGN]]
; CHECK: bitcast <2 x half> %y to <2 x i16>
; CHECK: and i16 {{.*}}, -32768
; CHECK: xor <2 x i16>
; CHECK: or i32 %bits, {{%.*}}
; CHECK: xor i32 %bits, 1
; CHECK-NOT: fneg
define void @across_barrier(float %x, <2 x half> %y, ptr %p, ptr %q, ptr %r, ptr %s) {
  %a = fneg float %x
  %b = fneg <2 x half> %y
  %bits = bitcast float %x to i32
  %set = or i32 %bits, -2147483648
  %other = xor i32 %bits, 1
  call spir_func void @_Z22__spirv_ControlBarrieriii(i32 2, i32 2, i32 776)
  store float %a, ptr %p
  store <2 x half> %b, ptr %q
  store i32 %set, ptr %r
  store i32 %other, ptr %s
  ret void
}
