// Nests that do the same become one function.
// RUN: tile-opt --share-nests --split-input-file %s | FileCheck %s

// What differs between them are the pointers, which become parameters; constants are made anew. The
// buffers are apart from all other memory, the user's pointers may lead to the same.
// CHECK-LABEL: llvm.func @twice(
// CHECK-SAME: %[[USER:[^:]+]]: !llvm.ptr)
// CHECK: %[[A:.+]] = llvm.alloca
// CHECK: %[[B:.+]] = llvm.alloca
// CHECK-NOT: scf.for
// CHECK: llvm.call @twice.nest0(%[[USER]], %[[A]])
// CHECK-NOT: scf.for
// CHECK: llvm.call @twice.nest0(%[[USER]], %[[B]])
// CHECK: llvm.return
// CHECK: llvm.func internal @twice.nest0(%[[FROM:[^:]+]]: !llvm.ptr, %[[TO:[^:]+]]: !llvm.ptr {llvm.align = 32 : i64, llvm.noalias}) {
// CHECK: %[[COUNT:.+]] = arith.constant 64 : i64
// CHECK: scf.for %[[I:.+]] = %{{.*}} to %[[COUNT]]
// CHECK: llvm.getelementptr %[[FROM]][%[[I]]]
// CHECK: llvm.getelementptr %[[TO]][%[[I]]]
llvm.func @twice(%user: !llvm.ptr) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %a = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %b = llvm.alloca %c64 x f32 {alignment = 32 : i64} : (i64) -> !llvm.ptr
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  llvm.return
}

// -----

// A buffer that another argument may lead to is not alone in any call; nor is anything beside a
// pointer whose origin is not known.
// CHECK-LABEL: llvm.func @aliases(
// CHECK-COUNT-2: llvm.call @aliases.nest0(
// CHECK: llvm.func internal @aliases.nest0(%{{[^:]+}}: !llvm.ptr, %{{[^:]+}}: !llvm.ptr {llvm.align = 64 : i64})
llvm.func @aliases(%user: !llvm.ptr, %test: i1) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %a = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %b = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %either = arith.select %test, %user, %b : !llvm.ptr
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %either[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  llvm.return
}

// -----

// CHECK-LABEL: llvm.func @unknown_origin(
// CHECK-COUNT-2: llvm.call @unknown_origin.nest0(
// CHECK: llvm.func internal @unknown_origin.nest0(%{{[^:]+}}: !llvm.ptr, %{{[^:]+}}: !llvm.ptr {llvm.align = 64 : i64})
llvm.func @unknown_origin(%user: !llvm.ptr, %number: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %a = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %b = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %any = llvm.inttoptr %number : i64 to !llvm.ptr
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %any[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  llvm.return
}

// -----

// Another operation, another constant, and one pointer where there were two, are different things.
// CHECK-LABEL: llvm.func @different(
// CHECK-COUNT-4: scf.for
// CHECK-NOT: llvm.call
// CHECK-NOT: llvm.func
llvm.func @different(%user: !llvm.ptr) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c32 = arith.constant 32 : i64
  %a = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.addf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c32 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.subf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  llvm.return
}

// -----

// What runs too shortly for a call stays, and so does what takes vectors from outside, which have no
// convention of calls on all machines.
// CHECK-LABEL: llvm.func @stays(
// CHECK-COUNT-4: scf.for
// CHECK-NOT: llvm.call
// CHECK-NOT: llvm.func
llvm.func @stays(%user: !llvm.ptr, %x: vector<16xf32>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c8 = arith.constant 8 : i64
  %a = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %b = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  scf.for %i = %c0 to %c8 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c8 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %x, %to : vector<16xf32>, !llvm.ptr
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.store %x, %to : vector<16xf32>, !llvm.ptr
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  llvm.return
}

// -----

// Registers that are named by numbers do not live over calls: a loop between operations on them is
// not called, and one with all of these is.
// CHECK-LABEL: llvm.func @named_registers(
// CHECK: llvm.call @named_registers.nest0(
// CHECK: llvm.call @named_registers.nest0(
// CHECK: llvm.func internal @named_registers.nest0
// CHECK: scf.for
// CHECK: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-NEXT: scf.for
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64"
llvm.func @named_registers(%user: !llvm.ptr) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %r0 = arith.constant 0 : i8
  %a = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %b = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    llvm.call_intrinsic "llvm.x86.tilezero"(%r0) : (i8) -> ()
    scf.for %k = %c0 to %c64 step %c1 : i64 {
      %from = llvm.getelementptr %user[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %to = llvm.getelementptr %a[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %v0 = llvm.load %from : !llvm.ptr -> f32
      %v1 = arith.mulf %v0, %v0 : f32
      %v2 = arith.mulf %v1, %v0 : f32
      %v3 = arith.mulf %v2, %v0 : f32
      %v4 = arith.mulf %v3, %v0 : f32
      %v5 = arith.mulf %v4, %v0 : f32
      %v6 = arith.mulf %v5, %v0 : f32
      %v7 = arith.mulf %v6, %v0 : f32
      %v8 = arith.mulf %v7, %v0 : f32
      %v9 = arith.mulf %v8, %v0 : f32
      %v10 = arith.mulf %v9, %v0 : f32
      %v11 = arith.mulf %v10, %v0 : f32
      llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%r0, %r0, %r0) : (i8, i8, i8) -> ()
      llvm.store %v11, %to : f32, !llvm.ptr
    }
    llvm.call_intrinsic "llvm.x86.tilestored64"(%r0, %a, %c64) : (i8, !llvm.ptr, i64) -> ()
  }
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    llvm.call_intrinsic "llvm.x86.tilezero"(%r0) : (i8) -> ()
    scf.for %k = %c0 to %c64 step %c1 : i64 {
      %from = llvm.getelementptr %user[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %to = llvm.getelementptr %b[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %v0 = llvm.load %from : !llvm.ptr -> f32
      %v1 = arith.mulf %v0, %v0 : f32
      %v2 = arith.mulf %v1, %v0 : f32
      %v3 = arith.mulf %v2, %v0 : f32
      %v4 = arith.mulf %v3, %v0 : f32
      %v5 = arith.mulf %v4, %v0 : f32
      %v6 = arith.mulf %v5, %v0 : f32
      %v7 = arith.mulf %v6, %v0 : f32
      %v8 = arith.mulf %v7, %v0 : f32
      %v9 = arith.mulf %v8, %v0 : f32
      %v10 = arith.mulf %v9, %v0 : f32
      %v11 = arith.mulf %v10, %v0 : f32
      llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%r0, %r0, %r0) : (i8, i8, i8) -> ()
      llvm.store %v11, %to : f32, !llvm.ptr
    }
    llvm.call_intrinsic "llvm.x86.tilestored64"(%r0, %b, %c64) : (i8, !llvm.ptr, i64) -> ()
  }
  llvm.return
}

// -----

// CHECK-LABEL: llvm.func @between_registers(
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.return
// CHECK-NOT: llvm.func
llvm.func @between_registers(%user: !llvm.ptr) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %r0 = arith.constant 0 : i8
  %a = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %b = llvm.alloca %c64 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  llvm.call_intrinsic "llvm.x86.tilezero"(%r0) : (i8) -> ()
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%r0, %r0, %r0) : (i8, i8, i8) -> ()
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  scf.for %i = %c0 to %c64 step %c1 : i64 {
    %from = llvm.getelementptr %user[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v0 = llvm.load %from : !llvm.ptr -> f32
    %v1 = arith.mulf %v0, %v0 : f32
    %v2 = arith.mulf %v1, %v0 : f32
    %v3 = arith.mulf %v2, %v0 : f32
    %v4 = arith.mulf %v3, %v0 : f32
    %v5 = arith.mulf %v4, %v0 : f32
    %v6 = arith.mulf %v5, %v0 : f32
    %v7 = arith.mulf %v6, %v0 : f32
    %v8 = arith.mulf %v7, %v0 : f32
    %v9 = arith.mulf %v8, %v0 : f32
    %v10 = arith.mulf %v9, %v0 : f32
    %v11 = arith.mulf %v10, %v0 : f32
    llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%r0, %r0, %r0) : (i8, i8, i8) -> ()
    llvm.store %v11, %to : f32, !llvm.ptr
  }
  llvm.call_intrinsic "llvm.x86.tilestored64"(%r0, %a, %c64) : (i8, !llvm.ptr, i64) -> ()
  llvm.return
}
