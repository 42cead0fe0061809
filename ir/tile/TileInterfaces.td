// What operations have in common, as passes ask for it: an access to memory, a fold with a region, a
// change of shape. A new operation declares what it is here and passes follow.
#ifndef IR_TILE_TILEINTERFACES_TD
#define IR_TILE_TILEINTERFACES_TD
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferIntRangeInterface.td"

def Tile_MemoryAccess : OpInterface<"MemoryAccess"> {
  let cppNamespace = "::tw::tile";
  let description = [{
    Reads or writes the elements at pointers in global memory, or in a box that begins at one. The defaults
    take what an operation's arguments `ptr`, `mask`, `value`, `compare`, `kind`, `order` and `scope` say. What is written
    and what is read must have the pointee's type and the pointers' shape, and the mask must have that shape.
  }];
  let verify = [{ return ::tw::tile::verifyAccess($_op); }];
  let methods = [
    InterfaceMethod<"The pointers, or the one at which the box begins.", "::mlir::Value", "getPointers", (ins), "",
      [{ return $_op.getPtr(); }]>,
    InterfaceMethod<"Where elements are accessed at all; null for everywhere.", "::mlir::Value", "getAccessMask", (ins), "",
      [{ if constexpr (requires { $_op.getMask(); }) return $_op.getMask(); else return {}; }]>,
    InterfaceMethod<"The operand of that mask, which may be empty.", "::mlir::MutableOperandRange", "getMaskOperand", (ins), "",
      [{ if constexpr (requires { $_op.getMaskMutable(); }) return $_op.getMaskMutable(); else return ::mlir::MutableOperandRange($_op, 0, 0); }]>,
    InterfaceMethod<"What is written or combined with memory; null for a read.", "::mlir::Value", "getWrittenValue", (ins), "",
      [{ if constexpr (requires { $_op.getValue(); }) return $_op.getValue(); else return {}; }]>,
    InterfaceMethod<"Whether what memory holds matters.", "bool", "readsMemory", (ins), "",
      [{ return !$_op.getWrittenValue() || $_op.isAtomic(); }]>,
    InterfaceMethod<"Whether memory may hold something else afterwards.", "bool", "writesMemory", (ins), "",
      [{ return bool($_op.getWrittenValue()); }]>,
    InterfaceMethod<"Whether each element is read and written in one step.", "bool", "isAtomic", (ins), "",
      [{ return $_op.getAtomicOrder().has_value(); }]>,
    InterfaceMethod<"How an atomic orders other accesses; nullopt for plain ones.", "::std::optional<::tw::tile::MemoryOrder>", "getAtomicOrder", (ins), "",
      [{ if constexpr (requires { $_op.getOrder(); }) return $_op.getOrder(); else return ::std::nullopt; }]>,
    InterfaceMethod<"Whom an atomic's order concerns.", "::tw::tile::MemoryScope", "getAtomicScope", (ins), "",
      [{ if constexpr (requires { $_op.getScope(); }) return $_op.getScope(); else return ::tw::tile::MemoryScope::GPU; }]>,
    InterfaceMethod<"What an atomic makes of the old and the written value.", "::tw::tile::AtomicKind", "getAtomicKind", (ins), "",
      [{ if constexpr (requires { $_op.getKind(); }) return $_op.getKind(); else return ::tw::tile::AtomicKind::Xchg; }]>,
    InterfaceMethod<"The bits that an element must have for an atomic to change it; null for any.", "::mlir::Value", "getExpectedValue", (ins), "",
      [{ if constexpr (requires { $_op.getCompare(); }) return $_op.getCompare(); else return {}; }]>,
  ];
  let extraSharedClassDeclaration = [{
    /// Returns true if its order among other accesses matters: it writes, or is an atomic of any
    /// kind.
    bool isOrdered() { return $_op.writesMemory() || $_op.isAtomic(); }
  }];
}

def Tile_CombiningRegion : OpInterface<"CombiningRegion"> {
  let cppNamespace = "::tw::tile";
  let description = [{
    Folds tiles of one shape along a dimension with a region of 2n scalars (n of the left, n of the right partial
    result, for n sources) that yields n.
  }];
  let methods = [
    InterfaceMethod<"The tiles that are folded.", "::mlir::OperandRange", "getSources", (ins)>,
    InterfaceMethod<"The dimension that is folded.", "uint32_t", "getAxis", (ins)>,
    InterfaceMethod<"The combining function.", "::mlir::Region &", "getCombine", (ins)>,
    InterfaceMethod<"Whether any order of partial results is promised to be as good.", "bool", "isAnyOrderPromised", (ins), "",
      [{ if constexpr (requires { $_op.getCommutative(); }) return $_op.getCommutative(); else return false; }]>,
  ];
  let extraSharedClassDeclaration = [{
    /// Returns true if the left and the right partial result may be swapped, as promised or as seen
    /// in the region.
    bool isCommutative() { return $_op.isAnyOrderPromised() || ::tw::tile::combinesPairs($_op.getCombine()); }
  }];
}

def Tile_ShapeOp : OpInterface<"ShapeOp"> {
  let cppNamespace = "::tw::tile";
  let description = "Each element of the result is the element of operand 0 at an index that follows from its own.";
  let methods = [
    InterfaceMethod<[{
      For each dimension of the result, the dimension of the source whose index is the same, or -1 where elements do not
      depend on it; the source's other dimensions have extent 1. nullopt where indices are not handed on one by one.
    }], "::std::optional<::llvm::SmallVector<int>>", "getSourceDims", (ins)>,
  ];
}

// The ranges of integers, for operations whose results have no elements but those of operand 0.
def Tile_InferRange : DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>;
defvar Tile_rangeOfSource = [{
  void $cppClass::inferResultRanges(ArrayRef<ConstantIntRanges> operands, SetIntRangeFn setRange) {
    for (Value result : getOperation()->getResults())
      setRange(result, operands[0]);
  }
}];
#endif
