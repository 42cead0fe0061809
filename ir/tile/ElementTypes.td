// One row per element type of the language; `llvm-tblgen -gen-searchable-tables` makes the C++ table.
// Python has the same rows, with what libraries call them: python/tilewright/language/element_types.py.
include "llvm/TableGen/SearchableTable.td"

class ElementType<string name, string shortName, string kind, bits<8> width, string irType,
                  code makeFloat = [{nullptr}]> {
  string Name = name;           // Python name, as in tw.float32
  string ShortName = shortName; // name in signatures and messages, as in *fp32
  string Kind = kind;           // bool, sint, uint, float
  bits<8> Bits = width;             // width of the value
  string IrType = irType;       // MLIR type
  code MakeFloat = makeFloat;   // makes the type of IrType; null where that is an integer
}
def : ElementType<"int1", "i1", "bool", 1, "i1">;
def : ElementType<"int8", "i8", "sint", 8, "i8">;
def : ElementType<"int16", "i16", "sint", 16, "i16">;
def : ElementType<"int32", "i32", "sint", 32, "i32">;
def : ElementType<"int64", "i64", "sint", 64, "i64">;
def : ElementType<"uint8", "u8", "uint", 8, "i8">;
def : ElementType<"uint16", "u16", "uint", 16, "i16">;
def : ElementType<"uint32", "u32", "uint", 32, "i32">;
def : ElementType<"uint64", "u64", "uint", 64, "i64">;
def : ElementType<"float8e5", "fp8e5", "float", 8, "f8E5M2", [{make<mlir::Float8E5M2Type>}]>;
def : ElementType<"float8e5b16", "fp8e5b16", "float", 8, "f8E5M2FNUZ", [{make<mlir::Float8E5M2FNUZType>}]>;
def : ElementType<"float8e4nv", "fp8e4nv", "float", 8, "f8E4M3FN", [{make<mlir::Float8E4M3FNType>}]>;
def : ElementType<"float8e4b8", "fp8e4b8", "float", 8, "f8E4M3FNUZ", [{make<mlir::Float8E4M3FNUZType>}]>;
// MLIR has no type of this format: its codes are bytes, and the frontend emits its conversions.
def : ElementType<"float8e4b15", "fp8e4b15", "float", 8, "i8">;
def : ElementType<"float16", "fp16", "float", 16, "f16", [{make<mlir::Float16Type>}]>;
def : ElementType<"bfloat16", "bf16", "float", 16, "bf16", [{make<mlir::BFloat16Type>}]>;
def : ElementType<"float32", "fp32", "float", 32, "f32", [{make<mlir::Float32Type>}]>;
def : ElementType<"float64", "fp64", "float", 64, "f64", [{make<mlir::Float64Type>}]>;

def ElementTypeTable : GenericTable {
  let FilterClass = "ElementType";
  let CppTypeName = "ElementTypeRow";
  let Fields = ["Name", "ShortName", "Kind", "Bits", "IrType", "MakeFloat"];
}
