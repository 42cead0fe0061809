// Questions about decoded programs.
#include "backend/warpsim/Program.h"

using namespace tw::warpsim;

unsigned tw::warpsim::bytesOf(Type type) {
  switch (type) {
  case Type::None:
  case Type::Pred:
    return 0;
  case Type::B8:
  case Type::U8:
  case Type::S8:
  case Type::E4M3:
  case Type::E5M2:
  case Type::S4: // two in a byte
  case Type::U4:
  case Type::E2M1x2:
    return 1;
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::BF16:
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::UE8M0x2:
    return 2;
  case Type::B64:
  case Type::U64:
  case Type::S64:
  case Type::F64:
  case Type::F32x2:
    return 8;
  case Type::B128:
    return 16;
  default:
    return 4;
  }
}

unsigned Program::arch() const {
  unsigned number = 0;
  for (char c : target)
    number = c >= '0' && c <= '9' ? number * 10 + unsigned(c - '0') : number;
  return number;
}

const Function *Program::findKernel(const std::string &name) const {
  for (const Function &function : functions)
    if (function.isKernel && function.name == name)
      return &function;
  return nullptr;
}
