// What the verifiers of tile-making and shape-changing operations refuse.
// RUN: tile-opt %s -split-input-file -verify-diagnostics

func.func @program_id() {
  // expected-error @+1 {{attribute 'axis' failed to satisfy constraint}}
  %0 = tile.program_id 3
  return
}

// -----
func.func @num_programs() {
  // expected-error @+1 {{attribute 'axis' failed to satisfy constraint}}
  %0 = tile.num_programs -1
  return
}

// -----
func.func @arange_empty() {
  // expected-error @+1 {{end must be above start}}
  %0 = tile.arange 4 to 4 : tensor<1xi32>
  return
}

// -----
func.func @arange_length() {
  // expected-error @+1 {{result must be 1-D with 8 elements}}
  %0 = tile.arange 0 to 8 : tensor<4xi32>
  return
}

// -----
func.func @splat_type(%x: f32) {
  // expected-error @+1 {{result's elements must have the source's type}}
  %0 = tile.splat %x : f32 -> tensor<4xf16>
  return
}

// -----
func.func @expand_dims_axis(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis is out of range}}
  %0 = tile.expand_dims %x axis 2 : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----
func.func @expand_dims_result(%x: tensor<4xf32>) {
  // expected-error @+1 {{result must be the source with a dimension of extent 1 inserted}}
  %0 = tile.expand_dims %x axis 0 : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----
func.func @broadcast_rank(%x: tensor<4xf32>) {
  // expected-error @+1 {{rank and element type must stay}}
  %0 = tile.broadcast %x : tensor<4xf32> -> tensor<2x4xf32>
  return
}

// -----
func.func @broadcast_extent(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{only dimensions of extent 1 can grow}}
  %0 = tile.broadcast %x : tensor<2x4xf32> -> tensor<4x4xf32>
  return
}

// -----
func.func @reshape_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{number of elements must stay}}
  %0 = tile.reshape %x : tensor<4xf32> -> tensor<2x3xf32>
  return
}

// -----
func.func @reshape_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{element type must stay}}
  %0 = tile.reshape %x : tensor<4xf32> -> tensor<4xi32>
  return
}

// -----
func.func @trans_rank(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{rank and element type must stay}}
  %0 = tile.trans %x [0] : tensor<4x2xf32> -> tensor<4x2xf32>
  return
}

// -----
func.func @trans_order(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{order must be a permutation}}
  %0 = tile.trans %x [1, 1] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----
func.func @trans_extents(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{result's extents must be the source's, permuted}}
  %0 = tile.trans %x [1, 0] : tensor<4x2xf32> -> tensor<4x2xf32>
  return
}

// -----
func.func @join(%x: tensor<4xf32>) {
  // expected-error @+1 {{operands must agree and the result must add a last dimension of extent 2}}
  %0 = tile.join %x, %x : tensor<4xf32> -> tensor<2x4xf32>
  return
}

// -----
func.func @split(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{source must end in a dimension of extent 2, which the results lack}}
  %0, %1 = tile.split %x : tensor<4x3xf32> -> tensor<4xf32>
  return
}

// -----
func.func @gather_result(%x: tensor<4xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{result must have the shape of the indices and the element type of the source}}
  %0 = tile.gather %x[%i] axis 0 : tensor<4xf32>, tensor<3xi32> -> tensor<4xf32>
  return
}

// -----
func.func @gather_axis(%x: tensor<4xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{source and indices must have the same rank, and axis must be a dimension}}
  %0 = tile.gather %x[%i] axis 1 : tensor<4xf32>, tensor<3xi32> -> tensor<3xf32>
  return
}

// -----
func.func @gather_extents(%x: tensor<4x2xf32>, %i: tensor<3x3xi32>) {
  // expected-error @+1 {{extents must agree except along the axis}}
  %0 = tile.gather %x[%i] axis 0 : tensor<4x2xf32>, tensor<3x3xi32> -> tensor<3x3xf32>
  return
}

// -----
func.func @hint_count(%x: tensor<4x2xi32>) {
  // expected-error @+1 {{a fact has one number per dimension}}
  %0 = tile.hint %x {contiguity = array<i64: 4>} : tensor<4x2xi32>
  return
}

// -----
func.func @hint_zero(%x: i32) {
  // expected-error @+1 {{the numbers of a fact are at least 1}}
  %0 = tile.hint %x {divisibility = array<i64: 0>} : i32
  return
}

// -----
func.func @assume(%x: i32) {
  // expected-error @+1 {{operand #0 must be 1-bit signless integer}}
  "tile.assume"(%x) : (i32) -> ()
  return
}

// -----
func.func @print_extents(%y: tensor<8xi32>) {
  // expected-error @below {{extents are those of a part of one tile}}
  tile.print "x" {extents = array<i64: 9>, hex = false, is_signed = array<i32: 0>} : %y : tensor<8xi32>
  return
}

// -----

func.func @print(%x: i32) {
  // expected-error @+1 {{is_signed has one entry per value}}
  tile.print "x" {hex = false, is_signed = array<i32>} : %x : i32
  return
}

// -----
func.func @assert(%c: tensor<4xi1>, %m: i1) {
  // expected-error @+1 {{mask must have the condition's shape}}
  tile.assert %c, "" mask %m : i1 : tensor<4xi1>
  return
}

// -----
func.func @assert_of(%c: tensor<4xi1>, %v: i32) {
  // expected-error @+1 {{values are integers of the condition's shape}}
  tile.assert %c, "" of %v, %v : i32, i32 {joint = "+"} : tensor<4xi1>
  return
}

// -----
func.func @assert_joint(%c: i1, %v: i32) {
  // expected-error @+1 {{a joint stands between two values}}
  tile.assert %c, "" of %v, %v : i32, i32 : i1
  return
}
