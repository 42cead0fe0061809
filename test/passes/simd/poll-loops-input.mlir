// Polls go to the program that a kernel's second parameter is the address of.
// RUN: tile-opt %s --poll-loops --verify-diagnostics

// expected-error @+1 {{[TW0318] a kernel's second parameter is the address of its program}}
llvm.func @waits(%flag: !llvm.ptr, %program: i64) {
  scf.while : () -> () {
    %seen = llvm.load %flag : !llvm.ptr -> i1
    scf.condition(%seen)
  } do {
    scf.yield
  }
  llvm.return
}
