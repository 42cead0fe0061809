// The formulas of the PTX ISA's fragment sections.
#include "test/unit/warpsim/matrix/MatrixLayouts.h"

using namespace tw::warpsim;
using enum MatrixShape;

Element tw::warpsim::elementOfA(MatrixShape shape, unsigned bits, unsigned lane, unsigned i) {
  unsigned groupID = lane >> 2, threadID = lane % 4;
  switch (bits) {
  case 16:
    if (shape == M16n8k8)
      return {i < 2 ? groupID : groupID + 8, threadID * 2 + (i & 1)};
    return {i < 2 || (4 <= i && i < 6) ? groupID : groupID + 8,
            i < 4 ? threadID * 2 + (i & 1) : threadID * 2 + (i & 1) + 8};
  case 32:
    if (shape == M16n8k4)
      return {i == 0 ? groupID : groupID + 8, threadID};
    return {i == 0 || i == 2 ? groupID : groupID + 8, i < 2 ? threadID : threadID + 4};
  case 8:
    if (shape == M8n8k16)
      return {groupID, threadID * 4 + i};
    if (shape == M16n8k16)
      return {i < 4 ? groupID : groupID + 8, threadID * 4 + (i & 3)};
    return {i < 4 || (8 <= i && i < 12) ? groupID : groupID + 8,
            i < 8 ? threadID * 4 + (i & 3) : threadID * 4 + (i & 3) + 16};
  case 4:
    if (shape == M8n8k32)
      return {groupID, threadID * 8 + i};
    if (shape == M16n8k32)
      return {i < 8 ? groupID : groupID + 8, threadID * 8 + (i & 7)};
    return {i < 8 || (16 <= i && i < 24) ? groupID : groupID + 8,
            i < 16 ? threadID * 8 + (i & 7) : threadID * 8 + (i & 7) + 32};
  default: // f64
    if (shape == M8n8k4)
      return {groupID, threadID};
    if (shape == M16n8k4)
      return {i == 0 ? groupID : groupID + 8, threadID};
    if (shape == M16n8k8)
      return {i == 0 || i == 2 ? groupID : groupID + 8, i < 2 ? threadID : threadID + 4};
    return {i % 2 == 0 ? groupID : groupID + 8,
            i % 2 == 0 ? i * 2 + threadID : i * 2 - 2 + threadID};
  }
}

Element tw::warpsim::elementOfB(MatrixShape shape, unsigned bits, unsigned lane, unsigned i) {
  unsigned groupID = lane >> 2, threadID = lane % 4;
  switch (bits) {
  case 16:
    if (shape == M16n8k8)
      return {threadID * 2 + i, groupID};
    return {i < 2 ? threadID * 2 + (i & 1) : threadID * 2 + (i & 1) + 8, groupID};
  case 32:
    return {i == 0 ? threadID : threadID + 4, groupID};
  case 8:
    return {i < 4 ? threadID * 4 + (i & 3) : threadID * 4 + (i & 3) + 16, groupID};
  case 4:
    return {i < 8 ? threadID * 8 + (i & 7) : threadID * 8 + (i & 7) + 32, groupID};
  default:
    if (shape == M16n8k8)
      return {i == 0 ? threadID : threadID + 4, groupID};
    return {threadID + i * 4, groupID};
  }
}

Element tw::warpsim::elementOfC(MatrixShape shape, unsigned lane, unsigned i) {
  unsigned groupID = lane >> 2, threadID = lane % 4;
  bool isSmall = shape == M8n8k4 || shape == M8n8k16 || shape == M8n8k32;
  return {isSmall || i < 2 ? groupID : groupID + 8, threadID * 2 + (i & 1)};
}
