// One row per elementwise function of the language: its Python name, the upstream operation for each
// kind of element, its documentation, its NumPy reference and its allowed error. The frontend's table, the
// Python surface and the generated tests all come from these rows.
include "llvm/TableGen/SearchableTable.td"

// Op names are empty where the kind is not accepted. Functions of f16 and bf16 are computed in f32.
class Elementwise<string name, bits<8> numOperands, string floatOp, string sintOp, string uintOp,
                  string reference, bits<8> ulpF32, string doc> {
  string Name = name;
  bits<8> NumOperands = numOperands;
  string FloatOp = floatOp;
  string SIntOp = sintOp;
  string UIntOp = uintOp;
  string Reference = reference; // expression over numpy (np) and math of float64 arguments a, b, c
  bits<8> UlpF32 = ulpF32;          // largest error in units in the last place of a float32 result
  string Doc = doc;
}
class Float1<string name, string op, string reference, bits<8> ulp, string doc>
    : Elementwise<name, 1, op, "", "", reference, ulp, doc>;

def : Float1<"exp", "math.exp", "np.exp(a)", 2, "e to the power x">;
def : Float1<"exp2", "math.exp2", "np.exp2(a)", 2, "2 to the power x">;
def : Float1<"expm1", "math.expm1", "np.expm1(a)", 4, "e to the power x, minus 1, without cancellation near 0">;
def : Float1<"log", "math.log", "np.log(a)", 2, "natural logarithm">;
def : Float1<"log2", "math.log2", "np.log2(a)", 2, "logarithm to base 2">;
def : Float1<"log10", "math.log10", "np.log10(a)", 4, "logarithm to base 10">;
def : Float1<"log1p", "math.log1p", "np.log1p(a)", 4, "natural logarithm of 1 + x, without cancellation near 0">;
def : Float1<"sqrt", "math.sqrt", "np.sqrt(a)", 0, "square root, correctly rounded">;
def : Float1<"rsqrt", "math.rsqrt", "1 / np.sqrt(a)", 2, "1 / sqrt(x)">;
def : Float1<"cbrt", "math.cbrt", "np.cbrt(a)", 4, "cube root">;
def : Float1<"sin", "math.sin", "np.sin(a)", 2, "sine of x radians">;
def : Float1<"cos", "math.cos", "np.cos(a)", 2, "cosine of x radians">;
def : Float1<"tan", "math.tan", "np.tan(a)", 4, "tangent of x radians">;
def : Float1<"asin", "math.asin", "np.arcsin(a)", 4, "inverse sine, in radians">;
def : Float1<"acos", "math.acos", "np.arccos(a)", 4, "inverse cosine, in radians">;
def : Float1<"atan", "math.atan", "np.arctan(a)", 4, "inverse tangent, in radians">;
def : Float1<"sinh", "math.sinh", "np.sinh(a)", 4, "hyperbolic sine">;
def : Float1<"cosh", "math.cosh", "np.cosh(a)", 4, "hyperbolic cosine">;
def : Float1<"tanh", "math.tanh", "np.tanh(a)", 3, "hyperbolic tangent">;
def : Float1<"asinh", "math.asinh", "np.arcsinh(a)", 4, "inverse hyperbolic sine">;
def : Float1<"acosh", "math.acosh", "np.arccosh(a)", 4, "inverse hyperbolic cosine">;
def : Float1<"atanh", "math.atanh", "np.arctanh(a)", 4, "inverse hyperbolic tangent">;
def : Float1<"erf", "math.erf", "np.vectorize(math.erf)(a)", 3, "error function">;
def : Float1<"erfc", "math.erfc", "np.vectorize(math.erfc)(a)", 4, "1 - erf(x), without cancellation">;
def : Float1<"floor", "math.floor", "np.floor(a)", 0, "largest integer not above x">;
def : Float1<"ceil", "math.ceil", "np.ceil(a)", 0, "smallest integer not below x">;
def : Float1<"trunc", "math.trunc", "np.trunc(a)", 0, "x rounded toward 0">;
def : Float1<"round", "math.round", "np.sign(a) * np.floor(np.abs(a) + 0.5)", 0, "nearest integer, ties away from 0">;
def : Float1<"rint", "math.roundeven", "np.rint(a)", 0, "nearest integer, ties to even">;
def : Elementwise<"abs", 1, "math.absf", "math.absi", "", "np.abs(a)", 0, "absolute value">;
def : Elementwise<"pow", 2, "math.powf", "", "", "np.power(a, b)", 4, "x to the power y">;
def : Elementwise<"atan2", 2, "math.atan2", "", "", "np.arctan2(a, b)", 4, "angle of the point (y, x) in radians">;
def : Elementwise<"copysign", 2, "math.copysign", "", "", "np.copysign(a, b)", 0, "magnitude of x with the sign of y">;
def : Elementwise<"fma", 3, "math.fma", "", "", "a * b + c", 0, "x * y + z with one rounding">;
def : Elementwise<"popc", 1, "", "math.ctpop", "math.ctpop", "np.bitwise_count(a)", 0, "number of bits that are 1">;
def : Elementwise<"clz", 1, "", "math.ctlz", "math.ctlz", "clz(a)", 0, "number of leading 0 bits">;

def ElementwiseTable : GenericTable {
  let FilterClass = "Elementwise";
  let CppTypeName = "ElementwiseRow";
  let Fields = ["Name", "NumOperands", "FloatOp", "SIntOp", "UIntOp", "Reference", "UlpF32", "Doc"];
}
