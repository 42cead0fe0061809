#include "scale.h"
#include <stdio.h>

int main(void) {
  static float x[1000], y[1000];
  struct tilewright_error error;
  for (int i = 0; i < 1000; ++i)
    x[i] = (float)i;
  const struct scale_arguments arguments = {.x = x, .out = y, .n = 999, .factor = 2.0f};
  if (scale_launch(&arguments, NULL, &error)) {
    printf("TW%04d: %s\n", error.code, error.message);
    return 1;
  }
  printf("%g %g\n", (double)y[998], (double)y[999]);
  return !(y[998] == 1996.0f && y[999] == 0.0f);
}
