// A pass that is given another stage's IR says so, and does not run into it.
// RUN: tile-opt %s --split-input-file --lower-simt --verify-diagnostics

func.func @no_layout(%x: f32) {
  // expected-error @+1 {{[TW0318] 'tile.splat' has a tile without a layout: 'tensor<8xf32>'}}
  %y = tile.splat %x : f32 -> tensor<8xf32>
  return
}

// -----
func.func @dynamic() {
  // expected-error @+1 {{[TW0318] 'ub.poison' has a tile whose shape is not static: 'tensor<?xf32>'}}
  %x = ub.poison : tensor<?xf32>
  return
}

// -----
#two = #tile.layout<[64] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32]]>
module attributes {simt.num_warps = 1 : i32} {
func.func @other_warps(%x: f32) {
  // expected-error @+1 {{has a layout with another number of warps than the program}}
  %y = tile.splat %x : f32 -> tensor<64xf32, #two>
  return
}
}

// -----
// expected-error @+1 {{[TW0318] simt.num_warps is a power of two of 32 bits up to 64, not 3 : i32}}
module attributes {simt.num_warps = 3 : i32} {
}

// -----
// expected-error @+1 {{[TW0318] tile.processor says how many simds, registers, granule, warps and shared_bytes there are: numbers of 32 bits above 0}}
module attributes {tile.processor = {simds = 4 : i32, registers = 512 : i32, granule = 0 : i32, warps = 8 : i32, shared_bytes = 65536 : i32}} {
}

// -----
module attributes {simt.num_warps = 1 : i32} {
func.func @thread() {
  // expected-error @+1 {{[TW0318] the stage scheduled has no operation 'llvm.mlir.zero'}}
  %x = llvm.mlir.zero : !llvm.ptr
  return
}
}

// -----
#line = #tile.layout<[32] lane = [[1], [2], [4], [8], [16]]>
module attributes {simt.num_warps = 1 : i32} {
func.func @memory_between_elements(%p: !tile.ptr<f32>, %c: f32) {
  %x = tile.splat %c : f32 -> tensor<32xf32, #line>
  %s = tile.reduce(%x) axis 0 {
  ^bb0(%l: f32, %r: f32):
    // expected-error @+1 {{[TW0318] 'tile.load' has no place in what combines two elements}}
    %y = tile.load %p : !tile.ptr<f32> -> f32
    tile.yield %y : f32
  } : (tensor<32xf32, #line>) -> f32
  return
}
}

// -----
#line = #tile.layout<[32] lane = [[1], [2], [4], [8], [16]]>
#flat = #tile.layout<[32] offset = [[1], [2], [4], [8], [16]]>
module attributes {simt.num_warps = 1 : i32} {
func.func @carried_buffer(%c: i1) {
  %a = simt.alloc_shared "a" at 0 : !simt.shared<[32], f32, #flat>
  %b = simt.alloc_shared "b" at 128 : !simt.shared<[32], f32, #flat>
  // expected-error @+1 {{[TW0318] 'scf.if' yields a buffer, but buffers are what was allocated}}
  %d = scf.if %c -> !simt.shared<[32], f32, #flat> {
    scf.yield %a : !simt.shared<[32], f32, #flat>
  } else {
    scf.yield %b : !simt.shared<[32], f32, #flat>
  }
  return
}
}

// -----
module attributes {simt.num_warps = 1 : i32} {
// expected-error @+1 {{[TW0318] a kernel's parameters are pointers and numbers of a machine, not 'tensor<8xf32>'}}
func.func @tile(%x: tensor<8xf32>) {
  return
}
}

// -----
module attributes {simt.num_warps = 1 : i32} {
func.func @calls() {
  // expected-error @+1 {{[TW0318] 'func.call' calls a function, but kernels are whole}}
  func.call @calls() : () -> ()
  return
}
}
