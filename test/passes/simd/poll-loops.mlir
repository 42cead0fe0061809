// Loops that may take long poll; short ones and the iterations of innermost ones stay as they were.
// RUN: tile-opt --poll-loops --split-input-file %s | FileCheck %s

// An innermost loop runs in pieces; the last one ends at the bound, beyond which no counter wraps.
// CHECK-LABEL: @innermost
// CHECK-SAME: %[[ARGUMENTS:.*]]: !llvm.ptr, %[[PROGRAM:.*]]: !llvm.ptr
// CHECK: %[[N:.*]] = llvm.load %[[ARGUMENTS]]
// 65536 operations in all, of which an iteration has 3; the step is 4.
// CHECK: %[[PIECE:.*]] = arith.constant 87380 : i32
// CHECK: scf.while (%[[FIRST:.*]] = %{{.*}}, %[[CARRIED:.*]] = %{{.*}}) : (i32, i32) -> (i32, i32)
// CHECK: %[[SUM:.*]] = arith.addi %[[FIRST]], %[[PIECE]]
// CHECK: %[[NO_WRAP:.*]] = arith.cmpi slt, %[[FIRST]], %[[SUM]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[SUM]], %[[N]]
// CHECK: %[[MORE:.*]] = arith.andi %[[NO_WRAP]], %[[INSIDE]]
// CHECK: %[[END:.*]] = arith.select %[[MORE]], %[[SUM]], %[[N]]
// CHECK: %[[PART:.*]] = scf.for %[[I:.*]] = %[[FIRST]] to %[[END]] step %{{.*}} iter_args(%[[A:.*]] = %[[CARRIED]])
// CHECK-NEXT: arith.addi %[[A]], %[[I]]
// CHECK-NEXT: scf.yield
// CHECK: scf.condition(%[[MORE]]) %[[END]], %[[PART]]
// CHECK: llvm.call @tw_poll(%[[PROGRAM]]) {{.*}}memory_effects
// CHECK: scf.yield
llvm.func @innermost(%arguments: !llvm.ptr, %program: !llvm.ptr) -> i32 {
  %n = llvm.load %arguments : !llvm.ptr -> i32
  %zero = arith.constant 0 : i32
  %step = arith.constant 4 : i32
  %sum = scf.for %i = %zero to %n step %step iter_args(%a = %zero) -> (i32) : i32 {
    %b = arith.addi %a, %i : i32
    scf.yield %b : i32
  }
  llvm.return %sum : i32
}

// -----

// A loop around another counts; a step that is not known makes every iteration count.
// CHECK-LABEL: @nested
// CHECK-COUNT-2: scf.for
// CHECK: llvm.getelementptr %{{.*}}[40]
// CHECK: llvm.call @tw_poll
// CHECK: llvm.getelementptr %{{.*}}[40]
// CHECK: llvm.call @tw_poll
llvm.func @nested(%arguments: !llvm.ptr, %program: !llvm.ptr) {
  %n = llvm.load %arguments : !llvm.ptr -> i32
  %step = llvm.load %program : !llvm.ptr -> i32
  scf.for %i = %n to %step step %step : i32 {
    scf.for %j = %i to %n step %step : i32 {
      llvm.call @use(%j) : (i32) -> ()
    }
  }
  llvm.return
}
llvm.func @use(i32)

// -----

// CHECK-LABEL: @short
// CHECK-NOT: call @tw_poll
llvm.func @short(%arguments: !llvm.ptr, %program: !llvm.ptr) {
  %zero = arith.constant 0 : index
  %n = arith.constant 1000000 : index
  %step = arith.constant 1 : index
  scf.for %i = %zero to %n step %step {
    %j = arith.index_cast %i : index to i32
    llvm.call @use(%j) : (i32) -> ()
  }
  llvm.return
}
llvm.func @use(i32)

// -----

// A loop with a condition reads memory again behind a poll: another program may have written it.
// CHECK-LABEL: @awaits
// CHECK: llvm.load
// CHECK: scf.condition
// CHECK: llvm.call @tw_poll(%{{.*}}) : (!llvm.ptr) -> ()
llvm.func @awaits(%flag: !llvm.ptr, %program: !llvm.ptr) {
  scf.while : () -> () {
    %seen = llvm.load %flag : !llvm.ptr -> i1
    scf.condition(%seen)
  } do {
    scf.yield
  }
  llvm.return
}

// -----
// Counters too narrow for the length of a piece count down instead.
// CHECK-LABEL: llvm.func @narrow
// CHECK-NOT: scf.while
// CHECK: llvm.return
llvm.func @narrow(%arguments: !llvm.ptr, %program: !llvm.ptr) -> i7 {
  %n = llvm.load %arguments : !llvm.ptr -> i7
  %zero = arith.constant 0 : i7
  %step = arith.constant 4 : i7
  %sum = scf.for %i = %zero to %n step %step iter_args(%a = %zero) -> (i7) : i7 {
    %b = arith.addi %a, %i : i7
    scf.yield %b : i7
  }
  llvm.return %sum : i7
}
