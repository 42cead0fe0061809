"""Examples of tutorials/site/reference/language/descriptors.md."""

import numpy as np
import tilewright as tw
from cases import example

MATRIX = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
BLOCK = np.zeros((8, 8), np.float32)


@example("x[8:, 24:]", x=MATRIX, out=BLOCK)
def make_tensor_descriptor(out, x):
    array = tw.make_tensor_descriptor(x, [16, 32], [32, 1], [8, 8])
    result = tw.make_tensor_descriptor(out, [8, 8], [8, 1], [8, 8])
    result.store([0, 0], array.load([8, 24]))


@example("x[8:, 24:]", x=MATRIX, out=BLOCK)
def load_tensor_descriptor(out, x):
    array = tw.make_tensor_descriptor(x, [16, 32], [32, 1], [8, 8])
    result = tw.make_tensor_descriptor(out, [8, 8], [8, 1], [8, 8])
    block = tw.load_tensor_descriptor(array, [8, 24])
    result.store([0, 0], block)


@example("x[8:, 24:]", x=MATRIX, out=BLOCK)
def store_tensor_descriptor(out, x):
    array = tw.make_tensor_descriptor(x, [16, 32], [32, 1], [8, 8])
    result = tw.make_tensor_descriptor(out, [8, 8], [8, 1], [8, 8])
    block = array.load([8, 24])
    tw.store_tensor_descriptor(result, [0, 0], block)


@example("x[8:, 24:]", x=MATRIX, out=BLOCK)
def _experimental_make_tensor_descriptor(out, x):
    array = tw._experimental_make_tensor_descriptor(x, [16, 32], [32, 1], [8, 8])
    result = tw.make_tensor_descriptor(out, [8, 8], [8, 1], [8, 8])
    result.store([0, 0], array.load([8, 24]))


@example("x[8:, 24:]", x=MATRIX, out=BLOCK)
def _experimental_descriptor_load(out, x):
    array = tw.make_tensor_descriptor(x, [16, 32], [32, 1], [8, 8])
    result = tw.make_tensor_descriptor(out, [8, 8], [8, 1], [8, 8])
    block = tw._experimental_descriptor_load(array, [8, 24], [8, 8], tw.float32)
    result.store([0, 0], block)


@example("x[8:, 24:]", x=MATRIX, out=BLOCK)
def _experimental_descriptor_store(out, x):
    array = tw.make_tensor_descriptor(x, [16, 32], [32, 1], [8, 8])
    result = tw.make_tensor_descriptor(out, [8, 8], [8, 1], [8, 8])
    block = array.load([8, 24])
    tw._experimental_descriptor_store(result, block, [0, 0])


@example("x[8:, 24:]", x=MATRIX, out=BLOCK)
def make_block_ptr(out, x):
    block = tw.make_block_ptr(x, (16, 32), (32, 1), (8, 24), (8, 8), (1, 0))
    result = tw.make_block_ptr(out, (8, 8), (8, 1), (0, 0), (8, 8), (1, 0))
    tw.store(result, tw.load(block))


@example("x[8:, 24:]", x=MATRIX, out=BLOCK)
def advance(out, x):
    block = tw.make_block_ptr(x, (16, 32), (32, 1), (8, 16), (8, 8), (1, 0))
    block = tw.advance(block, (0, 8))
    result = tw.make_block_ptr(out, (8, 8), (8, 1), (0, 0), (8, 8), (1, 0))
    tw.store(result, tw.load(block))
