// The `simt` dialect: tiles laid out over the registers, lanes and warps of a program's threads, shared
// memory, and what one thread does where no other dialect says it.
#ifndef IR_SIMT_SIMTDIALECT_TD
#define IR_SIMT_SIMTDIALECT_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Simt_Dialect : Dialect {
  let name = "simt";
  let cppNamespace = "::tw::simt";
  let summary = "tiles on machines whose programs are many threads: layouts, shared memory, threads";
  let description = [{
    A program runs on one CTA of `simt.num_warps` warps (a module attribute). From the stage laid-out on,
    every tile is a `tensor` with a `#tile.layout`: which thread holds which element in which register.
    A scalar is the same in every thread.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tw::tile::TileDialect"];
}

def Simt_SharedType : TypeDef<Simt_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "a buffer in the CTA's shared memory that holds a tile";
  let description = [{
    The layout says in which order elements follow each other. `pad` bytes behind every `interval` bytes of them hold
    nothing (`SharedPadding`).
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "::tw::tile::LayoutAttr":$layout,
    DefaultValuedParameter<"unsigned", "0">:$pad, DefaultValuedParameter<"unsigned", "0">:$interval);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType, "::tw::tile::LayoutAttr":$layout), [{
    return $_get($_ctxt, shape, elementType, layout, 0u, 0u);
  }]>];
  let assemblyFormat = "`<` `[` $shape `]` `,` $elementType `,` $layout (`pad` $pad^ `every` $interval)? `>`";
  let extraClassDeclaration = [{
    ::tw::SharedPadding getPadding() const { return {getInterval(), getPad()}; }
  }];
  let genVerifyDecl = 1;
}

def Simt_LaunchProductAttr : AttrDef<Simt_Dialect, "LaunchProduct"> {
  let mnemonic = "launch_product";
  let summary = "a number that a launch gives: `factor` times the values of the kernel's `arguments`, by number";
  let parameters = (ins "int64_t":$factor, OptionalArrayRefParameter<"unsigned">:$arguments);
  let assemblyFormat = "`<` $factor (`of` `[` $arguments^ `]`)? `>`";
}

def Simt_TensorMapAttr : AttrDef<Simt_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "an array in global memory as copies of boxes know it: what each launch makes a map of";
  let description = [{
    The array begins where the pointer `argument` of the kernel does. Its dimensions are listed the innermost first,
    whose elements are neighbours; the `strides` of the others count in elements. A `box` lies in shared memory in rows of
    `span_bytes`, whose pieces of 16 bytes are swizzled as in `ir/layout/OperandSlabs`. Without a box the
    kernel gets no map: it loads blocks of the array (`simt.load_blocks`), whose rows begin at multiples of the span, of
    16 or 64 bytes. A launch checks that it can.
  }];
  let parameters = (ins "unsigned":$argument, "::mlir::Type":$elementType,
    ArrayRefParameter<"::tw::simt::LaunchProductAttr">:$extents, ArrayRefParameter<"::tw::simt::LaunchProductAttr">:$strides,
    OptionalArrayRefParameter<"int64_t">:$box, "unsigned":$span_bytes);
  let assemblyFormat = "`<` $argument `of` $elementType `extents` `[` $extents `]` `strides` `[` $strides `]` `box` `[` $box `]` `span` $span_bytes `>`";
  let extraClassDeclaration = [{
    unsigned getRank() const { return getExtents().size(); }
    bool isOfBlocks() const { return getBox().empty(); }
  }];
  let genVerifyDecl = 1;
}

def Simt_SlabsAttr : AttrDef<Simt_Dialect, "Slabs"> {
  let mnemonic = "slabs";
  let summary = "where an operand lies in shared memory whose rows are divided into slabs (ir/layout/OperandSlabs)";
  let description = [{
    Rows of `span_bytes` along k, or along the operand's other dimension (`across`); the pieces of rows that do not fit in
    the span follow `slab_bytes` later.
  }];
  let parameters = (ins "unsigned":$span_bytes, "unsigned":$slab_bytes, "bool":$across);
  let assemblyFormat = "`<` struct($span_bytes, $slab_bytes, $across) `>`";
  let extraClassDeclaration = [{
    /// The bytes of eight rows, at multiples of which slabs begin.
    unsigned getGroupBytes() const { return 8 * getSpanBytes(); }
  }];
}

#endif
