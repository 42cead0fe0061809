// The enumerations of the `simt` dialect.
#ifndef IR_SIMT_SIMTENUMS_TD
#define IR_SIMT_SIMTENUMS_TD
include "mlir/IR/EnumAttr.td"

def Simt_ShuffleMode : I32EnumAttr<"ShuffleMode", "which lane a shuffle reads", [
    I32EnumAttrCase<"Xor", 0, "xor">, I32EnumAttrCase<"Index", 1, "index">, I32EnumAttrCase<"Up", 2, "up">,
    I32EnumAttrCase<"Down", 3, "down">]> { let cppNamespace = "::tw::simt"; }
def Simt_TurnStep : I32EnumAttr<"TurnStep", "what groups of warps do to take turns", [
    I32EnumAttrCase<"Begin", 0, "begin">, I32EnumAttrCase<"Take", 1, "take">, I32EnumAttrCase<"Pass", 2, "pass">,
    I32EnumAttrCase<"End", 3, "end">]> { let cppNamespace = "::tw::simt"; }
def Simt_ApproxKind : I32EnumAttr<"ApproxKind", "function of float32 that the machine has an instruction for", [
    I32EnumAttrCase<"Exp2", 0, "exp2">, I32EnumAttrCase<"Log2", 1, "log2">, I32EnumAttrCase<"Reciprocal", 2, "reciprocal">,
    I32EnumAttrCase<"Sqrt", 3, "sqrt">, I32EnumAttrCase<"Rsqrt", 4, "rsqrt">, I32EnumAttrCase<"Sin", 5, "sin">,
    I32EnumAttrCase<"Cos", 6, "cos">, I32EnumAttrCase<"Tanh", 7, "tanh">,
    I32EnumAttrCase<"Exp2Flushed", 8, "exp2_flushed">, I32EnumAttrCase<"ReciprocalFlushed", 9, "reciprocal_flushed">]> { let cppNamespace = "::tw::simt"; }
#endif
