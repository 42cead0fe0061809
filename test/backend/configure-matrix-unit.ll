; The extents of matrix registers become the bytes that the unit reads.
; RUN: tile-opt %s --target cpu --code-pass configure-matrix-unit | FileCheck %s

; Register 0: 8 rows of 64 bytes; register 1: 16 rows of 4 bytes; the others are not used.
; CHECK: @matrix_configuration = private constant [64 x i8] c"\01{{(\\00)+}}@\00\04{{(\\00)+}}\08\10{{(\\00)+}}", align 64
; CHECK-LABEL: define void @kernel
; CHECK-NEXT: call void @llvm.x86.ldtilecfg(ptr @matrix_configuration)
; CHECK-NEXT: ret void
; CHECK-NOT: tw_configure_amx
declare void @tw_configure_amx(i32, i32, i32, i32)
define void @kernel() {
  call void @tw_configure_amx(i32 8, i32 64, i32 16, i32 4)
  ret void
}
