// Boxes of several slabs, and releases in clusters, that no machine knows.
// RUN: tile-opt %s --split-input-file --verify-diagnostics

// A box of several slabs: slabs are another distance apart.
module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<32>, <1 of [1]>, <2>] strides [<1 of [2]>, <32>] box [16, 8, 2] span 32>]} {
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error @below {{copies boxes of the map that are rows of the buffer's slabs}}
  simt.box_copy maps [0] at [%m, %s, %m] to %b on %on : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

// A box of several slabs: of more slabs than a box has.
module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<32>, <1 of [1]>, <4>] strides [<1 of [2]>, <16>] box [16, 8, 2] span 32>]} {
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error @below {{copies boxes of the map that are rows of the buffer's slabs}}
  simt.box_copy maps [0] at [%m, %s, %m] to %b on %on : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

// A box of several slabs: rows of each slab are several boxes'.
module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<32>, <1 of [1]>, <2>] strides [<1 of [2]>, <16>] box [16, 4, 2] span 32>]} {
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error @below {{copies boxes of the map that are rows of the buffer's slabs}}
  simt.box_copy maps [0] at [%m, %s, %m] to %b on %on : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

// A box of several slabs: more slabs than the buffer has.
module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<32>, <1 of [1]>, <4>] strides [<1 of [2]>, <16>] box [16, 8, 4] span 32>]} {
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error @below {{copies boxes of the map that are rows of the buffer's slabs}}
  simt.box_copy maps [0] at [%m, %s, %m] to %b on %on : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

module attributes {simt.cluster = array<i64: 2, 2, 1>} {
func.func @released(%b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>, %by: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error @below {{names axes along which the cluster has several programs}}
  simt.release %b on %on by %by cluster [] : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>> by !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

module attributes {simt.cluster = array<i64: 2, 2, 1>} {
func.func @released(%b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>, %by: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error @below {{names axes along which the cluster has several programs}}
  simt.release %b on %on by %by cluster [8] : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>> by !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

module attributes {simt.cluster = array<i64: 2, 1, 1>} {
func.func @released(%b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>, %by: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error @below {{names axes along which the cluster has several programs}}
  simt.release %b on %on by %by cluster [2] : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>> by !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

// Boxes of two slabs, of which a tile has two: no program of a cluster of two can copy its half.
module attributes {simt.cluster = array<i64: 2, 1, 1>, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<32>, <1 of [1]>, <2>] strides [<1 of [2]>, <16>] box [16, 8, 2] span 32>]} {
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error @below {{has boxes that programs of a cluster cannot copy in equal parts}}
  simt.box_copy maps [0] at [%m, %s, %m] to %b on %on multicast [1] : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [0, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}
