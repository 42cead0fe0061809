// Builds the operands and the text of a product of a warpgroup.
#include "test/unit/warpsim/matrix/WarpgroupHarness.h"
#include "backend/warpsim/exec/Float.h"
#include "backend/warpsim/ptx/InstructionTable.h"
#include "test/unit/warpsim/matrix/MatrixLayouts.h"
#include <cstring>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

constexpr unsigned kRows = 64, kThreads = 128;

unsigned WarpgroupCase::elementBytes() const {
  return a == Type::TF32 ? 4 : a == Type::F16 || a == Type::BF16 ? 2 : 1;
}

std::string WarpgroupCase::name() const {
  auto layoutName = [](const OperandLayout &layout) {
    return (layout.isKMajor ? " K" : " MN") + std::to_string(layout.rowBytes);
  };
  return "n" + std::to_string(columns) + " " + std::string(typeName(result)) + " " +
         std::string(typeName(a)) + (isAInRegisters ? " registers" : layoutName(layoutOfA)) + " " +
         std::string(typeName(b)) + layoutName(layoutOfB) + (readsAccumulator ? "" : " first") +
         (negatesA ? " -A" : "") + (negatesB ? " -B" : "") + (isSaturating ? " satfinite" : "");
}

static unsigned roundUp(unsigned value, unsigned to) { return (value + to - 1) / to * to; }

unsigned WarpgroupCase::bytesOf(const OperandLayout &layout, unsigned count) const {
  unsigned rowBytes = layout.rowBytes, lines = layout.isKMajor ? count : depth();
  unsigned lineBytes = (layout.isKMajor ? depth() : count) * elementBytes();
  return roundUp(roundUp(lines, 8) * roundUp(lineBytes, rowBytes), 1024);
}

/// Where a piece of 16 bytes of a line goes: which of the row's pieces, by the number of the row.
static unsigned exchanged(unsigned piece, unsigned line, unsigned rowBytes) {
  switch (rowBytes) {
  case 128:
    return piece ^ (line % 8);
  case 64:
    return piece ^ (line / 2 % 4);
  case 32:
    return piece ^ (line / 4 % 2);
  default:
    return piece;
  }
}

/// The byte of an operand at which an element begins: slabs of `rowBytes` of every line, one after
/// the other.
static unsigned placeOf(const WarpgroupCase &product, const OperandLayout &layout, unsigned count,
                        unsigned index, unsigned k) {
  unsigned line = layout.isKMajor ? index : k, numLines = layout.isKMajor ? count : product.depth();
  unsigned byte = (layout.isKMajor ? k : index) * product.elementBytes();
  unsigned slab = byte / layout.rowBytes, inRow = byte % layout.rowBytes;
  return slab * roundUp(numLines, 8) * layout.rowBytes + line * layout.rowBytes +
         exchanged(inRow / 16, line, layout.rowBytes) * 16 + inRow % 16;
}

uint64_t tw::warpsim::descriptorOf(const WarpgroupCase &product, const OperandLayout &layout,
                                   unsigned count) {
  unsigned numLines = roundUp(layout.isKMajor ? count : product.depth(), 8);
  uint64_t slab = numLines * layout.rowBytes, group = 8 * layout.rowBytes;
  uint64_t leading = slab, stride = group;
  if (layout.rowBytes == 16 && !layout.isKMajor)
    std::swap(leading, stride);
  uint64_t swizzle = layout.rowBytes == 128  ? 1
                     : layout.rowBytes == 64 ? 2
                     : layout.rowBytes == 32 ? 3
                                             : 0;
  return swizzle << 62 | (stride >> 4) << 32 | (leading >> 4) << 16;
}

/// How far the operand of a step is from the first.
static unsigned offsetOfStep(const WarpgroupCase &product, const OperandLayout &layout,
                             unsigned count, unsigned step) {
  if (!layout.isKMajor)
    return step * product.depthOfStep() * layout.rowBytes;
  unsigned slab = step * 32 / layout.rowBytes, inRow = step * 32 % layout.rowBytes;
  return slab * roundUp(count, 8) * layout.rowBytes + inRow;
}

uint32_t tw::warpsim::codeOf(double value, Type type) {
  switch (type) {
  case Type::F16:
    return roundToFormat(value, kHalf, Rounding::Rn);
  case Type::BF16:
    return roundToFormat(value, kBrain, Rounding::Rn);
  case Type::E4M3:
    return roundToFormat(value, kE4m3, Rounding::Rn);
  case Type::E5M2:
    return roundToFormat(value, kE5m2, Rounding::Rn);
  case Type::TF32:
  case Type::F32:
    return std::bit_cast<uint32_t>(float(value));
  case Type::S8:
  case Type::U8:
    return uint32_t(int32_t(value)) & 0xff;
  default:
    return uint32_t(int32_t(value));
  }
}

WarpgroupMatrices tw::warpsim::randomMatrices(const WarpgroupCase &product, std::mt19937 &random) {
  auto valueOf = [&](Type type) {
    if (type == Type::U8)
      return double(random() % 256);
    return type == Type::S8 ? double(random() % 256) - 128 : double(random() % 7) - 3;
  };
  WarpgroupMatrices matrices;
  for (unsigned i = 0; i < kRows * product.depth(); ++i)
    matrices.a.push_back(valueOf(product.a));
  for (unsigned i = 0; i < product.depth() * product.columns; ++i)
    matrices.b.push_back(valueOf(product.b));
  for (unsigned i = 0; i < kRows * product.columns; ++i)
    matrices.c.push_back(double(random() % 17) - 8);
  return matrices;
}

std::vector<double> tw::warpsim::multiplied(const WarpgroupCase &product,
                                            const WarpgroupMatrices &matrices) {
  std::vector<double> result(kRows * product.columns);
  double sign = product.negatesA == product.negatesB ? 1 : -1;
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned column = 0; column < product.columns; ++column) {
      double sum = product.readsAccumulator ? matrices.c[row * product.columns + column] : 0;
      for (unsigned k = 0; k < product.depth(); ++k)
        sum +=
            sign * matrices.a[row * product.depth() + k] * matrices.b[k * product.columns + column];
      result[row * product.columns + column] = sum;
    }
  return result;
}

std::string tw::warpsim::registerList(const std::string &prefix, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", " : "") + prefix + std::to_string(i);
  return text + "}";
}

std::string tw::warpsim::productText(const WarpgroupCase &product, unsigned step) {
  auto dot = [](Type type) { return "." + std::string(typeName(type)); };
  std::string text = "  wgmma.mma_async.sync.aligned.m64n" + std::to_string(product.columns) + "k" +
                     std::to_string(product.depthOfStep()) +
                     (product.isSaturating ? ".satfinite" : "") + dot(product.result) +
                     dot(product.a) + dot(product.b) + " " +
                     registerList("%d", product.numRegisters()) + ", ";
  text += product.isAInRegisters ? registerList("%x" + std::to_string(step) + "_", 4) : "%a";
  text += step ? ", %b, %always" : ", %b, %first";
  if (product.result != Type::S32)
    text += std::string(product.negatesA ? ", -1" : ", 1") + (product.negatesB ? ", -1" : ", 1");
  if (product.elementBytes() == 2) {
    if (!product.isAInRegisters)
      text += product.layoutOfA.isKMajor ? ", 0" : ", 1";
    text += product.layoutOfB.isKMajor ? ", 0" : ", 1";
  }
  return text + ";\n";
}

std::string tw::warpsim::warpgroupText(const std::string &body, unsigned numParameters,
                                       unsigned sharedBytes) {
  std::string parameters, loads;
  for (unsigned i = 0; i < numParameters; ++i) {
    std::string number = std::to_string(i);
    parameters += (i ? ", " : "") + std::string(".param .u64 p") + number;
    loads += "  ld.param.u64 %rd" + number + ", [p" + number + "];\n";
  }
  return ".version 8.0\n.target sm_90a\n.address_size 64\n"
         ".shared .align 1024 .b8 tile[" +
         std::to_string(sharedBytes) + "];\n.visible .entry k(" + parameters +
         ")\n{\n  .reg .pred %first, %always, %p<8>;\n"
         "  .reg .b32 %d<128>, %e<128>, %x0_<4>, %x1_<4>, %x2_<4>, %x3_<4>, %r<32>;\n"
         "  .reg .b32 %base, %thread, %at;\n  .reg .b64 %a, %b, %rd<16>, %to, %from;\n" +
         loads + "  mov.u32 %thread, %tid.x;\n  mov.u32 %base, tile;\n" + body + "\n  ret;\n}\n";
}

/// Copies `numBytes` from the first parameter to shared memory, 16 bytes a thread.
static std::string copyText(unsigned numBytes) {
  std::string text = "  shl.b32 %r0, %thread, 4;\n  add.u32 %at, %base, %r0;\n"
                     "  cvt.u64.u32 %from, %r0;\n  add.u64 %from, %from, %rd0;\n";
  for (unsigned offset = 0; offset < numBytes; offset += 16 * kThreads) {
    std::string at = "+" + std::to_string(offset) + "]";
    bool isWhole = offset + 16 * kThreads <= numBytes;
    std::string guard = isWhole ? "  " : "  @%p0 ";
    if (!isWhole)
      text += "  setp.lt.u32 %p0, %r0, " + std::to_string(numBytes - offset) + ";\n";
    text += guard + "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%from" + at + ";\n" + guard +
            "st.shared.v4.b32 [%at" + at + ", {%r4, %r5, %r6, %r7};\n";
  }
  return text;
}

/// `ld` or `st` of registers that lie in `pointer`'s array one after the other, a word a thread.
static std::string transferText(bool isLoad, const std::string &pointer,
                                const std::vector<std::string> &registers) {
  std::string text = "  mul.wide.u32 %to, %thread, 4;\n  add.u64 %to, %to, " + pointer + ";\n";
  for (size_t i = 0; i < registers.size(); ++i) {
    std::string place = "[%to+" + std::to_string(i * 4 * kThreads) + "]";
    text += isLoad ? "  ld.global.b32 " + registers[i] + ", " + place + ";\n"
                   : "  st.global.b32 " + place + ", " + registers[i] + ";\n";
  }
  return text;
}

static std::vector<std::string> registersNamed(const std::string &prefix, unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back(prefix + std::to_string(i));
  return names;
}

static std::string descriptorText(const std::string &name, uint64_t descriptor, unsigned offset) {
  return "  add.u32 %r0, %base, " + std::to_string(offset) +
         ";\n  shr.u32 %r0, %r0, 4;\n  cvt.u64.u32 " + name + ", %r0;\n  or.b64 " + name + ", " +
         name + ", " + std::to_string(descriptor) + ";\n";
}

static std::string bodyOf(const WarpgroupCase &product) {
  unsigned bytesOfA = product.bytesOf(product.layoutOfA, kRows),
           bytesOfB = product.bytesOf(product.layoutOfB, product.columns);
  std::string text = copyText(bytesOfA + bytesOfB);
  text += transferText(true, "%rd1", registersNamed("%d", product.numRegisters()));
  std::vector<std::string> fragments;
  for (unsigned step = 0; step < product.numSteps; ++step)
    for (const std::string &name : registersNamed("%x" + std::to_string(step) + "_", 4))
      fragments.push_back(name);
  if (product.isAInRegisters)
    text += transferText(true, "%rd2", fragments);
  text += std::string("  setp.eq.u32 %first, %thread, ") +
          (product.readsAccumulator ? "%thread;\n" : "0xffff;\n") +
          "  setp.eq.u32 %always, %thread, %thread;\n"
          "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n  wgmma.fence.sync.aligned;\n";
  for (unsigned step = 0; step < product.numSteps; ++step) {
    text += descriptorText("%a", descriptorOf(product, product.layoutOfA, kRows),
                           offsetOfStep(product, product.layoutOfA, kRows, step));
    text +=
        descriptorText("%b", descriptorOf(product, product.layoutOfB, product.columns),
                       bytesOfA + offsetOfStep(product, product.layoutOfB, product.columns, step));
    text += productText(product, step);
  }
  text += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  return text + transferText(false, "%rd3", registersNamed("%d", product.numRegisters()));
}

static void putOperand(const WarpgroupCase &product, const OperandLayout &layout, Type type,
                       unsigned count, unsigned base, const std::vector<double> &values,
                       bool isTransposed, std::vector<uint32_t> &image) {
  auto *bytes = reinterpret_cast<uint8_t *>(image.data()) + base;
  for (unsigned index = 0; index < count; ++index)
    for (unsigned k = 0; k < product.depth(); ++k) {
      double value = values[isTransposed ? k * count + index : index * product.depth() + k];
      uint32_t code = codeOf(value, type);
      memcpy(bytes + placeOf(product, layout, count, index, k), &code, product.elementBytes());
    }
}

/// The words of A's fragments: by step, register and thread.
static std::vector<uint32_t> fragmentsOf(const WarpgroupCase &product,
                                         const WarpgroupMatrices &matrices) {
  unsigned bits = 8 * product.elementBytes(), perRegister = 32 / bits;
  MatrixShape shape = bits == 32   ? MatrixShape::M16n8k8
                      : bits == 16 ? MatrixShape::M16n8k16
                                   : MatrixShape::M16n8k32;
  std::vector<uint32_t> words(product.numSteps * 4 * kThreads);
  for (unsigned step = 0; step < product.numSteps; ++step)
    for (unsigned thread = 0; thread < kThreads; ++thread)
      for (unsigned i = 0; i < 4 * perRegister; ++i) {
        Element element = elementOfA(shape, bits, thread % 32, i);
        unsigned row = thread / 32 * 16 + element.row,
                 k = step * product.depthOfStep() + element.column;
        words[(step * 4 + i / perRegister) * kThreads + thread] |=
            codeOf(matrices.a[row * product.depth() + k], product.a) << i % perRegister * bits;
      }
  return words;
}

/// Calls `visit(word, bit, row, column)` for each element of the accumulator.
template <typename Visit> static void forEachResult(const WarpgroupCase &product, Visit visit) {
  for (unsigned thread = 0; thread < kThreads; ++thread)
    for (unsigned i = 0; i < product.columns / 2; ++i) {
      unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
      unsigned column = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
      bool isHalf = product.result == Type::F16;
      visit((isHalf ? i / 2 : i) * kThreads + thread, isHalf ? i % 2 * 16 : 0,
            row * product.columns + column);
    }
}

static double decoded(uint32_t word, unsigned bit, Type type) {
  if (type == Type::F16)
    return valueOfCode(word >> bit & 0xffff, kHalf);
  return type == Type::F32 ? double(std::bit_cast<float>(word)) : double(int32_t(word));
}

WarpgroupRun tw::warpsim::runProduct(const WarpgroupCase &product,
                                     const WarpgroupMatrices &matrices,
                                     const LaunchOptions &options) {
  unsigned bytesOfA = product.bytesOf(product.layoutOfA, kRows),
           bytesOfB = product.bytesOf(product.layoutOfB, product.columns);
  std::vector<uint32_t> image((bytesOfA + bytesOfB) / 4);
  putOperand(product, product.layoutOfA, product.a, kRows, 0, matrices.a, false, image);
  putOperand(product, product.layoutOfB, product.b, product.columns, bytesOfA, matrices.b, true,
             image);
  std::vector<uint32_t> accumulator(product.numRegisters() * kThreads);
  forEachResult(product, [&](unsigned word, unsigned bit, unsigned at) {
    accumulator[word] |= codeOf(matrices.c[at], product.result) << bit;
  });
  Simulation simulation;
  simulation.array("operands", std::move(image));
  simulation.array("c", std::move(accumulator));
  simulation.array("fragments", fragmentsOf(product, matrices));
  const std::vector<uint32_t> &out =
      simulation.array("out", std::vector<uint32_t>(product.numRegisters() * kThreads, 0x7fff7fff));
  simulation.launch.block = {kThreads, 1, 1};
  simulation.launch.options = options;
  WarpgroupRun run;
  run.report = simulation.runText(warpgroupText(bodyOf(product), 4, bytesOfA + bytesOfB));
  run.result.resize(kRows * product.columns);
  forEachResult(product, [&](unsigned word, unsigned bit, unsigned at) {
    run.result[at] = decoded(out[word], bit, product.result);
  });
  return run;
}
