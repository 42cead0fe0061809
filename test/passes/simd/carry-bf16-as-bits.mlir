// bf16 are held, moved and chosen as i16.
// RUN: tile-opt --carry-bf16-as-bits --split-input-file %s | FileCheck %s

// Through loops and selects; 0xBF80 is -1.
// CHECK-LABEL: llvm.func @smallest(
// CHECK: %[[FIRST:.+]] = llvm.mlir.constant(-16512 : i16) : i16
// CHECK: llvm.br ^bb1(%{{.+}}, %[[FIRST]] : i32, i16)
// CHECK: ^bb1(%{{.+}}: i32, %[[KEPT:.+]]: i16):
// CHECK: %[[READ:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i16
// CHECK: %[[CHOSEN:.+]] = llvm.select %{{.+}}, %[[READ]], %[[KEPT]] : i1, i16
// CHECK: llvm.cond_br %{{.+}}, ^bb1(%{{.+}}, %[[CHOSEN]] : i32, i16), ^bb2
// CHECK: llvm.store %[[CHOSEN]], %{{.+}} : i16, !llvm.ptr
llvm.func @smallest(%x: !llvm.ptr, %n: i32, %c: i1) {
  %one = llvm.mlir.constant(1 : i32) : i32
  %first = llvm.mlir.constant(-1.0 : bf16) : bf16
  llvm.br ^bb1(%n, %first : i32, bf16)
^bb1(%i: i32, %kept: bf16):
  %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, bf16
  %read = llvm.load %p {alignment = 2 : i64} : !llvm.ptr -> bf16
  %chosen = llvm.select %c, %read, %kept : i1, bf16
  %next = llvm.sub %i, %one : i32
  llvm.cond_br %c, ^bb1(%next, %chosen : i32, bf16), ^bb2
^bb2:
  llvm.store %chosen, %x {alignment = 2 : i64} : bf16, !llvm.ptr
  llvm.return
}

// -----

// Conversions between a bf16 and its bits disappear.
// CHECK-LABEL: llvm.func @widened(
// CHECK-NOT: bitcast
// CHECK: %[[BITS:.+]] = llvm.load
// CHECK-NEXT: llvm.zext %[[BITS]] : i16 to i32
llvm.func @widened(%x: !llvm.ptr) -> i32 {
  %v = llvm.load %x {alignment = 2 : i64} : !llvm.ptr -> bf16
  %bits = llvm.bitcast %v : bf16 to i16
  %wide = llvm.zext %bits : i16 to i32
  llvm.return %wide : i32
}

// -----

// Vectors: constants of one value and of several, shuffles, masked accesses, gathers.
// CHECK-LABEL: llvm.func @vectors(
// CHECK-DAG: llvm.mlir.constant(dense<16256> : vector<4xi16>) : vector<4xi16>
// CHECK-DAG: llvm.mlir.constant(dense<[16256, -32768, 0, 1]> : vector<4xi16>) : vector<4xi16>
// CHECK: %[[SHUFFLED:.+]] = llvm.shufflevector %{{.+}}, %{{.+}} [5, 4, 1, 0] : vector<4xi16>
// CHECK: %[[READ:.+]] = llvm.intr.masked.load %{{.+}}, %{{.+}}, %[[SHUFFLED]] {{.*}} -> vector<4xi16>
// CHECK: %[[GATHERED:.+]] = llvm.intr.masked.gather %{{.+}}, %{{.+}}, %[[READ]] {{.*}} -> vector<4xi16>
// CHECK: llvm.intr.masked.store %[[GATHERED]], {{.*}} : vector<4xi16>
llvm.func @vectors(%x: !llvm.ptr, %m: vector<4xi1>, %p: vector<4x!llvm.ptr>) {
  %a = llvm.mlir.constant(dense<1.0> : vector<4xbf16>) : vector<4xbf16>
  %b = llvm.mlir.constant(dense<[1.0, -0.0, 0.0, 0x0001]> : vector<4xbf16>) : vector<4xbf16>
  %s = llvm.shufflevector %a, %b [5, 4, 1, 0] : vector<4xbf16>
  %r = llvm.intr.masked.load %x, %m, %s {alignment = 2 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xbf16>) -> vector<4xbf16>
  %g = llvm.intr.masked.gather %p, %m, %r {alignment = 2 : i32} : (vector<4x!llvm.ptr>, vector<4xi1>, vector<4xbf16>) -> vector<4xbf16>
  llvm.intr.masked.store %g, %x, %m {alignment = 2 : i32} : vector<4xbf16>, vector<4xi1> into !llvm.ptr
  llvm.return
}

// -----

// A sign is a bit.
// CHECK-LABEL: llvm.func @negated(
// CHECK: %[[BITS:.+]] = llvm.load
// CHECK: %[[SIGN:.+]] = llvm.mlir.constant(-32768 : i16) : i16
// CHECK: %[[RESULT:.+]] = llvm.xor %[[BITS]], %[[SIGN]] : i16
// CHECK: llvm.store %[[RESULT]]
// CHECK: llvm.mlir.constant(dense<-32768> : vector<8xi16>) : vector<8xi16>
// CHECK: llvm.xor {{.*}} : vector<8xi16>
llvm.func @negated(%x: !llvm.ptr, %y: !llvm.ptr) {
  %v = llvm.load %x {alignment = 2 : i64} : !llvm.ptr -> bf16
  %n = llvm.fneg %v : bf16
  llvm.store %n, %x {alignment = 2 : i64} : bf16, !llvm.ptr
  %w = llvm.load %y {alignment = 2 : i64} : !llvm.ptr -> vector<8xbf16>
  %m = llvm.fneg %w : vector<8xbf16>
  llvm.store %m, %y {alignment = 2 : i64} : vector<8xbf16>, !llvm.ptr
  llvm.return
}

// -----

// What counts with bf16, takes or returns them, gets them.
// CHECK-LABEL: llvm.func @counted(
// CHECK-SAME: %[[ARGUMENT:.+]]: bf16, %{{.+}}: !llvm.ptr) -> bf16
// CHECK: %[[CARRIED:.+]] = llvm.bitcast %[[ARGUMENT]] : bf16 to i16
// CHECK: %[[A:.+]] = llvm.load %{{.+}} -> vector<32xi16>
// CHECK: %[[NUMBERS:.+]] = llvm.bitcast %[[A]] : vector<32xi16> to vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.+}}, %[[NUMBERS]], %{{.+}})
// CHECK: %[[PASSED:.+]] = llvm.bitcast %[[CARRIED]] : i16 to bf16
// CHECK: %[[RETURNED:.+]] = llvm.call @counted(%[[PASSED]], %{{.+}})
// CHECK: %[[BITS:.+]] = llvm.bitcast %[[RETURNED]] : bf16 to i16
// CHECK: %[[RESULT:.+]] = llvm.bitcast %[[BITS]] : i16 to bf16
// CHECK: llvm.return %[[RESULT]] : bf16
llvm.func @counted(%v: bf16, %x: !llvm.ptr) -> bf16 {
  %sum = llvm.mlir.zero : vector<16xf32>
  %a = llvm.load %x {alignment = 2 : i64} : !llvm.ptr -> vector<32xbf16>
  %s = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%sum, %a, %a) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
  llvm.store %s, %x {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
  %r = llvm.call @counted(%v, %x) : (bf16, !llvm.ptr) -> bf16
  llvm.return %r : bf16
}
