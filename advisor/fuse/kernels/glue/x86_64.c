// Which of the levels of the x86-64 psABI this CPU and its operating system carry: 0 v2, 1 v3, 2 v4, -1 none.

typedef unsigned int u32;
typedef struct { u32 a, b, c, d; } Registers;

static Registers cpuid(u32 leaf, u32 part) {
  Registers registers;
  __asm__ volatile("cpuid" : "=a"(registers.a), "=b"(registers.b), "=c"(registers.c), "=d"(registers.d)
                           : "a"(leaf), "c"(part));
  return registers;
}

// The register states that the operating system saves.
static u32 saved_states(void) {
  u32 low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static int has(u32 bits, u32 wanted) { return (bits & wanted) == wanted; }
#define BIT(place) (1u << (place))

int cpu_level(void) {
  Registers top = cpuid(0, 0), extended_top = cpuid(0x80000000u, 0);
  if (top.a < 7 || extended_top.a < 0x80000001u) return -1;
  Registers basic = cpuid(1, 0), more = cpuid(7, 0), extended = cpuid(0x80000001u, 0);
  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
  if (!has(basic.c, BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23)) || !has(extended.c, BIT(0))) return -1;
  // FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; XMM and YMM are saved
  if (!has(basic.c, BIT(12) | BIT(22) | BIT(27) | BIT(28) | BIT(29)) || !has(more.b, BIT(3) | BIT(5) | BIT(8)) ||
      !has(extended.c, BIT(5)) || !has(saved_states(), 0x6))
    return 0;
  // AVX-512 F, DQ, CD, BW, VL; masks and ZMM are saved too
  if (!has(more.b, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)) || !has(saved_states(), 0xe6)) return 1;
  return 2;
}
