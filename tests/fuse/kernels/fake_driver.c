// A stand-in for libcuda.so.1 on machines without a GPU: it says what it was asked for.
#include <stdio.h>
#include <string.h>

static long long context;

int cuCtxGetCurrent(void **current) {
  *current = &context;
  return 0;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, void *options, void *values) {
  puts("load");
  *module = (void *)image;
  return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  printf("get %s\n", name);
  *function = (void *)name;
  return strstr(module, name) ? 0 : 500;
}

int cuModuleUnload(void *module) {
  puts("unload");
  fflush(stdout);
  return 0;
}

struct layout {
  long long rows, columns, axes, extent[8];
  struct {
    long long row[8], column;
  } stride[16];
};

// The arguments of a kernel with three inputs and two outputs.
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned b, unsigned c,
                   unsigned shared, void *stream, void **arguments, void **extra) {
  const struct layout *layout = arguments[5];
  printf("launch %s blocks %u threads %u rows %lld columns %lld axes %lld", (char *)function, x, threads, layout->rows,
         layout->columns, layout->axes);
  printf(" extents %lld %lld row", layout->extent[0], layout->extent[1]);
  for (int input = 0; input < 3; input++)
    printf("%s %lld %lld", input ? " |" : "", layout->stride[input].row[0], layout->stride[input].row[1]);
  printf(" column %lld %lld %lld\n", layout->stride[0].column, layout->stride[1].column, layout->stride[2].column);
  return 0;
}
