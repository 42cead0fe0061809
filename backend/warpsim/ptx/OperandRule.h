// What may stand in an operand of an instruction.
#ifndef BACKEND_WARPSIM_PTX_OPERANDRULE_H
#define BACKEND_WARPSIM_PTX_OPERANDRULE_H
#include "backend/warpsim/Instruction.h"

namespace tw::warpsim::ptx {

/// One operand: its role, and which type its register or literal must have.
struct OperandRule {
  enum class Role : uint8_t {
    Result,          // a register, or `_` where the row says so
    PredicateResult, // a predicate register or `_`; `isSecond`: after `|`
    Source,          // a register, a literal, or the name of a variable
    Predicate,       // a predicate register `p` or its negation `!p`
    Immediate,
    Address,     // [a+4]
    Vector,      // as many registers as VectorWidth says, in braces if more than one; `isResult`
    Fragment,    // registers in braces: `count` of them, or as many as VectorWidth says; `isResult`
    Accumulator, // registers in braces that wgmma reads and writes, as many as its shape says
    MatrixA,     // the register of a descriptor, or four registers in braces
    Sign,        // 1 or -1
    Major,       // 0: K-major, 1: the other way
    MajorOfA,    // the same, of an A in shared memory only
    SourceAddress,  // [a+4] in global memory, the second address
    BarrierAddress, // [a+4] in shared memory, the third address
    TensorPlace,    // [a, {c0, c1}]: the tensor map and as many coordinates as VectorWidth says
    CopiedSize,     // the bytes that cp.async reads, or a predicate that it reads none
    CachePolicy,    // there if and only if the hint L2::cache_hint is
    Label,
    BranchTargets, // the label of a .branchtargets list
    Callee,        // (results), name, (arguments)
    Move           // both operands of mov
  };
  enum class TypeRule : uint8_t { OfInstruction, OfSource, DoubleWidth, Fixed };
  Role role = Role::Source;
  TypeRule typeRule = TypeRule::OfInstruction;
  Type fixed = Type::None;
  uint8_t count = 0;
  bool isRelaxed = false; // a register may be wider than the type
  bool isOptional = false, isSecond = false, mayBeSink = false, mayBeNegated = false,
       isResult = false;
};

} // namespace tw::warpsim::ptx
#endif
