// One row per elementwise function of the language: its Python name and parameters, the upstream
// operation for each kind of element, its largest error, its documentation, what it is in C++ and in
// NumPy, and how each model of machine computes it. The frontend's builtins, the meanings on the
// reference device, the tables of expand-math and expand-simt-math with the declarations of their
// formulas, the Python surface and the tests of functions come from these rows. A function is a row,
// and a formula where it names one.
include "llvm/TableGen/SearchableTable.td"

// How the machines of one model compute a function on float32 and float64. float16 and bfloat16 are
// computed in float32, except where the operation stays unchanged.
class Lowering<bit isExpanded, string formula, string library> {
  bit IsExpanded = isExpanded;
  string Formula = formula;
  string Library = library;
}
def Unchanged : Lowering<false, "nullptr", "">; // LLVM selects the operation on every type
def ByLlvm : Lowering<true, "nullptr", "">;     // LLVM selects it on float32 and float64
class ByLibrary<string function> : Lowering<true, "nullptr", function>; // of the C library
// A C++ function of that name; with a library's function beside it, on float32 only.
class ByFormula<string function, string library = ""> : Lowering<true, function, library>;

// Operations are empty where the kind of element is not accepted.
class Elementwise<list<string> parameters, string name, bits<8> ulpF32, string doc,
                  string reference, Lowering simd = Unchanged, Lowering simt = Unchanged> {
  string Name = name;
  list<string> Aliases = []; // other Python names
  string Parameters = !interleave(parameters, ", ");
  bits<8> NumOperands = !size(parameters);
  string FloatOp = "";
  string SIntOp = "";
  string UIntOp = "";
  bits<8> UlpF32 = ulpF32; // largest error in units in the last place of a float32 result
  string Doc = doc;
  // Expression over numpy (np) and math of arguments a, b, c: float64 or wider, or, where no floats
  // are accepted, integers without sign of `bits` bits.
  string Reference = reference;

  bit IsSimdExpanded = simd.IsExpanded;
  string SimdFormula = simd.Formula; // a VectorFormulaFunction of passes/math/ExpandMath.h
  string SimdLibrary = simd.Library;
  bit IsSimtExpanded = simt.IsExpanded;
  string SimtFormula = simt.Formula; // a LaneFormulaFunction of passes/simt/math/ExpandSimtMath.h

  bit HasHost = false;
  string OfDouble = "nullptr";
  string OfLongDouble = "nullptr";
  string Emit = "emitElementwise"; // of the frontend
}

// `host` is the C++ expression of operands a, b, c of any standard type of floats.
class Float<list<string> parameters, string name, string operation, bits<8> ulp, string doc,
            string host, string reference, Lowering simd, Lowering simt>
    : Elementwise<parameters, name, ulp, doc, reference, simd, simt> {
  let FloatOp = operation;
  let HasHost = true;
  let OfDouble = "[](auto a, auto b, auto c) { return " # host # "; }";
  let OfLongDouble = OfDouble;
}
class Float1<string name, string operation, bits<8> ulp, string doc, string host, string reference,
             Lowering simd, Lowering simt>
    : Float<["x"], name, operation, ulp, doc, host, reference, simd, simt>;
class Integer1<string name, string operation, string doc, string reference>
    : Elementwise<["x"], name, 0, doc, reference> {
  let SIntOp = operation;
  let UIntOp = operation;
}

def : Float1<"exp", "math.exp", 2, "e to the power x",
             "std::exp(a)", "np.exp(a)", ByFormula<"emitExp", "exp">, ByFormula<"emitLaneExp">>;
def : Float1<"exp2", "math.exp2", 2, "2 to the power x",
             "std::exp2(a)", "np.exp2(a)", ByFormula<"emitExp2", "exp2">, ByFormula<"emitLaneExp2">>;
def : Float1<"expm1", "math.expm1", 4, "e to the power x, minus 1, without cancellation near 0",
             "std::expm1(a)", "np.expm1(a)", ByFormula<"emitExpm1", "expm1">, ByFormula<"emitLaneExpm1">>;
def : Float1<"log", "math.log", 2, "natural logarithm",
             "std::log(a)", "np.log(a)", ByFormula<"emitLog", "log">, ByFormula<"emitLaneLog">>;
def : Float1<"log2", "math.log2", 2, "logarithm to base 2",
             "std::log2(a)", "np.log2(a)", ByFormula<"emitLog2", "log2">, ByFormula<"emitLaneLog2">>;
def : Float1<"log10", "math.log10", 4, "logarithm to base 10",
             "std::log10(a)", "np.log10(a)", ByLibrary<"log10">, ByFormula<"emitLaneLog10">>;
def : Float1<"log1p", "math.log1p", 4, "natural logarithm of 1 + x, without cancellation near 0",
             "std::log1p(a)", "np.log1p(a)", ByFormula<"emitLog1p", "log1p">, ByFormula<"emitLaneLog1p">>;
def : Float1<"sqrt", "math.sqrt", 0, "square root, correctly rounded",
             "std::sqrt(a)", "np.sqrt(a)", ByLlvm, ByLlvm> {
  let Aliases = ["sqrt_rn"];
}
def : Float1<"rsqrt", "math.rsqrt", 2, "1 / sqrt(x)",
             "1 / std::sqrt(a)", "1 / np.sqrt(a)", ByFormula<"emitRsqrt">, ByFormula<"emitLaneRsqrt">>;
def : Float1<"cbrt", "math.cbrt", 4, "cube root",
             "std::cbrt(a)", "np.cbrt(a)", ByLibrary<"cbrt">, ByFormula<"emitLaneCbrt">>;
def : Float1<"sin", "math.sin", 2, "sine of x radians",
             "std::sin(a)", "np.sin(a)", ByFormula<"emitSin", "sin">, ByFormula<"emitLaneSin">>;
def : Float1<"cos", "math.cos", 2, "cosine of x radians",
             "std::cos(a)", "np.cos(a)", ByFormula<"emitCos", "cos">, ByFormula<"emitLaneCos">>;
def : Float1<"tan", "math.tan", 4, "tangent of x radians",
             "std::tan(a)", "np.tan(a)", ByLibrary<"tan">, ByFormula<"emitLaneTan">>;
def : Float1<"asin", "math.asin", 4, "inverse sine, in radians",
             "std::asin(a)", "np.arcsin(a)", ByLibrary<"asin">, ByFormula<"emitLaneAsin">>;
def : Float1<"acos", "math.acos", 4, "inverse cosine, in radians",
             "std::acos(a)", "np.arccos(a)", ByLibrary<"acos">, ByFormula<"emitLaneAcos">>;
def : Float1<"atan", "math.atan", 4, "inverse tangent, in radians",
             "std::atan(a)", "np.arctan(a)", ByLibrary<"atan">, ByFormula<"emitLaneAtan">>;
def : Float1<"sinh", "math.sinh", 4, "hyperbolic sine",
             "std::sinh(a)", "np.sinh(a)", ByLibrary<"sinh">, ByFormula<"emitLaneSinh">>;
def : Float1<"cosh", "math.cosh", 4, "hyperbolic cosine",
             "std::cosh(a)", "np.cosh(a)", ByLibrary<"cosh">, ByFormula<"emitLaneCosh">>;
def : Float1<"tanh", "math.tanh", 3, "hyperbolic tangent",
             "std::tanh(a)", "np.tanh(a)", ByFormula<"emitTanh", "tanh">, ByFormula<"emitLaneTanh">>;
def : Float1<"asinh", "math.asinh", 4, "inverse hyperbolic sine",
             "std::asinh(a)", "np.arcsinh(a)", ByLibrary<"asinh">, ByFormula<"emitLaneAsinh">>;
def : Float1<"acosh", "math.acosh", 4, "inverse hyperbolic cosine",
             "std::acosh(a)", "np.arccosh(a)", ByLibrary<"acosh">, ByFormula<"emitLaneAcosh">>;
def : Float1<"atanh", "math.atanh", 4, "inverse hyperbolic tangent",
             "std::atanh(a)", "np.arctanh(a)", ByLibrary<"atanh">, ByFormula<"emitLaneAtanh">>;
def : Float1<"erf", "math.erf", 3, "error function",
             "std::erf(a)", "np.vectorize(math.erf)(a)", ByFormula<"emitErf", "erf">, ByFormula<"emitLaneErf">>;
def : Float1<"erfc", "math.erfc", 4, "1 - erf(x), without cancellation",
             "std::erfc(a)", "np.vectorize(math.erfc)(a)", ByLibrary<"erfc">, ByFormula<"emitLaneErfc">>;
def : Float1<"floor", "math.floor", 0, "largest integer not above x",
             "std::floor(a)", "np.floor(a)", ByLlvm, ByLlvm>;
def : Float1<"ceil", "math.ceil", 0, "smallest integer not below x",
             "std::ceil(a)", "np.ceil(a)", ByLlvm, ByLlvm>;
def : Float1<"trunc", "math.trunc", 0, "x rounded toward 0",
             "std::trunc(a)", "np.trunc(a)", ByLlvm, ByLlvm>;
def : Float1<"round", "math.round", 0, "nearest integer, ties away from 0",
             "std::round(a)", "np.sign(a) * np.floor(np.abs(a) + 0.5)", ByLlvm, ByLlvm>;
def : Float1<"rint", "math.roundeven", 0, "nearest integer, ties to even",
             "std::nearbyint(a)", "np.rint(a)", ByLlvm, ByLlvm>;
def : Float1<"abs", "math.absf", 0, "absolute value, of integers too",
             "std::fabs(a)", "np.abs(a)", Unchanged, Unchanged> {
  let SIntOp = "math.absi";
}
def : Float<["x", "y"], "pow", "math.powf", 4, "x to the power y",
            "std::pow(a, b)", "np.power(a, b)", ByLibrary<"pow">, ByFormula<"emitLanePow">>;
def : Float<["y", "x"], "atan2", "math.atan2", 4, "angle of the point (y, x) in radians",
            "std::atan2(a, b)", "np.arctan2(a, b)", ByLibrary<"atan2">, ByFormula<"emitLaneAtan2">>;
def : Float<["x", "y"], "copysign", "math.copysign", 0, "magnitude of x with the sign of y",
            "std::copysign(a, b)", "np.copysign(a, b)", Unchanged, Unchanged>;
def : Float<["x", "y", "z"], "fma", "math.fma", 0, "x * y + z with one rounding",
            "std::fma(a, b, c)", "a * b + c", ByLlvm, Unchanged>;
def : Integer1<"popc", "math.ctpop", "number of bits that are 1, of an integer", "np.bitwise_count(a)">;
def : Integer1<"clz", "math.ctlz", "number of leading 0 bits, of an integer",
               "bits - np.frompyfunc(int.bit_length, 1, 1)(a.astype(object))">;

// ir/tile/Tables.h
def ElementwiseTable : GenericTable {
  let FilterClass = "Elementwise";
  let CppTypeName = "ElementwiseRow";
  let Fields = ["Name", "NumOperands", "FloatOp", "SIntOp", "UIntOp", "Reference", "UlpF32", "Doc"];
}
// ir/tile/HostFunctions.h
def HostFunctionTable : GenericTable {
  let FilterClass = "Elementwise";
  let FilterClassField = "HasHost";
  let CppTypeName = "HostFunction";
  let Fields = ["Name", "FloatOp", "NumOperands", "UlpF32", "OfDouble", "OfLongDouble"];
  string TypeOf_OfDouble = "code";
  string TypeOf_OfLongDouble = "code";
}
// frontend/builtins/Builtins.cpp
def ElementwiseBuiltinTable : GenericTable {
  let FilterClass = "Elementwise";
  let CppTypeName = "BuiltinRow";
  let Fields = ["Name", "Parameters", "Emit"];
  string TypeOf_Emit = "code";
}
// passes/math/ExpandMath.cpp
def SimdFunctionTable : GenericTable {
  let FilterClass = "Elementwise";
  let FilterClassField = "IsSimdExpanded";
  let CppTypeName = "MathFunction";
  let Fields = ["FloatOp", "SimdFormula", "SimdLibrary"];
  string TypeOf_SimdFormula = "code";
}
// passes/simt/math/ExpandSimtMath.cpp
def SimtFunctionTable : GenericTable {
  let FilterClass = "Elementwise";
  let FilterClassField = "IsSimtExpanded";
  let CppTypeName = "LaneOperation";
  let Fields = ["FloatOp", "SimtFormula"];
  string TypeOf_SimtFormula = "code";
}
