// nvcc -ptx -arch=sm_80 prints.cu: printf, an assertion, a call that passes and returns a structure,
// and a loop that is left from its middle.
#include <assert.h>
#include <stdio.h>

struct Pair {
  int count;
  float values[3];
};
__device__ int counter = 7;

__device__ __noinline__ Pair next(Pair pair) {
  pair.count += 1;
  return pair;
}

extern "C" __global__ void prints(const int *in, int n, Pair pair) {
  for (int i = 0; i < n; ++i) {
    if (in[i] == 3)
      break;
    assert(in[i] != 5);
    if (in[i] == 4)
      return;
    printf("%d %f\n", in[i], pair.values[i & 1]);
  }
  counter = next(pair).count;
}
