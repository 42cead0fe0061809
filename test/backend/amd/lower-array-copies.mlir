// A wave gives the tensor data mover a descriptor of its rows, in words.
// RUN: tile-opt --lower-amd %s | FileCheck %s

module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: llvm.func amdgpu_kernelcc @rows
// CHECK-SAME: (%[[FROM:[^:]*]]: !llvm.ptr<1>{{.*}}, %[[TO:[^:]*]]: !llvm.ptr<3>{{.*}}, %[[WIDTH:[^:]*]]: i32, %[[HEIGHT:[^:]*]]: i32, %[[PITCH:[^:]*]]: i64, %[[EXISTS:[^:]*]]: i1
// CHECK: %[[SHARED:.*]] = llvm.ptrtoint %[[TO]] : !llvm.ptr<3> to i32
// CHECK: %[[WIDE:.*]] = llvm.zext %[[SHARED]]
// CHECK: %[[UP:.*]] = llvm.shl %[[WIDE]]
// CHECK: %[[TILE:.*]] = llvm.or %[[UP]]
// CHECK: %[[ANY:.*]] = llvm.select %[[EXISTS]], %[[TILE]], %{{.*}} : i1, i64
// CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %[[FROM]] : !llvm.ptr<1> to i64
// CHECK: llvm.mlir.constant(-9223372036854775808 : i64)
// CHECK: llvm.insertelement %[[ANY]]
// CHECK: llvm.shl %[[WIDTH]]
// CHECK: llvm.lshr %[[WIDTH]]
// CHECK: llvm.shl %[[HEIGHT]]
// CHECK: llvm.lshr %[[HEIGHT]]
// 16 columns.
// CHECK: llvm.mlir.constant(1048576 : i32)
// CHECK: llvm.trunc
// Elements of 2 bytes (1 << 16), padding (1 << 20) of 4 words (3 << 25) behind 8 (2 << 22); 8 rows.
// CHECK: llvm.mlir.constant(110166016 : i32)
// CHECK: llvm.mlir.constant(8 : i32)
// CHECK: llvm.call_intrinsic "llvm.amdgcn.tensor.load.to.lds.d2"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<4xi32>, vector<8xi32>, i32) -> ()
// CHECK: llvm.mlir.constant(2 : i16)
// CHECK: llvm.call_intrinsic "llvm.amdgcn.s.wait.tensorcnt"
llvm.func @rows(%from: !llvm.ptr<1>, %to: !llvm.ptr<3>, %width: i32, %height: i32, %pitch: i64, %exists: i1) attributes {simt.kernel} {
  simt.copy_array %from, %to of %width x %height pitch %pitch if %exists box 16 x 8 of 2 pad 16 every 32 : !llvm.ptr<1>, !llvm.ptr<3>
  simt.copies_wait 2 of_arrays
  llvm.return
}
}
