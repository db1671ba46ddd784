// What stands between ONNX Runtime and the generated kernels: one custom operator for each descriptor.
//
// make_glue.py compiles this file to glue.ll, which is committed; a library links that text with the kernels and with
// the table of descriptors (descriptors.py). Nothing of libc and no header of ONNX Runtime is used: the functions of
// its C API are called by their place in OrtApi, to which places are only ever added. Nothing is written after the
// registration but what belongs to one kernel of one session, so any number of threads, sessions and libraries may
// come and go in any order.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

enum {
  MOST_TENSORS = 16,
  MOST_AXES = 8,
  LEVELS = 3,
  MOST_CONTEXTS = 8,
  API_VERSION = 17, // the oldest ONNX Runtime with all that is used here: 1.17
  API_WITH_SHAPE_DATA = 24, // from 1.24 on a shape can be read in place
  INVALID_ARGUMENT = 2,
  NOT_IMPLEMENTED = 9,
  RUNTIME_EXCEPTION = 6,
  // Work in units of a descriptor's cost that is worth another thread: about 16 microseconds of what lies in the cache
  // and three times as much of what does not, which is three times what it takes to wake a thread on a machine that
  // does nothing else. And how many pieces are enough for any machine.
  PIECE = 1 << 19,
  MOST_PIECES = 64,
  COLUMNS_TOGETHER = 64, // pieces of a row end at multiples of this, so that no two threads write one cache line
  GPU_THREADS = 256,
  GPU_WARP = 32,
  GPU_MOST_BLOCKS = 65535,
};

// ---- ONNX Runtime's C API

enum {
  CREATE_STATUS = 0,
  CREATE_CUSTOM_OP_DOMAIN = 26,
  CUSTOM_OP_DOMAIN_ADD = 27,
  ADD_CUSTOM_OP_DOMAIN = 28,
  GET_TENSOR_MUTABLE_DATA = 51,
  GET_DIMENSIONS_COUNT = 61,
  GET_DIMENSIONS = 62,
  GET_TENSOR_TYPE_AND_SHAPE = 65,
  ALLOCATOR_ALLOC = 75,
  ALLOCATOR_FREE = 76,
  GET_ALLOCATOR_WITH_DEFAULT_OPTIONS = 78,
  KERNEL_CONTEXT_GET_INPUT = 90,
  KERNEL_CONTEXT_GET_OUTPUT = 91,
  RELEASE_TENSOR_TYPE_AND_SHAPE_INFO = 99,
  KERNEL_CONTEXT_GET_GPU_COMPUTE_STREAM = 193,
  KERNEL_CONTEXT_PARALLEL_FOR = 274,
  GET_TENSOR_ELEMENT_TYPE_AND_SHAPE_DATA_REFERENCE = 414, // since API_WITH_SHAPE_DATA
};

typedef struct Status Status; // null where all is well
typedef struct Value Value;
typedef struct Shape Shape;
typedef struct Context Context;
typedef struct Allocator Allocator;
typedef struct Domain Domain;
typedef struct { void *function[512]; } Api;
typedef struct {
  const Api *(*get_api)(u32 version);
  const char *(*get_version)(void);
} ApiBase;

#define FUNCTION(api, place, result, ...) ((result(*)(__VA_ARGS__))(api)->function[place])
#define RETURN_IF_FAILED(call)                                                                                         \
  do {                                                                                                                 \
    Status *failed_ = (call);                                                                                          \
    if (failed_) return failed_;                                                                                       \
  } while (0)

static Status *create_status(const Api *api, i32 code, const char *text) {
  return FUNCTION(api, CREATE_STATUS, Status *, i32, const char *)(code, text);
}

static Status *allocator_of(const Api *api, Allocator **allocator) {
  return FUNCTION(api, GET_ALLOCATOR_WITH_DEFAULT_OPTIONS, Status *, Allocator **)(allocator);
}

static Status *allocate(const Api *api, u64 bytes, void **memory) {
  Allocator *allocator;
  RETURN_IF_FAILED(allocator_of(api, &allocator));
  RETURN_IF_FAILED(FUNCTION(api, ALLOCATOR_ALLOC, Status *, Allocator *, u64, void **)(allocator, bytes, memory));
  return *memory ? 0 : create_status(api, RUNTIME_EXCEPTION, "advisor.generated: no memory");
}

static void release(const Api *api, void *memory) {
  Allocator *allocator;
  if (memory && !allocator_of(api, &allocator))
    FUNCTION(api, ALLOCATOR_FREE, Status *, Allocator *, void *)(allocator, memory);
}

// ---- The tables that come with the kernels (descriptors.py writes the same fields in the same order)

typedef void (*KernelFunction)(void *const *inputs, void *const *outputs, const i64 *row_strides,
                               const i64 *column_strides, i64 rows, i64 columns);

// How an input's axes become those of the kernel: a part of the last one is split, then all get another order.
typedef struct {
  i64 last;              // length of the input's last axis, where it is split
  i64 start;             // the first element along it that is read
  i32 pieces;            // axes in the place of the last one; 0 leaves it
  i32 axes;              // of the result; 0 leaves their order
  i64 length[MOST_AXES]; // of the pieces
  i32 order[MOST_AXES];  // for each axis of the result, that of the split input
} View;

typedef struct {
  i32 type;     // ONNXTensorElementDataType
  i32 bytes;    // of an element
  i32 on_row;   // 0: a value for each column; 1: one for the row; 2: it must be, for an output on the row needs it
  i32 keepdims; // of an output on the row: whether the reduced axes stay, as 1
  const View *view; // of an input; null where its axes are the kernel's
} Tensor;

struct CustomOp;
typedef struct {
  const char *name;
  const char *provider; // null: the CPU's
  const char *ptx;      // null where the operator runs on the CPU
  const struct CustomOp *functions;
  KernelFunction fast[LEVELS]; // for the accesses that the kernel was made for; null where the level is not there
  KernelFunction any[LEVELS];  // for any strides
  i32 inputs, outputs, reduced, cost;
  Tensor tensor[MOST_TENSORS]; // the inputs, then the outputs
} Descriptor;

// OrtCustomOp as of API version 17, and what this library adds behind it.
struct Operator;
typedef struct CustomOp {
  u32 version;
  void *(*create_kernel)(const struct Operator *, const Api *, const void *);
  const char *(*name)(const struct Operator *);
  const char *(*provider)(const struct Operator *);
  i32 (*input_type)(const struct Operator *, u64);
  u64 (*input_count)(const struct Operator *);
  i32 (*output_type)(const struct Operator *, u64);
  u64 (*output_count)(const struct Operator *);
  void (*compute_v1)(void *, Context *);
  void (*destroy_kernel)(void *);
  i32 (*input_characteristic)(const struct Operator *, u64);
  i32 (*output_characteristic)(const struct Operator *, u64);
  i32 (*input_memory_type)(const struct Operator *, u64);
  i32 (*variadic_input_min)(const struct Operator *);
  i32 (*variadic_input_homogeneous)(const struct Operator *);
  i32 (*variadic_output_min)(const struct Operator *);
  i32 (*variadic_output_homogeneous)(const struct Operator *);
  Status *(*create_kernel_v2)(const struct Operator *, const Api *, const void *, void **);
  Status *(*compute)(void *, Context *);
  Status *(*infer_shape)(const struct Operator *, void *);
  i32 (*start_version)(const struct Operator *);
  i32 (*end_version)(const struct Operator *);
} CustomOp;

typedef struct Operator {
  CustomOp functions;
  const Descriptor *descriptor;
} Operator;

extern const Descriptor descriptors[];
extern const i32 descriptor_count;
extern const char domain_name[];
extern Operator operators[]; // as many as there are descriptors; filled in when the library is registered

// ONNX Runtime's API where it has that version, as seen at the last registration; another one's kernels see that this
// is not theirs.
static const Api *api_with_shape_data = 0;

// The highest level of this CPU: 0, 1, 2 are x86-64-v2, v3, v4; -1 is below all; 0 on aarch64.
extern i32 cpu_level(void);

// ---- Messages

typedef struct {
  i32 used;
  char text[400];
} Message;

static void say(Message *message, const char *text) {
  while (*text && message->used < (i32)sizeof message->text - 1) message->text[message->used++] = *text++;
  message->text[message->used] = 0;
}

static void say_number(Message *message, i64 number) {
  char digits[24];
  i32 place = sizeof digits - 1;
  u64 rest = number < 0 ? -(u64)number : (u64)number;
  digits[place] = 0;
  do digits[--place] = (char)('0' + rest % 10), rest /= 10;
  while (rest);
  if (number < 0) digits[--place] = '-';
  say(message, digits + place);
}

static void say_shape(Message *message, const i64 *extents, i32 rank) {
  say(message, "[");
  for (i32 axis = 0; axis < rank; axis++) {
    if (axis) say(message, ",");
    say_number(message, extents[axis]);
  }
  say(message, "]");
}

static void say_operator(Message *message, const Descriptor *descriptor) {
  message->used = 0;
  say(message, domain_name);
  say(message, ".");
  say(message, descriptor->name);
  say(message, ": ");
}

static Status *complain(const Api *api, const Descriptor *descriptor, i32 code, const char *what) {
  Message message;
  say_operator(&message, descriptor);
  say(&message, what);
  return create_status(api, code, message.text);
}

// ---- From shapes to rows and columns

// How a kernel walks over its tensors. GPU kernels get this as it is: it is part of their contract.
typedef struct {
  i64 rows, columns;
  i64 axes;               // axes of the rows, outermost first; rows is the product of their extents
  i64 extent[MOST_AXES];
  struct {
    i64 row[MOST_AXES]; // elements to the next place along each axis of the rows; 0 repeats
    i64 column;         // elements to the next column
  } stride[MOST_TENSORS]; // of the inputs
} Layout;

typedef struct {
  i32 rank;
  i64 extent[MOST_AXES];
  i64 stride[MOST_AXES]; // of an input: elements to the next place along an axis
} Extents;

typedef struct {
  const Api *api;
  const Descriptor *descriptor;
  i32 has_shape_data; // whether the API has GET_TENSOR_ELEMENT_TYPE_AND_SHAPE_DATA_REFERENCE
  KernelFunction kernel;
  Layout layout;
  i64 column_stride[MOST_TENSORS];
  i64 row_stride[MOST_TENSORS]; // along the innermost axis of the rows
  u8 *data[MOST_TENSORS];       // the inputs, then the outputs
  void *scratch[MOST_TENSORS];
  i64 pieces, rows_a_piece, columns_a_piece;
} Job;

static i64 product(const i64 *extents, i32 first, i32 last) {
  i64 all = 1;
  for (i32 axis = first; axis < last; axis++) all *= extents[axis];
  return all;
}

// A copy of a shape that ONNX Runtime allocates for this.
static Status *copy_shape(const Job *job, const Value *value, u64 *rank, i64 *extents) {
  const Api *api = job->api;
  Shape *shape = 0;
  RETURN_IF_FAILED(FUNCTION(api, GET_TENSOR_TYPE_AND_SHAPE, Status *, const Value *, Shape **)(value, &shape));
  Status *status = FUNCTION(api, GET_DIMENSIONS_COUNT, Status *, const Shape *, u64 *)(shape, rank);
  if (!status && *rank <= MOST_AXES)
    status = FUNCTION(api, GET_DIMENSIONS, Status *, const Shape *, i64 *, u64)(shape, extents, *rank);
  FUNCTION(api, RELEASE_TENSOR_TYPE_AND_SHAPE_INFO, void, Shape *)(shape);
  return status;
}

static Status *read_shape(const Job *job, const Value *value, u64 *rank, i64 *extents) {
  if (!job->has_shape_data) return copy_shape(job, value, rank, extents);
  const i64 *shape = 0; // where it lies; null where there are no axes
  i32 type;
  RETURN_IF_FAILED(FUNCTION(job->api, GET_TENSOR_ELEMENT_TYPE_AND_SHAPE_DATA_REFERENCE, Status *, const Value *, i32 *,
                            const i64 **, u64 *)(value, &type, &shape, rank));
  for (u64 axis = 0; axis < *rank && axis < MOST_AXES; axis++) extents[axis] = shape[axis];
  return 0;
}

static void set_dense(Extents *input) {
  i64 step = 1;
  for (i32 axis = input->rank - 1; axis >= 0; axis--) {
    input->stride[axis] = step;
    step *= input->extent[axis];
  }
}

static Status *complain_of_shape(const Api *api, const Descriptor *descriptor, i32 place, const Extents *input) {
  Message message;
  say_operator(&message, descriptor);
  say(&message, "input ");
  say_number(&message, place);
  say(&message, " has the shape ");
  say_shape(&message, input->extent, input->rank);
  say(&message, ", for which the kernel was not made");
  return create_status(api, INVALID_ARGUMENT, message.text);
}

// By hand: the assignment of a structure becomes a call of memcpy.
static void copy_extents(Extents *target, const Extents *source) {
  target->rank = source->rank;
  for (i32 axis = 0; axis < source->rank; axis++) {
    target->extent[axis] = source->extent[axis];
    target->stride[axis] = source->stride[axis];
  }
}

// An axis of 1 in front of the others.
static void add_axis(Extents *input) {
  for (i32 axis = input->rank++; axis > 0; axis--) {
    input->extent[axis] = input->extent[axis - 1];
    input->stride[axis] = input->stride[axis - 1];
  }
  input->extent[0] = 1;
  input->stride[0] = 0;
}

// The input as its view shows it. What is 1 along the last axis, or has fewer axes, is broadcast.
static Status *look_through(Job *job, i32 place, Extents *input) {
  const Descriptor *descriptor = job->descriptor;
  const Tensor *tensor = &descriptor->tensor[place];
  const View *view = tensor->view;
  Extents seen, split;
  copy_extents(&seen, input);
  if (view->pieces) {
    if (!seen.rank) add_axis(&seen);
    i32 first = --seen.rank, is_single = seen.extent[first] == 1;
    if ((seen.extent[first] != view->last && !is_single) || first + view->pieces > MOST_AXES)
      return complain_of_shape(job->api, descriptor, place, input);
    i64 step = 1;
    for (i32 piece = view->pieces - 1; piece >= 0; piece--) {
      seen.extent[first + piece] = is_single ? 1 : view->length[piece];
      seen.stride[first + piece] = step;
      step *= seen.extent[first + piece];
    }
    seen.rank += view->pieces;
    if (!is_single) job->data[place] += view->start * tensor->bytes;
  }
  if (view->axes) {
    if (seen.rank > view->axes) return complain_of_shape(job->api, descriptor, place, input);
    while (seen.rank < view->axes) add_axis(&seen);
    copy_extents(&split, &seen);
    for (i32 axis = 0; axis < view->axes; axis++) {
      seen.extent[axis] = split.extent[view->order[axis]];
      seen.stride[axis] = split.stride[view->order[axis]];
    }
  }
  copy_extents(input, &seen);
  return 0;
}

static Status *read_input(Job *job, Context *context, i32 place, Extents *extents) {
  const Api *api = job->api;
  const Value *value = 0;
  u64 rank = 0;
  RETURN_IF_FAILED(FUNCTION(api, KERNEL_CONTEXT_GET_INPUT, Status *, const Context *, u64, const Value **)(
      context, (u64)place, &value));
  if (!value) return complain(api, job->descriptor, INVALID_ARGUMENT, "an input is missing");
  RETURN_IF_FAILED(
      FUNCTION(api, GET_TENSOR_MUTABLE_DATA, Status *, const Value *, u8 **)(value, &job->data[place]));
  RETURN_IF_FAILED(read_shape(job, value, &rank, extents->extent));
  if (rank > MOST_AXES) return complain(api, job->descriptor, NOT_IMPLEMENTED, "a tensor of more than 8 axes");
  extents->rank = (i32)rank;
  set_dense(extents);
  return job->descriptor->tensor[place].view ? look_through(job, place, extents) : 0;
}

static Status *write_output(const Api *api, const Descriptor *descriptor, Context *context, i32 place,
                            const Extents *full, u8 **data) {
  const Tensor *tensor = &descriptor->tensor[descriptor->inputs + place];
  Value *value = 0;
  i64 extent[MOST_AXES];
  i32 rank = full->rank, reduced = tensor->on_row ? descriptor->reduced : 0;
  for (i32 axis = 0; axis < rank; axis++) extent[axis] = axis < rank - reduced ? full->extent[axis] : 1;
  if (!tensor->keepdims) rank -= reduced;
  RETURN_IF_FAILED(FUNCTION(api, KERNEL_CONTEXT_GET_OUTPUT, Status *, Context *, u64, const i64 *, u64, Value **)(
      context, (u64)place, extent, (u64)rank, &value));
  if (!value) return complain(api, descriptor, RUNTIME_EXCEPTION, "ONNX Runtime gave no output");
  return FUNCTION(api, GET_TENSOR_MUTABLE_DATA, Status *, const Value *, u8 **)(value, data);
}

// NumPy's broadcasting of all inputs together: the full shape; every input's shape gets ones before it to its rank.
static Status *broadcast(const Api *api, const Descriptor *descriptor, Extents *inputs, Extents *full) {
  full->rank = 0;
  for (i32 place = 0; place < descriptor->inputs; place++)
    if (inputs[place].rank > full->rank) full->rank = inputs[place].rank;
  for (i32 axis = 0; axis < full->rank; axis++) full->extent[axis] = 1;
  for (i32 place = 0; place < descriptor->inputs; place++) {
    Extents *input = &inputs[place];
    i32 missing = full->rank - input->rank;
    for (i32 axis = full->rank - 1; axis >= 0; axis--) {
      i64 extent = axis >= missing ? input->extent[axis - missing] : 1;
      if (extent != 1 && full->extent[axis] != 1 && full->extent[axis] != extent) {
        Message message;
        say_operator(&message, descriptor);
        say(&message, "input ");
        say_number(&message, place);
        say(&message, " does not broadcast: axis ");
        say_number(&message, axis - full->rank);
        say(&message, " is ");
        say_number(&message, extent);
        say(&message, " there and ");
        say_number(&message, full->extent[axis]);
        say(&message, " in the shape of those before it, ");
        say_shape(&message, full->extent, full->rank);
        return create_status(api, INVALID_ARGUMENT, message.text);
      }
      input->extent[axis] = extent;
      input->stride[axis] = axis >= missing ? input->stride[axis - missing] : 0;
      if (extent != 1) full->extent[axis] = extent;
    }
    input->rank = full->rank;
  }
  if (full->rank < descriptor->reduced)
    return complain(api, descriptor, INVALID_ARGUMENT, "the inputs have fewer axes than are reduced");
  return 0;
}

static void copy_element(u8 *target, const u8 *source, i32 bytes) {
  if (bytes == 4) *(u32 *)target = *(const u32 *)source;
  else if (bytes == 8) *(u64 *)target = *(const u64 *)source;
  else if (bytes == 2) *(unsigned short *)target = *(const unsigned short *)source;
  else *target = *source;
}

// Where an input repeats along some of the reduced axes but not along all, or has them apart, no one stride leads from
// column to column: the input is written out with all its columns, once. Rare, and right.
static Status *expand(Job *job, i32 place, Extents *input, const Extents *full, i32 first) {
  i32 bytes = job->descriptor->tensor[place].bytes;
  Extents whole;
  copy_extents(&whole, input);
  for (i32 axis = first; axis < full->rank; axis++) whole.extent[axis] = full->extent[axis];
  i64 count = product(whole.extent, 0, whole.rank);
  RETURN_IF_FAILED(allocate(job->api, (u64)(count * bytes), &job->scratch[place]));
  u8 *target = job->scratch[place];
  for (i64 element = 0; element < count; element++) {
    i64 rest = element, offset = 0;
    for (i32 axis = whole.rank - 1; axis >= 0; axis--) {
      if (input->extent[axis] != 1) offset += rest % whole.extent[axis] * input->stride[axis];
      rest /= whole.extent[axis];
    }
    copy_element(target, job->data[place] + offset * bytes, bytes);
    target += bytes;
  }
  set_dense(&whole);
  copy_extents(input, &whole);
  job->data[place] = job->scratch[place];
  return 0;
}

// Elements to the next place along an axis; 0 where the input repeats.
static i64 stride_along(const Extents *input, i32 axis) {
  return input->extent[axis] == 1 ? 0 : input->stride[axis];
}

// The axes before LAST, with neighbours made one wherever every input allows it: outermost first.
static void merge_axes(Layout *layout, i32 count, const Extents *inputs, const Extents *full, i32 last) {
  layout->axes = 0;
  for (i32 axis = 0; axis < last; axis++) {
    i64 extent = full->extent[axis], end = layout->axes - 1;
    if (extent == 1) continue;
    i32 joins = end >= 0;
    for (i32 place = 0; joins && place < count; place++)
      joins = layout->stride[place].row[end] == stride_along(&inputs[place], axis) * extent;
    if (joins) {
      layout->extent[end] *= extent;
    } else {
      end = layout->axes++;
      layout->extent[end] = extent;
    }
    for (i32 place = 0; place < count; place++) layout->stride[place].row[end] = stride_along(&inputs[place], axis);
  }
}

// Rows and columns. Where nothing is reduced, the innermost of the merged axes are the columns.
static Status *lay_out(Job *job, Extents *inputs, const Extents *full, i32 may_expand) {
  const Descriptor *descriptor = job->descriptor;
  Layout *layout = &job->layout;
  i32 count = descriptor->inputs, first = full->rank - descriptor->reduced;
  if (descriptor->reduced) {
    layout->columns = product(full->extent, first, full->rank);
    for (i32 place = 0; place < count; place++) {
      const Extents *input = &inputs[place];
      i32 dense = 1, single = 1;
      i64 step = 1;
      for (i32 axis = full->rank - 1; axis >= first; axis--) {
        i64 extent = input->extent[axis];
        dense &= extent == full->extent[axis] && (extent == 1 || input->stride[axis] == step);
        single &= extent == 1;
        step *= extent;
      }
      if (!single && descriptor->tensor[place].on_row == 2)
        return complain(job->api, descriptor, INVALID_ARGUMENT,
                        "an input has several values a row, and an output that has one needs it");
      if (!dense && !single && layout->columns) {
        if (!may_expand)
          return complain(job->api, descriptor, NOT_IMPLEMENTED, "an input's reduced axes are no row of elements");
        RETURN_IF_FAILED(expand(job, place, &inputs[place], full, first));
      }
      layout->stride[place].column = !single;
    }
    merge_axes(layout, count, inputs, full, first);
  } else {
    merge_axes(layout, count, inputs, full, full->rank);
    layout->columns = 1;
    for (i32 place = 0; place < count; place++) layout->stride[place].column = 0;
    if (layout->axes) {
      i64 end = --layout->axes;
      layout->columns = layout->extent[end];
      for (i32 place = 0; place < count; place++) layout->stride[place].column = layout->stride[place].row[end];
    }
  }
  layout->rows = product(layout->extent, 0, (i32)layout->axes);
  return 0;
}

static Status *prepare(Job *job, Context *context, i32 may_expand) {
  const Api *api = job->api;
  const Descriptor *descriptor = job->descriptor;
  Extents inputs[MOST_TENSORS], full;
  for (i32 place = 0; place < descriptor->inputs; place++)
    RETURN_IF_FAILED(read_input(job, context, place, &inputs[place]));
  RETURN_IF_FAILED(broadcast(api, descriptor, inputs, &full));
  for (i32 place = 0; place < descriptor->outputs; place++)
    RETURN_IF_FAILED(write_output(api, descriptor, context, place, &full, &job->data[descriptor->inputs + place]));
  i32 first = full.rank - descriptor->reduced;
  if (!product(full.extent, 0, first)) { // nothing to write
    job->layout.rows = job->layout.columns = 0;
    return 0;
  }
  return lay_out(job, inputs, &full, may_expand);
}

// ---- On the CPU

// Functions of the NVIDIA driver; all are null until the first launch.
typedef struct {
  i32 (*current_context)(void **);
  i32 (*load_module)(void **, const void *, u32, void *, void *);
  i32 (*get_function)(void **, void *, const char *);
  i32 (*launch)(void *, u32, u32, u32, u32, u32, u32, u32, void *, void **, void **);
} Driver;

typedef struct {
  const Descriptor *descriptor;
  const Api *api;
  i32 has_shape_data;
  KernelFunction fast, any;
  Driver driver;
  struct { // of the GPU: a kernel for each context it ran in
    void *context, *module, *function;
  } loaded[MOST_CONTEXTS];
  i32 contexts;
  i32 lock;
} Kernel;

// The kernel's work on some rows: all their columns, or some.
static void run_on(const Job *job, i64 row, i64 last_row, i64 column, i64 last_column) {
  const Descriptor *descriptor = job->descriptor;
  const Layout *layout = &job->layout;
  i64 outer = layout->axes - 1, inner_rows = outer >= 0 ? layout->extent[outer] : 1;
  void *inputs[MOST_TENSORS], *outputs[MOST_TENSORS];
  i32 whole = column == 0 && last_column == layout->columns;
  while (row < last_row) {
    i64 block = row / inner_rows, within = row % inner_rows, count = inner_rows - within;
    if (count > last_row - row) count = last_row - row;
    if (!whole) count = 1; // a kernel takes the rows of its outputs to follow one another
    for (i32 place = 0; place < descriptor->inputs; place++) {
      i64 offset = within * job->row_stride[place] + column * job->column_stride[place], rest = block;
      for (i64 axis = outer - 1; axis >= 0; axis--) {
        offset += rest % layout->extent[axis] * layout->stride[place].row[axis];
        rest /= layout->extent[axis];
      }
      inputs[place] = job->data[place] + offset * descriptor->tensor[place].bytes;
    }
    for (i32 place = 0; place < descriptor->outputs; place++) {
      const Tensor *tensor = &descriptor->tensor[descriptor->inputs + place];
      i64 offset = tensor->on_row ? row : row * layout->columns + column;
      outputs[place] = job->data[descriptor->inputs + place] + offset * tensor->bytes;
    }
    job->kernel(inputs, outputs, job->row_stride, job->column_stride, count, last_column - column);
    row += count;
  }
}

static void run_piece(void *user, u64 piece) {
  const Job *job = user;
  const Layout *layout = &job->layout;
  if (job->columns_a_piece) {
    i64 a_row = (layout->columns + job->columns_a_piece - 1) / job->columns_a_piece;
    i64 row = (i64)piece / a_row, column = (i64)piece % a_row * job->columns_a_piece;
    i64 last = column + job->columns_a_piece;
    run_on(job, row, row + 1, column, last < layout->columns ? last : layout->columns);
  } else {
    i64 row = (i64)piece * job->rows_a_piece, last = row + job->rows_a_piece;
    run_on(job, row, last < layout->rows ? last : layout->rows, 0, layout->columns);
  }
}

// Pieces of whole rows, or of columns where there are few rows and nothing is reduced.
static void cut(Job *job) {
  const Layout *layout = &job->layout;
  i64 pieces = layout->rows * layout->columns * job->descriptor->cost / PIECE;
  if (pieces > MOST_PIECES) pieces = MOST_PIECES;
  job->columns_a_piece = 0;
  job->pieces = 1;
  job->rows_a_piece = layout->rows;
  if (pieces <= 1) return;
  if (layout->rows >= pieces || job->descriptor->reduced) {
    job->rows_a_piece = (layout->rows + pieces - 1) / pieces;
    job->pieces = (layout->rows + job->rows_a_piece - 1) / job->rows_a_piece;
    return;
  }
  i64 a_row = (pieces + layout->rows - 1) / layout->rows, columns = (layout->columns + a_row - 1) / a_row;
  job->columns_a_piece = (columns + COLUMNS_TOGETHER - 1) / COLUMNS_TOGETHER * COLUMNS_TOGETHER;
  job->pieces = layout->rows * ((layout->columns + job->columns_a_piece - 1) / job->columns_a_piece);
}

static Status *run(Job *job, const Kernel *kernel, Context *context) {
  const Descriptor *descriptor = job->descriptor;
  const Layout *layout = &job->layout;
  i32 as_made = 1;
  for (i32 place = 0; place < descriptor->inputs; place++) {
    job->column_stride[place] = layout->stride[place].column;
    job->row_stride[place] = layout->axes ? layout->stride[place].row[layout->axes - 1] : 0;
    as_made &= layout->columns <= 1 || layout->stride[place].column == !descriptor->tensor[place].on_row;
  }
  job->kernel = as_made ? kernel->fast : kernel->any;
  cut(job);
  if (job->pieces > 1)
    return FUNCTION(job->api, KERNEL_CONTEXT_PARALLEL_FOR, Status *, const Context *, void (*)(void *, u64), u64, u64,
                    void *)(context, run_piece, (u64)job->pieces, 0, job);
  run_on(job, 0, layout->rows, 0, layout->columns);
  return 0;
}

static void begin(Job *job, const Kernel *kernel) {
  job->api = kernel->api;
  job->descriptor = kernel->descriptor;
  job->has_shape_data = kernel->has_shape_data;
}

static Status *compute_on_cpu(void *self, Context *context) {
  const Kernel *kernel = self;
  Job job;
  begin(&job, kernel);
  for (i32 place = 0; place < kernel->descriptor->inputs; place++) job.scratch[place] = 0;
  Status *status = prepare(&job, context, 1);
  if (!status && job.layout.rows) status = run(&job, kernel, context);
  for (i32 place = 0; place < job.descriptor->inputs; place++) release(kernel->api, job.scratch[place]);
  return status;
}

// ---- On an NVIDIA GPU, through the driver's library

// Asked for at run time, and weak: a process without them still loads the library.
extern void *dlopen(const char *name, i32 flags) __attribute__((weak));
extern void *dlsym(void *library, const char *name) __attribute__((weak));
// Through memory: the object-to-library step binds names only in data.
void *(*const volatile find_library)(const char *, i32) = dlopen;
void *(*const volatile find_function)(void *, const char *) = dlsym;

static Status *complain_of_driver(const Kernel *kernel, const char *function, i32 result) {
  Message message;
  say_operator(&message, kernel->descriptor);
  say(&message, function);
  say(&message, " of the NVIDIA driver failed with error ");
  say_number(&message, result);
  return create_status(kernel->api, RUNTIME_EXCEPTION, message.text);
}

static void *driver_function(const char *name) {
  void *library = find_library && find_function ? find_library("libcuda.so.1", 2 /* RTLD_NOW */) : 0;
  return library ? find_function(library, name) : 0;
}

// Looked up once for each kernel: to ask the loader at every launch would cost as much as the launch.
static Status *find_driver(Kernel *kernel) {
  Driver *driver = &kernel->driver;
  if (driver->launch) return 0;
  driver->current_context = (i32(*)(void **))driver_function("cuCtxGetCurrent");
  driver->load_module = (i32(*)(void **, const void *, u32, void *, void *))driver_function("cuModuleLoadDataEx");
  driver->get_function = (i32(*)(void **, void *, const char *))driver_function("cuModuleGetFunction");
  if (driver->current_context && driver->load_module && driver->get_function)
    driver->launch = (i32(*)(void *, u32, u32, u32, u32, u32, u32, u32, void *, void **, void **))driver_function(
        "cuLaunchKernel");
  return driver->launch ? 0
                        : complain(kernel->api, kernel->descriptor, RUNTIME_EXCEPTION,
                                   "libcuda.so.1 of the NVIDIA driver does not load or lacks a function");
}

// The kernel in the context of this thread: loaded at its first launch there. The caller holds the lock.
static Status *load_in_context(Kernel *kernel, void **function) {
  RETURN_IF_FAILED(find_driver(kernel));
  void *context = 0, *module = 0;
  i32 result = kernel->driver.current_context(&context);
  if (result || !context) return complain_of_driver(kernel, "cuCtxGetCurrent", result);
  for (i32 place = 0; place < kernel->contexts; place++) {
    if (kernel->loaded[place].context == context) {
      *function = kernel->loaded[place].function;
      return 0;
    }
  }
  if (kernel->contexts == MOST_CONTEXTS)
    return complain(kernel->api, kernel->descriptor, RUNTIME_EXCEPTION, "one session runs in more than 8 CUDA contexts");
  result = kernel->driver.load_module(&module, kernel->descriptor->ptx, 0, 0, 0);
  if (result) return complain_of_driver(kernel, "cuModuleLoadDataEx", result);
  result = kernel->driver.get_function(function, module, kernel->descriptor->name);
  if (result) return complain_of_driver(kernel, "cuModuleGetFunction", result);
  kernel->loaded[kernel->contexts].context = context;
  kernel->loaded[kernel->contexts].module = module;
  kernel->loaded[kernel->contexts].function = *function;
  kernel->contexts++;
  return 0;
}

static Status *loaded_function(Kernel *kernel, void **function) {
  while (__atomic_exchange_n(&kernel->lock, 1, __ATOMIC_ACQUIRE)) { // held for a moment, but at the first launch
  }
  Status *status = load_in_context(kernel, function);
  __atomic_store_n(&kernel->lock, 0, __ATOMIC_RELEASE);
  return status;
}

static Status *launch(Kernel *kernel, Job *job, Context *context) {
  const Descriptor *descriptor = kernel->descriptor;
  Layout *layout = &job->layout;
  void *stream = 0, *function = 0, *arguments[MOST_TENSORS + 1];
  i32 count = 0;
  RETURN_IF_FAILED(loaded_function(kernel, &function));
  RETURN_IF_FAILED(FUNCTION(kernel->api, KERNEL_CONTEXT_GET_GPU_COMPUTE_STREAM, Status *, const Context *, void **)(
      context, &stream));
  while (count < descriptor->inputs + descriptor->outputs) {
    arguments[count] = &job->data[count];
    count++;
  }
  arguments[count] = layout;
  i64 threads = layout->rows * (descriptor->reduced ? GPU_WARP : layout->columns);
  i64 blocks = (threads + GPU_THREADS - 1) / GPU_THREADS;
  if (blocks > GPU_MOST_BLOCKS) blocks = GPU_MOST_BLOCKS; // the kernels loop with the stride of the grid
  i32 result = kernel->driver.launch(function, (u32)blocks, 1, 1, GPU_THREADS, 1, 1, 0, stream, arguments, 0);
  return result ? complain_of_driver(kernel, "cuLaunchKernel", result) : 0;
}

static Status *compute_on_gpu(void *self, Context *context) {
  Kernel *kernel = self;
  Job job;
  begin(&job, kernel);
  RETURN_IF_FAILED(prepare(&job, context, 0));
  return job.layout.rows ? launch(kernel, &job, context) : 0;
}

// ---- What ONNX Runtime asks of an operator

static const char *operator_name(const Operator *self) { return self->descriptor->name; }
static const char *operator_provider(const Operator *self) { return self->descriptor->provider; }
static u64 input_count(const Operator *self) { return (u64)self->descriptor->inputs; }
static u64 output_count(const Operator *self) { return (u64)self->descriptor->outputs; }
static i32 input_type(const Operator *self, u64 place) { return self->descriptor->tensor[place].type; }
static i32 output_type(const Operator *self, u64 place) {
  return self->descriptor->tensor[(u64)self->descriptor->inputs + place].type;
}
static i32 zero_for(const Operator *self, u64 place) { return 0; } // required; memory of the provider
static i32 one(const Operator *self) { return 1; }
static i32 no_end(const Operator *self) { return 0x7fffffff; }

static Status *create_kernel(const Operator *self, const Api *api, const void *info, void **created) {
  const Descriptor *descriptor = self->descriptor;
  void *memory = 0;
  *created = 0;
  KernelFunction fast = 0, any = 0;
  if (!descriptor->ptx) {
    for (i32 level = cpu_level(); level >= 0 && !fast; level--) {
      fast = descriptor->fast[level];
      any = descriptor->any[level];
    }
    if (!fast) return complain(api, descriptor, NOT_IMPLEMENTED, "this CPU is older than those the library is made for");
  }
  RETURN_IF_FAILED(allocate(api, sizeof(Kernel), &memory));
  Kernel *kernel = memory;
  kernel->descriptor = descriptor;
  kernel->api = api;
  kernel->has_shape_data = api == __atomic_load_n(&api_with_shape_data, __ATOMIC_RELAXED);
  kernel->fast = fast;
  kernel->any = any;
  kernel->driver.launch = 0;
  kernel->contexts = 0;
  kernel->lock = 0;
  *created = kernel;
  return 0;
}

static void destroy_on_cpu(void *self) { release(((Kernel *)self)->api, self); }

static void destroy_on_gpu(void *self) {
  Kernel *kernel = self;
  if (kernel->contexts) {
    i32 (*unload)(void *) = (i32(*)(void *))driver_function("cuModuleUnload");
    for (i32 place = 0; unload && place < kernel->contexts; place++)
      unload(kernel->loaded[place].module); // where the context is gone already, so is the module
  }
  release(kernel->api, self);
}

#define CUSTOM_OP(compute, destroy)                                                                                    \
  {API_VERSION, 0, operator_name, operator_provider, input_type, input_count, output_type, output_count, 0, destroy,   \
   zero_for, zero_for, zero_for, one, one, one, one, create_kernel, compute, 0, one, no_end}

const CustomOp functions_on_cpu = CUSTOM_OP(compute_on_cpu, destroy_on_cpu);
const CustomOp functions_on_gpu = CUSTOM_OP(compute_on_gpu, destroy_on_gpu);

// Another registration writes the same once more, word by word: no thread ever sees anything else.
static void fill_in(Operator *self, const Descriptor *descriptor) {
  const u64 *source = (const u64 *)descriptor->functions;
  for (u64 word = 0; word < sizeof(CustomOp) / sizeof(u64); word++)
    __atomic_store_n((u64 *)&self->functions + word, source[word], __ATOMIC_RELAXED);
  __atomic_store_n(&self->descriptor, descriptor, __ATOMIC_RELAXED);
}

// Of "1.MINOR.…"; 0 of anything else.
static i32 minor_version(const char *version) {
  i32 minor = 0;
  if (version[0] != '1' || version[1] != '.') return 0;
  for (i32 place = 2; version[place] >= '0' && version[place] <= '9' && minor < 1000; place++)
    minor = 10 * minor + (version[place] - '0');
  return minor;
}

__attribute__((visibility("default"))) Status *RegisterCustomOps(void *options, const ApiBase *base) {
  const Api *api = base->get_api(API_VERSION);
  if (!api) {
    Message message;
    message.used = 0; // an initialiser would become a call of memset
    say(&message, "advisor.generated needs ONNX Runtime 1.17 or newer; this is ");
    say(&message, base->get_version());
    return create_status(base->get_api(1), NOT_IMPLEMENTED, message.text);
  }
  // Asked of the version's name: a version of the API that is not there would be complained of on standard error.
  if (minor_version(base->get_version()) >= API_WITH_SHAPE_DATA)
    __atomic_store_n(&api_with_shape_data, base->get_api(API_WITH_SHAPE_DATA), __ATOMIC_RELAXED);
  Domain *domain = 0;
  RETURN_IF_FAILED(FUNCTION(api, CREATE_CUSTOM_OP_DOMAIN, Status *, const char *, Domain **)(domain_name, &domain));
  for (i32 place = 0; place < descriptor_count; place++) {
    fill_in(&operators[place], &descriptors[place]);
    RETURN_IF_FAILED(
        FUNCTION(api, CUSTOM_OP_DOMAIN_ADD, Status *, Domain *, const Operator *)(domain, &operators[place]));
  }
  return FUNCTION(api, ADD_CUSTOM_OP_DOMAIN, Status *, void *, Domain *)(options, domain);
}
