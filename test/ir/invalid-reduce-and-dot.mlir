// What the verifiers of reductions, scans and matrix products refuse.
// RUN: tile-opt %s -split-input-file -verify-diagnostics

func.func @reduce_axis(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis is out of range}}
  %0 = tile.reduce(%x) axis 1 {
  ^bb0(%l: f32, %r: f32):
    tile.yield %l : f32
  } : (tensor<4xf32>) -> f32
  return
}

// -----
func.func @reduce_shapes(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{sources must have one shape}}
  %0:2 = tile.reduce(%x, %y) axis 0 {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    tile.yield %a, %b : f32, f32
  } : (tensor<4xf32>, tensor<8xf32>) -> (f32, f32)
  return
}

// -----
func.func @reduce_arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{combining region must take two scalars per source}}
  %0 = tile.reduce(%x) axis 0 {
  ^bb0(%l: f32):
    tile.yield %l : f32
  } : (tensor<4xf32>) -> f32
  return
}

// -----
func.func @reduce_argument_types(%x: tensor<4xf32>) {
  // expected-error @+1 {{combining region's arguments must have the sources' element types}}
  %0 = tile.reduce(%x) axis 0 {
  ^bb0(%l: f32, %r: f64):
    tile.yield %l : f32
  } : (tensor<4xf32>) -> f32
  return
}

// -----
func.func @reduce_yield_types(%x: tensor<4xf32>, %y: f64) {
  // expected-error @+1 {{combining region must yield the sources' element types}}
  %0 = tile.reduce(%x) axis 0 {
  ^bb0(%l: f32, %r: f32):
    tile.yield %y : f64
  } : (tensor<4xf32>) -> f32
  return
}

// -----
func.func @reduce_yield_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{combining region must yield one scalar per source}}
  %0 = tile.reduce(%x) axis 0 {
  ^bb0(%l: f32, %r: f32):
    tile.yield %l, %r : f32, f32
  } : (tensor<4xf32>) -> f32
  return
}

// -----
func.func @reduce_without_body(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects a non-empty block}}
  %0 = "tile.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %r: f32):
  }) : (tensor<4xf32>) -> f32
  return
}

// -----
func.func @reduce_without_yield(%x: tensor<4xf32>) {
  // expected-error @+1 {{combining region must yield one scalar per source}}
  %0 = "tile.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
  }) : (tensor<4xf32>) -> f32
  return
}

// -----
func.func @reduce_result(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{results must be the sources without the axis}}
  %0 = tile.reduce(%x) axis 0 {
  ^bb0(%l: f32, %r: f32):
    tile.yield %l : f32
  } : (tensor<4x2xf32>) -> tensor<4xf32>
  return
}

// -----
func.func @scan_result(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{results must have the sources' types}}
  %0 = tile.scan(%x) axis 0 {
  ^bb0(%l: f32, %r: f32):
    tile.yield %l : f32
  } : (tensor<4x2xf32>) -> tensor<2xf32>
  return
}

// -----
func.func @yield_alone(%x: f32) {
  // expected-error @+1 {{expects parent op to be one of}}
  tile.yield %x : f32
}

// -----
func.func @dot_rank(%a: tensor<4xf32>) {
  // expected-error @+1 {{operands must have rank 2, or rank 3 with a leading batch dimension}}
  %0 = tile.dot %a, %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// -----
func.func @dot_batch(%a: tensor<2x4x4xf32>, %b: tensor<3x4x4xf32>) {
  // expected-error @+1 {{batch dimensions must agree}}
  %0 = tile.dot %a, %b, %a : tensor<2x4x4xf32>, tensor<3x4x4xf32> -> tensor<2x4x4xf32>
  return
}

// -----
func.func @dot_inner(%a: tensor<4x8xf32>, %b: tensor<4x4xf32>) {
  // expected-error @+1 {{shapes must be [M, K], [K, N] and [M, N]}}
  %0 = tile.dot %a, %b, %b : tensor<4x8xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----
func.func @dot_kinds(%a: tensor<4x4xi8>, %b: tensor<4x4xf32>) {
  // expected-error @+1 {{operands must be all floating-point or all integer}}
  %0 = tile.dot %a, %b, %b : tensor<4x4xi8>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_scales(%a: tensor<4x64xf8E4M3FN>, %b: tensor<64x4xf8E4M3FN>, %c: tensor<4x4xf32>, %s: tensor<4x1xi8>) {
  // expected-error @+1 {{scales must be [M, K / 32] and [N, K / 32]}}
  %0 = tile.dot %a, %b, %c scaled (%s, %s : tensor<4x1xi8>, tensor<4x1xi8>) : tensor<4x64xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_one_scale(%a: tensor<4x64xf8E4M3FN>, %b: tensor<64x4xf8E4M3FN>, %c: tensor<4x4xf32>, %s: tensor<4x2xi8>) {
  // expected-error @+1 {{a scaled product has scales of both operands, and is f32}}
  %0 = tile.dot %a, %b, %c scaled (%s : tensor<4x2xi8>) : tensor<4x64xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_scaled_halves(%a: tensor<4x64xf16>, %b: tensor<64x4xf16>, %c: tensor<4x4xf32>, %s: tensor<4x2xi8>) {
  // expected-error @+1 {{scaled operands are f8E4M3FN, f8E5M2 or bytes of two f4E2M1FN}}
  %0 = tile.dot %a, %b, %c scaled (%s, %s : tensor<4x2xi8>, tensor<4x2xi8>) : tensor<4x64xf16>, tensor<64x4xf16> -> tensor<4x4xf32>
  return
}
