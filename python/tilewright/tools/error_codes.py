"""The catalogue of report codes: one page for each, shown by `tilewright explain CODE`.

Ranges: TW01xx names, syntax and static values; TW02xx types, shapes and operands; TW03xx passes and
targets, TW0331 and TW035x remarks; TW04xx arguments and launches; TW05xx the kernel cache, dumps and
overrides; TW06xx failures while a kernel runs; TW09xx mistakes in Tilewright itself. A code, once
released, keeps its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """What one code means, a smallest example of it and what to do."""

    title: str
    meaning: str
    example: str
    fix: str


PAGES: dict[str, Page] = {
    "TW0101": Page(
        "unknown name",
        "The kernel uses a name that is neither assigned before nor a parameter, a global, "
        "a closure value or a Python builtin.",
        "y = tw.exp(xs)          # the parameter is called x",
        "Check the spelling (the report suggests near names) and the imports of the kernel's file.",
    ),
    "TW0102": Page(
        "unknown attribute or method",
        "The value has no such attribute. Tiles have shape, dtype, type, numel and T, and "
        "every function of the language whose first parameter is a tile as a method.",
        "x.size                  # x.numel",
        "Use the attribute that the report suggests.",
    ),
    "TW0103": Page(
        "a value of the wrong type",
        "An operation was given a value that it cannot work on, for example a string or a "
        "dtype where a number or a tile is needed.",
        "x + \"1\"",
        "Look at the labels: they say which type each operand has.",
    ),
    "TW0104": Page(
        "a run-time value where a constexpr is needed",
        "Shapes, axes, dtypes, options and the bounds of tw.arange and tw.static_range "
        "must be known when the kernel is compiled, and so must the values that texts "
        "(f-strings) and calls of Python's functions are made of.",
        "tw.arange(0, n)         # n is an ordinary parameter",
        "Make it a parameter of type tw.constexpr, or compute with a constant tile extent "
        "and a mask.",
    ),
    "TW0105": Page(
        "a name that is defined on one path only",
        "A name is used after an if that assigns it on one of its paths only, and which "
        "path is taken is known only at run time.",
        "if n > 4:\n    y = x\ntw.store(out, y)",
        "Assign the name before the if, or on both paths.",
    ),
    "TW0106": Page(
        "a name that has different types on two paths",
        "The two paths of a run-time branch leave a name with different types, shapes or "
        "compile-time values, so that it has no one type afterwards.",
        "if n > 4:\n    y = tw.zeros((8,), tw.float32)\nelse:\n    y = tw.zeros((8,), tw.int32)",
        "Convert one of them: y.to(tw.float32).",
    ),
    "TW0107": Page(
        "a type that changes from one iteration to the next",
        "A value that a loop carries must have the same type and shape at the end of the "
        "body as before the loop.",
        "acc = 0\nfor i in range(n):\n    acc += tw.load(x + i)   # int32 becomes float32",
        "Give the first value the final type: acc = 0.0, tw.zeros(shape, tw.float32) or "
        "x.to(dtype).",
    ),
    "TW0108": Page(
        "a name that is defined only inside a loop",
        "A name is used after a loop that may run no iteration, and is assigned only in it.",
        "for i in range(n):\n    last = i\ntw.store(out, last)",
        "Assign the name before the loop.",
    ),
    "TW0109": Page(
        "wrong arguments of a call",
        "A call inside of a kernel has too few, too many or unknown arguments. The report "
        "shows the signature.",
        "tw.load(x, masks=m)",
        "Give the arguments of the signature.",
    ),
    "TW0110": Page(
        "a recursive call",
        "Functions are compiled into their callers, so that a function cannot call itself, "
        "directly or through others, unless a condition known at compile time ends it.",
        "@tw.jit\ndef fact(n):\n    return n * fact(n - 1)",
        "Use a loop, or count down a tw.constexpr parameter.",
    ),
    "TW0111": Page(
        "a Python construct that kernels cannot use",
        "try, with, class, yield, async, global, dictionaries and some others have no "
        "meaning in a kernel.",
        "try:\n    x = tw.load(p)\nexcept Exception: ...",
        "The hint names the way to write it.",
    ),
    "TW0112": Page(
        "a function that is not implemented",
        "The name is part of the language, but this version cannot compile it.",
        "tw.inline_asm_elementwise(...)",
        "The hint names a replacement where there is one.",
    ),
    "TW0113": Page(
        "a static assertion that failed",
        "tw.static_assert, or assert on a compile-time value, was false while the kernel "
        "was compiled.",
        "tw.static_assert(BLOCK % 16 == 0, 'BLOCK must be a multiple of 16')",
        "Launch the kernel with other constants.",
    ),
    "TW0114": Page(
        "a value that cannot be iterated or unpacked",
        "Only tuples, ranges, zip and enumerate of compile-time length can be iterated or "
        "unpacked.",
        "a, b = x                # x is a tile",
        "Use tw.split for the halves of a tile, and masks and reductions instead of loops "
        "over elements.",
    ),
    "TW0115": Page(
        "a call of something that is not a function",
        "The value before the parentheses cannot be called in a kernel.",
        "n = 4\nn(3)",
        "Check what the name is bound to.",
    ),
    "TW0116": Page(
        "a compile-time expression that failed",
        "Python raised an exception while it evaluated a static expression of the kernel.",
        "SIZES[BLOCK]            # KeyError",
        "The message ends with Python's exception: fix the constants or the expression.",
    ),
    "TW0117": Page(
        "a wrong subscript",
        "Tiles are indexed with : and None; tuples with compile-time integers and slices.",
        "x[i]                    # one element of a tile",
        "Load the element through its address, or reduce: tw.sum(tw.where(cols == i, x, 0)).",
    ),
    "TW0118": Page(
        "return values that do not fit",
        "The returns of a function give different numbers or types of values, or a kernel "
        "returns a value.",
        "@tw.jit\ndef kernel(out):\n    return 1",
        "Return the same types on every path; a kernel stores its results.",
    ),
    "TW0119": Page(
        "a condition that is not one truth value",
        "if, while, and, or, not and ternaries need a scalar; a tile has many truth values.",
        "if x > 0: ...           # x is a tile",
        "Use tw.where(x > 0, a, b) for a choice by element, or reduce the condition: "
        "tw.max(x) > 0.",
    ),
    "TW0120": Page(
        "an unknown option or option value",
        "An option of a loop or a function has a value that means nothing.",
        "for i in tw.range(0, 0, 0): ...",
        "The hint lists the values.",
    ),
    "TW0121": Page(
        "a limit of the compiler",
        "The kernel exceeds a fixed limit: iterations of static_range, depth of calls, "
        "elements of a list.",
        "for i in tw.static_range(10000000): ...",
        "Use a run-time loop, tw.range.",
    ),
    "TW0122": Page(
        "a constexpr that changes at run time",
        "A name annotated with tw.constexpr is assigned in a run-time loop or branch.",
        "x: tw.constexpr = 1\nfor i in range(n):\n    x += 1",
        "Leave the annotation out.",
    ),
    "TW0123": Page(
        "output of static_print",
        "Not an error: what the kernel printed while it was compiled.",
        "tw.static_print(BLOCK)",
        "Nothing.",
    ),
    "TW0124": Page(
        "a specialization that does not fit the kernel",
        "The specialization given to the compiler does not have the kernel's parameters. "
        "The Python package cannot cause it.",
        "",
        "Please report it; programs that use the C++ interface check their ArgumentSpec list.",
    ),
    "TW0125": Page(
        "an effect inside of a combining function",
        "The function that a reduction or scan combines elements with, or that map_elementwise "
        "applies to them, prints, checks or accesses memory. It is computed in any order and any "
        "number of times.",
        "tw.reduce(x, 0, add_and_print)",
        "Do it before or after the reduction.",
    ),
    "TW0135": Page(
        "a field of an aggregate that is not there",
        "A class with @tw.aggregate has the fields that it annotates, and its constructor assigns to "
        "each of them on every path.",
        "@tw.aggregate\nclass Pair:\n    x: tw.tensor\n    y: tw.tensor\n\n"
        "    def __init__(self, x):\n        self.x = x   # and self.y?",
        "Annotate the field in the class, and assign to it in __init__.",
    ),
    "TW0136": Page(
        "a `with` of something that is not a scope",
        "Kernels enter scopes that mark a part of the program for schedulers and profilers, as "
        "tw.async_task does. They run no context manager of Python.",
        "with open(path) as f:   # inside a kernel\n    ...",
        "Write the body without the `with`.",
    ),
    "TW0190": Page(
        "a malformed kernel source buffer",
        "The buffer given to the compiler is not what frontend/README.md describes. The "
        "Python package cannot cause it.",
        "",
        "Please report it, with the kernel.",
    ),
    "TW0191": Page(
        "invalid Tile IR",
        "The frontend made IR that does not verify. This is a mistake in Tilewright.",
        "",
        "Please report it, with the kernel.",
    ),
    "TW0201": Page(
        "an operation on values of the wrong element type",
        "For example bitwise operators on floats, math functions on integers, or "
        "arithmetic on pointers and bools where there is none.",
        "x & 1                   # x is float32",
        "Convert an operand: x.to(tw.int32), or x.to(tw.int32, bitcast=True) for the bits.",
    ),
    "TW0202": Page(
        "an operation that is not defined on pointers",
        "Pointers can be compared, and integers added to or subtracted from them.",
        "x * 2                   # x is a pointer",
        "Multiply the offset before it is added to the pointer.",
    ),
    "TW0203": Page(
        "a number that does not fit the integer type it takes",
        "A literal takes the type of the other operand, and its value is outside of that type.",
        "x + 300                 # x is int8",
        "Convert the tile to a wider type first.",
    ),
    "TW0204": Page(
        "a division of a signed by an unsigned integer",
        "`//` and `%` of integers of different signedness have no common type that keeps "
        "both values.",
        "a // b                  # int32 and uint32",
        "Convert one of them with .to(...).",
    ),
    "TW0205": Page(
        "shapes that cannot be broadcast together",
        "Extents must be equal or 1, counted from the last dimension as in NumPy.",
        "a[:, None] + b          # (64, 1) and (32, 64, 2)",
        "Look at the labels for the shapes; expand with None or tw.reshape.",
    ),
    "TW0206": Page(
        "a conversion that does not exist",
        "Bit casts need types of equal width, and pointers convert only to 64-bit integers "
        "and pointers.",
        "x.to(tw.int64, bitcast=True)   # x is float32",
        "Convert by value, or cast to an integer of the same width.",
    ),
    "TW0207": Page(
        "an axis outside of the tile's rank",
        "An axis counts from 0, or from -1 backwards, and must name a dimension of the tile.",
        "tw.sum(x, axis=2)       # x is 2-D",
        "Use an axis that the tile has.",
    ),
    "TW0208": Page(
        "a shape that the tile cannot take",
        "A reshape must keep the number of elements, extents are positive, and a "
        "permutation names each dimension once.",
        "x.reshape(7, 9)         # x has 64 elements",
        "Choose extents whose product is x.numel.",
    ),
    "TW0209": Page(
        "a tile with too many elements",
        "Tiles have at most 1048576 elements.",
        "tw.zeros((4096, 4096), tw.float32)",
        "Use smaller tiles and a larger grid, or a loop.",
    ),
    "TW0210": Page(
        "bounds of arange that are empty or outside of int32",
        "tw.arange(start, end) needs compile-time integers with start < end.",
        "tw.arange(8, 8)",
        "Swap or widen the bounds.",
    ),
    "TW0211": Page(
        "a memory access without a pointer",
        "tw.load, tw.store and atomics take a pointer or a tile of pointers as their first "
        "argument.",
        "tw.load(n)              # n is an integer",
        "Pass an array for the parameter; offsets are added to the pointer.",
    ),
    "TW0212": Page(
        "a mask that is not of type int1",
        "Masks come from comparisons and from & and | of masks.",
        "tw.load(x, mask=n)",
        "Compare: mask=cols < n.",
    ),
    "TW0213": Page(
        "a tile where a scalar pointer needs a scalar",
        "The value, mask and other of an access through a scalar pointer are scalars.",
        "tw.store(out, tile)     # out is a scalar pointer",
        "Add offsets to the pointer: out + tw.arange(0, BLOCK).",
    ),
    "TW0214": Page(
        "a load with `other` and without a mask",
        "other is what masked-off elements of a load read as; without a mask there are none.",
        "tw.load(x, other=0.0)",
        "Give a mask, or leave other out.",
    ),
    "TW0215": Page(
        "an atomic operation that does not exist for this type",
        "Atomics work on 32- and 64-bit integers; add, min, max and xchg on floats as well.",
        "tw.atomic_and(p, 1)     # p points to float32",
        "Use another element type, or a loop with tw.atomic_cas.",
    ),
    "TW0216": Page(
        "an option with an unknown value",
        "An option such as cache_modifier, eviction_policy or input_precision has a value "
        "that means nothing.",
        "tw.load(x, cache_modifier=\".xx\")",
        "The hint lists the values.",
    ),
    "TW0217": Page(
        "a combining function that returns the wrong values",
        "The function given to reduce or associative_scan must return as many values, of "
        "the same types, as it combines.",
        "tw.reduce(x, 0, lambda a, b: (a, b))",
        "Return one value for each tile that is combined, of that tile's element type.",
    ),
    "TW0218": Page(
        "operands of dot that do not fit together",
        "tw.dot(a, b) needs (M, K) and (K, N) with equal element types, both with or "
        "without the same batch dimension.",
        "tw.dot(a, b)            # (64, 32) and (64, 32)",
        "Transpose one operand (b.T) or convert one element type.",
    ),
    "TW0219": Page(
        "an operation that needs a tile",
        "The operation works along a dimension, and a scalar has none.",
        "tw.sum(n, axis=0)",
        "Leave the operation out, or make a tile with tw.full.",
    ),
    "TW0220": Page(
        "an operation that needs a scalar",
        "Loop bounds, conditions and grid indices are scalars.",
        "for i in range(x): ...  # x is a tile",
        "Reduce the tile first, for example tw.max(x).",
    ),
    "TW0221": Page(
        "a hint whose numbers do not fit the value",
        "multiple_of, max_contiguous and max_constancy take one positive integer for each "
        "dimension.",
        "tw.multiple_of(x, (16, 16))   # x is 1-D",
        "Give one number for each dimension.",
    ),
    "TW0222": Page(
        "a pointer where a number is needed",
        "A pointer is compared with a number, or stands where a condition or a number is needed. "
        "An array argument is the address of its elements, and so is a 0-d tensor. Pointers of "
        "one type can be compared with each other, and with None by `is`.",
        "n = torch.tensor(5); kernel[grid](x, n)   # if i < n:",
        "Pass the number (n.item()), or load it: tw.load(n). Ask `bias is not None` for an "
        "optional argument. p.to(tw.int64) is the address as a number.",
    ),
    "TW0223": Page(
        "what a combining function may not do",
        "The function that a reduction or scan combines elements with makes tiles or has an "
        "effect. It takes and returns scalars, in any order and any number of times.",
        "tw.reduce(x, 0, lambda a, b: a + tw.sum(tw.arange(0, 8)))",
        "Compute tiles before the reduction, and store or print after it.",
    ),
    "TW0225": Page(
        "a write through a pointer to constant memory",
        "A parameter that is annotated tw.const promises that nothing is stored through it, nor "
        "through pointers that are computed from it.",
        "@tw.jit\ndef kernel(x: tw.const):\n    tw.store(x, 1)",
        "Leave out the annotation, or write to another array.",
    ),
    "TW0230": Page(
        "an array is described by values of the wrong kind",
        "make_block_ptr, make_tensor_descriptor, advance and the accesses of descriptors take one "
        "pointer as base, and scalar integers as shape, strides and offsets.",
        "tw.make_block_ptr(x, (n,), (1,), (i + tw.arange(0, B),), (B,), (0,))",
        "Give the position of the block's first element only; pass x.item() for an array of one "
        "element.",
    ),
    "TW0231": Page(
        "the numbers that describe an array do not agree",
        "Shape, strides, offsets and block_shape have one number for each dimension, `order` names "
        "each dimension once, and a tensor descriptor has 1 to 5 dimensions (gather and scatter: blocks "
        "of one row).",
        "tw.make_block_ptr(x, (m, n), (n, 1), (0,), (B, C), (1, 0))",
        "Give one number for each dimension.",
    ),
    "TW0232": Page(
        "the last stride of a tensor descriptor is not 1",
        "The last dimension of a tensor descriptor is contiguous in memory.",
        "tw.make_tensor_descriptor(x, (m, n), (1, m), (B, C))",
        "Describe the transposed array and transpose its blocks (desc.load([j, i]).T), or use "
        "tw.make_block_ptr, which takes any strides.",
    ),
    "TW0233": Page(
        "a block pointer takes no mask",
        "A block pointer knows where its array ends; load and store check the dimensions that "
        "boundary_check names.",
        "tw.load(p, mask=offsets < n)   # p is a block pointer",
        "Write tw.load(p, boundary_check=(0, 1), padding_option=\"zero\").",
    ),
    "TW0234": Page(
        "boundary_check or padding_option cannot be used so",
        "They belong to block pointers: boundary_check names dimensions of the block, each once, and "
        "NaN pads floats only. Plain pointers use masks.",
        "tw.load(x + offsets, boundary_check=(0,))",
        "Pass a mask to accesses through plain pointers; name dimensions from 0 to rank - 1.",
    ),
    "TW0235": Page(
        "a block pointer or tensor descriptor is used as something else",
        "They are not numbers, tiles or plain pointers: there is no arithmetic on them, and tw.load and "
        "tw.store take block pointers, not descriptors.",
        "p = p + B                      # p is a block pointer",
        "Move a block pointer with p = tw.advance(p, (0, B)); access a descriptor with "
        "desc.load(offsets) and desc.store(offsets, value).",
    ),
    "TW0236": Page(
        "a tensor descriptor of the host is wrong",
        "A TensorDescriptor has 1 to 5 dimensions, one extent, stride and block extent for each, all "
        "extents at least 1, a last stride of 1, and the padding \"zero\" or, for floats, \"nan\".",
        "TensorDescriptor(x.T, x.T.shape, x.T.stride(), [64, 64])",
        "Describe the array as it lies in memory; kernels can transpose the blocks that they load.",
    ),
    "TW0237": Page(
        "a format that dot_scaled does not know",
        "tw.dot_scaled multiplies elements of e2m1, e4m3, e5m2, bf16 and fp16.",
        'tw.dot_scaled(a, s, "e3m2", b, None, "bf16")',
        "Convert the elements, or scale them yourself and use tw.dot.",
    ),
    "TW0238": Page(
        "elements of dot_scaled that are not of their format",
        "Elements have the type of the format (float8e4nv for e4m3, float8e5 for e5m2, bfloat16, "
        "float16) or are unsigned integers of its bits. Those of e2m1 are bytes (uint8) with two "
        "elements each, the only ones that k_pack=False concerns.",
        'tw.dot_scaled(a, s, "e2m1", b, None, "bf16")   # a: float16[64, 32]',
        "Load the operand from an array of the format's type, or name the format that it has.",
    ),
    "TW0239": Page(
        "scales of dot_scaled that do not fit their operand",
        "lhs_scale is (M, K / 32) and rhs_scale is (N, K / 32) of uint8, where s means "
        "2 ** (s - 127) for 32 elements along K; float8e4nv scales 16 elements each. K counts "
        "elements, of which a byte of e2m1 has two.",
        'tw.dot_scaled(a, None, "bf16", b, t, "e4m3")   # b: (64, 32), t: (2, 32)',
        "Load the scales of the right operand with N first, or transpose them.",
    ),
    "TW0240": Page(
        "operands of dot_scaled that do not fit together",
        "tw.dot_scaled needs (M, K) and (K, N) elements, both with or without the same batch "
        "dimension; a byte of e2m1 has two elements along K, or along M or N with k_pack=False.",
        'tw.dot_scaled(a, s, "e2m1", b, None, "bf16")   # (64, 32) and (32, 16)',
        "Load as many elements along K of both, here 64: 32 bytes of e2m1 and 64 of bf16.",
    ),
    "TW0241": Page(
        "a result of dot_scaled that is not float32",
        "The result of tw.dot_scaled is float32 of shape (M, N), and so is its accumulator.",
        'tw.dot_scaled(a, s, "e4m3", b, t, "e4m3", out_dtype=tw.float16)',
        "Leave out_dtype out and cast the result: c.to(tw.float16).",
    ),
    "TW0242": Page(
        "constraints of inline assembly that do not fit its values",
        "Each register of an inline_asm_elementwise has one constraint, results first: =r,r,r. "
        "Elements below 32 bits share registers of 32 bits, `pack` of them at most; every other "
        "element has one of its own. r holds up to 32 bits, h up to 16, l 64 bits and pointers, f "
        "float32, d float64, b int1.",
        "tw.inline_asm_elementwise('add.f32 $0, $1, $2;', '=f,f', [x, y], tw.float32, True, 1)",
        "Count the registers that each value takes, and choose letters for their types.",
    ),
    "TW0243": Page(
        "inline assembly that the assembler refuses",
        "The text of an inline_asm_elementwise is not PTX, or uses an instruction that this GPU or "
        "this version of the assembler does not have. The message is the assembler's.",
        "tw.inline_asm_elementwise('add $0, $1;', '=r,r', [x], tw.int32, True, 1)",
        "Check the text against the PTX ISA: operands, types, the first GPU with the instruction.",
    ),
    "TW0244": Page(
        "inline assembly whose text is malformed",
        "$0, $1, ... in the text are the registers that the constraints name; other dollar signs "
        "are written $$. Braces come in pairs.",
        "tw.inline_asm_elementwise('mov.b32 $0, $2;', '=r,r', [x], tw.int32, True, 1)",
        "Correct the numbers: results come first, then the registers of the arguments.",
    ),
    "TW0245": Page(
        "inline assembly that the simulator does not run",
        "The simulator executes the PTX of a kernel. The text of an inline_asm_elementwise is "
        "malformed, or has an instruction that the simulator does not know.",
        "tw.inline_asm_elementwise('tex.1d ...', ...)   # on sim:sm_80",
        "Check the text against the PTX ISA; run it on a GPU if it is right.",
    ),
    "TW0246": Page(
        "an axis is named twice",
        "Several new dimensions are given by their places in the result, so that each place can be "
        "named once; negative ones count from the end.",
        "tw.expand_dims(x, (0, -3))   # both are the first of three",
        "Name each new dimension once.",
    ),
    "TW0301": Page(
        "an operation that this target cannot compile",
        "The kernel is right, but no lowering exists on this target for the operation with "
        "these types and shapes.",
        "",
        "The hint names another way; the reference device runs every kernel.",
    ),
    "TW0401": Page(
        "an unknown device, target or stage",
        "The name given to tw.device, TILEWRIGHT_DEVICE or `tilewright compile` is no device, "
        "target or stage of this build.",
        "with tw.device('gpu'): ...",
        "`tilewright info` lists the devices; `cpu` is always there.",
    ),
    "TW0402": Page(
        "a grid that cannot be launched",
        "A grid is one to three integers, each from 0 to 2147483647, or a function that is given "
        "the dictionary of the kernel's arguments and returns them. A grid with a 0 runs nothing.",
        "add[(-1,)](out, x, n)",
        "Compute the grid with tw.cdiv(n, BLOCK), and check where a negative size comes from.",
    ),
    "TW0403": Page(
        "a store to read-only memory",
        "The kernel writes through a parameter, but the array passed for it is read-only.",
        "x = numpy.broadcast_to(numpy.float32(0), (64,))   # read-only\nfill[(1,)](x, 64)",
        "Pass a writable array (array.copy()), or exchange input and output.",
    ),
    "TW0404": Page(
        "wrong arguments of a launch",
        "The arguments of kernel[grid](...) do not fit the kernel's parameters: one is missing, "
        "one is given twice, or a keyword is neither a parameter nor a launch option such as "
        "num_warps.",
        "@tw.jit\ndef add(out, x, n): ...\n\nadd[(4,)](out, x)            # n is missing",
        "Give every parameter without a default exactly once, by position or by name.",
    ),
    "TW0405": Page(
        "an argument that cannot be passed to a kernel",
        "Kernels take tensors and arrays (torch, NumPy, DLPack, the buffer protocol), integers, "
        "floats and bools; None, strings, dtypes, functions and tuples of such values are taken as "
        "compile-time constants.",
        "add[(4,)](out, {'x': x}, n)",
        "Pass the arrays and numbers inside the object one by one.",
    ),
    "TW0406": Page(
        "an array whose element type kernels do not have",
        "Element types of arrays are bool, int8 to int64, uint8 to uint64, float8e4nv "
        "(float8_e4m3fn of torch and ml_dtypes), float8e5 (float8_e5m2), float8e4b8 "
        "(float8_e4m3fnuz), float8e5b16 (float8_e5m2fnuz), float16, bfloat16, float32 and float64, "
        "in the machine's byte order; float8e4b15 by tw.reinterpret.",
        "add[(4,)](out, x.to(torch.complex64), n)",
        "Convert the array, or view it as another type: torch.view_as_real(x).",
    ),
    "TW0407": Page(
        "a number that does not fit its parameter",
        "An integer argument is passed as int32 if its value fits, else as int64, else as uint64. "
        "A parameter annotated with a type takes the values of that type.",
        "add[(4,)](out, x, 1 << 64)",
        "Keep the value within 64 bits, or within the annotated type.",
    ),
    "TW0408": Page(
        "a launch that would have to compile",
        "TILEWRIGHT_JIT=deny is set and this kernel was not warmed up for these argument types, "
        "facts, constants, options and device in this process. The message names them.",
        "TILEWRIGHT_JIT=deny python serve.py",
        "Call kernel.warmup(...) with such arguments at start-up; specialize='none' needs the "
        "fewest.",
    ),
    "TW0409": Page(
        "an array on the wrong device",
        "The memory of an argument is not where the kernel runs: a tensor of another device, or "
        "one without memory (meta, sparse, fake, jagged, within vmap or grad, an emptied storage).",
        "add[(4,)](out, x.to('meta'), n)",
        "Move the tensor (x.cpu()), or choose the device with `with tw.device(...)`.",
    ),
    "TW0410": Page(
        "a launch option with an impossible value",
        "num_warps and num_stages are small positive integers, num_warps is a power of two, and "
        "maxnreg is a positive integer or None.",
        "add[(4,)](out, x, n, num_warps=3)",
        "Use 1, 2, 4, 8, 16 or 32 for num_warps and 1 or more for num_stages.",
    ),
    "TW0411": Page(
        "an autotuned kernel without a configuration that runs",
        "Every configuration was pruned away or failed to compile or to run; the message has the "
        "failure of each.",
        "@tw.autotune([], key=['n'])",
        "Run the kernel with one configuration by hand to see its whole report.",
    ),
    "TW0412": Page(
        "a kernel whose source cannot be found",
        "Tilewright compiles a kernel from its source text. The text is not available, or the file "
        "changed after it was imported.",
        "exec(text)            # a kernel defined by a string",
        "Import the file again; for text, compile it under a name of its own and register its "
        "lines: linecache.cache[name] = (len(text), None, text.splitlines(True), name).",
    ),
    "TW0413": Page(
        "a kernel with *args or **kwargs",
        "Every parameter of a kernel has a name. Functions that kernels call may take *args.",
        "@tw.jit\ndef add(*arrays): ...",
        "Name the parameters.",
    ),
    "TW0302": Page(
        "a kernel that hides a library function",
        "The kernel is named like a function of the C library that its compiled form calls, for "
        "example memcpy or expf.",
        "@tw.jit\ndef expf(out, x): ...",
        "Rename the kernel.",
    ),
    "TW0310": Page(
        "a tile that is too large for a GPU",
        "A tile has at most 2**20 elements there. GPUs spread a tile over registers, lanes and warps "
        "by the bits of its indices, so that each extent takes the room of the next power of two: "
        "100 x 100 x 100 elements take 128 x 128 x 128.",
        "tw.zeros((100, 100, 100), tw.float32) + x  # on sim:sm_80",
        "Loop over smaller tiles, or launch more programs; extents that are powers of two waste no "
        "room.",
    ),
    "TW0311": Page(
        "more shared memory than a program may have",
        "Tiles that move between warps, and tiles that loops copy ahead (num_stages slots of each), go "
        "through shared memory, and the buffers that live at the same time do not fit. Where "
        "num_stages - 1 slots do, these are used, with a remark. The report "
        "names each with its size, and the largest num_stages or the smaller tiles that fit.",
        "tw.gather(tile, indices, 0)  # of 512 x 512 float32 elements",
        "Use smaller tiles, or fewer stages.",
    ),
    "TW0312": Page(
        "an operation or a tile that this GPU cannot do",
        "The operation or its element type has no instruction and no replacement on this "
        "architecture, or the elements of a tile are more than twice as many as the registers of "
        "the program's threads.",
        "tw.arange(0, 131072)  # on sim:sm_80, with 4 warps",
        "The report names the alternative: compute in float32, use smaller tiles or more warps.",
    ),
    "TW0313": Page(
        "too many warps",
        "A program has a power of two of warps, and at most as many as the architecture allows.",
        "kernel[grid](x, num_warps=64)",
        "Use num_warps=4 or 8.",
    ),
    "TW0314": Page(
        "a limit of registers that no thread can keep",
        "maxnreg says how many registers a thread of a GPU may have at most. NVIDIA's assembler raises "
        "limits below 24 and ignores those above 255, so they are refused. Devices without such "
        "registers take every maxnreg.",
        "kernel[grid](x, maxnreg=300)   # on sim:sm_80",
        "Choose a number from 24 to 255, or leave maxnreg out.",
    ),
    "TW0318": Page(
        "a text of IR that a pass or the compiler cannot take",
        "tile-opt and tile-compile take IR as text, and a file of TILEWRIGHT_OVERRIDE replaces a stage by a text. Each "
        "pass takes what the stage before it has: which operations, tiles of static extents with or without a layout, "
        "layouts of as many lanes and warps as the module says. A kernel is the one public function of its module, its "
        "parameters are numbers and pointers, and it has no results.",
        "tile-opt --lower-simt kernel.mlir   # of tiles without layouts",
        "Run the passes before it first, or start from what `tile-compile --emit STAGE` or TILEWRIGHT_DUMP writes.",
    ),
    "TW0319": Page(
        "a text of IR for a later stage that the compiler fails on",
        "With --from-stage, --from-pass or an override, the compiler goes on from a text in the middle. What it makes "
        "itself there keeps many promises that no check sees in a text. So a failure is the text's, whatever pass or "
        "part of LLVM it was that failed; the message has its words.",
        "tile-compile lowered.mlir --from-stage lowered --target cpu   # with a foreign operation",
        "Start from what `tile-compile --emit STAGE` or TILEWRIGHT_DUMP writes, and change little at a time.",
    ),
    "TW0414": Page(
        "arrays on different devices",
        "The arrays of one launch are on different GPUs, or some on a GPU and some on the host. No "
        "device reaches all of them.",
        "add[(4,)](torch.empty(n, device='cuda:0'), torch.ones(n), n)",
        "Move them to one device with x.to('cuda:0') or x.cpu().",
    ),
    "TW0415": Page(
        "a launch option that the device does not have",
        "num_ctas, launch_cooperative_grid and the like ask for something that the "
        "device of the launch does not do, and leaving it out silently could change results. "
        "tilewright.launch.options.OPTIONS lists every option with what it does on each kind of "
        "device.",
        "add[(4,)](out, x, n, num_ctas=2)",
        "Leave the option out; the hint says what to write instead.",
    ),
    "TW0416": Page(
        "a launch option with a value that it does not take",
        "The value is of the wrong type, or names another device than the one that the launch goes "
        "to: a stream of cuda:1 for arrays on cuda:0.",
        "add[(4,)](out, x, n, stream='main')",
        "Pass a value as the message says; for streams torch's, or the driver's handle.",
    ),
    "TW0417": Page(
        "an array that autotune cannot restore",
        "The kernel reads and writes the array, so that each run of a measurement changes what the "
        "next one reads. Tensors and NumPy arrays are copied before and restored; an object of "
        "another type cannot be.",
        "tuned[grid](bytearray(64), n)   # the kernel updates it in place",
        "Pass a tensor or an array, or bring it back in a pre_hook of autotune.",
    ),
    "TW0430": Page(
        "a name of Triton's or of the language's that is not there",
        "The name is known, and Tilewright does not have it; the message says why. The error is an "
        "AttributeError or an ImportError as well, so that hasattr(...), getattr(..., default) and "
        "`try: import ... except ImportError` work.",
        "import triton.profiler.viewer",
        "Write what the hint says.",
    ),
    "TW0431": Page(
        "a name that is not Triton's",
        "A module with Triton's names was asked for a name that neither it nor Triton 3.9 has.",
        "triton.next_power_of_two(n)     # next_power_of_2",
        "Check the spelling; the report suggests a near name.",
    ),
    "TW0432": Page(
        "a function of Triton's host side that cannot be done here",
        "The function is there so that scripts can be imported, and what it does in Triton has no "
        "counterpart here, or needs a package that is not installed.",
        "proton.start('profile')",
        "Write what the hint says.",
    ),
    "TW0433": Page(
        "a knob of Triton's that cannot be changed here",
        "The knobs of triton.knobs that have no meaning here read as Triton's defaults, and setting "
        "one to another value would have no effect.",
        "triton.knobs.nvidia.ptxas_options = '-O1'",
        "Leave the knob alone; the message says what does the same here.",
    ),
    "TW0434": Page(
        "a source or a target that triton.compile does not take",
        "triton.compile takes an ASTSource whose signature and constexprs cover every parameter, and "
        "a GPUTarget that this build compiles for: \"cuda\" with a known compute capability, or "
        "\"cpu\".",
        "triton.compile(ASTSource(kernel, {'x': '*fp32'}), GPUTarget('hip', 'gfx942', 64))",
        "Name a target of the list, and give each parameter a type or a value.",
    ),
    "TW0435": Page(
        "arguments that a compiled kernel was not compiled for",
        "compiled[grid](...) launches one specialization. An argument has another type, is not aligned "
        "or not divisible as the one that it was compiled for, or is another compile-time constant.",
        "compiled = k.warmup(x, 16, BLOCK=64, grid=(1,))\ncompiled[(1,)](x, 17, 64)",
        "Launch the kernel itself: it compiles what a launch needs.",
    ),
    "TW0436": Page(
        "specialization data that does not fit",
        "JITFunction.preload was given the data of another kernel, or data was asked for of a "
        "specialization whose constants only its own process has, such as functions.",
        "other_kernel.preload(data)",
        "Keep the data of each kernel apart; warm kernels with functions up in their process.",
    ),
    "TW0331": Page(
        "a tile that takes more room than it has elements, on a GPU (remark)",
        "GPUs spread a tile over registers, lanes and warps by the bits of its indices, so that each "
        "extent takes the room of the next power of two. Accesses are masked to the elements that "
        "are there, and results are the same; the rest is computed for nothing.",
        "tw.load(x + tw.arange(0, 100))  # on sim:sm_80: room for 128",
        "Nothing is wrong. Extents that are powers of two, or just below one, waste no work.",
    ),
    "TW0350": Page(
        "accesses that are not as wide as they could be (remark)",
        "Lanes load or store less than 16 bytes at once, because the compiler does not know that the "
        "addresses are consecutive or aligned, or that the mask is the same for all of an access. The "
        "remark says which of these it is, and for which argument.",
        "tw.load(x + 1 + i)  # x is divisible by 16, x + 1 is not",
        "Pass aligned arrays and strides that are divisible by 16, let the innermost index run along "
        "consecutive elements, and mask in whole groups.",
    ),
    "TW0351": Page(
        "a tile whose elements change their places (remark)",
        "Two operations want the elements of a tile in different lanes, so they move: by exchanges "
        "within each warp, or through shared memory, which is slower.",
        "tw.store(p, tw.trans(tile))",
        "Nothing has to be done; fewer changes between orders of access are faster.",
    ),
    "TW0352": Page(
        "values that are computed twice (remark)",
        "The compiler computes cheap values again where they are needed instead of moving them "
        "between lanes.",
        "i = tw.arange(0, 64); tw.store(p + i[:, None] * 64 + i[None, :], tile)",
        "Nothing has to be done.",
    ),
    "TW0353": Page(
        "the shared memory of a program (remark)",
        "How many bytes the buffers take that live at the same time; it limits how many programs a "
        "GPU runs side by side.",
        "tw.trans(tile)",
        "Smaller tiles take less.",
    ),
    "TW0354": Page(
        "the barriers of a program (remark)",
        "How often the lanes of a program, or of a warp, wait for each other so that shared memory is "
        "read after it was written.",
        "tw.trans(tile)",
        "Nothing has to be done; barriers in loops cost the most.",
    ),
    "TW0355": Page(
        "a product without matrix instructions (remark)",
        "The GPU has no matrix instruction for these types and extents, so the product is computed by "
        "scalar multiply-adds, which are many times slower. Products of any extents are computed: "
        "the remark says what the smallest instruction for the types takes.",
        'tw.dot(x, y, input_precision="ieee")  # of float32 tiles',
        "Use float16 or bfloat16 operands, or input_precision 'tf32' or 'tf32x3' for float32, and "
        "extents of at least 16.",
    ),
    "TW0356": Page(
        "loads that are copied ahead of a loop's iterations, or are not (remark)",
        "Operands of products in a loop are copied into shared memory num_stages - 1 iterations "
        "ahead. A load stays in its iteration where its address or mask is computed from a product, "
        "from the result of a branch or from data that crosses between warps, where the loop may write "
        "what it reads or waits for others, where masked elements are not 0, or where the pieces "
        "that can be copied are smaller than 4 bytes: the remark says which it is. Loops have one "
        "slot and one iteration fewer where shared memory has no room for num_stages.",
        "tw.load(p, mask=m, other=1.0)  # an operand of tw.dot in a loop",
        "Use aligned arrays, other=0, and num_stages=1 where nothing is to run ahead.",
    ),
    "TW0357": Page(
        "loops that are split by their masks, or are not (remark)",
        "Where it is known in which iterations all elements of a mask are true, these run in a loop "
        "of their own, without the mask. Both sides of the mask's comparison must be sums and "
        "multiples by constants of tw.arange, the loop's counter and scalars from before the loop.",
        "for k in range(0, K, 32): tw.load(p + k + i, mask=k + i < K)",
        "Step loops by constants, and compare indices with bounds that do not change in the loop.",
    ),
    "TW0358": Page(
        "registers that are spilled to memory (remark)",
        "A thread has more values than registers, so that the assembler keeps some in memory. The "
        "remark says how many bytes are stored and loaded, and what limits the registers: maxnreg, "
        "num_warps (all warps of a program share 65536 registers), or the 255 that a thread can have.",
        "kernel[grid](x, maxnreg=32)",
        "Raise maxnreg, use smaller tiles or fewer num_stages, or spread tiles over more warps.",
    ),
    "TW0359": Page(
        "operands that are read again in each iteration (remark)",
        "A loop's values would not fit in the registers of a thread together with an operand of its "
        "products that stays the same. The operand is kept in shared memory and read from there, "
        "which takes fewer instructions than registers that are spilled.",
        "acc = tw.dot(p, v, acc)  # with acc of [128, 128] at num_warps=4",
        "Nothing has to be done; smaller tiles or more warps leave room to keep it in registers.",
    ),
    "TW0450": Page(
        "a captured value that contains itself",
        "The values that a kernel refers to are written into its source buffer, which is a tree: a list "
        "that contains itself, or that is nested too deeply, has no end there.",
        "table = []; table.append(table)",
        "Refer to the element that the kernel needs.",
    ),
    "TW0501": Page(
        "a kernel cache that cannot be used",
        "The directory cannot be created or written, belongs to another user, is open to "
        "everyone or is a symbolic link. Kernels are compiled in every process anew.",
        "TILEWRIGHT_CACHE_DIR=/proc tilewright info",
        "Name a private directory with TILEWRIGHT_CACHE_DIR, or set TILEWRIGHT_CACHE=0 to "
        "silence the warning.",
    ),
    "TW0502": Page(
        "a stage that is taken from a file (warning)",
        "TILEWRIGHT_OVERRIDE names a directory that has a file for this kernel and stage; "
        "compilation goes on from its content. Such kernels are neither found nor kept in the cache.",
        "TILEWRIGHT_OVERRIDE=d python train.py  # with a file d/add.lowered",
        "Unset TILEWRIGHT_OVERRIDE, or remove the file, to compile the kernel itself.",
    ),
    "TW0503": Page(
        "a file that cannot take the place of a stage",
        "The file that TILEWRIGHT_OVERRIDE leads to is no IR of that stage, does not define a kernel "
        "with the same parameters, was refused by the assembler, or is for a stage that the target "
        "cannot go on from.",
        "d/add.lowered  # with a mistake in line 3",
        "Start from the file that TILEWRIGHT_DUMP writes, and change that. The stages tile, "
        "tile-passes, laid-out, scheduled, lowered, llvm-dialect, asm and ptx can be replaced.",
    ),
    "TW0504": Page(
        "dumps that cannot be written (warning)",
        "The directory of TILEWRIGHT_DUMP cannot be created or written; the kernel is compiled all "
        "the same.",
        "TILEWRIGHT_DUMP=/proc python train.py",
        "Name a directory that can be written.",
    ),
    "TW0601": Page(
        "an access outside of an argument's memory",
        "A load, store or atomic reached past the memory of the array that its pointer "
        "came from, or through a null pointer. The reference device checks every access, cpu those "
        "of debug builds (debug=True or TILEWRIGHT_DEBUG=1) through pointers that come from arguments; "
        "of several arrays that a pointer may come from, it may be in any.",
        "tw.load(x + tw.arange(0, 64))   # x has 60 elements",
        "Mask the access: mask=offsets < n.",
    ),
    "TW0602": Page(
        "a device assertion that failed",
        "tw.device_assert was false for an element at run time, or a debug build found that an "
        "integer sum, difference or product does not fit its type (`int32 overflow detected for "
        "operation add`). All elements are checked, those that a later mask leaves out too. The "
        "message has the program and the line.",
        "tw.device_assert(index < n, 'index out of range')",
        "Look at the data that the program worked on. For an overflow, compute in tw.int64, choose "
        "with tw.where before the operation, or write tw.add(x, y, sanitize_overflow=False) where "
        "wrapping is meant; sanitize_overflow=False at a launch leaves out these checks alone.",
    ),
    "TW0603": Page(
        "an assumption that does not hold",
        "The argument of tw.assume was false. The compiler relies on it; the reference "
        "device checks it.",
        "tw.assume(n % 16 == 0)",
        "Remove the assumption, or keep its promise.",
    ),
    "TW0604": Page(
        "an operation that the reference device does not know",
        "This is a mistake in Tilewright: every operation of Tile IR has a meaning there.",
        "",
        "Please report it, with the kernel.",
    ),
    "TW0605": Page(
        "a store to read-only memory at run time",
        "The reference device found a store through a pointer to read-only memory.",
        "",
        "Pass a writable array.",
    ),
    "TW0606": Page(
        "a misaligned access",
        "The address is no multiple of the element's size. Arrays made by frombuffer with "
        "odd offsets are misaligned.",
        "numpy.frombuffer(data, numpy.float32, offset=1)",
        "Copy the array.",
    ),
    "TW0607": Page(
        "no memory for a kernel's temporaries",
        "A kernel with large tiles needs scratch memory for each worker thread, and there "
        "was none.",
        "",
        "Use smaller tiles or fewer threads (TILEWRIGHT_NUM_THREADS).",
    ),
    "TW0608": Page(
        "an index of gather outside of the axis",
        "tw.gather(x, index, axis) needs indices from 0 to the extent of the axis.",
        "tw.gather(x, index, 0)  # an index is 64, the extent 64",
        "Clamp or mask the indices.",
    ),
    "TW0609": Page(
        "a loop whose step is not positive",
        "The reference device found a loop with a step of 0 or less. The frontend turns "
        "negative steps around, so that only IR written by hand can show it.",
        "",
        "Please report it if it came from a Python kernel.",
    ),
    "TW0610": Page(
        "malformed Tile IR in an artifact",
        "The reference device could not read the IR that it was given.",
        "",
        "Please report it; `tilewright cache clear` removes what is stored.",
    ),
    "TW0611": Page(
        "a pointer to unknown memory",
        "The simulator checks every access, so it needs to know which memory a pointer leads to.",
        "kernel[grid](address_as_an_integer, n)",
        "Pass the array itself.",
    ),
    "TW0612": Page(
        "the simulator found a fault in a kernel",
        "The GPU code read or wrote outside of its arrays, raced, used a value that nothing had "
        "computed, or hung. The report has each finding with its array, offset and source line.",
        "tw.load(x + i)  # without a mask, past the end of x",
        "Mask the access; order accesses to the same address with tw.debug_barrier() or atomics.",
    ),
    "TW0613": Page(
        "a launch on a target that is no device",
        "Names such as nvidia:sm_80 say for which GPU to compile; nothing runs there.",
        'with tw.device("nvidia:sm_80"): kernel[grid](x)',
        "Launch on sim:sm_80, or on cuda:0 where there is a GPU.",
    ),
    "TW0614": Page(
        "an interrupted launch",
        "The launch was stopped before all programs had run. In Python that is Ctrl-C, and "
        "KeyboardInterrupt is raised.",
        "",
        "Launch again; what the arrays hold is a part of the result.",
    ),
    "TW0640": Page(
        "an interrupted compilation",
        "The compilation was given up before it had finished. In Python that is Ctrl-C, and "
        "KeyboardInterrupt is raised; nothing of it is kept.",
        "",
        "Launch again: the kernel is compiled anew.",
    ),
    "TW0620": Page(
        "no CUDA driver",
        "The library of NVIDIA's driver, libcuda.so.1, cannot be opened, or is the stub that the "
        "toolkit has for linking. It is opened when a device cuda:N is first used.",
        'with tw.device("cuda:0"): kernel[grid](x)   # on a machine without a GPU',
        "Install the driver; start containers with --gpus all; TILEWRIGHT_CUDA_LIBRARY names a "
        "library elsewhere. Without a GPU, run on the cpu or on sim:sm_80.",
    ),
    "TW0621": Page(
        "a CUDA driver that is too old or does not fit",
        "The driver's library lacks a function that is needed, or differs from the driver in the "
        "kernel of the operating system, or is a compatibility driver that the GPU does not have.",
        "",
        "Install a driver of CUDA 12.0 or newer; reboot after an update.",
    ),
    "TW0622": Page(
        "no GPU",
        "The CUDA driver works, and shows no GPU to this process.",
        "CUDA_VISIBLE_DEVICES= python program.py",
        "Look at nvidia-smi and CUDA_VISIBLE_DEVICES.",
    ),
    "TW0623": Page(
        "no GPU of that number",
        "GPUs are numbered from cuda:0 in the order in which the driver shows them to the process.",
        'with tw.device("cuda:8"): ...',
        "tw.list_devices(probe=True) shows which there are.",
    ),
    "TW0624": Page(
        "a GPU that is too old",
        "Kernels need compute capability 8.0 (Ampere) or newer.",
        "",
        "Run on another GPU, or on the cpu.",
    ),
    "TW0625": Page(
        "a CUDA driver that cannot assemble the code",
        "Where no assembler of PTX is installed, or where it does not know the GPU, the driver has "
        "to assemble the code, and it is older than the code's version of PTX, or may not.",
        "",
        "Update the driver, or install nvidia-nvjitlink (pip) or ptxas.",
    ),
    "TW0626": Page(
        "a GPU without free memory",
        "An allocation, or loading a kernel, found no memory on the GPU.",
        "",
        "Free tensors, use smaller ones, or give back what torch keeps with "
        "torch.cuda.empty_cache().",
    ),
    "TW0627": Page(
        "code that the driver of a GPU refuses",
        "This is a mistake in Tilewright: the machine code or PTX of a kernel is not accepted. The "
        "report has the words of the driver's assembler.",
        "",
        "Please report it with the kernel; `tilewright cache clear` removes what is stored.",
    ),
    "TW0628": Page(
        "more threads than the registers allow",
        "A program's threads share the registers of a multiprocessor, and the kernel needs more "
        "than there are.",
        "kernel[grid](x, num_warps=32)   # with large tiles",
        "Use fewer warps or smaller tiles.",
    ),
    "TW0629": Page(
        "an access of a GPU kernel outside of its memory",
        "A kernel that was launched before accessed memory that does not belong to the process. "
        "GPUs notice such accesses late and not always, and the process cannot use the GPU again.",
        "tw.load(x + tw.arange(0, 64))   # x has 60 elements",
        'Run the kernel with tw.device("sim:sm_80") or "reference" on the same arrays (x.cpu()): '
        "they name the array, the index and the source line. Then mask the access.",
    ),
    "TW0630": Page(
        "a misaligned access of a GPU kernel",
        "A kernel that was launched before accessed an address that is no multiple of the access's "
        "size. The process cannot use the GPU again.",
        "tw.multiple_of(i, 16)   # where i is not",
        'Run the kernel with tw.device("sim:sm_80") on the same arrays: it names the source line.',
    ),
    "TW0631": Page(
        "a GPU kernel that failed",
        "A kernel that was launched before failed, for a reason that the GPU does not tell. The "
        "process cannot use the GPU again.",
        "",
        'Run the kernel with tw.device("sim:sm_80") on the same arrays: it checks every access.',
    ),
    "TW0632": Page(
        "a GPU kernel that ran too long",
        "The system limits the time of kernels, as it does for GPUs that drive a screen, or the "
        "kernel does not end.",
        "while tw.load(flag) == 0: pass",
        "Divide the work into several launches; look for loops that wait for other programs.",
    ),
    "TW0633": Page(
        "a GPU with an error of its own",
        "The GPU's memory or a link of it failed (ECC, NVLink), or it was taken away.",
        "",
        "Restart the process; if it happens again, look at nvidia-smi -q and at the system's log "
        "for Xid messages.",
    ),
    "TW0634": Page(
        "a GPU context that was destroyed",
        "Something in the process reset the GPU (cudaDeviceReset), and with it every loaded "
        "kernel.",
        "",
        "Do not reset the device while the process uses kernels; restart it.",
    ),
    "TW0635": Page(
        "a CUDA driver that is not initialized",
        "A process that was forked after its parent had used the GPU cannot use it, and neither "
        "can one that is about to exit.",
        "multiprocessing.Process(target=launch).start()   # after a launch, by fork",
        "Start workers with multiprocessing.set_start_method('spawn').",
    ),
    "TW0636": Page(
        "a shared GPU whose service or other user failed",
        "The GPU is shared through MPS, and the service or another process that uses it failed, or "
        "there are too many of them.",
        "",
        "Look at the log of nvidia-cuda-mps-control, and restart the process.",
    ),
    "TW0637": Page(
        "a GPU that is not available",
        "Another process has the GPU for itself (compute mode), or the system has not made it "
        "ready.",
        "",
        "Look at nvidia-smi -q -d COMPUTE.",
    ),
    "TW0638": Page(
        "something that a captured stream cannot do",
        "While a stream is captured into a graph, kernels can be launched on it but not loaded, "
        "and nothing may wait.",
        "with torch.cuda.graph(graph): kernel[grid](x)   # its first launch",
        "Launch each kernel once before the capture, or call kernel.warmup(...).",
    ),
    "TW0639": Page(
        "another failure of the CUDA driver",
        "The driver returned an error that has no page of its own. The report has its name, its "
        "text and the function that returned it.",
        "",
        "Look the name up in the manual of the CUDA Driver API, enumeration CUresult.",
    ),
    "TW0645": Page(
        "a launch that the simulated GPU cannot do",
        "The kernel needs more shared memory than a program has on that GPU, or its number of "
        "threads is not what it was compiled for. A real GPU refuses the launch too.",
        "kernel[grid](a, b, c, BM=256, BN=256, BK=128, num_stages=5)",
        "Choose smaller tiles or fewer stages.",
    ),
    "TW0900": Page(
        "a failure without a code of its own",
        "A report that nobody gave a code.",
        "",
        "Please report it, with the kernel.",
    ),
    "TW0901": Page(
        "a mistake in the compiler",
        "The compiler failed on a kernel that it should compile, or crashed; the process goes on.",
        "",
        "Please report the message with the file that it names: it holds the compiler's input before "
        "the failure and the command that repeats it. TILEWRIGHT_DUMP=DIRECTORY writes all stages.",
    ),
    "TW0902": Page(
        "a compiled kernel that cannot be loaded",
        "The linker in the process refused the kernel's object.",
        "",
        "Please report it; `tilewright cache clear` removes what is stored.",
    ),
}
