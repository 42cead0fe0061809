int twice(const float *x, float *y, int n);

int main() {
  float x[3] = {1, 2, 3}, y[3] = {};
  return twice(x, y, 3) || y[0] != 2 || y[2] != 6;
}
