// A kernel must not be called in place of the library function that has its name.
// RUN: tile-opt --expand-math --split-input-file --verify-diagnostics %s

llvm.func @tan(%x: f64, %p: !llvm.ptr) {
  %y = math.tan %x : f64 // expected-error {{[TW0302] a kernel named 'tan' hides the library function of that name}}
  llvm.store %y, %p : f64, !llvm.ptr
  llvm.return
}

// -----

llvm.func @exp(%x: vector<16xf32>, %p: !llvm.ptr) {
  %y = math.exp %x : vector<16xf32>
  llvm.store %y, %p : vector<16xf32>, !llvm.ptr
  llvm.return
}
