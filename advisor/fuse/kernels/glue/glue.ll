; Made of glue.c by make_glue.py (make glue); do not edit.

%struct.Operator = type { %struct.CustomOp, ptr }
%struct.CustomOp = type { i32, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr }
%struct.Descriptor = type { ptr, ptr, ptr, ptr, [3 x ptr], [3 x ptr], i32, i32, i32, i32, [16 x %struct.Tensor] }
%struct.Tensor = type { i32, i32, i32, i32, ptr }
%struct.Kernel = type { ptr, ptr, i32, ptr, ptr, %struct.Driver, [8 x %struct.anon], i32, i32 }
%struct.Driver = type { ptr, ptr, ptr, ptr }
%struct.anon = type { ptr, ptr, ptr }
%struct.Job = type { ptr, ptr, i32, ptr, %struct.Layout, [16 x i64], [16 x i64], [16 x ptr], [16 x ptr], i64, i64, i64 }
%struct.Layout = type { i64, i64, i64, [8 x i64], [16 x %struct.anon.0] }
%struct.anon.0 = type { [8 x i64], i64 }
%struct.Message = type { i32, [400 x i8] }
%struct.ApiBase = type { ptr, ptr }
%struct.Api = type { [512 x ptr] }
%struct.Extents = type { i32, [8 x i64], [8 x i64] }
%struct.View = type { i64, i64, i32, i32, [8 x i64], [8 x i32] }

@find_library = hidden constant ptr @dlopen, align 8
@find_function = hidden constant ptr @dlsym, align 8
@functions_on_cpu = hidden constant { i32, [4 x i8], ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr } { i32 17, [4 x i8] zeroinitializer, ptr null, ptr @operator_name, ptr @operator_provider, ptr @input_type, ptr @input_count, ptr @output_type, ptr @output_count, ptr null, ptr @destroy_on_cpu, ptr @zero_for, ptr @zero_for, ptr @zero_for, ptr @one, ptr @one, ptr @one, ptr @one, ptr @create_kernel, ptr @compute_on_cpu, ptr null, ptr @one, ptr @no_end }, align 8
@functions_on_gpu = hidden constant { i32, [4 x i8], ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr } { i32 17, [4 x i8] zeroinitializer, ptr null, ptr @operator_name, ptr @operator_provider, ptr @input_type, ptr @input_count, ptr @output_type, ptr @output_count, ptr null, ptr @destroy_on_gpu, ptr @zero_for, ptr @zero_for, ptr @zero_for, ptr @one, ptr @one, ptr @one, ptr @one, ptr @create_kernel, ptr @compute_on_gpu, ptr null, ptr @one, ptr @no_end }, align 8
@.str = private unnamed_addr constant [61 x i8] c"advisor.generated needs ONNX Runtime 1.17 or newer; this is \00", align 1
@api_with_shape_data = internal global ptr null, align 8
@domain_name = external constant [0 x i8], align 1
@descriptor_count = external constant i32, align 4
@operators = external global [0 x %struct.Operator], align 8
@descriptors = external constant [0 x %struct.Descriptor], align 8
@.str.1 = private unnamed_addr constant [53 x i8] c"this CPU is older than those the library is made for\00", align 1
@.str.2 = private unnamed_addr constant [2 x i8] c".\00", align 1
@.str.3 = private unnamed_addr constant [3 x i8] c": \00", align 1
@.str.4 = private unnamed_addr constant [29 x i8] c"advisor.generated: no memory\00", align 1
@.str.5 = private unnamed_addr constant [20 x i8] c"an input is missing\00", align 1
@.str.6 = private unnamed_addr constant [29 x i8] c"a tensor of more than 8 axes\00", align 1
@.str.7 = private unnamed_addr constant [7 x i8] c"input \00", align 1
@.str.8 = private unnamed_addr constant [16 x i8] c" has the shape \00", align 1
@.str.9 = private unnamed_addr constant [36 x i8] c", for which the kernel was not made\00", align 1
@.str.10 = private unnamed_addr constant [2 x i8] c"[\00", align 1
@.str.11 = private unnamed_addr constant [2 x i8] c",\00", align 1
@.str.12 = private unnamed_addr constant [2 x i8] c"]\00", align 1
@.str.13 = private unnamed_addr constant [27 x i8] c" does not broadcast: axis \00", align 1
@.str.14 = private unnamed_addr constant [5 x i8] c" is \00", align 1
@.str.15 = private unnamed_addr constant [12 x i8] c" there and \00", align 1
@.str.16 = private unnamed_addr constant [35 x i8] c" in the shape of those before it, \00", align 1
@.str.17 = private unnamed_addr constant [44 x i8] c"the inputs have fewer axes than are reduced\00", align 1
@.str.18 = private unnamed_addr constant [28 x i8] c"ONNX Runtime gave no output\00", align 1
@.str.19 = private unnamed_addr constant [71 x i8] c"an input has several values a row, and an output that has one needs it\00", align 1
@.str.20 = private unnamed_addr constant [47 x i8] c"an input's reduced axes are no row of elements\00", align 1
@.str.21 = private unnamed_addr constant [15 x i8] c"cuModuleUnload\00", align 1
@.str.22 = private unnamed_addr constant [13 x i8] c"libcuda.so.1\00", align 1
@.str.23 = private unnamed_addr constant [15 x i8] c"cuLaunchKernel\00", align 1
@.str.24 = private unnamed_addr constant [16 x i8] c"cuCtxGetCurrent\00", align 1
@.str.25 = private unnamed_addr constant [46 x i8] c"one session runs in more than 8 CUDA contexts\00", align 1
@.str.26 = private unnamed_addr constant [19 x i8] c"cuModuleLoadDataEx\00", align 1
@.str.27 = private unnamed_addr constant [20 x i8] c"cuModuleGetFunction\00", align 1
@.str.28 = private unnamed_addr constant [68 x i8] c"libcuda.so.1 of the NVIDIA driver does not load or lacks a function\00", align 1
@.str.29 = private unnamed_addr constant [41 x i8] c" of the NVIDIA driver failed with error \00", align 1

declare extern_weak ptr @dlopen(ptr noundef, i32 noundef) #0

declare extern_weak ptr @dlsym(ptr noundef, ptr noundef) #0

; Function Attrs: nounwind uwtable
define internal ptr @operator_name(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw %struct.Operator, ptr %3, i32 0, i32 1
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw %struct.Descriptor, ptr %5, i32 0, i32 0
  %7 = load ptr, ptr %6, align 8
  ret ptr %7
}

; Function Attrs: nounwind uwtable
define internal ptr @operator_provider(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw %struct.Operator, ptr %3, i32 0, i32 1
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw %struct.Descriptor, ptr %5, i32 0, i32 1
  %7 = load ptr, ptr %6, align 8
  ret ptr %7
}

; Function Attrs: nounwind uwtable
define internal i32 @input_type(ptr noundef %0, i64 noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %5 = load ptr, ptr %3, align 8
  %6 = getelementptr inbounds nuw %struct.Operator, ptr %5, i32 0, i32 1
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw %struct.Descriptor, ptr %7, i32 0, i32 10
  %9 = load i64, ptr %4, align 8
  %10 = getelementptr inbounds nuw [16 x %struct.Tensor], ptr %8, i64 0, i64 %9
  %11 = getelementptr inbounds nuw %struct.Tensor, ptr %10, i32 0, i32 0
  %12 = load i32, ptr %11, align 8
  ret i32 %12
}

; Function Attrs: nounwind uwtable
define internal i64 @input_count(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw %struct.Operator, ptr %3, i32 0, i32 1
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw %struct.Descriptor, ptr %5, i32 0, i32 6
  %7 = load i32, ptr %6, align 8
  %8 = sext i32 %7 to i64
  ret i64 %8
}

; Function Attrs: nounwind uwtable
define internal i32 @output_type(ptr noundef %0, i64 noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %5 = load ptr, ptr %3, align 8
  %6 = getelementptr inbounds nuw %struct.Operator, ptr %5, i32 0, i32 1
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw %struct.Descriptor, ptr %7, i32 0, i32 10
  %9 = load ptr, ptr %3, align 8
  %10 = getelementptr inbounds nuw %struct.Operator, ptr %9, i32 0, i32 1
  %11 = load ptr, ptr %10, align 8
  %12 = getelementptr inbounds nuw %struct.Descriptor, ptr %11, i32 0, i32 6
  %13 = load i32, ptr %12, align 8
  %14 = sext i32 %13 to i64
  %15 = load i64, ptr %4, align 8
  %16 = add i64 %14, %15
  %17 = getelementptr inbounds nuw [16 x %struct.Tensor], ptr %8, i64 0, i64 %16
  %18 = getelementptr inbounds nuw %struct.Tensor, ptr %17, i32 0, i32 0
  %19 = load i32, ptr %18, align 8
  ret i32 %19
}

; Function Attrs: nounwind uwtable
define internal i64 @output_count(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw %struct.Operator, ptr %3, i32 0, i32 1
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw %struct.Descriptor, ptr %5, i32 0, i32 7
  %7 = load i32, ptr %6, align 4
  %8 = sext i32 %7 to i64
  ret i64 %8
}

; Function Attrs: nounwind uwtable
define internal void @destroy_on_cpu(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw %struct.Kernel, ptr %3, i32 0, i32 1
  %5 = load ptr, ptr %4, align 8
  %6 = load ptr, ptr %2, align 8
  call void @release(ptr noundef %5, ptr noundef %6) #2
  ret void
}

; Function Attrs: nounwind uwtable
define internal i32 @zero_for(ptr noundef %0, i64 noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  ret i32 0
}

; Function Attrs: nounwind uwtable
define internal i32 @one(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  ret i32 1
}

; Function Attrs: nounwind uwtable
define internal ptr @create_kernel(ptr noundef %0, ptr noundef %1, ptr noundef %2, ptr noundef %3) #1 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca ptr, align 8
  %12 = alloca ptr, align 8
  %13 = alloca ptr, align 8
  %14 = alloca i32, align 4
  %15 = alloca ptr, align 8
  %16 = alloca ptr, align 8
  %17 = alloca ptr, align 8
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store ptr %2, ptr %8, align 8
  store ptr %3, ptr %9, align 8
  %18 = load ptr, ptr %6, align 8
  %19 = getelementptr inbounds nuw %struct.Operator, ptr %18, i32 0, i32 1
  %20 = load ptr, ptr %19, align 8
  store ptr %20, ptr %10, align 8
  store ptr null, ptr %11, align 8
  %21 = load ptr, ptr %9, align 8
  store ptr null, ptr %21, align 8
  store ptr null, ptr %12, align 8
  store ptr null, ptr %13, align 8
  %22 = load ptr, ptr %10, align 8
  %23 = getelementptr inbounds nuw %struct.Descriptor, ptr %22, i32 0, i32 2
  %24 = load ptr, ptr %23, align 8
  %25 = icmp ne ptr %24, null
  br i1 %25, label %61, label %26

26:                                               ; preds = %4
  %27 = call i32 @cpu_level() #2
  store i32 %27, ptr %14, align 4
  br label %28

28:                                               ; preds = %50, %26
  %29 = load i32, ptr %14, align 4
  %30 = icmp sge i32 %29, 0
  br i1 %30, label %31, label %35

31:                                               ; preds = %28
  %32 = load ptr, ptr %12, align 8
  %33 = icmp ne ptr %32, null
  %34 = xor i1 %33, true
  br label %35

35:                                               ; preds = %31, %28
  %36 = phi i1 [ false, %28 ], [ %34, %31 ]
  br i1 %36, label %37, label %53

37:                                               ; preds = %35
  %38 = load ptr, ptr %10, align 8
  %39 = getelementptr inbounds nuw %struct.Descriptor, ptr %38, i32 0, i32 4
  %40 = load i32, ptr %14, align 4
  %41 = sext i32 %40 to i64
  %42 = getelementptr inbounds [3 x ptr], ptr %39, i64 0, i64 %41
  %43 = load ptr, ptr %42, align 8
  store ptr %43, ptr %12, align 8
  %44 = load ptr, ptr %10, align 8
  %45 = getelementptr inbounds nuw %struct.Descriptor, ptr %44, i32 0, i32 5
  %46 = load i32, ptr %14, align 4
  %47 = sext i32 %46 to i64
  %48 = getelementptr inbounds [3 x ptr], ptr %45, i64 0, i64 %47
  %49 = load ptr, ptr %48, align 8
  store ptr %49, ptr %13, align 8
  br label %50

50:                                               ; preds = %37
  %51 = load i32, ptr %14, align 4
  %52 = add nsw i32 %51, -1
  store i32 %52, ptr %14, align 4
  br label %28

53:                                               ; preds = %35
  %54 = load ptr, ptr %12, align 8
  %55 = icmp ne ptr %54, null
  br i1 %55, label %60, label %56

56:                                               ; preds = %53
  %57 = load ptr, ptr %7, align 8
  %58 = load ptr, ptr %10, align 8
  %59 = call ptr @complain(ptr noundef %57, ptr noundef %58, i32 noundef 9, ptr noundef @.str.1) #2
  store ptr %59, ptr %5, align 8
  br label %100

60:                                               ; preds = %53
  br label %61

61:                                               ; preds = %60, %4
  br label %62

62:                                               ; preds = %61
  %63 = load ptr, ptr %7, align 8
  %64 = call ptr @allocate(ptr noundef %63, i64 noundef 272, ptr noundef %11) #2
  store ptr %64, ptr %15, align 8
  %65 = load ptr, ptr %15, align 8
  %66 = icmp ne ptr %65, null
  br i1 %66, label %67, label %69

67:                                               ; preds = %62
  %68 = load ptr, ptr %15, align 8
  store ptr %68, ptr %5, align 8
  br label %100

69:                                               ; preds = %62
  br label %70

70:                                               ; preds = %69
  %71 = load ptr, ptr %11, align 8
  store ptr %71, ptr %16, align 8
  %72 = load ptr, ptr %10, align 8
  %73 = load ptr, ptr %16, align 8
  %74 = getelementptr inbounds nuw %struct.Kernel, ptr %73, i32 0, i32 0
  store ptr %72, ptr %74, align 8
  %75 = load ptr, ptr %7, align 8
  %76 = load ptr, ptr %16, align 8
  %77 = getelementptr inbounds nuw %struct.Kernel, ptr %76, i32 0, i32 1
  store ptr %75, ptr %77, align 8
  %78 = load ptr, ptr %7, align 8
  %79 = load atomic i64, ptr @api_with_shape_data monotonic, align 8
  store i64 %79, ptr %17, align 8
  %80 = load ptr, ptr %17, align 8
  %81 = icmp eq ptr %78, %80
  %82 = zext i1 %81 to i32
  %83 = load ptr, ptr %16, align 8
  %84 = getelementptr inbounds nuw %struct.Kernel, ptr %83, i32 0, i32 2
  store i32 %82, ptr %84, align 8
  %85 = load ptr, ptr %12, align 8
  %86 = load ptr, ptr %16, align 8
  %87 = getelementptr inbounds nuw %struct.Kernel, ptr %86, i32 0, i32 3
  store ptr %85, ptr %87, align 8
  %88 = load ptr, ptr %13, align 8
  %89 = load ptr, ptr %16, align 8
  %90 = getelementptr inbounds nuw %struct.Kernel, ptr %89, i32 0, i32 4
  store ptr %88, ptr %90, align 8
  %91 = load ptr, ptr %16, align 8
  %92 = getelementptr inbounds nuw %struct.Kernel, ptr %91, i32 0, i32 5
  %93 = getelementptr inbounds nuw %struct.Driver, ptr %92, i32 0, i32 3
  store ptr null, ptr %93, align 8
  %94 = load ptr, ptr %16, align 8
  %95 = getelementptr inbounds nuw %struct.Kernel, ptr %94, i32 0, i32 7
  store i32 0, ptr %95, align 8
  %96 = load ptr, ptr %16, align 8
  %97 = getelementptr inbounds nuw %struct.Kernel, ptr %96, i32 0, i32 8
  store i32 0, ptr %97, align 4
  %98 = load ptr, ptr %16, align 8
  %99 = load ptr, ptr %9, align 8
  store ptr %98, ptr %99, align 8
  store ptr null, ptr %5, align 8
  br label %100

100:                                              ; preds = %70, %67, %56
  %101 = load ptr, ptr %5, align 8
  ret ptr %101
}

; Function Attrs: nounwind uwtable
define internal ptr @compute_on_cpu(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca %struct.Job, align 8
  %7 = alloca i32, align 4
  %8 = alloca ptr, align 8
  %9 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %10 = load ptr, ptr %3, align 8
  store ptr %10, ptr %5, align 8
  %11 = load ptr, ptr %5, align 8
  call void @begin(ptr noundef %6, ptr noundef %11) #2
  store i32 0, ptr %7, align 4
  br label %12

12:                                               ; preds = %25, %2
  %13 = load i32, ptr %7, align 4
  %14 = load ptr, ptr %5, align 8
  %15 = getelementptr inbounds nuw %struct.Kernel, ptr %14, i32 0, i32 0
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds nuw %struct.Descriptor, ptr %16, i32 0, i32 6
  %18 = load i32, ptr %17, align 8
  %19 = icmp slt i32 %13, %18
  br i1 %19, label %20, label %28

20:                                               ; preds = %12
  %21 = getelementptr inbounds nuw %struct.Job, ptr %6, i32 0, i32 8
  %22 = load i32, ptr %7, align 4
  %23 = sext i32 %22 to i64
  %24 = getelementptr inbounds [16 x ptr], ptr %21, i64 0, i64 %23
  store ptr null, ptr %24, align 8
  br label %25

25:                                               ; preds = %20
  %26 = load i32, ptr %7, align 4
  %27 = add nsw i32 %26, 1
  store i32 %27, ptr %7, align 4
  br label %12

28:                                               ; preds = %12
  %29 = load ptr, ptr %4, align 8
  %30 = call ptr @prepare(ptr noundef %6, ptr noundef %29, i32 noundef 1) #2
  store ptr %30, ptr %8, align 8
  %31 = load ptr, ptr %8, align 8
  %32 = icmp ne ptr %31, null
  br i1 %32, label %42, label %33

33:                                               ; preds = %28
  %34 = getelementptr inbounds nuw %struct.Job, ptr %6, i32 0, i32 4
  %35 = getelementptr inbounds nuw %struct.Layout, ptr %34, i32 0, i32 0
  %36 = load i64, ptr %35, align 8
  %37 = icmp ne i64 %36, 0
  br i1 %37, label %38, label %42

38:                                               ; preds = %33
  %39 = load ptr, ptr %5, align 8
  %40 = load ptr, ptr %4, align 8
  %41 = call ptr @run(ptr noundef %6, ptr noundef %39, ptr noundef %40) #2
  store ptr %41, ptr %8, align 8
  br label %42

42:                                               ; preds = %38, %33, %28
  store i32 0, ptr %9, align 4
  br label %43

43:                                               ; preds = %59, %42
  %44 = load i32, ptr %9, align 4
  %45 = getelementptr inbounds nuw %struct.Job, ptr %6, i32 0, i32 1
  %46 = load ptr, ptr %45, align 8
  %47 = getelementptr inbounds nuw %struct.Descriptor, ptr %46, i32 0, i32 6
  %48 = load i32, ptr %47, align 8
  %49 = icmp slt i32 %44, %48
  br i1 %49, label %50, label %62

50:                                               ; preds = %43
  %51 = load ptr, ptr %5, align 8
  %52 = getelementptr inbounds nuw %struct.Kernel, ptr %51, i32 0, i32 1
  %53 = load ptr, ptr %52, align 8
  %54 = getelementptr inbounds nuw %struct.Job, ptr %6, i32 0, i32 8
  %55 = load i32, ptr %9, align 4
  %56 = sext i32 %55 to i64
  %57 = getelementptr inbounds [16 x ptr], ptr %54, i64 0, i64 %56
  %58 = load ptr, ptr %57, align 8
  call void @release(ptr noundef %53, ptr noundef %58) #2
  br label %59

59:                                               ; preds = %50
  %60 = load i32, ptr %9, align 4
  %61 = add nsw i32 %60, 1
  store i32 %61, ptr %9, align 4
  br label %43

62:                                               ; preds = %43
  %63 = load ptr, ptr %8, align 8
  ret ptr %63
}

; Function Attrs: nounwind uwtable
define internal i32 @no_end(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  ret i32 2147483647
}

; Function Attrs: nounwind uwtable
define internal void @destroy_on_gpu(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  store ptr %0, ptr %2, align 8
  %6 = load ptr, ptr %2, align 8
  store ptr %6, ptr %3, align 8
  %7 = load ptr, ptr %3, align 8
  %8 = getelementptr inbounds nuw %struct.Kernel, ptr %7, i32 0, i32 7
  %9 = load i32, ptr %8, align 8
  %10 = icmp ne i32 %9, 0
  br i1 %10, label %11, label %38

11:                                               ; preds = %1
  %12 = call ptr @driver_function(ptr noundef @.str.21) #2
  store ptr %12, ptr %4, align 8
  store i32 0, ptr %5, align 4
  br label %13

13:                                               ; preds = %34, %11
  %14 = load ptr, ptr %4, align 8
  %15 = icmp ne ptr %14, null
  br i1 %15, label %16, label %22

16:                                               ; preds = %13
  %17 = load i32, ptr %5, align 4
  %18 = load ptr, ptr %3, align 8
  %19 = getelementptr inbounds nuw %struct.Kernel, ptr %18, i32 0, i32 7
  %20 = load i32, ptr %19, align 8
  %21 = icmp slt i32 %17, %20
  br label %22

22:                                               ; preds = %16, %13
  %23 = phi i1 [ false, %13 ], [ %21, %16 ]
  br i1 %23, label %24, label %37

24:                                               ; preds = %22
  %25 = load ptr, ptr %4, align 8
  %26 = load ptr, ptr %3, align 8
  %27 = getelementptr inbounds nuw %struct.Kernel, ptr %26, i32 0, i32 6
  %28 = load i32, ptr %5, align 4
  %29 = sext i32 %28 to i64
  %30 = getelementptr inbounds [8 x %struct.anon], ptr %27, i64 0, i64 %29
  %31 = getelementptr inbounds nuw %struct.anon, ptr %30, i32 0, i32 1
  %32 = load ptr, ptr %31, align 8
  %33 = call i32 %25(ptr noundef %32) #2
  br label %34

34:                                               ; preds = %24
  %35 = load i32, ptr %5, align 4
  %36 = add nsw i32 %35, 1
  store i32 %36, ptr %5, align 4
  br label %13

37:                                               ; preds = %22
  br label %38

38:                                               ; preds = %37, %1
  %39 = load ptr, ptr %3, align 8
  %40 = getelementptr inbounds nuw %struct.Kernel, ptr %39, i32 0, i32 1
  %41 = load ptr, ptr %40, align 8
  %42 = load ptr, ptr %2, align 8
  call void @release(ptr noundef %41, ptr noundef %42) #2
  ret void
}

; Function Attrs: nounwind uwtable
define internal ptr @compute_on_gpu(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca %struct.Job, align 8
  %8 = alloca ptr, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  %9 = load ptr, ptr %4, align 8
  store ptr %9, ptr %6, align 8
  %10 = load ptr, ptr %6, align 8
  call void @begin(ptr noundef %7, ptr noundef %10) #2
  br label %11

11:                                               ; preds = %2
  %12 = load ptr, ptr %5, align 8
  %13 = call ptr @prepare(ptr noundef %7, ptr noundef %12, i32 noundef 0) #2
  store ptr %13, ptr %8, align 8
  %14 = load ptr, ptr %8, align 8
  %15 = icmp ne ptr %14, null
  br i1 %15, label %16, label %18

16:                                               ; preds = %11
  %17 = load ptr, ptr %8, align 8
  store ptr %17, ptr %3, align 8
  br label %31

18:                                               ; preds = %11
  br label %19

19:                                               ; preds = %18
  %20 = getelementptr inbounds nuw %struct.Job, ptr %7, i32 0, i32 4
  %21 = getelementptr inbounds nuw %struct.Layout, ptr %20, i32 0, i32 0
  %22 = load i64, ptr %21, align 8
  %23 = icmp ne i64 %22, 0
  br i1 %23, label %24, label %28

24:                                               ; preds = %19
  %25 = load ptr, ptr %6, align 8
  %26 = load ptr, ptr %5, align 8
  %27 = call ptr @launch(ptr noundef %25, ptr noundef %7, ptr noundef %26) #2
  br label %29

28:                                               ; preds = %19
  br label %29

29:                                               ; preds = %28, %24
  %30 = phi ptr [ %27, %24 ], [ null, %28 ]
  store ptr %30, ptr %3, align 8
  br label %31

31:                                               ; preds = %29, %16
  %32 = load ptr, ptr %3, align 8
  ret ptr %32
}

; Function Attrs: nounwind uwtable
define ptr @RegisterCustomOps(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca %struct.Message, align 4
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca i32, align 4
  %12 = alloca ptr, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  %13 = load ptr, ptr %5, align 8
  %14 = getelementptr inbounds nuw %struct.ApiBase, ptr %13, i32 0, i32 0
  %15 = load ptr, ptr %14, align 8
  %16 = call ptr %15(i32 noundef 17) #2
  store ptr %16, ptr %6, align 8
  %17 = load ptr, ptr %6, align 8
  %18 = icmp ne ptr %17, null
  br i1 %18, label %32, label %19

19:                                               ; preds = %2
  %20 = getelementptr inbounds nuw %struct.Message, ptr %7, i32 0, i32 0
  store i32 0, ptr %20, align 4
  call void @say(ptr noundef %7, ptr noundef @.str) #2
  %21 = load ptr, ptr %5, align 8
  %22 = getelementptr inbounds nuw %struct.ApiBase, ptr %21, i32 0, i32 1
  %23 = load ptr, ptr %22, align 8
  %24 = call ptr %23() #2
  call void @say(ptr noundef %7, ptr noundef %24) #2
  %25 = load ptr, ptr %5, align 8
  %26 = getelementptr inbounds nuw %struct.ApiBase, ptr %25, i32 0, i32 0
  %27 = load ptr, ptr %26, align 8
  %28 = call ptr %27(i32 noundef 1) #2
  %29 = getelementptr inbounds nuw %struct.Message, ptr %7, i32 0, i32 1
  %30 = getelementptr inbounds [400 x i8], ptr %29, i64 0, i64 0
  %31 = call ptr @create_status(ptr noundef %28, i32 noundef 9, ptr noundef %30) #2
  store ptr %31, ptr %3, align 8
  br label %96

32:                                               ; preds = %2
  %33 = load ptr, ptr %5, align 8
  %34 = getelementptr inbounds nuw %struct.ApiBase, ptr %33, i32 0, i32 1
  %35 = load ptr, ptr %34, align 8
  %36 = call ptr %35() #2
  %37 = call i32 @minor_version(ptr noundef %36) #2
  %38 = icmp sge i32 %37, 24
  br i1 %38, label %39, label %45

39:                                               ; preds = %32
  %40 = load ptr, ptr %5, align 8
  %41 = getelementptr inbounds nuw %struct.ApiBase, ptr %40, i32 0, i32 0
  %42 = load ptr, ptr %41, align 8
  %43 = call ptr %42(i32 noundef 24) #2
  store ptr %43, ptr %8, align 8
  %44 = load i64, ptr %8, align 8
  store atomic i64 %44, ptr @api_with_shape_data monotonic, align 8
  br label %45

45:                                               ; preds = %39, %32
  store ptr null, ptr %9, align 8
  br label %46

46:                                               ; preds = %45
  %47 = load ptr, ptr %6, align 8
  %48 = getelementptr inbounds nuw %struct.Api, ptr %47, i32 0, i32 0
  %49 = getelementptr inbounds [512 x ptr], ptr %48, i64 0, i64 26
  %50 = load ptr, ptr %49, align 8
  %51 = call ptr %50(ptr noundef @domain_name, ptr noundef %9) #2
  store ptr %51, ptr %10, align 8
  %52 = load ptr, ptr %10, align 8
  %53 = icmp ne ptr %52, null
  br i1 %53, label %54, label %56

54:                                               ; preds = %46
  %55 = load ptr, ptr %10, align 8
  store ptr %55, ptr %3, align 8
  br label %96

56:                                               ; preds = %46
  br label %57

57:                                               ; preds = %56
  store i32 0, ptr %11, align 4
  br label %58

58:                                               ; preds = %85, %57
  %59 = load i32, ptr %11, align 4
  %60 = load i32, ptr @descriptor_count, align 4
  %61 = icmp slt i32 %59, %60
  br i1 %61, label %62, label %88

62:                                               ; preds = %58
  %63 = load i32, ptr %11, align 4
  %64 = sext i32 %63 to i64
  %65 = getelementptr inbounds [0 x %struct.Operator], ptr @operators, i64 0, i64 %64
  %66 = load i32, ptr %11, align 4
  %67 = sext i32 %66 to i64
  %68 = getelementptr inbounds [0 x %struct.Descriptor], ptr @descriptors, i64 0, i64 %67
  call void @fill_in(ptr noundef %65, ptr noundef %68) #2
  br label %69

69:                                               ; preds = %62
  %70 = load ptr, ptr %6, align 8
  %71 = getelementptr inbounds nuw %struct.Api, ptr %70, i32 0, i32 0
  %72 = getelementptr inbounds [512 x ptr], ptr %71, i64 0, i64 27
  %73 = load ptr, ptr %72, align 8
  %74 = load ptr, ptr %9, align 8
  %75 = load i32, ptr %11, align 4
  %76 = sext i32 %75 to i64
  %77 = getelementptr inbounds [0 x %struct.Operator], ptr @operators, i64 0, i64 %76
  %78 = call ptr %73(ptr noundef %74, ptr noundef %77) #2
  store ptr %78, ptr %12, align 8
  %79 = load ptr, ptr %12, align 8
  %80 = icmp ne ptr %79, null
  br i1 %80, label %81, label %83

81:                                               ; preds = %69
  %82 = load ptr, ptr %12, align 8
  store ptr %82, ptr %3, align 8
  br label %96

83:                                               ; preds = %69
  br label %84

84:                                               ; preds = %83
  br label %85

85:                                               ; preds = %84
  %86 = load i32, ptr %11, align 4
  %87 = add nsw i32 %86, 1
  store i32 %87, ptr %11, align 4
  br label %58

88:                                               ; preds = %58
  %89 = load ptr, ptr %6, align 8
  %90 = getelementptr inbounds nuw %struct.Api, ptr %89, i32 0, i32 0
  %91 = getelementptr inbounds [512 x ptr], ptr %90, i64 0, i64 28
  %92 = load ptr, ptr %91, align 8
  %93 = load ptr, ptr %4, align 8
  %94 = load ptr, ptr %9, align 8
  %95 = call ptr %92(ptr noundef %93, ptr noundef %94) #2
  store ptr %95, ptr %3, align 8
  br label %96

96:                                               ; preds = %88, %81, %54, %19
  %97 = load ptr, ptr %3, align 8
  ret ptr %97
}

; Function Attrs: nounwind uwtable
define internal void @say(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  br label %5

5:                                                ; preds = %17, %2
  %6 = load ptr, ptr %4, align 8
  %7 = load i8, ptr %6, align 1
  %8 = sext i8 %7 to i32
  %9 = icmp ne i32 %8, 0
  br i1 %9, label %10, label %15

10:                                               ; preds = %5
  %11 = load ptr, ptr %3, align 8
  %12 = getelementptr inbounds nuw %struct.Message, ptr %11, i32 0, i32 0
  %13 = load i32, ptr %12, align 4
  %14 = icmp slt i32 %13, 399
  br label %15

15:                                               ; preds = %10, %5
  %16 = phi i1 [ false, %5 ], [ %14, %10 ]
  br i1 %16, label %17, label %29

17:                                               ; preds = %15
  %18 = load ptr, ptr %4, align 8
  %19 = getelementptr inbounds nuw i8, ptr %18, i32 1
  store ptr %19, ptr %4, align 8
  %20 = load i8, ptr %18, align 1
  %21 = load ptr, ptr %3, align 8
  %22 = getelementptr inbounds nuw %struct.Message, ptr %21, i32 0, i32 1
  %23 = load ptr, ptr %3, align 8
  %24 = getelementptr inbounds nuw %struct.Message, ptr %23, i32 0, i32 0
  %25 = load i32, ptr %24, align 4
  %26 = add nsw i32 %25, 1
  store i32 %26, ptr %24, align 4
  %27 = sext i32 %25 to i64
  %28 = getelementptr inbounds [400 x i8], ptr %22, i64 0, i64 %27
  store i8 %20, ptr %28, align 1
  br label %5

29:                                               ; preds = %15
  %30 = load ptr, ptr %3, align 8
  %31 = getelementptr inbounds nuw %struct.Message, ptr %30, i32 0, i32 1
  %32 = load ptr, ptr %3, align 8
  %33 = getelementptr inbounds nuw %struct.Message, ptr %32, i32 0, i32 0
  %34 = load i32, ptr %33, align 4
  %35 = sext i32 %34 to i64
  %36 = getelementptr inbounds [400 x i8], ptr %31, i64 0, i64 %35
  store i8 0, ptr %36, align 1
  ret void
}

; Function Attrs: nounwind uwtable
define internal ptr @create_status(ptr noundef %0, i32 noundef %1, ptr noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  %6 = alloca ptr, align 8
  store ptr %0, ptr %4, align 8
  store i32 %1, ptr %5, align 4
  store ptr %2, ptr %6, align 8
  %7 = load ptr, ptr %4, align 8
  %8 = getelementptr inbounds nuw %struct.Api, ptr %7, i32 0, i32 0
  %9 = getelementptr inbounds [512 x ptr], ptr %8, i64 0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = load i32, ptr %5, align 4
  %12 = load ptr, ptr %6, align 8
  %13 = call ptr %10(i32 noundef %11, ptr noundef %12) #2
  ret ptr %13
}

; Function Attrs: nounwind uwtable
define internal i32 @minor_version(ptr noundef %0) #1 {
  %2 = alloca i32, align 4
  %3 = alloca ptr, align 8
  %4 = alloca i32, align 4
  %5 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
  store i32 0, ptr %4, align 4
  %6 = load ptr, ptr %3, align 8
  %7 = getelementptr inbounds i8, ptr %6, i64 0
  %8 = load i8, ptr %7, align 1
  %9 = sext i8 %8 to i32
  %10 = icmp ne i32 %9, 49
  br i1 %10, label %17, label %11

11:                                               ; preds = %1
  %12 = load ptr, ptr %3, align 8
  %13 = getelementptr inbounds i8, ptr %12, i64 1
  %14 = load i8, ptr %13, align 1
  %15 = sext i8 %14 to i32
  %16 = icmp ne i32 %15, 46
  br i1 %16, label %17, label %18

17:                                               ; preds = %11, %1
  store i32 0, ptr %2, align 4
  br label %56

18:                                               ; preds = %11
  store i32 2, ptr %5, align 4
  br label %19

19:                                               ; preds = %51, %18
  %20 = load ptr, ptr %3, align 8
  %21 = load i32, ptr %5, align 4
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i8, ptr %20, i64 %22
  %24 = load i8, ptr %23, align 1
  %25 = sext i8 %24 to i32
  %26 = icmp sge i32 %25, 48
  br i1 %26, label %27, label %38

27:                                               ; preds = %19
  %28 = load ptr, ptr %3, align 8
  %29 = load i32, ptr %5, align 4
  %30 = sext i32 %29 to i64
  %31 = getelementptr inbounds i8, ptr %28, i64 %30
  %32 = load i8, ptr %31, align 1
  %33 = sext i8 %32 to i32
  %34 = icmp sle i32 %33, 57
  br i1 %34, label %35, label %38

35:                                               ; preds = %27
  %36 = load i32, ptr %4, align 4
  %37 = icmp slt i32 %36, 1000
  br label %38

38:                                               ; preds = %35, %27, %19
  %39 = phi i1 [ false, %27 ], [ false, %19 ], [ %37, %35 ]
  br i1 %39, label %40, label %54

40:                                               ; preds = %38
  %41 = load i32, ptr %4, align 4
  %42 = mul nsw i32 10, %41
  %43 = load ptr, ptr %3, align 8
  %44 = load i32, ptr %5, align 4
  %45 = sext i32 %44 to i64
  %46 = getelementptr inbounds i8, ptr %43, i64 %45
  %47 = load i8, ptr %46, align 1
  %48 = sext i8 %47 to i32
  %49 = sub nsw i32 %48, 48
  %50 = add nsw i32 %42, %49
  store i32 %50, ptr %4, align 4
  br label %51

51:                                               ; preds = %40
  %52 = load i32, ptr %5, align 4
  %53 = add nsw i32 %52, 1
  store i32 %53, ptr %5, align 4
  br label %19

54:                                               ; preds = %38
  %55 = load i32, ptr %4, align 4
  store i32 %55, ptr %2, align 4
  br label %56

56:                                               ; preds = %54, %17
  %57 = load i32, ptr %2, align 4
  ret i32 %57
}

; Function Attrs: nounwind uwtable
define internal void @fill_in(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %9 = load ptr, ptr %4, align 8
  %10 = getelementptr inbounds nuw %struct.Descriptor, ptr %9, i32 0, i32 3
  %11 = load ptr, ptr %10, align 8
  store ptr %11, ptr %5, align 8
  store i64 0, ptr %6, align 8
  br label %12

12:                                               ; preds = %25, %2
  %13 = load i64, ptr %6, align 8
  %14 = icmp ult i64 %13, 22
  br i1 %14, label %15, label %28

15:                                               ; preds = %12
  %16 = load ptr, ptr %3, align 8
  %17 = getelementptr inbounds nuw %struct.Operator, ptr %16, i32 0, i32 0
  %18 = load i64, ptr %6, align 8
  %19 = getelementptr inbounds nuw i64, ptr %17, i64 %18
  %20 = load ptr, ptr %5, align 8
  %21 = load i64, ptr %6, align 8
  %22 = getelementptr inbounds nuw i64, ptr %20, i64 %21
  %23 = load i64, ptr %22, align 8
  store i64 %23, ptr %7, align 8
  %24 = load i64, ptr %7, align 8
  store atomic i64 %24, ptr %19 monotonic, align 8
  br label %25

25:                                               ; preds = %15
  %26 = load i64, ptr %6, align 8
  %27 = add i64 %26, 1
  store i64 %27, ptr %6, align 8
  br label %12

28:                                               ; preds = %12
  %29 = load ptr, ptr %3, align 8
  %30 = getelementptr inbounds nuw %struct.Operator, ptr %29, i32 0, i32 1
  %31 = load ptr, ptr %4, align 8
  store ptr %31, ptr %8, align 8
  %32 = load i64, ptr %8, align 8
  store atomic i64 %32, ptr %30 monotonic, align 8
  ret void
}

; Function Attrs: nounwind uwtable
define internal void @release(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %6 = load ptr, ptr %4, align 8
  %7 = icmp ne ptr %6, null
  br i1 %7, label %8, label %20

8:                                                ; preds = %2
  %9 = load ptr, ptr %3, align 8
  %10 = call ptr @allocator_of(ptr noundef %9, ptr noundef %5) #2
  %11 = icmp ne ptr %10, null
  br i1 %11, label %20, label %12

12:                                               ; preds = %8
  %13 = load ptr, ptr %3, align 8
  %14 = getelementptr inbounds nuw %struct.Api, ptr %13, i32 0, i32 0
  %15 = getelementptr inbounds [512 x ptr], ptr %14, i64 0, i64 76
  %16 = load ptr, ptr %15, align 8
  %17 = load ptr, ptr %5, align 8
  %18 = load ptr, ptr %4, align 8
  %19 = call ptr %16(ptr noundef %17, ptr noundef %18) #2
  br label %20

20:                                               ; preds = %12, %8, %2
  ret void
}

; Function Attrs: nounwind uwtable
define internal ptr @allocator_of(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %5 = load ptr, ptr %3, align 8
  %6 = getelementptr inbounds nuw %struct.Api, ptr %5, i32 0, i32 0
  %7 = getelementptr inbounds [512 x ptr], ptr %6, i64 0, i64 78
  %8 = load ptr, ptr %7, align 8
  %9 = load ptr, ptr %4, align 8
  %10 = call ptr %8(ptr noundef %9) #2
  ret ptr %10
}

declare i32 @cpu_level() #0

; Function Attrs: nounwind uwtable
define internal ptr @complain(ptr noundef %0, ptr noundef %1, i32 noundef %2, ptr noundef %3) #1 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i32, align 4
  %8 = alloca ptr, align 8
  %9 = alloca %struct.Message, align 4
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store i32 %2, ptr %7, align 4
  store ptr %3, ptr %8, align 8
  %10 = load ptr, ptr %6, align 8
  call void @say_operator(ptr noundef %9, ptr noundef %10) #2
  %11 = load ptr, ptr %8, align 8
  call void @say(ptr noundef %9, ptr noundef %11) #2
  %12 = load ptr, ptr %5, align 8
  %13 = load i32, ptr %7, align 4
  %14 = getelementptr inbounds nuw %struct.Message, ptr %9, i32 0, i32 1
  %15 = getelementptr inbounds [400 x i8], ptr %14, i64 0, i64 0
  %16 = call ptr @create_status(ptr noundef %12, i32 noundef %13, ptr noundef %15) #2
  ret ptr %16
}

; Function Attrs: nounwind uwtable
define internal ptr @allocate(ptr noundef %0, i64 noundef %1, ptr noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  store ptr %0, ptr %5, align 8
  store i64 %1, ptr %6, align 8
  store ptr %2, ptr %7, align 8
  br label %11

11:                                               ; preds = %3
  %12 = load ptr, ptr %5, align 8
  %13 = call ptr @allocator_of(ptr noundef %12, ptr noundef %8) #2
  store ptr %13, ptr %9, align 8
  %14 = load ptr, ptr %9, align 8
  %15 = icmp ne ptr %14, null
  br i1 %15, label %16, label %18

16:                                               ; preds = %11
  %17 = load ptr, ptr %9, align 8
  store ptr %17, ptr %4, align 8
  br label %44

18:                                               ; preds = %11
  br label %19

19:                                               ; preds = %18
  br label %20

20:                                               ; preds = %19
  %21 = load ptr, ptr %5, align 8
  %22 = getelementptr inbounds nuw %struct.Api, ptr %21, i32 0, i32 0
  %23 = getelementptr inbounds [512 x ptr], ptr %22, i64 0, i64 75
  %24 = load ptr, ptr %23, align 8
  %25 = load ptr, ptr %8, align 8
  %26 = load i64, ptr %6, align 8
  %27 = load ptr, ptr %7, align 8
  %28 = call ptr %24(ptr noundef %25, i64 noundef %26, ptr noundef %27) #2
  store ptr %28, ptr %10, align 8
  %29 = load ptr, ptr %10, align 8
  %30 = icmp ne ptr %29, null
  br i1 %30, label %31, label %33

31:                                               ; preds = %20
  %32 = load ptr, ptr %10, align 8
  store ptr %32, ptr %4, align 8
  br label %44

33:                                               ; preds = %20
  br label %34

34:                                               ; preds = %33
  %35 = load ptr, ptr %7, align 8
  %36 = load ptr, ptr %35, align 8
  %37 = icmp ne ptr %36, null
  br i1 %37, label %38, label %39

38:                                               ; preds = %34
  br label %42

39:                                               ; preds = %34
  %40 = load ptr, ptr %5, align 8
  %41 = call ptr @create_status(ptr noundef %40, i32 noundef 6, ptr noundef @.str.4) #2
  br label %42

42:                                               ; preds = %39, %38
  %43 = phi ptr [ null, %38 ], [ %41, %39 ]
  store ptr %43, ptr %4, align 8
  br label %44

44:                                               ; preds = %42, %31, %16
  %45 = load ptr, ptr %4, align 8
  ret ptr %45
}

; Function Attrs: nounwind uwtable
define internal void @say_operator(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %5 = load ptr, ptr %3, align 8
  %6 = getelementptr inbounds nuw %struct.Message, ptr %5, i32 0, i32 0
  store i32 0, ptr %6, align 4
  %7 = load ptr, ptr %3, align 8
  call void @say(ptr noundef %7, ptr noundef @domain_name) #2
  %8 = load ptr, ptr %3, align 8
  call void @say(ptr noundef %8, ptr noundef @.str.2) #2
  %9 = load ptr, ptr %3, align 8
  %10 = load ptr, ptr %4, align 8
  %11 = getelementptr inbounds nuw %struct.Descriptor, ptr %10, i32 0, i32 0
  %12 = load ptr, ptr %11, align 8
  call void @say(ptr noundef %9, ptr noundef %12) #2
  %13 = load ptr, ptr %3, align 8
  call void @say(ptr noundef %13, ptr noundef @.str.3) #2
  ret void
}

; Function Attrs: nounwind uwtable
define internal void @begin(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw %struct.Kernel, ptr %5, i32 0, i32 1
  %7 = load ptr, ptr %6, align 8
  %8 = load ptr, ptr %3, align 8
  %9 = getelementptr inbounds nuw %struct.Job, ptr %8, i32 0, i32 0
  store ptr %7, ptr %9, align 8
  %10 = load ptr, ptr %4, align 8
  %11 = getelementptr inbounds nuw %struct.Kernel, ptr %10, i32 0, i32 0
  %12 = load ptr, ptr %11, align 8
  %13 = load ptr, ptr %3, align 8
  %14 = getelementptr inbounds nuw %struct.Job, ptr %13, i32 0, i32 1
  store ptr %12, ptr %14, align 8
  %15 = load ptr, ptr %4, align 8
  %16 = getelementptr inbounds nuw %struct.Kernel, ptr %15, i32 0, i32 2
  %17 = load i32, ptr %16, align 8
  %18 = load ptr, ptr %3, align 8
  %19 = getelementptr inbounds nuw %struct.Job, ptr %18, i32 0, i32 2
  store i32 %17, ptr %19, align 8
  ret void
}

; Function Attrs: nounwind uwtable
define internal ptr @prepare(ptr noundef %0, ptr noundef %1, i32 noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i32, align 4
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca [16 x %struct.Extents], align 16
  %11 = alloca %struct.Extents, align 8
  %12 = alloca i32, align 4
  %13 = alloca ptr, align 8
  %14 = alloca ptr, align 8
  %15 = alloca i32, align 4
  %16 = alloca ptr, align 8
  %17 = alloca i32, align 4
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store i32 %2, ptr %7, align 4
  %18 = load ptr, ptr %5, align 8
  %19 = getelementptr inbounds nuw %struct.Job, ptr %18, i32 0, i32 0
  %20 = load ptr, ptr %19, align 8
  store ptr %20, ptr %8, align 8
  %21 = load ptr, ptr %5, align 8
  %22 = getelementptr inbounds nuw %struct.Job, ptr %21, i32 0, i32 1
  %23 = load ptr, ptr %22, align 8
  store ptr %23, ptr %9, align 8
  store i32 0, ptr %12, align 4
  br label %24

24:                                               ; preds = %45, %3
  %25 = load i32, ptr %12, align 4
  %26 = load ptr, ptr %9, align 8
  %27 = getelementptr inbounds nuw %struct.Descriptor, ptr %26, i32 0, i32 6
  %28 = load i32, ptr %27, align 8
  %29 = icmp slt i32 %25, %28
  br i1 %29, label %30, label %48

30:                                               ; preds = %24
  br label %31

31:                                               ; preds = %30
  %32 = load ptr, ptr %5, align 8
  %33 = load ptr, ptr %6, align 8
  %34 = load i32, ptr %12, align 4
  %35 = load i32, ptr %12, align 4
  %36 = sext i32 %35 to i64
  %37 = getelementptr inbounds [16 x %struct.Extents], ptr %10, i64 0, i64 %36
  %38 = call ptr @read_input(ptr noundef %32, ptr noundef %33, i32 noundef %34, ptr noundef %37) #2
  store ptr %38, ptr %13, align 8
  %39 = load ptr, ptr %13, align 8
  %40 = icmp ne ptr %39, null
  br i1 %40, label %41, label %43

41:                                               ; preds = %31
  %42 = load ptr, ptr %13, align 8
  store ptr %42, ptr %4, align 8
  br label %115

43:                                               ; preds = %31
  br label %44

44:                                               ; preds = %43
  br label %45

45:                                               ; preds = %44
  %46 = load i32, ptr %12, align 4
  %47 = add nsw i32 %46, 1
  store i32 %47, ptr %12, align 4
  br label %24

48:                                               ; preds = %24
  br label %49

49:                                               ; preds = %48
  %50 = load ptr, ptr %8, align 8
  %51 = load ptr, ptr %9, align 8
  %52 = getelementptr inbounds [16 x %struct.Extents], ptr %10, i64 0, i64 0
  %53 = call ptr @broadcast(ptr noundef %50, ptr noundef %51, ptr noundef %52, ptr noundef %11) #2
  store ptr %53, ptr %14, align 8
  %54 = load ptr, ptr %14, align 8
  %55 = icmp ne ptr %54, null
  br i1 %55, label %56, label %58

56:                                               ; preds = %49
  %57 = load ptr, ptr %14, align 8
  store ptr %57, ptr %4, align 8
  br label %115

58:                                               ; preds = %49
  br label %59

59:                                               ; preds = %58
  store i32 0, ptr %15, align 4
  br label %60

60:                                               ; preds = %88, %59
  %61 = load i32, ptr %15, align 4
  %62 = load ptr, ptr %9, align 8
  %63 = getelementptr inbounds nuw %struct.Descriptor, ptr %62, i32 0, i32 7
  %64 = load i32, ptr %63, align 4
  %65 = icmp slt i32 %61, %64
  br i1 %65, label %66, label %91

66:                                               ; preds = %60
  br label %67

67:                                               ; preds = %66
  %68 = load ptr, ptr %8, align 8
  %69 = load ptr, ptr %9, align 8
  %70 = load ptr, ptr %6, align 8
  %71 = load i32, ptr %15, align 4
  %72 = load ptr, ptr %5, align 8
  %73 = getelementptr inbounds nuw %struct.Job, ptr %72, i32 0, i32 7
  %74 = load ptr, ptr %9, align 8
  %75 = getelementptr inbounds nuw %struct.Descriptor, ptr %74, i32 0, i32 6
  %76 = load i32, ptr %75, align 8
  %77 = load i32, ptr %15, align 4
  %78 = add nsw i32 %76, %77
  %79 = sext i32 %78 to i64
  %80 = getelementptr inbounds [16 x ptr], ptr %73, i64 0, i64 %79
  %81 = call ptr @write_output(ptr noundef %68, ptr noundef %69, ptr noundef %70, i32 noundef %71, ptr noundef %11, ptr noundef %80) #2
  store ptr %81, ptr %16, align 8
  %82 = load ptr, ptr %16, align 8
  %83 = icmp ne ptr %82, null
  br i1 %83, label %84, label %86

84:                                               ; preds = %67
  %85 = load ptr, ptr %16, align 8
  store ptr %85, ptr %4, align 8
  br label %115

86:                                               ; preds = %67
  br label %87

87:                                               ; preds = %86
  br label %88

88:                                               ; preds = %87
  %89 = load i32, ptr %15, align 4
  %90 = add nsw i32 %89, 1
  store i32 %90, ptr %15, align 4
  br label %60

91:                                               ; preds = %60
  %92 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 0
  %93 = load i32, ptr %92, align 8
  %94 = load ptr, ptr %9, align 8
  %95 = getelementptr inbounds nuw %struct.Descriptor, ptr %94, i32 0, i32 8
  %96 = load i32, ptr %95, align 8
  %97 = sub nsw i32 %93, %96
  store i32 %97, ptr %17, align 4
  %98 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 1
  %99 = getelementptr inbounds [8 x i64], ptr %98, i64 0, i64 0
  %100 = load i32, ptr %17, align 4
  %101 = call i64 @product(ptr noundef %99, i32 noundef 0, i32 noundef %100) #2
  %102 = icmp ne i64 %101, 0
  br i1 %102, label %110, label %103

103:                                              ; preds = %91
  %104 = load ptr, ptr %5, align 8
  %105 = getelementptr inbounds nuw %struct.Job, ptr %104, i32 0, i32 4
  %106 = getelementptr inbounds nuw %struct.Layout, ptr %105, i32 0, i32 1
  store i64 0, ptr %106, align 8
  %107 = load ptr, ptr %5, align 8
  %108 = getelementptr inbounds nuw %struct.Job, ptr %107, i32 0, i32 4
  %109 = getelementptr inbounds nuw %struct.Layout, ptr %108, i32 0, i32 0
  store i64 0, ptr %109, align 8
  store ptr null, ptr %4, align 8
  br label %115

110:                                              ; preds = %91
  %111 = load ptr, ptr %5, align 8
  %112 = getelementptr inbounds [16 x %struct.Extents], ptr %10, i64 0, i64 0
  %113 = load i32, ptr %7, align 4
  %114 = call ptr @lay_out(ptr noundef %111, ptr noundef %112, ptr noundef %11, i32 noundef %113) #2
  store ptr %114, ptr %4, align 8
  br label %115

115:                                              ; preds = %110, %103, %84, %56, %41
  %116 = load ptr, ptr %4, align 8
  ret ptr %116
}

; Function Attrs: nounwind uwtable
define internal ptr @run(ptr noundef %0, ptr noundef %1, ptr noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store ptr %2, ptr %7, align 8
  %12 = load ptr, ptr %5, align 8
  %13 = getelementptr inbounds nuw %struct.Job, ptr %12, i32 0, i32 1
  %14 = load ptr, ptr %13, align 8
  store ptr %14, ptr %8, align 8
  %15 = load ptr, ptr %5, align 8
  %16 = getelementptr inbounds nuw %struct.Job, ptr %15, i32 0, i32 4
  store ptr %16, ptr %9, align 8
  store i32 1, ptr %10, align 4
  store i32 0, ptr %11, align 4
  br label %17

17:                                               ; preds = %90, %3
  %18 = load i32, ptr %11, align 4
  %19 = load ptr, ptr %8, align 8
  %20 = getelementptr inbounds nuw %struct.Descriptor, ptr %19, i32 0, i32 6
  %21 = load i32, ptr %20, align 8
  %22 = icmp slt i32 %18, %21
  br i1 %22, label %23, label %93

23:                                               ; preds = %17
  %24 = load ptr, ptr %9, align 8
  %25 = getelementptr inbounds nuw %struct.Layout, ptr %24, i32 0, i32 4
  %26 = load i32, ptr %11, align 4
  %27 = sext i32 %26 to i64
  %28 = getelementptr inbounds [16 x %struct.anon.0], ptr %25, i64 0, i64 %27
  %29 = getelementptr inbounds nuw %struct.anon.0, ptr %28, i32 0, i32 1
  %30 = load i64, ptr %29, align 8
  %31 = load ptr, ptr %5, align 8
  %32 = getelementptr inbounds nuw %struct.Job, ptr %31, i32 0, i32 5
  %33 = load i32, ptr %11, align 4
  %34 = sext i32 %33 to i64
  %35 = getelementptr inbounds [16 x i64], ptr %32, i64 0, i64 %34
  store i64 %30, ptr %35, align 8
  %36 = load ptr, ptr %9, align 8
  %37 = getelementptr inbounds nuw %struct.Layout, ptr %36, i32 0, i32 2
  %38 = load i64, ptr %37, align 8
  %39 = icmp ne i64 %38, 0
  br i1 %39, label %40, label %53

40:                                               ; preds = %23
  %41 = load ptr, ptr %9, align 8
  %42 = getelementptr inbounds nuw %struct.Layout, ptr %41, i32 0, i32 4
  %43 = load i32, ptr %11, align 4
  %44 = sext i32 %43 to i64
  %45 = getelementptr inbounds [16 x %struct.anon.0], ptr %42, i64 0, i64 %44
  %46 = getelementptr inbounds nuw %struct.anon.0, ptr %45, i32 0, i32 0
  %47 = load ptr, ptr %9, align 8
  %48 = getelementptr inbounds nuw %struct.Layout, ptr %47, i32 0, i32 2
  %49 = load i64, ptr %48, align 8
  %50 = sub nsw i64 %49, 1
  %51 = getelementptr inbounds [8 x i64], ptr %46, i64 0, i64 %50
  %52 = load i64, ptr %51, align 8
  br label %54

53:                                               ; preds = %23
  br label %54

54:                                               ; preds = %53, %40
  %55 = phi i64 [ %52, %40 ], [ 0, %53 ]
  %56 = load ptr, ptr %5, align 8
  %57 = getelementptr inbounds nuw %struct.Job, ptr %56, i32 0, i32 6
  %58 = load i32, ptr %11, align 4
  %59 = sext i32 %58 to i64
  %60 = getelementptr inbounds [16 x i64], ptr %57, i64 0, i64 %59
  store i64 %55, ptr %60, align 8
  %61 = load ptr, ptr %9, align 8
  %62 = getelementptr inbounds nuw %struct.Layout, ptr %61, i32 0, i32 1
  %63 = load i64, ptr %62, align 8
  %64 = icmp sle i64 %63, 1
  br i1 %64, label %85, label %65

65:                                               ; preds = %54
  %66 = load ptr, ptr %9, align 8
  %67 = getelementptr inbounds nuw %struct.Layout, ptr %66, i32 0, i32 4
  %68 = load i32, ptr %11, align 4
  %69 = sext i32 %68 to i64
  %70 = getelementptr inbounds [16 x %struct.anon.0], ptr %67, i64 0, i64 %69
  %71 = getelementptr inbounds nuw %struct.anon.0, ptr %70, i32 0, i32 1
  %72 = load i64, ptr %71, align 8
  %73 = load ptr, ptr %8, align 8
  %74 = getelementptr inbounds nuw %struct.Descriptor, ptr %73, i32 0, i32 10
  %75 = load i32, ptr %11, align 4
  %76 = sext i32 %75 to i64
  %77 = getelementptr inbounds [16 x %struct.Tensor], ptr %74, i64 0, i64 %76
  %78 = getelementptr inbounds nuw %struct.Tensor, ptr %77, i32 0, i32 2
  %79 = load i32, ptr %78, align 8
  %80 = icmp ne i32 %79, 0
  %81 = xor i1 %80, true
  %82 = zext i1 %81 to i32
  %83 = sext i32 %82 to i64
  %84 = icmp eq i64 %72, %83
  br label %85

85:                                               ; preds = %65, %54
  %86 = phi i1 [ true, %54 ], [ %84, %65 ]
  %87 = zext i1 %86 to i32
  %88 = load i32, ptr %10, align 4
  %89 = and i32 %88, %87
  store i32 %89, ptr %10, align 4
  br label %90

90:                                               ; preds = %85
  %91 = load i32, ptr %11, align 4
  %92 = add nsw i32 %91, 1
  store i32 %92, ptr %11, align 4
  br label %17

93:                                               ; preds = %17
  %94 = load i32, ptr %10, align 4
  %95 = icmp ne i32 %94, 0
  br i1 %95, label %96, label %100

96:                                               ; preds = %93
  %97 = load ptr, ptr %6, align 8
  %98 = getelementptr inbounds nuw %struct.Kernel, ptr %97, i32 0, i32 3
  %99 = load ptr, ptr %98, align 8
  br label %104

100:                                              ; preds = %93
  %101 = load ptr, ptr %6, align 8
  %102 = getelementptr inbounds nuw %struct.Kernel, ptr %101, i32 0, i32 4
  %103 = load ptr, ptr %102, align 8
  br label %104

104:                                              ; preds = %100, %96
  %105 = phi ptr [ %99, %96 ], [ %103, %100 ]
  %106 = load ptr, ptr %5, align 8
  %107 = getelementptr inbounds nuw %struct.Job, ptr %106, i32 0, i32 3
  store ptr %105, ptr %107, align 8
  %108 = load ptr, ptr %5, align 8
  call void @cut(ptr noundef %108) #2
  %109 = load ptr, ptr %5, align 8
  %110 = getelementptr inbounds nuw %struct.Job, ptr %109, i32 0, i32 9
  %111 = load i64, ptr %110, align 8
  %112 = icmp sgt i64 %111, 1
  br i1 %112, label %113, label %126

113:                                              ; preds = %104
  %114 = load ptr, ptr %5, align 8
  %115 = getelementptr inbounds nuw %struct.Job, ptr %114, i32 0, i32 0
  %116 = load ptr, ptr %115, align 8
  %117 = getelementptr inbounds nuw %struct.Api, ptr %116, i32 0, i32 0
  %118 = getelementptr inbounds [512 x ptr], ptr %117, i64 0, i64 274
  %119 = load ptr, ptr %118, align 8
  %120 = load ptr, ptr %7, align 8
  %121 = load ptr, ptr %5, align 8
  %122 = getelementptr inbounds nuw %struct.Job, ptr %121, i32 0, i32 9
  %123 = load i64, ptr %122, align 8
  %124 = load ptr, ptr %5, align 8
  %125 = call ptr %119(ptr noundef %120, ptr noundef @run_piece, i64 noundef %123, i64 noundef 0, ptr noundef %124) #2
  store ptr %125, ptr %4, align 8
  br label %134

126:                                              ; preds = %104
  %127 = load ptr, ptr %5, align 8
  %128 = load ptr, ptr %9, align 8
  %129 = getelementptr inbounds nuw %struct.Layout, ptr %128, i32 0, i32 0
  %130 = load i64, ptr %129, align 8
  %131 = load ptr, ptr %9, align 8
  %132 = getelementptr inbounds nuw %struct.Layout, ptr %131, i32 0, i32 1
  %133 = load i64, ptr %132, align 8
  call void @run_on(ptr noundef %127, i64 noundef 0, i64 noundef %130, i64 noundef 0, i64 noundef %133) #2
  store ptr null, ptr %4, align 8
  br label %134

134:                                              ; preds = %126, %113
  %135 = load ptr, ptr %4, align 8
  ret ptr %135
}

; Function Attrs: nounwind uwtable
define internal ptr @read_input(ptr noundef %0, ptr noundef %1, i32 noundef %2, ptr noundef %3) #1 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i32, align 4
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca ptr, align 8
  %12 = alloca i64, align 8
  %13 = alloca ptr, align 8
  %14 = alloca ptr, align 8
  %15 = alloca ptr, align 8
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store i32 %2, ptr %8, align 4
  store ptr %3, ptr %9, align 8
  %16 = load ptr, ptr %6, align 8
  %17 = getelementptr inbounds nuw %struct.Job, ptr %16, i32 0, i32 0
  %18 = load ptr, ptr %17, align 8
  store ptr %18, ptr %10, align 8
  store ptr null, ptr %11, align 8
  store i64 0, ptr %12, align 8
  br label %19

19:                                               ; preds = %4
  %20 = load ptr, ptr %10, align 8
  %21 = getelementptr inbounds nuw %struct.Api, ptr %20, i32 0, i32 0
  %22 = getelementptr inbounds [512 x ptr], ptr %21, i64 0, i64 90
  %23 = load ptr, ptr %22, align 8
  %24 = load ptr, ptr %7, align 8
  %25 = load i32, ptr %8, align 4
  %26 = sext i32 %25 to i64
  %27 = call ptr %23(ptr noundef %24, i64 noundef %26, ptr noundef %11) #2
  store ptr %27, ptr %13, align 8
  %28 = load ptr, ptr %13, align 8
  %29 = icmp ne ptr %28, null
  br i1 %29, label %30, label %32

30:                                               ; preds = %19
  %31 = load ptr, ptr %13, align 8
  store ptr %31, ptr %5, align 8
  br label %106

32:                                               ; preds = %19
  br label %33

33:                                               ; preds = %32
  %34 = load ptr, ptr %11, align 8
  %35 = icmp ne ptr %34, null
  br i1 %35, label %42, label %36

36:                                               ; preds = %33
  %37 = load ptr, ptr %10, align 8
  %38 = load ptr, ptr %6, align 8
  %39 = getelementptr inbounds nuw %struct.Job, ptr %38, i32 0, i32 1
  %40 = load ptr, ptr %39, align 8
  %41 = call ptr @complain(ptr noundef %37, ptr noundef %40, i32 noundef 2, ptr noundef @.str.5) #2
  store ptr %41, ptr %5, align 8
  br label %106

42:                                               ; preds = %33
  br label %43

43:                                               ; preds = %42
  %44 = load ptr, ptr %10, align 8
  %45 = getelementptr inbounds nuw %struct.Api, ptr %44, i32 0, i32 0
  %46 = getelementptr inbounds [512 x ptr], ptr %45, i64 0, i64 51
  %47 = load ptr, ptr %46, align 8
  %48 = load ptr, ptr %11, align 8
  %49 = load ptr, ptr %6, align 8
  %50 = getelementptr inbounds nuw %struct.Job, ptr %49, i32 0, i32 7
  %51 = load i32, ptr %8, align 4
  %52 = sext i32 %51 to i64
  %53 = getelementptr inbounds [16 x ptr], ptr %50, i64 0, i64 %52
  %54 = call ptr %47(ptr noundef %48, ptr noundef %53) #2
  store ptr %54, ptr %14, align 8
  %55 = load ptr, ptr %14, align 8
  %56 = icmp ne ptr %55, null
  br i1 %56, label %57, label %59

57:                                               ; preds = %43
  %58 = load ptr, ptr %14, align 8
  store ptr %58, ptr %5, align 8
  br label %106

59:                                               ; preds = %43
  br label %60

60:                                               ; preds = %59
  br label %61

61:                                               ; preds = %60
  %62 = load ptr, ptr %6, align 8
  %63 = load ptr, ptr %11, align 8
  %64 = load ptr, ptr %9, align 8
  %65 = getelementptr inbounds nuw %struct.Extents, ptr %64, i32 0, i32 1
  %66 = getelementptr inbounds [8 x i64], ptr %65, i64 0, i64 0
  %67 = call ptr @read_shape(ptr noundef %62, ptr noundef %63, ptr noundef %12, ptr noundef %66) #2
  store ptr %67, ptr %15, align 8
  %68 = load ptr, ptr %15, align 8
  %69 = icmp ne ptr %68, null
  br i1 %69, label %70, label %72

70:                                               ; preds = %61
  %71 = load ptr, ptr %15, align 8
  store ptr %71, ptr %5, align 8
  br label %106

72:                                               ; preds = %61
  br label %73

73:                                               ; preds = %72
  %74 = load i64, ptr %12, align 8
  %75 = icmp ugt i64 %74, 8
  br i1 %75, label %76, label %82

76:                                               ; preds = %73
  %77 = load ptr, ptr %10, align 8
  %78 = load ptr, ptr %6, align 8
  %79 = getelementptr inbounds nuw %struct.Job, ptr %78, i32 0, i32 1
  %80 = load ptr, ptr %79, align 8
  %81 = call ptr @complain(ptr noundef %77, ptr noundef %80, i32 noundef 9, ptr noundef @.str.6) #2
  store ptr %81, ptr %5, align 8
  br label %106

82:                                               ; preds = %73
  %83 = load i64, ptr %12, align 8
  %84 = trunc i64 %83 to i32
  %85 = load ptr, ptr %9, align 8
  %86 = getelementptr inbounds nuw %struct.Extents, ptr %85, i32 0, i32 0
  store i32 %84, ptr %86, align 8
  %87 = load ptr, ptr %9, align 8
  call void @set_dense(ptr noundef %87) #2
  %88 = load ptr, ptr %6, align 8
  %89 = getelementptr inbounds nuw %struct.Job, ptr %88, i32 0, i32 1
  %90 = load ptr, ptr %89, align 8
  %91 = getelementptr inbounds nuw %struct.Descriptor, ptr %90, i32 0, i32 10
  %92 = load i32, ptr %8, align 4
  %93 = sext i32 %92 to i64
  %94 = getelementptr inbounds [16 x %struct.Tensor], ptr %91, i64 0, i64 %93
  %95 = getelementptr inbounds nuw %struct.Tensor, ptr %94, i32 0, i32 4
  %96 = load ptr, ptr %95, align 8
  %97 = icmp ne ptr %96, null
  br i1 %97, label %98, label %103

98:                                               ; preds = %82
  %99 = load ptr, ptr %6, align 8
  %100 = load i32, ptr %8, align 4
  %101 = load ptr, ptr %9, align 8
  %102 = call ptr @look_through(ptr noundef %99, i32 noundef %100, ptr noundef %101) #2
  br label %104

103:                                              ; preds = %82
  br label %104

104:                                              ; preds = %103, %98
  %105 = phi ptr [ %102, %98 ], [ null, %103 ]
  store ptr %105, ptr %5, align 8
  br label %106

106:                                              ; preds = %104, %76, %70, %57, %36, %30
  %107 = load ptr, ptr %5, align 8
  ret ptr %107
}

; Function Attrs: nounwind uwtable
define internal ptr @broadcast(ptr noundef %0, ptr noundef %1, ptr noundef %2, ptr noundef %3) #1 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  %13 = alloca ptr, align 8
  %14 = alloca i32, align 4
  %15 = alloca i32, align 4
  %16 = alloca i64, align 8
  %17 = alloca %struct.Message, align 4
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store ptr %2, ptr %8, align 8
  store ptr %3, ptr %9, align 8
  %18 = load ptr, ptr %9, align 8
  %19 = getelementptr inbounds nuw %struct.Extents, ptr %18, i32 0, i32 0
  store i32 0, ptr %19, align 8
  store i32 0, ptr %10, align 4
  br label %20

20:                                               ; preds = %47, %4
  %21 = load i32, ptr %10, align 4
  %22 = load ptr, ptr %7, align 8
  %23 = getelementptr inbounds nuw %struct.Descriptor, ptr %22, i32 0, i32 6
  %24 = load i32, ptr %23, align 8
  %25 = icmp slt i32 %21, %24
  br i1 %25, label %26, label %50

26:                                               ; preds = %20
  %27 = load ptr, ptr %8, align 8
  %28 = load i32, ptr %10, align 4
  %29 = sext i32 %28 to i64
  %30 = getelementptr inbounds %struct.Extents, ptr %27, i64 %29
  %31 = getelementptr inbounds nuw %struct.Extents, ptr %30, i32 0, i32 0
  %32 = load i32, ptr %31, align 8
  %33 = load ptr, ptr %9, align 8
  %34 = getelementptr inbounds nuw %struct.Extents, ptr %33, i32 0, i32 0
  %35 = load i32, ptr %34, align 8
  %36 = icmp sgt i32 %32, %35
  br i1 %36, label %37, label %46

37:                                               ; preds = %26
  %38 = load ptr, ptr %8, align 8
  %39 = load i32, ptr %10, align 4
  %40 = sext i32 %39 to i64
  %41 = getelementptr inbounds %struct.Extents, ptr %38, i64 %40
  %42 = getelementptr inbounds nuw %struct.Extents, ptr %41, i32 0, i32 0
  %43 = load i32, ptr %42, align 8
  %44 = load ptr, ptr %9, align 8
  %45 = getelementptr inbounds nuw %struct.Extents, ptr %44, i32 0, i32 0
  store i32 %43, ptr %45, align 8
  br label %46

46:                                               ; preds = %37, %26
  br label %47

47:                                               ; preds = %46
  %48 = load i32, ptr %10, align 4
  %49 = add nsw i32 %48, 1
  store i32 %49, ptr %10, align 4
  br label %20

50:                                               ; preds = %20
  store i32 0, ptr %11, align 4
  br label %51

51:                                               ; preds = %63, %50
  %52 = load i32, ptr %11, align 4
  %53 = load ptr, ptr %9, align 8
  %54 = getelementptr inbounds nuw %struct.Extents, ptr %53, i32 0, i32 0
  %55 = load i32, ptr %54, align 8
  %56 = icmp slt i32 %52, %55
  br i1 %56, label %57, label %66

57:                                               ; preds = %51
  %58 = load ptr, ptr %9, align 8
  %59 = getelementptr inbounds nuw %struct.Extents, ptr %58, i32 0, i32 1
  %60 = load i32, ptr %11, align 4
  %61 = sext i32 %60 to i64
  %62 = getelementptr inbounds [8 x i64], ptr %59, i64 0, i64 %61
  store i64 1, ptr %62, align 8
  br label %63

63:                                               ; preds = %57
  %64 = load i32, ptr %11, align 4
  %65 = add nsw i32 %64, 1
  store i32 %65, ptr %11, align 4
  br label %51

66:                                               ; preds = %51
  store i32 0, ptr %12, align 4
  br label %67

67:                                               ; preds = %200, %66
  %68 = load i32, ptr %12, align 4
  %69 = load ptr, ptr %7, align 8
  %70 = getelementptr inbounds nuw %struct.Descriptor, ptr %69, i32 0, i32 6
  %71 = load i32, ptr %70, align 8
  %72 = icmp slt i32 %68, %71
  br i1 %72, label %73, label %203

73:                                               ; preds = %67
  %74 = load ptr, ptr %8, align 8
  %75 = load i32, ptr %12, align 4
  %76 = sext i32 %75 to i64
  %77 = getelementptr inbounds %struct.Extents, ptr %74, i64 %76
  store ptr %77, ptr %13, align 8
  %78 = load ptr, ptr %9, align 8
  %79 = getelementptr inbounds nuw %struct.Extents, ptr %78, i32 0, i32 0
  %80 = load i32, ptr %79, align 8
  %81 = load ptr, ptr %13, align 8
  %82 = getelementptr inbounds nuw %struct.Extents, ptr %81, i32 0, i32 0
  %83 = load i32, ptr %82, align 8
  %84 = sub nsw i32 %80, %83
  store i32 %84, ptr %14, align 4
  %85 = load ptr, ptr %9, align 8
  %86 = getelementptr inbounds nuw %struct.Extents, ptr %85, i32 0, i32 0
  %87 = load i32, ptr %86, align 8
  %88 = sub nsw i32 %87, 1
  store i32 %88, ptr %15, align 4
  br label %89

89:                                               ; preds = %191, %73
  %90 = load i32, ptr %15, align 4
  %91 = icmp sge i32 %90, 0
  br i1 %91, label %92, label %194

92:                                               ; preds = %89
  %93 = load i32, ptr %15, align 4
  %94 = load i32, ptr %14, align 4
  %95 = icmp sge i32 %93, %94
  br i1 %95, label %96, label %105

96:                                               ; preds = %92
  %97 = load ptr, ptr %13, align 8
  %98 = getelementptr inbounds nuw %struct.Extents, ptr %97, i32 0, i32 1
  %99 = load i32, ptr %15, align 4
  %100 = load i32, ptr %14, align 4
  %101 = sub nsw i32 %99, %100
  %102 = sext i32 %101 to i64
  %103 = getelementptr inbounds [8 x i64], ptr %98, i64 0, i64 %102
  %104 = load i64, ptr %103, align 8
  br label %106

105:                                              ; preds = %92
  br label %106

106:                                              ; preds = %105, %96
  %107 = phi i64 [ %104, %96 ], [ 1, %105 ]
  store i64 %107, ptr %16, align 8
  %108 = load i64, ptr %16, align 8
  %109 = icmp ne i64 %108, 1
  br i1 %109, label %110, label %154

110:                                              ; preds = %106
  %111 = load ptr, ptr %9, align 8
  %112 = getelementptr inbounds nuw %struct.Extents, ptr %111, i32 0, i32 1
  %113 = load i32, ptr %15, align 4
  %114 = sext i32 %113 to i64
  %115 = getelementptr inbounds [8 x i64], ptr %112, i64 0, i64 %114
  %116 = load i64, ptr %115, align 8
  %117 = icmp ne i64 %116, 1
  br i1 %117, label %118, label %154

118:                                              ; preds = %110
  %119 = load ptr, ptr %9, align 8
  %120 = getelementptr inbounds nuw %struct.Extents, ptr %119, i32 0, i32 1
  %121 = load i32, ptr %15, align 4
  %122 = sext i32 %121 to i64
  %123 = getelementptr inbounds [8 x i64], ptr %120, i64 0, i64 %122
  %124 = load i64, ptr %123, align 8
  %125 = load i64, ptr %16, align 8
  %126 = icmp ne i64 %124, %125
  br i1 %126, label %127, label %154

127:                                              ; preds = %118
  %128 = load ptr, ptr %7, align 8
  call void @say_operator(ptr noundef %17, ptr noundef %128) #2
  call void @say(ptr noundef %17, ptr noundef @.str.7) #2
  %129 = load i32, ptr %12, align 4
  %130 = sext i32 %129 to i64
  call void @say_number(ptr noundef %17, i64 noundef %130) #2
  call void @say(ptr noundef %17, ptr noundef @.str.13) #2
  %131 = load i32, ptr %15, align 4
  %132 = load ptr, ptr %9, align 8
  %133 = getelementptr inbounds nuw %struct.Extents, ptr %132, i32 0, i32 0
  %134 = load i32, ptr %133, align 8
  %135 = sub nsw i32 %131, %134
  %136 = sext i32 %135 to i64
  call void @say_number(ptr noundef %17, i64 noundef %136) #2
  call void @say(ptr noundef %17, ptr noundef @.str.14) #2
  %137 = load i64, ptr %16, align 8
  call void @say_number(ptr noundef %17, i64 noundef %137) #2
  call void @say(ptr noundef %17, ptr noundef @.str.15) #2
  %138 = load ptr, ptr %9, align 8
  %139 = getelementptr inbounds nuw %struct.Extents, ptr %138, i32 0, i32 1
  %140 = load i32, ptr %15, align 4
  %141 = sext i32 %140 to i64
  %142 = getelementptr inbounds [8 x i64], ptr %139, i64 0, i64 %141
  %143 = load i64, ptr %142, align 8
  call void @say_number(ptr noundef %17, i64 noundef %143) #2
  call void @say(ptr noundef %17, ptr noundef @.str.16) #2
  %144 = load ptr, ptr %9, align 8
  %145 = getelementptr inbounds nuw %struct.Extents, ptr %144, i32 0, i32 1
  %146 = getelementptr inbounds [8 x i64], ptr %145, i64 0, i64 0
  %147 = load ptr, ptr %9, align 8
  %148 = getelementptr inbounds nuw %struct.Extents, ptr %147, i32 0, i32 0
  %149 = load i32, ptr %148, align 8
  call void @say_shape(ptr noundef %17, ptr noundef %146, i32 noundef %149) #2
  %150 = load ptr, ptr %6, align 8
  %151 = getelementptr inbounds nuw %struct.Message, ptr %17, i32 0, i32 1
  %152 = getelementptr inbounds [400 x i8], ptr %151, i64 0, i64 0
  %153 = call ptr @create_status(ptr noundef %150, i32 noundef 2, ptr noundef %152) #2
  store ptr %153, ptr %5, align 8
  br label %216

154:                                              ; preds = %118, %110, %106
  %155 = load i64, ptr %16, align 8
  %156 = load ptr, ptr %13, align 8
  %157 = getelementptr inbounds nuw %struct.Extents, ptr %156, i32 0, i32 1
  %158 = load i32, ptr %15, align 4
  %159 = sext i32 %158 to i64
  %160 = getelementptr inbounds [8 x i64], ptr %157, i64 0, i64 %159
  store i64 %155, ptr %160, align 8
  %161 = load i32, ptr %15, align 4
  %162 = load i32, ptr %14, align 4
  %163 = icmp sge i32 %161, %162
  br i1 %163, label %164, label %173

164:                                              ; preds = %154
  %165 = load ptr, ptr %13, align 8
  %166 = getelementptr inbounds nuw %struct.Extents, ptr %165, i32 0, i32 2
  %167 = load i32, ptr %15, align 4
  %168 = load i32, ptr %14, align 4
  %169 = sub nsw i32 %167, %168
  %170 = sext i32 %169 to i64
  %171 = getelementptr inbounds [8 x i64], ptr %166, i64 0, i64 %170
  %172 = load i64, ptr %171, align 8
  br label %174

173:                                              ; preds = %154
  br label %174

174:                                              ; preds = %173, %164
  %175 = phi i64 [ %172, %164 ], [ 0, %173 ]
  %176 = load ptr, ptr %13, align 8
  %177 = getelementptr inbounds nuw %struct.Extents, ptr %176, i32 0, i32 2
  %178 = load i32, ptr %15, align 4
  %179 = sext i32 %178 to i64
  %180 = getelementptr inbounds [8 x i64], ptr %177, i64 0, i64 %179
  store i64 %175, ptr %180, align 8
  %181 = load i64, ptr %16, align 8
  %182 = icmp ne i64 %181, 1
  br i1 %182, label %183, label %190

183:                                              ; preds = %174
  %184 = load i64, ptr %16, align 8
  %185 = load ptr, ptr %9, align 8
  %186 = getelementptr inbounds nuw %struct.Extents, ptr %185, i32 0, i32 1
  %187 = load i32, ptr %15, align 4
  %188 = sext i32 %187 to i64
  %189 = getelementptr inbounds [8 x i64], ptr %186, i64 0, i64 %188
  store i64 %184, ptr %189, align 8
  br label %190

190:                                              ; preds = %183, %174
  br label %191

191:                                              ; preds = %190
  %192 = load i32, ptr %15, align 4
  %193 = add nsw i32 %192, -1
  store i32 %193, ptr %15, align 4
  br label %89

194:                                              ; preds = %89
  %195 = load ptr, ptr %9, align 8
  %196 = getelementptr inbounds nuw %struct.Extents, ptr %195, i32 0, i32 0
  %197 = load i32, ptr %196, align 8
  %198 = load ptr, ptr %13, align 8
  %199 = getelementptr inbounds nuw %struct.Extents, ptr %198, i32 0, i32 0
  store i32 %197, ptr %199, align 8
  br label %200

200:                                              ; preds = %194
  %201 = load i32, ptr %12, align 4
  %202 = add nsw i32 %201, 1
  store i32 %202, ptr %12, align 4
  br label %67

203:                                              ; preds = %67
  %204 = load ptr, ptr %9, align 8
  %205 = getelementptr inbounds nuw %struct.Extents, ptr %204, i32 0, i32 0
  %206 = load i32, ptr %205, align 8
  %207 = load ptr, ptr %7, align 8
  %208 = getelementptr inbounds nuw %struct.Descriptor, ptr %207, i32 0, i32 8
  %209 = load i32, ptr %208, align 8
  %210 = icmp slt i32 %206, %209
  br i1 %210, label %211, label %215

211:                                              ; preds = %203
  %212 = load ptr, ptr %6, align 8
  %213 = load ptr, ptr %7, align 8
  %214 = call ptr @complain(ptr noundef %212, ptr noundef %213, i32 noundef 2, ptr noundef @.str.17) #2
  store ptr %214, ptr %5, align 8
  br label %216

215:                                              ; preds = %203
  store ptr null, ptr %5, align 8
  br label %216

216:                                              ; preds = %215, %211, %127
  %217 = load ptr, ptr %5, align 8
  ret ptr %217
}

; Function Attrs: nounwind uwtable
define internal ptr @write_output(ptr noundef %0, ptr noundef %1, ptr noundef %2, i32 noundef %3, ptr noundef %4, ptr noundef %5) #1 {
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca i32, align 4
  %12 = alloca ptr, align 8
  %13 = alloca ptr, align 8
  %14 = alloca ptr, align 8
  %15 = alloca ptr, align 8
  %16 = alloca [8 x i64], align 16
  %17 = alloca i32, align 4
  %18 = alloca i32, align 4
  %19 = alloca i32, align 4
  %20 = alloca ptr, align 8
  store ptr %0, ptr %8, align 8
  store ptr %1, ptr %9, align 8
  store ptr %2, ptr %10, align 8
  store i32 %3, ptr %11, align 4
  store ptr %4, ptr %12, align 8
  store ptr %5, ptr %13, align 8
  %21 = load ptr, ptr %9, align 8
  %22 = getelementptr inbounds nuw %struct.Descriptor, ptr %21, i32 0, i32 10
  %23 = load ptr, ptr %9, align 8
  %24 = getelementptr inbounds nuw %struct.Descriptor, ptr %23, i32 0, i32 6
  %25 = load i32, ptr %24, align 8
  %26 = load i32, ptr %11, align 4
  %27 = add nsw i32 %25, %26
  %28 = sext i32 %27 to i64
  %29 = getelementptr inbounds [16 x %struct.Tensor], ptr %22, i64 0, i64 %28
  store ptr %29, ptr %14, align 8
  store ptr null, ptr %15, align 8
  %30 = load ptr, ptr %12, align 8
  %31 = getelementptr inbounds nuw %struct.Extents, ptr %30, i32 0, i32 0
  %32 = load i32, ptr %31, align 8
  store i32 %32, ptr %17, align 4
  %33 = load ptr, ptr %14, align 8
  %34 = getelementptr inbounds nuw %struct.Tensor, ptr %33, i32 0, i32 2
  %35 = load i32, ptr %34, align 8
  %36 = icmp ne i32 %35, 0
  br i1 %36, label %37, label %41

37:                                               ; preds = %6
  %38 = load ptr, ptr %9, align 8
  %39 = getelementptr inbounds nuw %struct.Descriptor, ptr %38, i32 0, i32 8
  %40 = load i32, ptr %39, align 8
  br label %42

41:                                               ; preds = %6
  br label %42

42:                                               ; preds = %41, %37
  %43 = phi i32 [ %40, %37 ], [ 0, %41 ]
  store i32 %43, ptr %18, align 4
  store i32 0, ptr %19, align 4
  br label %44

44:                                               ; preds = %67, %42
  %45 = load i32, ptr %19, align 4
  %46 = load i32, ptr %17, align 4
  %47 = icmp slt i32 %45, %46
  br i1 %47, label %48, label %70

48:                                               ; preds = %44
  %49 = load i32, ptr %19, align 4
  %50 = load i32, ptr %17, align 4
  %51 = load i32, ptr %18, align 4
  %52 = sub nsw i32 %50, %51
  %53 = icmp slt i32 %49, %52
  br i1 %53, label %54, label %61

54:                                               ; preds = %48
  %55 = load ptr, ptr %12, align 8
  %56 = getelementptr inbounds nuw %struct.Extents, ptr %55, i32 0, i32 1
  %57 = load i32, ptr %19, align 4
  %58 = sext i32 %57 to i64
  %59 = getelementptr inbounds [8 x i64], ptr %56, i64 0, i64 %58
  %60 = load i64, ptr %59, align 8
  br label %62

61:                                               ; preds = %48
  br label %62

62:                                               ; preds = %61, %54
  %63 = phi i64 [ %60, %54 ], [ 1, %61 ]
  %64 = load i32, ptr %19, align 4
  %65 = sext i32 %64 to i64
  %66 = getelementptr inbounds [8 x i64], ptr %16, i64 0, i64 %65
  store i64 %63, ptr %66, align 8
  br label %67

67:                                               ; preds = %62
  %68 = load i32, ptr %19, align 4
  %69 = add nsw i32 %68, 1
  store i32 %69, ptr %19, align 4
  br label %44

70:                                               ; preds = %44
  %71 = load ptr, ptr %14, align 8
  %72 = getelementptr inbounds nuw %struct.Tensor, ptr %71, i32 0, i32 3
  %73 = load i32, ptr %72, align 4
  %74 = icmp ne i32 %73, 0
  br i1 %74, label %79, label %75

75:                                               ; preds = %70
  %76 = load i32, ptr %18, align 4
  %77 = load i32, ptr %17, align 4
  %78 = sub nsw i32 %77, %76
  store i32 %78, ptr %17, align 4
  br label %79

79:                                               ; preds = %75, %70
  br label %80

80:                                               ; preds = %79
  %81 = load ptr, ptr %8, align 8
  %82 = getelementptr inbounds nuw %struct.Api, ptr %81, i32 0, i32 0
  %83 = getelementptr inbounds [512 x ptr], ptr %82, i64 0, i64 91
  %84 = load ptr, ptr %83, align 8
  %85 = load ptr, ptr %10, align 8
  %86 = load i32, ptr %11, align 4
  %87 = sext i32 %86 to i64
  %88 = getelementptr inbounds [8 x i64], ptr %16, i64 0, i64 0
  %89 = load i32, ptr %17, align 4
  %90 = sext i32 %89 to i64
  %91 = call ptr %84(ptr noundef %85, i64 noundef %87, ptr noundef %88, i64 noundef %90, ptr noundef %15) #2
  store ptr %91, ptr %20, align 8
  %92 = load ptr, ptr %20, align 8
  %93 = icmp ne ptr %92, null
  br i1 %93, label %94, label %96

94:                                               ; preds = %80
  %95 = load ptr, ptr %20, align 8
  store ptr %95, ptr %7, align 8
  br label %112

96:                                               ; preds = %80
  br label %97

97:                                               ; preds = %96
  %98 = load ptr, ptr %15, align 8
  %99 = icmp ne ptr %98, null
  br i1 %99, label %104, label %100

100:                                              ; preds = %97
  %101 = load ptr, ptr %8, align 8
  %102 = load ptr, ptr %9, align 8
  %103 = call ptr @complain(ptr noundef %101, ptr noundef %102, i32 noundef 6, ptr noundef @.str.18) #2
  store ptr %103, ptr %7, align 8
  br label %112

104:                                              ; preds = %97
  %105 = load ptr, ptr %8, align 8
  %106 = getelementptr inbounds nuw %struct.Api, ptr %105, i32 0, i32 0
  %107 = getelementptr inbounds [512 x ptr], ptr %106, i64 0, i64 51
  %108 = load ptr, ptr %107, align 8
  %109 = load ptr, ptr %15, align 8
  %110 = load ptr, ptr %13, align 8
  %111 = call ptr %108(ptr noundef %109, ptr noundef %110) #2
  store ptr %111, ptr %7, align 8
  br label %112

112:                                              ; preds = %104, %100, %94
  %113 = load ptr, ptr %7, align 8
  ret ptr %113
}

; Function Attrs: nounwind uwtable
define internal i64 @product(ptr noundef %0, i32 noundef %1, i32 noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca i64, align 8
  %8 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store i32 %1, ptr %5, align 4
  store i32 %2, ptr %6, align 4
  store i64 1, ptr %7, align 8
  %9 = load i32, ptr %5, align 4
  store i32 %9, ptr %8, align 4
  br label %10

10:                                               ; preds = %22, %3
  %11 = load i32, ptr %8, align 4
  %12 = load i32, ptr %6, align 4
  %13 = icmp slt i32 %11, %12
  br i1 %13, label %14, label %25

14:                                               ; preds = %10
  %15 = load ptr, ptr %4, align 8
  %16 = load i32, ptr %8, align 4
  %17 = sext i32 %16 to i64
  %18 = getelementptr inbounds i64, ptr %15, i64 %17
  %19 = load i64, ptr %18, align 8
  %20 = load i64, ptr %7, align 8
  %21 = mul nsw i64 %20, %19
  store i64 %21, ptr %7, align 8
  br label %22

22:                                               ; preds = %14
  %23 = load i32, ptr %8, align 4
  %24 = add nsw i32 %23, 1
  store i32 %24, ptr %8, align 4
  br label %10

25:                                               ; preds = %10
  %26 = load i64, ptr %7, align 8
  ret i64 %26
}

; Function Attrs: nounwind uwtable
define internal ptr @lay_out(ptr noundef %0, ptr noundef %1, ptr noundef %2, i32 noundef %3) #1 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca i32, align 4
  %10 = alloca ptr, align 8
  %11 = alloca ptr, align 8
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca i32, align 4
  %15 = alloca ptr, align 8
  %16 = alloca i32, align 4
  %17 = alloca i32, align 4
  %18 = alloca i64, align 8
  %19 = alloca i32, align 4
  %20 = alloca i64, align 8
  %21 = alloca ptr, align 8
  %22 = alloca i32, align 4
  %23 = alloca i64, align 8
  %24 = alloca i32, align 4
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store ptr %2, ptr %8, align 8
  store i32 %3, ptr %9, align 4
  %25 = load ptr, ptr %6, align 8
  %26 = getelementptr inbounds nuw %struct.Job, ptr %25, i32 0, i32 1
  %27 = load ptr, ptr %26, align 8
  store ptr %27, ptr %10, align 8
  %28 = load ptr, ptr %6, align 8
  %29 = getelementptr inbounds nuw %struct.Job, ptr %28, i32 0, i32 4
  store ptr %29, ptr %11, align 8
  %30 = load ptr, ptr %10, align 8
  %31 = getelementptr inbounds nuw %struct.Descriptor, ptr %30, i32 0, i32 6
  %32 = load i32, ptr %31, align 8
  store i32 %32, ptr %12, align 4
  %33 = load ptr, ptr %8, align 8
  %34 = getelementptr inbounds nuw %struct.Extents, ptr %33, i32 0, i32 0
  %35 = load i32, ptr %34, align 8
  %36 = load ptr, ptr %10, align 8
  %37 = getelementptr inbounds nuw %struct.Descriptor, ptr %36, i32 0, i32 8
  %38 = load i32, ptr %37, align 8
  %39 = sub nsw i32 %35, %38
  store i32 %39, ptr %13, align 4
  %40 = load ptr, ptr %10, align 8
  %41 = getelementptr inbounds nuw %struct.Descriptor, ptr %40, i32 0, i32 8
  %42 = load i32, ptr %41, align 8
  %43 = icmp ne i32 %42, 0
  br i1 %43, label %44, label %193

44:                                               ; preds = %4
  %45 = load ptr, ptr %8, align 8
  %46 = getelementptr inbounds nuw %struct.Extents, ptr %45, i32 0, i32 1
  %47 = getelementptr inbounds [8 x i64], ptr %46, i64 0, i64 0
  %48 = load i32, ptr %13, align 4
  %49 = load ptr, ptr %8, align 8
  %50 = getelementptr inbounds nuw %struct.Extents, ptr %49, i32 0, i32 0
  %51 = load i32, ptr %50, align 8
  %52 = call i64 @product(ptr noundef %47, i32 noundef %48, i32 noundef %51) #2
  %53 = load ptr, ptr %11, align 8
  %54 = getelementptr inbounds nuw %struct.Layout, ptr %53, i32 0, i32 1
  store i64 %52, ptr %54, align 8
  store i32 0, ptr %14, align 4
  br label %55

55:                                               ; preds = %184, %44
  %56 = load i32, ptr %14, align 4
  %57 = load i32, ptr %12, align 4
  %58 = icmp slt i32 %56, %57
  br i1 %58, label %59, label %187

59:                                               ; preds = %55
  %60 = load ptr, ptr %7, align 8
  %61 = load i32, ptr %14, align 4
  %62 = sext i32 %61 to i64
  %63 = getelementptr inbounds %struct.Extents, ptr %60, i64 %62
  store ptr %63, ptr %15, align 8
  store i32 1, ptr %16, align 4
  store i32 1, ptr %17, align 4
  store i64 1, ptr %18, align 8
  %64 = load ptr, ptr %8, align 8
  %65 = getelementptr inbounds nuw %struct.Extents, ptr %64, i32 0, i32 0
  %66 = load i32, ptr %65, align 8
  %67 = sub nsw i32 %66, 1
  store i32 %67, ptr %19, align 4
  br label %68

68:                                               ; preds = %114, %59
  %69 = load i32, ptr %19, align 4
  %70 = load i32, ptr %13, align 4
  %71 = icmp sge i32 %69, %70
  br i1 %71, label %72, label %117

72:                                               ; preds = %68
  %73 = load ptr, ptr %15, align 8
  %74 = getelementptr inbounds nuw %struct.Extents, ptr %73, i32 0, i32 1
  %75 = load i32, ptr %19, align 4
  %76 = sext i32 %75 to i64
  %77 = getelementptr inbounds [8 x i64], ptr %74, i64 0, i64 %76
  %78 = load i64, ptr %77, align 8
  store i64 %78, ptr %20, align 8
  %79 = load i64, ptr %20, align 8
  %80 = load ptr, ptr %8, align 8
  %81 = getelementptr inbounds nuw %struct.Extents, ptr %80, i32 0, i32 1
  %82 = load i32, ptr %19, align 4
  %83 = sext i32 %82 to i64
  %84 = getelementptr inbounds [8 x i64], ptr %81, i64 0, i64 %83
  %85 = load i64, ptr %84, align 8
  %86 = icmp eq i64 %79, %85
  br i1 %86, label %87, label %101

87:                                               ; preds = %72
  %88 = load i64, ptr %20, align 8
  %89 = icmp eq i64 %88, 1
  br i1 %89, label %99, label %90

90:                                               ; preds = %87
  %91 = load ptr, ptr %15, align 8
  %92 = getelementptr inbounds nuw %struct.Extents, ptr %91, i32 0, i32 2
  %93 = load i32, ptr %19, align 4
  %94 = sext i32 %93 to i64
  %95 = getelementptr inbounds [8 x i64], ptr %92, i64 0, i64 %94
  %96 = load i64, ptr %95, align 8
  %97 = load i64, ptr %18, align 8
  %98 = icmp eq i64 %96, %97
  br label %99

99:                                               ; preds = %90, %87
  %100 = phi i1 [ true, %87 ], [ %98, %90 ]
  br label %101

101:                                              ; preds = %99, %72
  %102 = phi i1 [ false, %72 ], [ %100, %99 ]
  %103 = zext i1 %102 to i32
  %104 = load i32, ptr %16, align 4
  %105 = and i32 %104, %103
  store i32 %105, ptr %16, align 4
  %106 = load i64, ptr %20, align 8
  %107 = icmp eq i64 %106, 1
  %108 = zext i1 %107 to i32
  %109 = load i32, ptr %17, align 4
  %110 = and i32 %109, %108
  store i32 %110, ptr %17, align 4
  %111 = load i64, ptr %20, align 8
  %112 = load i64, ptr %18, align 8
  %113 = mul nsw i64 %112, %111
  store i64 %113, ptr %18, align 8
  br label %114

114:                                              ; preds = %101
  %115 = load i32, ptr %19, align 4
  %116 = add nsw i32 %115, -1
  store i32 %116, ptr %19, align 4
  br label %68

117:                                              ; preds = %68
  %118 = load i32, ptr %17, align 4
  %119 = icmp ne i32 %118, 0
  br i1 %119, label %135, label %120

120:                                              ; preds = %117
  %121 = load ptr, ptr %10, align 8
  %122 = getelementptr inbounds nuw %struct.Descriptor, ptr %121, i32 0, i32 10
  %123 = load i32, ptr %14, align 4
  %124 = sext i32 %123 to i64
  %125 = getelementptr inbounds [16 x %struct.Tensor], ptr %122, i64 0, i64 %124
  %126 = getelementptr inbounds nuw %struct.Tensor, ptr %125, i32 0, i32 2
  %127 = load i32, ptr %126, align 8
  %128 = icmp eq i32 %127, 2
  br i1 %128, label %129, label %135

129:                                              ; preds = %120
  %130 = load ptr, ptr %6, align 8
  %131 = getelementptr inbounds nuw %struct.Job, ptr %130, i32 0, i32 0
  %132 = load ptr, ptr %131, align 8
  %133 = load ptr, ptr %10, align 8
  %134 = call ptr @complain(ptr noundef %132, ptr noundef %133, i32 noundef 2, ptr noundef @.str.19) #2
  store ptr %134, ptr %5, align 8
  br label %270

135:                                              ; preds = %120, %117
  %136 = load i32, ptr %16, align 4
  %137 = icmp ne i32 %136, 0
  br i1 %137, label %172, label %138

138:                                              ; preds = %135
  %139 = load i32, ptr %17, align 4
  %140 = icmp ne i32 %139, 0
  br i1 %140, label %172, label %141

141:                                              ; preds = %138
  %142 = load ptr, ptr %11, align 8
  %143 = getelementptr inbounds nuw %struct.Layout, ptr %142, i32 0, i32 1
  %144 = load i64, ptr %143, align 8
  %145 = icmp ne i64 %144, 0
  br i1 %145, label %146, label %172

146:                                              ; preds = %141
  %147 = load i32, ptr %9, align 4
  %148 = icmp ne i32 %147, 0
  br i1 %148, label %155, label %149

149:                                              ; preds = %146
  %150 = load ptr, ptr %6, align 8
  %151 = getelementptr inbounds nuw %struct.Job, ptr %150, i32 0, i32 0
  %152 = load ptr, ptr %151, align 8
  %153 = load ptr, ptr %10, align 8
  %154 = call ptr @complain(ptr noundef %152, ptr noundef %153, i32 noundef 9, ptr noundef @.str.20) #2
  store ptr %154, ptr %5, align 8
  br label %270

155:                                              ; preds = %146
  br label %156

156:                                              ; preds = %155
  %157 = load ptr, ptr %6, align 8
  %158 = load i32, ptr %14, align 4
  %159 = load ptr, ptr %7, align 8
  %160 = load i32, ptr %14, align 4
  %161 = sext i32 %160 to i64
  %162 = getelementptr inbounds %struct.Extents, ptr %159, i64 %161
  %163 = load ptr, ptr %8, align 8
  %164 = load i32, ptr %13, align 4
  %165 = call ptr @expand(ptr noundef %157, i32 noundef %158, ptr noundef %162, ptr noundef %163, i32 noundef %164) #2
  store ptr %165, ptr %21, align 8
  %166 = load ptr, ptr %21, align 8
  %167 = icmp ne ptr %166, null
  br i1 %167, label %168, label %170

168:                                              ; preds = %156
  %169 = load ptr, ptr %21, align 8
  store ptr %169, ptr %5, align 8
  br label %270

170:                                              ; preds = %156
  br label %171

171:                                              ; preds = %170
  br label %172

172:                                              ; preds = %171, %141, %138, %135
  %173 = load i32, ptr %17, align 4
  %174 = icmp ne i32 %173, 0
  %175 = xor i1 %174, true
  %176 = zext i1 %175 to i32
  %177 = sext i32 %176 to i64
  %178 = load ptr, ptr %11, align 8
  %179 = getelementptr inbounds nuw %struct.Layout, ptr %178, i32 0, i32 4
  %180 = load i32, ptr %14, align 4
  %181 = sext i32 %180 to i64
  %182 = getelementptr inbounds [16 x %struct.anon.0], ptr %179, i64 0, i64 %181
  %183 = getelementptr inbounds nuw %struct.anon.0, ptr %182, i32 0, i32 1
  store i64 %177, ptr %183, align 8
  br label %184

184:                                              ; preds = %172
  %185 = load i32, ptr %14, align 4
  %186 = add nsw i32 %185, 1
  store i32 %186, ptr %14, align 4
  br label %55

187:                                              ; preds = %55
  %188 = load ptr, ptr %11, align 8
  %189 = load i32, ptr %12, align 4
  %190 = load ptr, ptr %7, align 8
  %191 = load ptr, ptr %8, align 8
  %192 = load i32, ptr %13, align 4
  call void @merge_axes(ptr noundef %188, i32 noundef %189, ptr noundef %190, ptr noundef %191, i32 noundef %192) #2
  br label %259

193:                                              ; preds = %4
  %194 = load ptr, ptr %11, align 8
  %195 = load i32, ptr %12, align 4
  %196 = load ptr, ptr %7, align 8
  %197 = load ptr, ptr %8, align 8
  %198 = load ptr, ptr %8, align 8
  %199 = getelementptr inbounds nuw %struct.Extents, ptr %198, i32 0, i32 0
  %200 = load i32, ptr %199, align 8
  call void @merge_axes(ptr noundef %194, i32 noundef %195, ptr noundef %196, ptr noundef %197, i32 noundef %200) #2
  %201 = load ptr, ptr %11, align 8
  %202 = getelementptr inbounds nuw %struct.Layout, ptr %201, i32 0, i32 1
  store i64 1, ptr %202, align 8
  store i32 0, ptr %22, align 4
  br label %203

203:                                              ; preds = %214, %193
  %204 = load i32, ptr %22, align 4
  %205 = load i32, ptr %12, align 4
  %206 = icmp slt i32 %204, %205
  br i1 %206, label %207, label %217

207:                                              ; preds = %203
  %208 = load ptr, ptr %11, align 8
  %209 = getelementptr inbounds nuw %struct.Layout, ptr %208, i32 0, i32 4
  %210 = load i32, ptr %22, align 4
  %211 = sext i32 %210 to i64
  %212 = getelementptr inbounds [16 x %struct.anon.0], ptr %209, i64 0, i64 %211
  %213 = getelementptr inbounds nuw %struct.anon.0, ptr %212, i32 0, i32 1
  store i64 0, ptr %213, align 8
  br label %214

214:                                              ; preds = %207
  %215 = load i32, ptr %22, align 4
  %216 = add nsw i32 %215, 1
  store i32 %216, ptr %22, align 4
  br label %203

217:                                              ; preds = %203
  %218 = load ptr, ptr %11, align 8
  %219 = getelementptr inbounds nuw %struct.Layout, ptr %218, i32 0, i32 2
  %220 = load i64, ptr %219, align 8
  %221 = icmp ne i64 %220, 0
  br i1 %221, label %222, label %258

222:                                              ; preds = %217
  %223 = load ptr, ptr %11, align 8
  %224 = getelementptr inbounds nuw %struct.Layout, ptr %223, i32 0, i32 2
  %225 = load i64, ptr %224, align 8
  %226 = add nsw i64 %225, -1
  store i64 %226, ptr %224, align 8
  store i64 %226, ptr %23, align 8
  %227 = load ptr, ptr %11, align 8
  %228 = getelementptr inbounds nuw %struct.Layout, ptr %227, i32 0, i32 3
  %229 = load i64, ptr %23, align 8
  %230 = getelementptr inbounds [8 x i64], ptr %228, i64 0, i64 %229
  %231 = load i64, ptr %230, align 8
  %232 = load ptr, ptr %11, align 8
  %233 = getelementptr inbounds nuw %struct.Layout, ptr %232, i32 0, i32 1
  store i64 %231, ptr %233, align 8
  store i32 0, ptr %24, align 4
  br label %234

234:                                              ; preds = %254, %222
  %235 = load i32, ptr %24, align 4
  %236 = load i32, ptr %12, align 4
  %237 = icmp slt i32 %235, %236
  br i1 %237, label %238, label %257

238:                                              ; preds = %234
  %239 = load ptr, ptr %11, align 8
  %240 = getelementptr inbounds nuw %struct.Layout, ptr %239, i32 0, i32 4
  %241 = load i32, ptr %24, align 4
  %242 = sext i32 %241 to i64
  %243 = getelementptr inbounds [16 x %struct.anon.0], ptr %240, i64 0, i64 %242
  %244 = getelementptr inbounds nuw %struct.anon.0, ptr %243, i32 0, i32 0
  %245 = load i64, ptr %23, align 8
  %246 = getelementptr inbounds [8 x i64], ptr %244, i64 0, i64 %245
  %247 = load i64, ptr %246, align 8
  %248 = load ptr, ptr %11, align 8
  %249 = getelementptr inbounds nuw %struct.Layout, ptr %248, i32 0, i32 4
  %250 = load i32, ptr %24, align 4
  %251 = sext i32 %250 to i64
  %252 = getelementptr inbounds [16 x %struct.anon.0], ptr %249, i64 0, i64 %251
  %253 = getelementptr inbounds nuw %struct.anon.0, ptr %252, i32 0, i32 1
  store i64 %247, ptr %253, align 8
  br label %254

254:                                              ; preds = %238
  %255 = load i32, ptr %24, align 4
  %256 = add nsw i32 %255, 1
  store i32 %256, ptr %24, align 4
  br label %234

257:                                              ; preds = %234
  br label %258

258:                                              ; preds = %257, %217
  br label %259

259:                                              ; preds = %258, %187
  %260 = load ptr, ptr %11, align 8
  %261 = getelementptr inbounds nuw %struct.Layout, ptr %260, i32 0, i32 3
  %262 = getelementptr inbounds [8 x i64], ptr %261, i64 0, i64 0
  %263 = load ptr, ptr %11, align 8
  %264 = getelementptr inbounds nuw %struct.Layout, ptr %263, i32 0, i32 2
  %265 = load i64, ptr %264, align 8
  %266 = trunc i64 %265 to i32
  %267 = call i64 @product(ptr noundef %262, i32 noundef 0, i32 noundef %266) #2
  %268 = load ptr, ptr %11, align 8
  %269 = getelementptr inbounds nuw %struct.Layout, ptr %268, i32 0, i32 0
  store i64 %267, ptr %269, align 8
  store ptr null, ptr %5, align 8
  br label %270

270:                                              ; preds = %259, %168, %149, %129
  %271 = load ptr, ptr %5, align 8
  ret ptr %271
}

; Function Attrs: nounwind uwtable
define internal ptr @read_shape(ptr noundef %0, ptr noundef %1, ptr noundef %2, ptr noundef %3) #1 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca i32, align 4
  %12 = alloca ptr, align 8
  %13 = alloca i64, align 8
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store ptr %2, ptr %8, align 8
  store ptr %3, ptr %9, align 8
  %14 = load ptr, ptr %6, align 8
  %15 = getelementptr inbounds nuw %struct.Job, ptr %14, i32 0, i32 2
  %16 = load i32, ptr %15, align 8
  %17 = icmp ne i32 %16, 0
  br i1 %17, label %24, label %18

18:                                               ; preds = %4
  %19 = load ptr, ptr %6, align 8
  %20 = load ptr, ptr %7, align 8
  %21 = load ptr, ptr %8, align 8
  %22 = load ptr, ptr %9, align 8
  %23 = call ptr @copy_shape(ptr noundef %19, ptr noundef %20, ptr noundef %21, ptr noundef %22) #2
  store ptr %23, ptr %5, align 8
  br label %63

24:                                               ; preds = %4
  store ptr null, ptr %10, align 8
  br label %25

25:                                               ; preds = %24
  %26 = load ptr, ptr %6, align 8
  %27 = getelementptr inbounds nuw %struct.Job, ptr %26, i32 0, i32 0
  %28 = load ptr, ptr %27, align 8
  %29 = getelementptr inbounds nuw %struct.Api, ptr %28, i32 0, i32 0
  %30 = getelementptr inbounds [512 x ptr], ptr %29, i64 0, i64 414
  %31 = load ptr, ptr %30, align 8
  %32 = load ptr, ptr %7, align 8
  %33 = load ptr, ptr %8, align 8
  %34 = call ptr %31(ptr noundef %32, ptr noundef %11, ptr noundef %10, ptr noundef %33) #2
  store ptr %34, ptr %12, align 8
  %35 = load ptr, ptr %12, align 8
  %36 = icmp ne ptr %35, null
  br i1 %36, label %37, label %39

37:                                               ; preds = %25
  %38 = load ptr, ptr %12, align 8
  store ptr %38, ptr %5, align 8
  br label %63

39:                                               ; preds = %25
  br label %40

40:                                               ; preds = %39
  store i64 0, ptr %13, align 8
  br label %41

41:                                               ; preds = %59, %40
  %42 = load i64, ptr %13, align 8
  %43 = load ptr, ptr %8, align 8
  %44 = load i64, ptr %43, align 8
  %45 = icmp ult i64 %42, %44
  br i1 %45, label %46, label %49

46:                                               ; preds = %41
  %47 = load i64, ptr %13, align 8
  %48 = icmp ult i64 %47, 8
  br label %49

49:                                               ; preds = %46, %41
  %50 = phi i1 [ false, %41 ], [ %48, %46 ]
  br i1 %50, label %51, label %62

51:                                               ; preds = %49
  %52 = load ptr, ptr %10, align 8
  %53 = load i64, ptr %13, align 8
  %54 = getelementptr inbounds nuw i64, ptr %52, i64 %53
  %55 = load i64, ptr %54, align 8
  %56 = load ptr, ptr %9, align 8
  %57 = load i64, ptr %13, align 8
  %58 = getelementptr inbounds nuw i64, ptr %56, i64 %57
  store i64 %55, ptr %58, align 8
  br label %59

59:                                               ; preds = %51
  %60 = load i64, ptr %13, align 8
  %61 = add i64 %60, 1
  store i64 %61, ptr %13, align 8
  br label %41

62:                                               ; preds = %49
  store ptr null, ptr %5, align 8
  br label %63

63:                                               ; preds = %62, %37, %18
  %64 = load ptr, ptr %5, align 8
  ret ptr %64
}

; Function Attrs: nounwind uwtable
define internal void @set_dense(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  %3 = alloca i64, align 8
  %4 = alloca i32, align 4
  store ptr %0, ptr %2, align 8
  store i64 1, ptr %3, align 8
  %5 = load ptr, ptr %2, align 8
  %6 = getelementptr inbounds nuw %struct.Extents, ptr %5, i32 0, i32 0
  %7 = load i32, ptr %6, align 8
  %8 = sub nsw i32 %7, 1
  store i32 %8, ptr %4, align 4
  br label %9

9:                                                ; preds = %27, %1
  %10 = load i32, ptr %4, align 4
  %11 = icmp sge i32 %10, 0
  br i1 %11, label %12, label %30

12:                                               ; preds = %9
  %13 = load i64, ptr %3, align 8
  %14 = load ptr, ptr %2, align 8
  %15 = getelementptr inbounds nuw %struct.Extents, ptr %14, i32 0, i32 2
  %16 = load i32, ptr %4, align 4
  %17 = sext i32 %16 to i64
  %18 = getelementptr inbounds [8 x i64], ptr %15, i64 0, i64 %17
  store i64 %13, ptr %18, align 8
  %19 = load ptr, ptr %2, align 8
  %20 = getelementptr inbounds nuw %struct.Extents, ptr %19, i32 0, i32 1
  %21 = load i32, ptr %4, align 4
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds [8 x i64], ptr %20, i64 0, i64 %22
  %24 = load i64, ptr %23, align 8
  %25 = load i64, ptr %3, align 8
  %26 = mul nsw i64 %25, %24
  store i64 %26, ptr %3, align 8
  br label %27

27:                                               ; preds = %12
  %28 = load i32, ptr %4, align 4
  %29 = add nsw i32 %28, -1
  store i32 %29, ptr %4, align 4
  br label %9

30:                                               ; preds = %9
  ret void
}

; Function Attrs: nounwind uwtable
define internal ptr @look_through(ptr noundef %0, i32 noundef %1, ptr noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i32, align 4
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca %struct.Extents, align 8
  %12 = alloca %struct.Extents, align 8
  %13 = alloca i32, align 4
  %14 = alloca i32, align 4
  %15 = alloca i64, align 8
  %16 = alloca i32, align 4
  %17 = alloca i32, align 4
  store ptr %0, ptr %5, align 8
  store i32 %1, ptr %6, align 4
  store ptr %2, ptr %7, align 8
  %18 = load ptr, ptr %5, align 8
  %19 = getelementptr inbounds nuw %struct.Job, ptr %18, i32 0, i32 1
  %20 = load ptr, ptr %19, align 8
  store ptr %20, ptr %8, align 8
  %21 = load ptr, ptr %8, align 8
  %22 = getelementptr inbounds nuw %struct.Descriptor, ptr %21, i32 0, i32 10
  %23 = load i32, ptr %6, align 4
  %24 = sext i32 %23 to i64
  %25 = getelementptr inbounds [16 x %struct.Tensor], ptr %22, i64 0, i64 %24
  store ptr %25, ptr %9, align 8
  %26 = load ptr, ptr %9, align 8
  %27 = getelementptr inbounds nuw %struct.Tensor, ptr %26, i32 0, i32 4
  %28 = load ptr, ptr %27, align 8
  store ptr %28, ptr %10, align 8
  %29 = load ptr, ptr %7, align 8
  call void @copy_extents(ptr noundef %11, ptr noundef %29) #2
  %30 = load ptr, ptr %10, align 8
  %31 = getelementptr inbounds nuw %struct.View, ptr %30, i32 0, i32 2
  %32 = load i32, ptr %31, align 8
  %33 = icmp ne i32 %32, 0
  br i1 %33, label %34, label %149

34:                                               ; preds = %3
  %35 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 0
  %36 = load i32, ptr %35, align 8
  %37 = icmp ne i32 %36, 0
  br i1 %37, label %39, label %38

38:                                               ; preds = %34
  call void @add_axis(ptr noundef %11) #2
  br label %39

39:                                               ; preds = %38, %34
  %40 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 0
  %41 = load i32, ptr %40, align 8
  %42 = add nsw i32 %41, -1
  store i32 %42, ptr %40, align 8
  store i32 %42, ptr %13, align 4
  %43 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 1
  %44 = load i32, ptr %13, align 4
  %45 = sext i32 %44 to i64
  %46 = getelementptr inbounds [8 x i64], ptr %43, i64 0, i64 %45
  %47 = load i64, ptr %46, align 8
  %48 = icmp eq i64 %47, 1
  %49 = zext i1 %48 to i32
  store i32 %49, ptr %14, align 4
  %50 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 1
  %51 = load i32, ptr %13, align 4
  %52 = sext i32 %51 to i64
  %53 = getelementptr inbounds [8 x i64], ptr %50, i64 0, i64 %52
  %54 = load i64, ptr %53, align 8
  %55 = load ptr, ptr %10, align 8
  %56 = getelementptr inbounds nuw %struct.View, ptr %55, i32 0, i32 0
  %57 = load i64, ptr %56, align 8
  %58 = icmp ne i64 %54, %57
  br i1 %58, label %59, label %62

59:                                               ; preds = %39
  %60 = load i32, ptr %14, align 4
  %61 = icmp ne i32 %60, 0
  br i1 %61, label %62, label %69

62:                                               ; preds = %59, %39
  %63 = load i32, ptr %13, align 4
  %64 = load ptr, ptr %10, align 8
  %65 = getelementptr inbounds nuw %struct.View, ptr %64, i32 0, i32 2
  %66 = load i32, ptr %65, align 8
  %67 = add nsw i32 %63, %66
  %68 = icmp sgt i32 %67, 8
  br i1 %68, label %69, label %77

69:                                               ; preds = %62, %59
  %70 = load ptr, ptr %5, align 8
  %71 = getelementptr inbounds nuw %struct.Job, ptr %70, i32 0, i32 0
  %72 = load ptr, ptr %71, align 8
  %73 = load ptr, ptr %8, align 8
  %74 = load i32, ptr %6, align 4
  %75 = load ptr, ptr %7, align 8
  %76 = call ptr @complain_of_shape(ptr noundef %72, ptr noundef %73, i32 noundef %74, ptr noundef %75) #2
  store ptr %76, ptr %4, align 8
  br label %220

77:                                               ; preds = %62
  store i64 1, ptr %15, align 8
  %78 = load ptr, ptr %10, align 8
  %79 = getelementptr inbounds nuw %struct.View, ptr %78, i32 0, i32 2
  %80 = load i32, ptr %79, align 8
  %81 = sub nsw i32 %80, 1
  store i32 %81, ptr %16, align 4
  br label %82

82:                                               ; preds = %120, %77
  %83 = load i32, ptr %16, align 4
  %84 = icmp sge i32 %83, 0
  br i1 %84, label %85, label %123

85:                                               ; preds = %82
  %86 = load i32, ptr %14, align 4
  %87 = icmp ne i32 %86, 0
  br i1 %87, label %88, label %89

88:                                               ; preds = %85
  br label %96

89:                                               ; preds = %85
  %90 = load ptr, ptr %10, align 8
  %91 = getelementptr inbounds nuw %struct.View, ptr %90, i32 0, i32 4
  %92 = load i32, ptr %16, align 4
  %93 = sext i32 %92 to i64
  %94 = getelementptr inbounds [8 x i64], ptr %91, i64 0, i64 %93
  %95 = load i64, ptr %94, align 8
  br label %96

96:                                               ; preds = %89, %88
  %97 = phi i64 [ 1, %88 ], [ %95, %89 ]
  %98 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 1
  %99 = load i32, ptr %13, align 4
  %100 = load i32, ptr %16, align 4
  %101 = add nsw i32 %99, %100
  %102 = sext i32 %101 to i64
  %103 = getelementptr inbounds [8 x i64], ptr %98, i64 0, i64 %102
  store i64 %97, ptr %103, align 8
  %104 = load i64, ptr %15, align 8
  %105 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 2
  %106 = load i32, ptr %13, align 4
  %107 = load i32, ptr %16, align 4
  %108 = add nsw i32 %106, %107
  %109 = sext i32 %108 to i64
  %110 = getelementptr inbounds [8 x i64], ptr %105, i64 0, i64 %109
  store i64 %104, ptr %110, align 8
  %111 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 1
  %112 = load i32, ptr %13, align 4
  %113 = load i32, ptr %16, align 4
  %114 = add nsw i32 %112, %113
  %115 = sext i32 %114 to i64
  %116 = getelementptr inbounds [8 x i64], ptr %111, i64 0, i64 %115
  %117 = load i64, ptr %116, align 8
  %118 = load i64, ptr %15, align 8
  %119 = mul nsw i64 %118, %117
  store i64 %119, ptr %15, align 8
  br label %120

120:                                              ; preds = %96
  %121 = load i32, ptr %16, align 4
  %122 = add nsw i32 %121, -1
  store i32 %122, ptr %16, align 4
  br label %82

123:                                              ; preds = %82
  %124 = load ptr, ptr %10, align 8
  %125 = getelementptr inbounds nuw %struct.View, ptr %124, i32 0, i32 2
  %126 = load i32, ptr %125, align 8
  %127 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 0
  %128 = load i32, ptr %127, align 8
  %129 = add nsw i32 %128, %126
  store i32 %129, ptr %127, align 8
  %130 = load i32, ptr %14, align 4
  %131 = icmp ne i32 %130, 0
  br i1 %131, label %148, label %132

132:                                              ; preds = %123
  %133 = load ptr, ptr %10, align 8
  %134 = getelementptr inbounds nuw %struct.View, ptr %133, i32 0, i32 1
  %135 = load i64, ptr %134, align 8
  %136 = load ptr, ptr %9, align 8
  %137 = getelementptr inbounds nuw %struct.Tensor, ptr %136, i32 0, i32 1
  %138 = load i32, ptr %137, align 4
  %139 = sext i32 %138 to i64
  %140 = mul nsw i64 %135, %139
  %141 = load ptr, ptr %5, align 8
  %142 = getelementptr inbounds nuw %struct.Job, ptr %141, i32 0, i32 7
  %143 = load i32, ptr %6, align 4
  %144 = sext i32 %143 to i64
  %145 = getelementptr inbounds [16 x ptr], ptr %142, i64 0, i64 %144
  %146 = load ptr, ptr %145, align 8
  %147 = getelementptr inbounds i8, ptr %146, i64 %140
  store ptr %147, ptr %145, align 8
  br label %148

148:                                              ; preds = %132, %123
  br label %149

149:                                              ; preds = %148, %3
  %150 = load ptr, ptr %10, align 8
  %151 = getelementptr inbounds nuw %struct.View, ptr %150, i32 0, i32 3
  %152 = load i32, ptr %151, align 4
  %153 = icmp ne i32 %152, 0
  br i1 %153, label %154, label %218

154:                                              ; preds = %149
  %155 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 0
  %156 = load i32, ptr %155, align 8
  %157 = load ptr, ptr %10, align 8
  %158 = getelementptr inbounds nuw %struct.View, ptr %157, i32 0, i32 3
  %159 = load i32, ptr %158, align 4
  %160 = icmp sgt i32 %156, %159
  br i1 %160, label %161, label %169

161:                                              ; preds = %154
  %162 = load ptr, ptr %5, align 8
  %163 = getelementptr inbounds nuw %struct.Job, ptr %162, i32 0, i32 0
  %164 = load ptr, ptr %163, align 8
  %165 = load ptr, ptr %8, align 8
  %166 = load i32, ptr %6, align 4
  %167 = load ptr, ptr %7, align 8
  %168 = call ptr @complain_of_shape(ptr noundef %164, ptr noundef %165, i32 noundef %166, ptr noundef %167) #2
  store ptr %168, ptr %4, align 8
  br label %220

169:                                              ; preds = %154
  br label %170

170:                                              ; preds = %177, %169
  %171 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 0
  %172 = load i32, ptr %171, align 8
  %173 = load ptr, ptr %10, align 8
  %174 = getelementptr inbounds nuw %struct.View, ptr %173, i32 0, i32 3
  %175 = load i32, ptr %174, align 4
  %176 = icmp slt i32 %172, %175
  br i1 %176, label %177, label %178

177:                                              ; preds = %170
  call void @add_axis(ptr noundef %11) #2
  br label %170

178:                                              ; preds = %170
  call void @copy_extents(ptr noundef %12, ptr noundef %11) #2
  store i32 0, ptr %17, align 4
  br label %179

179:                                              ; preds = %214, %178
  %180 = load i32, ptr %17, align 4
  %181 = load ptr, ptr %10, align 8
  %182 = getelementptr inbounds nuw %struct.View, ptr %181, i32 0, i32 3
  %183 = load i32, ptr %182, align 4
  %184 = icmp slt i32 %180, %183
  br i1 %184, label %185, label %217

185:                                              ; preds = %179
  %186 = getelementptr inbounds nuw %struct.Extents, ptr %12, i32 0, i32 1
  %187 = load ptr, ptr %10, align 8
  %188 = getelementptr inbounds nuw %struct.View, ptr %187, i32 0, i32 5
  %189 = load i32, ptr %17, align 4
  %190 = sext i32 %189 to i64
  %191 = getelementptr inbounds [8 x i32], ptr %188, i64 0, i64 %190
  %192 = load i32, ptr %191, align 4
  %193 = sext i32 %192 to i64
  %194 = getelementptr inbounds [8 x i64], ptr %186, i64 0, i64 %193
  %195 = load i64, ptr %194, align 8
  %196 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 1
  %197 = load i32, ptr %17, align 4
  %198 = sext i32 %197 to i64
  %199 = getelementptr inbounds [8 x i64], ptr %196, i64 0, i64 %198
  store i64 %195, ptr %199, align 8
  %200 = getelementptr inbounds nuw %struct.Extents, ptr %12, i32 0, i32 2
  %201 = load ptr, ptr %10, align 8
  %202 = getelementptr inbounds nuw %struct.View, ptr %201, i32 0, i32 5
  %203 = load i32, ptr %17, align 4
  %204 = sext i32 %203 to i64
  %205 = getelementptr inbounds [8 x i32], ptr %202, i64 0, i64 %204
  %206 = load i32, ptr %205, align 4
  %207 = sext i32 %206 to i64
  %208 = getelementptr inbounds [8 x i64], ptr %200, i64 0, i64 %207
  %209 = load i64, ptr %208, align 8
  %210 = getelementptr inbounds nuw %struct.Extents, ptr %11, i32 0, i32 2
  %211 = load i32, ptr %17, align 4
  %212 = sext i32 %211 to i64
  %213 = getelementptr inbounds [8 x i64], ptr %210, i64 0, i64 %212
  store i64 %209, ptr %213, align 8
  br label %214

214:                                              ; preds = %185
  %215 = load i32, ptr %17, align 4
  %216 = add nsw i32 %215, 1
  store i32 %216, ptr %17, align 4
  br label %179

217:                                              ; preds = %179
  br label %218

218:                                              ; preds = %217, %149
  %219 = load ptr, ptr %7, align 8
  call void @copy_extents(ptr noundef %219, ptr noundef %11) #2
  store ptr null, ptr %4, align 8
  br label %220

220:                                              ; preds = %218, %161, %69
  %221 = load ptr, ptr %4, align 8
  ret ptr %221
}

; Function Attrs: nounwind uwtable
define internal ptr @copy_shape(ptr noundef %0, ptr noundef %1, ptr noundef %2, ptr noundef %3) #1 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca ptr, align 8
  %12 = alloca ptr, align 8
  %13 = alloca ptr, align 8
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store ptr %2, ptr %8, align 8
  store ptr %3, ptr %9, align 8
  %14 = load ptr, ptr %6, align 8
  %15 = getelementptr inbounds nuw %struct.Job, ptr %14, i32 0, i32 0
  %16 = load ptr, ptr %15, align 8
  store ptr %16, ptr %10, align 8
  store ptr null, ptr %11, align 8
  br label %17

17:                                               ; preds = %4
  %18 = load ptr, ptr %10, align 8
  %19 = getelementptr inbounds nuw %struct.Api, ptr %18, i32 0, i32 0
  %20 = getelementptr inbounds [512 x ptr], ptr %19, i64 0, i64 65
  %21 = load ptr, ptr %20, align 8
  %22 = load ptr, ptr %7, align 8
  %23 = call ptr %21(ptr noundef %22, ptr noundef %11) #2
  store ptr %23, ptr %12, align 8
  %24 = load ptr, ptr %12, align 8
  %25 = icmp ne ptr %24, null
  br i1 %25, label %26, label %28

26:                                               ; preds = %17
  %27 = load ptr, ptr %12, align 8
  store ptr %27, ptr %5, align 8
  br label %60

28:                                               ; preds = %17
  br label %29

29:                                               ; preds = %28
  %30 = load ptr, ptr %10, align 8
  %31 = getelementptr inbounds nuw %struct.Api, ptr %30, i32 0, i32 0
  %32 = getelementptr inbounds [512 x ptr], ptr %31, i64 0, i64 61
  %33 = load ptr, ptr %32, align 8
  %34 = load ptr, ptr %11, align 8
  %35 = load ptr, ptr %8, align 8
  %36 = call ptr %33(ptr noundef %34, ptr noundef %35) #2
  store ptr %36, ptr %13, align 8
  %37 = load ptr, ptr %13, align 8
  %38 = icmp ne ptr %37, null
  br i1 %38, label %53, label %39

39:                                               ; preds = %29
  %40 = load ptr, ptr %8, align 8
  %41 = load i64, ptr %40, align 8
  %42 = icmp ule i64 %41, 8
  br i1 %42, label %43, label %53

43:                                               ; preds = %39
  %44 = load ptr, ptr %10, align 8
  %45 = getelementptr inbounds nuw %struct.Api, ptr %44, i32 0, i32 0
  %46 = getelementptr inbounds [512 x ptr], ptr %45, i64 0, i64 62
  %47 = load ptr, ptr %46, align 8
  %48 = load ptr, ptr %11, align 8
  %49 = load ptr, ptr %9, align 8
  %50 = load ptr, ptr %8, align 8
  %51 = load i64, ptr %50, align 8
  %52 = call ptr %47(ptr noundef %48, ptr noundef %49, i64 noundef %51) #2
  store ptr %52, ptr %13, align 8
  br label %53

53:                                               ; preds = %43, %39, %29
  %54 = load ptr, ptr %10, align 8
  %55 = getelementptr inbounds nuw %struct.Api, ptr %54, i32 0, i32 0
  %56 = getelementptr inbounds [512 x ptr], ptr %55, i64 0, i64 99
  %57 = load ptr, ptr %56, align 8
  %58 = load ptr, ptr %11, align 8
  call void %57(ptr noundef %58) #2
  %59 = load ptr, ptr %13, align 8
  store ptr %59, ptr %5, align 8
  br label %60

60:                                               ; preds = %53, %26
  %61 = load ptr, ptr %5, align 8
  ret ptr %61
}

; Function Attrs: nounwind uwtable
define internal void @copy_extents(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %6 = load ptr, ptr %4, align 8
  %7 = getelementptr inbounds nuw %struct.Extents, ptr %6, i32 0, i32 0
  %8 = load i32, ptr %7, align 8
  %9 = load ptr, ptr %3, align 8
  %10 = getelementptr inbounds nuw %struct.Extents, ptr %9, i32 0, i32 0
  store i32 %8, ptr %10, align 8
  store i32 0, ptr %5, align 4
  br label %11

11:                                               ; preds = %40, %2
  %12 = load i32, ptr %5, align 4
  %13 = load ptr, ptr %4, align 8
  %14 = getelementptr inbounds nuw %struct.Extents, ptr %13, i32 0, i32 0
  %15 = load i32, ptr %14, align 8
  %16 = icmp slt i32 %12, %15
  br i1 %16, label %17, label %43

17:                                               ; preds = %11
  %18 = load ptr, ptr %4, align 8
  %19 = getelementptr inbounds nuw %struct.Extents, ptr %18, i32 0, i32 1
  %20 = load i32, ptr %5, align 4
  %21 = sext i32 %20 to i64
  %22 = getelementptr inbounds [8 x i64], ptr %19, i64 0, i64 %21
  %23 = load i64, ptr %22, align 8
  %24 = load ptr, ptr %3, align 8
  %25 = getelementptr inbounds nuw %struct.Extents, ptr %24, i32 0, i32 1
  %26 = load i32, ptr %5, align 4
  %27 = sext i32 %26 to i64
  %28 = getelementptr inbounds [8 x i64], ptr %25, i64 0, i64 %27
  store i64 %23, ptr %28, align 8
  %29 = load ptr, ptr %4, align 8
  %30 = getelementptr inbounds nuw %struct.Extents, ptr %29, i32 0, i32 2
  %31 = load i32, ptr %5, align 4
  %32 = sext i32 %31 to i64
  %33 = getelementptr inbounds [8 x i64], ptr %30, i64 0, i64 %32
  %34 = load i64, ptr %33, align 8
  %35 = load ptr, ptr %3, align 8
  %36 = getelementptr inbounds nuw %struct.Extents, ptr %35, i32 0, i32 2
  %37 = load i32, ptr %5, align 4
  %38 = sext i32 %37 to i64
  %39 = getelementptr inbounds [8 x i64], ptr %36, i64 0, i64 %38
  store i64 %34, ptr %39, align 8
  br label %40

40:                                               ; preds = %17
  %41 = load i32, ptr %5, align 4
  %42 = add nsw i32 %41, 1
  store i32 %42, ptr %5, align 4
  br label %11

43:                                               ; preds = %11
  ret void
}

; Function Attrs: nounwind uwtable
define internal void @add_axis(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  %3 = alloca i32, align 4
  store ptr %0, ptr %2, align 8
  %4 = load ptr, ptr %2, align 8
  %5 = getelementptr inbounds nuw %struct.Extents, ptr %4, i32 0, i32 0
  %6 = load i32, ptr %5, align 8
  %7 = add nsw i32 %6, 1
  store i32 %7, ptr %5, align 8
  store i32 %6, ptr %3, align 4
  br label %8

8:                                                ; preds = %36, %1
  %9 = load i32, ptr %3, align 4
  %10 = icmp sgt i32 %9, 0
  br i1 %10, label %11, label %39

11:                                               ; preds = %8
  %12 = load ptr, ptr %2, align 8
  %13 = getelementptr inbounds nuw %struct.Extents, ptr %12, i32 0, i32 1
  %14 = load i32, ptr %3, align 4
  %15 = sub nsw i32 %14, 1
  %16 = sext i32 %15 to i64
  %17 = getelementptr inbounds [8 x i64], ptr %13, i64 0, i64 %16
  %18 = load i64, ptr %17, align 8
  %19 = load ptr, ptr %2, align 8
  %20 = getelementptr inbounds nuw %struct.Extents, ptr %19, i32 0, i32 1
  %21 = load i32, ptr %3, align 4
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds [8 x i64], ptr %20, i64 0, i64 %22
  store i64 %18, ptr %23, align 8
  %24 = load ptr, ptr %2, align 8
  %25 = getelementptr inbounds nuw %struct.Extents, ptr %24, i32 0, i32 2
  %26 = load i32, ptr %3, align 4
  %27 = sub nsw i32 %26, 1
  %28 = sext i32 %27 to i64
  %29 = getelementptr inbounds [8 x i64], ptr %25, i64 0, i64 %28
  %30 = load i64, ptr %29, align 8
  %31 = load ptr, ptr %2, align 8
  %32 = getelementptr inbounds nuw %struct.Extents, ptr %31, i32 0, i32 2
  %33 = load i32, ptr %3, align 4
  %34 = sext i32 %33 to i64
  %35 = getelementptr inbounds [8 x i64], ptr %32, i64 0, i64 %34
  store i64 %30, ptr %35, align 8
  br label %36

36:                                               ; preds = %11
  %37 = load i32, ptr %3, align 4
  %38 = add nsw i32 %37, -1
  store i32 %38, ptr %3, align 4
  br label %8

39:                                               ; preds = %8
  %40 = load ptr, ptr %2, align 8
  %41 = getelementptr inbounds nuw %struct.Extents, ptr %40, i32 0, i32 1
  %42 = getelementptr inbounds [8 x i64], ptr %41, i64 0, i64 0
  store i64 1, ptr %42, align 8
  %43 = load ptr, ptr %2, align 8
  %44 = getelementptr inbounds nuw %struct.Extents, ptr %43, i32 0, i32 2
  %45 = getelementptr inbounds [8 x i64], ptr %44, i64 0, i64 0
  store i64 0, ptr %45, align 8
  ret void
}

; Function Attrs: nounwind uwtable
define internal ptr @complain_of_shape(ptr noundef %0, ptr noundef %1, i32 noundef %2, ptr noundef %3) #1 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i32, align 4
  %8 = alloca ptr, align 8
  %9 = alloca %struct.Message, align 4
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store i32 %2, ptr %7, align 4
  store ptr %3, ptr %8, align 8
  %10 = load ptr, ptr %6, align 8
  call void @say_operator(ptr noundef %9, ptr noundef %10) #2
  call void @say(ptr noundef %9, ptr noundef @.str.7) #2
  %11 = load i32, ptr %7, align 4
  %12 = sext i32 %11 to i64
  call void @say_number(ptr noundef %9, i64 noundef %12) #2
  call void @say(ptr noundef %9, ptr noundef @.str.8) #2
  %13 = load ptr, ptr %8, align 8
  %14 = getelementptr inbounds nuw %struct.Extents, ptr %13, i32 0, i32 1
  %15 = getelementptr inbounds [8 x i64], ptr %14, i64 0, i64 0
  %16 = load ptr, ptr %8, align 8
  %17 = getelementptr inbounds nuw %struct.Extents, ptr %16, i32 0, i32 0
  %18 = load i32, ptr %17, align 8
  call void @say_shape(ptr noundef %9, ptr noundef %15, i32 noundef %18) #2
  call void @say(ptr noundef %9, ptr noundef @.str.9) #2
  %19 = load ptr, ptr %5, align 8
  %20 = getelementptr inbounds nuw %struct.Message, ptr %9, i32 0, i32 1
  %21 = getelementptr inbounds [400 x i8], ptr %20, i64 0, i64 0
  %22 = call ptr @create_status(ptr noundef %19, i32 noundef 2, ptr noundef %21) #2
  ret ptr %22
}

; Function Attrs: nounwind uwtable
define internal void @say_number(ptr noundef %0, i64 noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca [24 x i8], align 16
  %6 = alloca i32, align 4
  %7 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  store i32 23, ptr %6, align 4
  %8 = load i64, ptr %4, align 8
  %9 = icmp slt i64 %8, 0
  br i1 %9, label %10, label %13

10:                                               ; preds = %2
  %11 = load i64, ptr %4, align 8
  %12 = sub i64 0, %11
  br label %15

13:                                               ; preds = %2
  %14 = load i64, ptr %4, align 8
  br label %15

15:                                               ; preds = %13, %10
  %16 = phi i64 [ %12, %10 ], [ %14, %13 ]
  store i64 %16, ptr %7, align 8
  %17 = load i32, ptr %6, align 4
  %18 = sext i32 %17 to i64
  %19 = getelementptr inbounds [24 x i8], ptr %5, i64 0, i64 %18
  store i8 0, ptr %19, align 1
  br label %20

20:                                               ; preds = %31, %15
  %21 = load i64, ptr %7, align 8
  %22 = urem i64 %21, 10
  %23 = add i64 48, %22
  %24 = trunc i64 %23 to i8
  %25 = load i32, ptr %6, align 4
  %26 = add nsw i32 %25, -1
  store i32 %26, ptr %6, align 4
  %27 = sext i32 %26 to i64
  %28 = getelementptr inbounds [24 x i8], ptr %5, i64 0, i64 %27
  store i8 %24, ptr %28, align 1
  %29 = load i64, ptr %7, align 8
  %30 = udiv i64 %29, 10
  store i64 %30, ptr %7, align 8
  br label %31

31:                                               ; preds = %20
  %32 = load i64, ptr %7, align 8
  %33 = icmp ne i64 %32, 0
  br i1 %33, label %20, label %34

34:                                               ; preds = %31
  %35 = load i64, ptr %4, align 8
  %36 = icmp slt i64 %35, 0
  br i1 %36, label %37, label %42

37:                                               ; preds = %34
  %38 = load i32, ptr %6, align 4
  %39 = add nsw i32 %38, -1
  store i32 %39, ptr %6, align 4
  %40 = sext i32 %39 to i64
  %41 = getelementptr inbounds [24 x i8], ptr %5, i64 0, i64 %40
  store i8 45, ptr %41, align 1
  br label %42

42:                                               ; preds = %37, %34
  %43 = load ptr, ptr %3, align 8
  %44 = getelementptr inbounds [24 x i8], ptr %5, i64 0, i64 0
  %45 = load i32, ptr %6, align 4
  %46 = sext i32 %45 to i64
  %47 = getelementptr inbounds i8, ptr %44, i64 %46
  call void @say(ptr noundef %43, ptr noundef %47) #2
  ret void
}

; Function Attrs: nounwind uwtable
define internal void @say_shape(ptr noundef %0, ptr noundef %1, i32 noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  %8 = load ptr, ptr %4, align 8
  call void @say(ptr noundef %8, ptr noundef @.str.10) #2
  store i32 0, ptr %7, align 4
  br label %9

9:                                                ; preds = %25, %3
  %10 = load i32, ptr %7, align 4
  %11 = load i32, ptr %6, align 4
  %12 = icmp slt i32 %10, %11
  br i1 %12, label %13, label %28

13:                                               ; preds = %9
  %14 = load i32, ptr %7, align 4
  %15 = icmp ne i32 %14, 0
  br i1 %15, label %16, label %18

16:                                               ; preds = %13
  %17 = load ptr, ptr %4, align 8
  call void @say(ptr noundef %17, ptr noundef @.str.11) #2
  br label %18

18:                                               ; preds = %16, %13
  %19 = load ptr, ptr %4, align 8
  %20 = load ptr, ptr %5, align 8
  %21 = load i32, ptr %7, align 4
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i64, ptr %20, i64 %22
  %24 = load i64, ptr %23, align 8
  call void @say_number(ptr noundef %19, i64 noundef %24) #2
  br label %25

25:                                               ; preds = %18
  %26 = load i32, ptr %7, align 4
  %27 = add nsw i32 %26, 1
  store i32 %27, ptr %7, align 4
  br label %9

28:                                               ; preds = %9
  %29 = load ptr, ptr %4, align 8
  call void @say(ptr noundef %29, ptr noundef @.str.12) #2
  ret void
}

; Function Attrs: nounwind uwtable
define internal ptr @expand(ptr noundef %0, i32 noundef %1, ptr noundef %2, ptr noundef %3, i32 noundef %4) #1 {
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i32, align 4
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  %13 = alloca %struct.Extents, align 8
  %14 = alloca i32, align 4
  %15 = alloca i64, align 8
  %16 = alloca ptr, align 8
  %17 = alloca ptr, align 8
  %18 = alloca i64, align 8
  %19 = alloca i64, align 8
  %20 = alloca i64, align 8
  %21 = alloca i32, align 4
  store ptr %0, ptr %7, align 8
  store i32 %1, ptr %8, align 4
  store ptr %2, ptr %9, align 8
  store ptr %3, ptr %10, align 8
  store i32 %4, ptr %11, align 4
  %22 = load ptr, ptr %7, align 8
  %23 = getelementptr inbounds nuw %struct.Job, ptr %22, i32 0, i32 1
  %24 = load ptr, ptr %23, align 8
  %25 = getelementptr inbounds nuw %struct.Descriptor, ptr %24, i32 0, i32 10
  %26 = load i32, ptr %8, align 4
  %27 = sext i32 %26 to i64
  %28 = getelementptr inbounds [16 x %struct.Tensor], ptr %25, i64 0, i64 %27
  %29 = getelementptr inbounds nuw %struct.Tensor, ptr %28, i32 0, i32 1
  %30 = load i32, ptr %29, align 4
  store i32 %30, ptr %12, align 4
  %31 = load ptr, ptr %9, align 8
  call void @copy_extents(ptr noundef %13, ptr noundef %31) #2
  %32 = load i32, ptr %11, align 4
  store i32 %32, ptr %14, align 4
  br label %33

33:                                               ; preds = %50, %5
  %34 = load i32, ptr %14, align 4
  %35 = load ptr, ptr %10, align 8
  %36 = getelementptr inbounds nuw %struct.Extents, ptr %35, i32 0, i32 0
  %37 = load i32, ptr %36, align 8
  %38 = icmp slt i32 %34, %37
  br i1 %38, label %39, label %53

39:                                               ; preds = %33
  %40 = load ptr, ptr %10, align 8
  %41 = getelementptr inbounds nuw %struct.Extents, ptr %40, i32 0, i32 1
  %42 = load i32, ptr %14, align 4
  %43 = sext i32 %42 to i64
  %44 = getelementptr inbounds [8 x i64], ptr %41, i64 0, i64 %43
  %45 = load i64, ptr %44, align 8
  %46 = getelementptr inbounds nuw %struct.Extents, ptr %13, i32 0, i32 1
  %47 = load i32, ptr %14, align 4
  %48 = sext i32 %47 to i64
  %49 = getelementptr inbounds [8 x i64], ptr %46, i64 0, i64 %48
  store i64 %45, ptr %49, align 8
  br label %50

50:                                               ; preds = %39
  %51 = load i32, ptr %14, align 4
  %52 = add nsw i32 %51, 1
  store i32 %52, ptr %14, align 4
  br label %33

53:                                               ; preds = %33
  %54 = getelementptr inbounds nuw %struct.Extents, ptr %13, i32 0, i32 1
  %55 = getelementptr inbounds [8 x i64], ptr %54, i64 0, i64 0
  %56 = getelementptr inbounds nuw %struct.Extents, ptr %13, i32 0, i32 0
  %57 = load i32, ptr %56, align 8
  %58 = call i64 @product(ptr noundef %55, i32 noundef 0, i32 noundef %57) #2
  store i64 %58, ptr %15, align 8
  br label %59

59:                                               ; preds = %53
  %60 = load ptr, ptr %7, align 8
  %61 = getelementptr inbounds nuw %struct.Job, ptr %60, i32 0, i32 0
  %62 = load ptr, ptr %61, align 8
  %63 = load i64, ptr %15, align 8
  %64 = load i32, ptr %12, align 4
  %65 = sext i32 %64 to i64
  %66 = mul nsw i64 %63, %65
  %67 = load ptr, ptr %7, align 8
  %68 = getelementptr inbounds nuw %struct.Job, ptr %67, i32 0, i32 8
  %69 = load i32, ptr %8, align 4
  %70 = sext i32 %69 to i64
  %71 = getelementptr inbounds [16 x ptr], ptr %68, i64 0, i64 %70
  %72 = call ptr @allocate(ptr noundef %62, i64 noundef %66, ptr noundef %71) #2
  store ptr %72, ptr %16, align 8
  %73 = load ptr, ptr %16, align 8
  %74 = icmp ne ptr %73, null
  br i1 %74, label %75, label %77

75:                                               ; preds = %59
  %76 = load ptr, ptr %16, align 8
  store ptr %76, ptr %6, align 8
  br label %167

77:                                               ; preds = %59
  br label %78

78:                                               ; preds = %77
  %79 = load ptr, ptr %7, align 8
  %80 = getelementptr inbounds nuw %struct.Job, ptr %79, i32 0, i32 8
  %81 = load i32, ptr %8, align 4
  %82 = sext i32 %81 to i64
  %83 = getelementptr inbounds [16 x ptr], ptr %80, i64 0, i64 %82
  %84 = load ptr, ptr %83, align 8
  store ptr %84, ptr %17, align 8
  store i64 0, ptr %18, align 8
  br label %85

85:                                               ; preds = %151, %78
  %86 = load i64, ptr %18, align 8
  %87 = load i64, ptr %15, align 8
  %88 = icmp slt i64 %86, %87
  br i1 %88, label %89, label %154

89:                                               ; preds = %85
  %90 = load i64, ptr %18, align 8
  store i64 %90, ptr %19, align 8
  store i64 0, ptr %20, align 8
  %91 = getelementptr inbounds nuw %struct.Extents, ptr %13, i32 0, i32 0
  %92 = load i32, ptr %91, align 8
  %93 = sub nsw i32 %92, 1
  store i32 %93, ptr %21, align 4
  br label %94

94:                                               ; preds = %130, %89
  %95 = load i32, ptr %21, align 4
  %96 = icmp sge i32 %95, 0
  br i1 %96, label %97, label %133

97:                                               ; preds = %94
  %98 = load ptr, ptr %9, align 8
  %99 = getelementptr inbounds nuw %struct.Extents, ptr %98, i32 0, i32 1
  %100 = load i32, ptr %21, align 4
  %101 = sext i32 %100 to i64
  %102 = getelementptr inbounds [8 x i64], ptr %99, i64 0, i64 %101
  %103 = load i64, ptr %102, align 8
  %104 = icmp ne i64 %103, 1
  br i1 %104, label %105, label %122

105:                                              ; preds = %97
  %106 = load i64, ptr %19, align 8
  %107 = getelementptr inbounds nuw %struct.Extents, ptr %13, i32 0, i32 1
  %108 = load i32, ptr %21, align 4
  %109 = sext i32 %108 to i64
  %110 = getelementptr inbounds [8 x i64], ptr %107, i64 0, i64 %109
  %111 = load i64, ptr %110, align 8
  %112 = srem i64 %106, %111
  %113 = load ptr, ptr %9, align 8
  %114 = getelementptr inbounds nuw %struct.Extents, ptr %113, i32 0, i32 2
  %115 = load i32, ptr %21, align 4
  %116 = sext i32 %115 to i64
  %117 = getelementptr inbounds [8 x i64], ptr %114, i64 0, i64 %116
  %118 = load i64, ptr %117, align 8
  %119 = mul nsw i64 %112, %118
  %120 = load i64, ptr %20, align 8
  %121 = add nsw i64 %120, %119
  store i64 %121, ptr %20, align 8
  br label %122

122:                                              ; preds = %105, %97
  %123 = getelementptr inbounds nuw %struct.Extents, ptr %13, i32 0, i32 1
  %124 = load i32, ptr %21, align 4
  %125 = sext i32 %124 to i64
  %126 = getelementptr inbounds [8 x i64], ptr %123, i64 0, i64 %125
  %127 = load i64, ptr %126, align 8
  %128 = load i64, ptr %19, align 8
  %129 = sdiv i64 %128, %127
  store i64 %129, ptr %19, align 8
  br label %130

130:                                              ; preds = %122
  %131 = load i32, ptr %21, align 4
  %132 = add nsw i32 %131, -1
  store i32 %132, ptr %21, align 4
  br label %94

133:                                              ; preds = %94
  %134 = load ptr, ptr %17, align 8
  %135 = load ptr, ptr %7, align 8
  %136 = getelementptr inbounds nuw %struct.Job, ptr %135, i32 0, i32 7
  %137 = load i32, ptr %8, align 4
  %138 = sext i32 %137 to i64
  %139 = getelementptr inbounds [16 x ptr], ptr %136, i64 0, i64 %138
  %140 = load ptr, ptr %139, align 8
  %141 = load i64, ptr %20, align 8
  %142 = load i32, ptr %12, align 4
  %143 = sext i32 %142 to i64
  %144 = mul nsw i64 %141, %143
  %145 = getelementptr inbounds i8, ptr %140, i64 %144
  %146 = load i32, ptr %12, align 4
  call void @copy_element(ptr noundef %134, ptr noundef %145, i32 noundef %146) #2
  %147 = load i32, ptr %12, align 4
  %148 = load ptr, ptr %17, align 8
  %149 = sext i32 %147 to i64
  %150 = getelementptr inbounds i8, ptr %148, i64 %149
  store ptr %150, ptr %17, align 8
  br label %151

151:                                              ; preds = %133
  %152 = load i64, ptr %18, align 8
  %153 = add nsw i64 %152, 1
  store i64 %153, ptr %18, align 8
  br label %85

154:                                              ; preds = %85
  call void @set_dense(ptr noundef %13) #2
  %155 = load ptr, ptr %9, align 8
  call void @copy_extents(ptr noundef %155, ptr noundef %13) #2
  %156 = load ptr, ptr %7, align 8
  %157 = getelementptr inbounds nuw %struct.Job, ptr %156, i32 0, i32 8
  %158 = load i32, ptr %8, align 4
  %159 = sext i32 %158 to i64
  %160 = getelementptr inbounds [16 x ptr], ptr %157, i64 0, i64 %159
  %161 = load ptr, ptr %160, align 8
  %162 = load ptr, ptr %7, align 8
  %163 = getelementptr inbounds nuw %struct.Job, ptr %162, i32 0, i32 7
  %164 = load i32, ptr %8, align 4
  %165 = sext i32 %164 to i64
  %166 = getelementptr inbounds [16 x ptr], ptr %163, i64 0, i64 %165
  store ptr %161, ptr %166, align 8
  store ptr null, ptr %6, align 8
  br label %167

167:                                              ; preds = %154, %75
  %168 = load ptr, ptr %6, align 8
  ret ptr %168
}

; Function Attrs: nounwind uwtable
define internal void @merge_axes(ptr noundef %0, i32 noundef %1, ptr noundef %2, ptr noundef %3, i32 noundef %4) #1 {
  %6 = alloca ptr, align 8
  %7 = alloca i32, align 4
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca i64, align 8
  %13 = alloca i64, align 8
  %14 = alloca i32, align 4
  %15 = alloca i32, align 4
  %16 = alloca i32, align 4
  store ptr %0, ptr %6, align 8
  store i32 %1, ptr %7, align 4
  store ptr %2, ptr %8, align 8
  store ptr %3, ptr %9, align 8
  store i32 %4, ptr %10, align 4
  %17 = load ptr, ptr %6, align 8
  %18 = getelementptr inbounds nuw %struct.Layout, ptr %17, i32 0, i32 2
  store i64 0, ptr %18, align 8
  store i32 0, ptr %11, align 4
  br label %19

19:                                               ; preds = %118, %5
  %20 = load i32, ptr %11, align 4
  %21 = load i32, ptr %10, align 4
  %22 = icmp slt i32 %20, %21
  br i1 %22, label %23, label %121

23:                                               ; preds = %19
  %24 = load ptr, ptr %9, align 8
  %25 = getelementptr inbounds nuw %struct.Extents, ptr %24, i32 0, i32 1
  %26 = load i32, ptr %11, align 4
  %27 = sext i32 %26 to i64
  %28 = getelementptr inbounds [8 x i64], ptr %25, i64 0, i64 %27
  %29 = load i64, ptr %28, align 8
  store i64 %29, ptr %12, align 8
  %30 = load ptr, ptr %6, align 8
  %31 = getelementptr inbounds nuw %struct.Layout, ptr %30, i32 0, i32 2
  %32 = load i64, ptr %31, align 8
  %33 = sub nsw i64 %32, 1
  store i64 %33, ptr %13, align 8
  %34 = load i64, ptr %12, align 8
  %35 = icmp eq i64 %34, 1
  br i1 %35, label %36, label %37

36:                                               ; preds = %23
  br label %118

37:                                               ; preds = %23
  %38 = load i64, ptr %13, align 8
  %39 = icmp sge i64 %38, 0
  %40 = zext i1 %39 to i32
  store i32 %40, ptr %14, align 4
  store i32 0, ptr %15, align 4
  br label %41

41:                                               ; preds = %70, %37
  %42 = load i32, ptr %14, align 4
  %43 = icmp ne i32 %42, 0
  br i1 %43, label %44, label %48

44:                                               ; preds = %41
  %45 = load i32, ptr %15, align 4
  %46 = load i32, ptr %7, align 4
  %47 = icmp slt i32 %45, %46
  br label %48

48:                                               ; preds = %44, %41
  %49 = phi i1 [ false, %41 ], [ %47, %44 ]
  br i1 %49, label %50, label %73

50:                                               ; preds = %48
  %51 = load ptr, ptr %6, align 8
  %52 = getelementptr inbounds nuw %struct.Layout, ptr %51, i32 0, i32 4
  %53 = load i32, ptr %15, align 4
  %54 = sext i32 %53 to i64
  %55 = getelementptr inbounds [16 x %struct.anon.0], ptr %52, i64 0, i64 %54
  %56 = getelementptr inbounds nuw %struct.anon.0, ptr %55, i32 0, i32 0
  %57 = load i64, ptr %13, align 8
  %58 = getelementptr inbounds [8 x i64], ptr %56, i64 0, i64 %57
  %59 = load i64, ptr %58, align 8
  %60 = load ptr, ptr %8, align 8
  %61 = load i32, ptr %15, align 4
  %62 = sext i32 %61 to i64
  %63 = getelementptr inbounds %struct.Extents, ptr %60, i64 %62
  %64 = load i32, ptr %11, align 4
  %65 = call i64 @stride_along(ptr noundef %63, i32 noundef %64) #2
  %66 = load i64, ptr %12, align 8
  %67 = mul nsw i64 %65, %66
  %68 = icmp eq i64 %59, %67
  %69 = zext i1 %68 to i32
  store i32 %69, ptr %14, align 4
  br label %70

70:                                               ; preds = %50
  %71 = load i32, ptr %15, align 4
  %72 = add nsw i32 %71, 1
  store i32 %72, ptr %15, align 4
  br label %41

73:                                               ; preds = %48
  %74 = load i32, ptr %14, align 4
  %75 = icmp ne i32 %74, 0
  br i1 %75, label %76, label %84

76:                                               ; preds = %73
  %77 = load i64, ptr %12, align 8
  %78 = load ptr, ptr %6, align 8
  %79 = getelementptr inbounds nuw %struct.Layout, ptr %78, i32 0, i32 3
  %80 = load i64, ptr %13, align 8
  %81 = getelementptr inbounds [8 x i64], ptr %79, i64 0, i64 %80
  %82 = load i64, ptr %81, align 8
  %83 = mul nsw i64 %82, %77
  store i64 %83, ptr %81, align 8
  br label %94

84:                                               ; preds = %73
  %85 = load ptr, ptr %6, align 8
  %86 = getelementptr inbounds nuw %struct.Layout, ptr %85, i32 0, i32 2
  %87 = load i64, ptr %86, align 8
  %88 = add nsw i64 %87, 1
  store i64 %88, ptr %86, align 8
  store i64 %87, ptr %13, align 8
  %89 = load i64, ptr %12, align 8
  %90 = load ptr, ptr %6, align 8
  %91 = getelementptr inbounds nuw %struct.Layout, ptr %90, i32 0, i32 3
  %92 = load i64, ptr %13, align 8
  %93 = getelementptr inbounds [8 x i64], ptr %91, i64 0, i64 %92
  store i64 %89, ptr %93, align 8
  br label %94

94:                                               ; preds = %84, %76
  store i32 0, ptr %16, align 4
  br label %95

95:                                               ; preds = %114, %94
  %96 = load i32, ptr %16, align 4
  %97 = load i32, ptr %7, align 4
  %98 = icmp slt i32 %96, %97
  br i1 %98, label %99, label %117

99:                                               ; preds = %95
  %100 = load ptr, ptr %8, align 8
  %101 = load i32, ptr %16, align 4
  %102 = sext i32 %101 to i64
  %103 = getelementptr inbounds %struct.Extents, ptr %100, i64 %102
  %104 = load i32, ptr %11, align 4
  %105 = call i64 @stride_along(ptr noundef %103, i32 noundef %104) #2
  %106 = load ptr, ptr %6, align 8
  %107 = getelementptr inbounds nuw %struct.Layout, ptr %106, i32 0, i32 4
  %108 = load i32, ptr %16, align 4
  %109 = sext i32 %108 to i64
  %110 = getelementptr inbounds [16 x %struct.anon.0], ptr %107, i64 0, i64 %109
  %111 = getelementptr inbounds nuw %struct.anon.0, ptr %110, i32 0, i32 0
  %112 = load i64, ptr %13, align 8
  %113 = getelementptr inbounds [8 x i64], ptr %111, i64 0, i64 %112
  store i64 %105, ptr %113, align 8
  br label %114

114:                                              ; preds = %99
  %115 = load i32, ptr %16, align 4
  %116 = add nsw i32 %115, 1
  store i32 %116, ptr %16, align 4
  br label %95

117:                                              ; preds = %95
  br label %118

118:                                              ; preds = %117, %36
  %119 = load i32, ptr %11, align 4
  %120 = add nsw i32 %119, 1
  store i32 %120, ptr %11, align 4
  br label %19

121:                                              ; preds = %19
  ret void
}

; Function Attrs: nounwind uwtable
define internal void @copy_element(ptr noundef %0, ptr noundef %1, i32 noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  %7 = load i32, ptr %6, align 4
  %8 = icmp eq i32 %7, 4
  br i1 %8, label %9, label %13

9:                                                ; preds = %3
  %10 = load ptr, ptr %5, align 8
  %11 = load i32, ptr %10, align 4
  %12 = load ptr, ptr %4, align 8
  store i32 %11, ptr %12, align 4
  br label %33

13:                                               ; preds = %3
  %14 = load i32, ptr %6, align 4
  %15 = icmp eq i32 %14, 8
  br i1 %15, label %16, label %20

16:                                               ; preds = %13
  %17 = load ptr, ptr %5, align 8
  %18 = load i64, ptr %17, align 8
  %19 = load ptr, ptr %4, align 8
  store i64 %18, ptr %19, align 8
  br label %32

20:                                               ; preds = %13
  %21 = load i32, ptr %6, align 4
  %22 = icmp eq i32 %21, 2
  br i1 %22, label %23, label %27

23:                                               ; preds = %20
  %24 = load ptr, ptr %5, align 8
  %25 = load i16, ptr %24, align 2
  %26 = load ptr, ptr %4, align 8
  store i16 %25, ptr %26, align 2
  br label %31

27:                                               ; preds = %20
  %28 = load ptr, ptr %5, align 8
  %29 = load i8, ptr %28, align 1
  %30 = load ptr, ptr %4, align 8
  store i8 %29, ptr %30, align 1
  br label %31

31:                                               ; preds = %27, %23
  br label %32

32:                                               ; preds = %31, %16
  br label %33

33:                                               ; preds = %32, %9
  ret void
}

; Function Attrs: nounwind uwtable
define internal i64 @stride_along(ptr noundef %0, i32 noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
  store i32 %1, ptr %4, align 4
  %5 = load ptr, ptr %3, align 8
  %6 = getelementptr inbounds nuw %struct.Extents, ptr %5, i32 0, i32 1
  %7 = load i32, ptr %4, align 4
  %8 = sext i32 %7 to i64
  %9 = getelementptr inbounds [8 x i64], ptr %6, i64 0, i64 %8
  %10 = load i64, ptr %9, align 8
  %11 = icmp eq i64 %10, 1
  br i1 %11, label %12, label %13

12:                                               ; preds = %2
  br label %20

13:                                               ; preds = %2
  %14 = load ptr, ptr %3, align 8
  %15 = getelementptr inbounds nuw %struct.Extents, ptr %14, i32 0, i32 2
  %16 = load i32, ptr %4, align 4
  %17 = sext i32 %16 to i64
  %18 = getelementptr inbounds [8 x i64], ptr %15, i64 0, i64 %17
  %19 = load i64, ptr %18, align 8
  br label %20

20:                                               ; preds = %13, %12
  %21 = phi i64 [ 0, %12 ], [ %19, %13 ]
  ret i64 %21
}

; Function Attrs: nounwind uwtable
define internal void @cut(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  store ptr %0, ptr %2, align 8
  %7 = load ptr, ptr %2, align 8
  %8 = getelementptr inbounds nuw %struct.Job, ptr %7, i32 0, i32 4
  store ptr %8, ptr %3, align 8
  %9 = load ptr, ptr %3, align 8
  %10 = getelementptr inbounds nuw %struct.Layout, ptr %9, i32 0, i32 0
  %11 = load i64, ptr %10, align 8
  %12 = load ptr, ptr %3, align 8
  %13 = getelementptr inbounds nuw %struct.Layout, ptr %12, i32 0, i32 1
  %14 = load i64, ptr %13, align 8
  %15 = mul nsw i64 %11, %14
  %16 = load ptr, ptr %2, align 8
  %17 = getelementptr inbounds nuw %struct.Job, ptr %16, i32 0, i32 1
  %18 = load ptr, ptr %17, align 8
  %19 = getelementptr inbounds nuw %struct.Descriptor, ptr %18, i32 0, i32 9
  %20 = load i32, ptr %19, align 4
  %21 = sext i32 %20 to i64
  %22 = mul nsw i64 %15, %21
  %23 = sdiv i64 %22, 524288
  store i64 %23, ptr %4, align 8
  %24 = load i64, ptr %4, align 8
  %25 = icmp sgt i64 %24, 64
  br i1 %25, label %26, label %27

26:                                               ; preds = %1
  store i64 64, ptr %4, align 8
  br label %27

27:                                               ; preds = %26, %1
  %28 = load ptr, ptr %2, align 8
  %29 = getelementptr inbounds nuw %struct.Job, ptr %28, i32 0, i32 11
  store i64 0, ptr %29, align 8
  %30 = load ptr, ptr %2, align 8
  %31 = getelementptr inbounds nuw %struct.Job, ptr %30, i32 0, i32 9
  store i64 1, ptr %31, align 8
  %32 = load ptr, ptr %3, align 8
  %33 = getelementptr inbounds nuw %struct.Layout, ptr %32, i32 0, i32 0
  %34 = load i64, ptr %33, align 8
  %35 = load ptr, ptr %2, align 8
  %36 = getelementptr inbounds nuw %struct.Job, ptr %35, i32 0, i32 10
  store i64 %34, ptr %36, align 8
  %37 = load i64, ptr %4, align 8
  %38 = icmp sle i64 %37, 1
  br i1 %38, label %39, label %40

39:                                               ; preds = %27
  br label %122

40:                                               ; preds = %27
  %41 = load ptr, ptr %3, align 8
  %42 = getelementptr inbounds nuw %struct.Layout, ptr %41, i32 0, i32 0
  %43 = load i64, ptr %42, align 8
  %44 = load i64, ptr %4, align 8
  %45 = icmp sge i64 %43, %44
  br i1 %45, label %53, label %46

46:                                               ; preds = %40
  %47 = load ptr, ptr %2, align 8
  %48 = getelementptr inbounds nuw %struct.Job, ptr %47, i32 0, i32 1
  %49 = load ptr, ptr %48, align 8
  %50 = getelementptr inbounds nuw %struct.Descriptor, ptr %49, i32 0, i32 8
  %51 = load i32, ptr %50, align 8
  %52 = icmp ne i32 %51, 0
  br i1 %52, label %53, label %78

53:                                               ; preds = %46, %40
  %54 = load ptr, ptr %3, align 8
  %55 = getelementptr inbounds nuw %struct.Layout, ptr %54, i32 0, i32 0
  %56 = load i64, ptr %55, align 8
  %57 = load i64, ptr %4, align 8
  %58 = add nsw i64 %56, %57
  %59 = sub nsw i64 %58, 1
  %60 = load i64, ptr %4, align 8
  %61 = sdiv i64 %59, %60
  %62 = load ptr, ptr %2, align 8
  %63 = getelementptr inbounds nuw %struct.Job, ptr %62, i32 0, i32 10
  store i64 %61, ptr %63, align 8
  %64 = load ptr, ptr %3, align 8
  %65 = getelementptr inbounds nuw %struct.Layout, ptr %64, i32 0, i32 0
  %66 = load i64, ptr %65, align 8
  %67 = load ptr, ptr %2, align 8
  %68 = getelementptr inbounds nuw %struct.Job, ptr %67, i32 0, i32 10
  %69 = load i64, ptr %68, align 8
  %70 = add nsw i64 %66, %69
  %71 = sub nsw i64 %70, 1
  %72 = load ptr, ptr %2, align 8
  %73 = getelementptr inbounds nuw %struct.Job, ptr %72, i32 0, i32 10
  %74 = load i64, ptr %73, align 8
  %75 = sdiv i64 %71, %74
  %76 = load ptr, ptr %2, align 8
  %77 = getelementptr inbounds nuw %struct.Job, ptr %76, i32 0, i32 9
  store i64 %75, ptr %77, align 8
  br label %122

78:                                               ; preds = %46
  %79 = load i64, ptr %4, align 8
  %80 = load ptr, ptr %3, align 8
  %81 = getelementptr inbounds nuw %struct.Layout, ptr %80, i32 0, i32 0
  %82 = load i64, ptr %81, align 8
  %83 = add nsw i64 %79, %82
  %84 = sub nsw i64 %83, 1
  %85 = load ptr, ptr %3, align 8
  %86 = getelementptr inbounds nuw %struct.Layout, ptr %85, i32 0, i32 0
  %87 = load i64, ptr %86, align 8
  %88 = sdiv i64 %84, %87
  store i64 %88, ptr %5, align 8
  %89 = load ptr, ptr %3, align 8
  %90 = getelementptr inbounds nuw %struct.Layout, ptr %89, i32 0, i32 1
  %91 = load i64, ptr %90, align 8
  %92 = load i64, ptr %5, align 8
  %93 = add nsw i64 %91, %92
  %94 = sub nsw i64 %93, 1
  %95 = load i64, ptr %5, align 8
  %96 = sdiv i64 %94, %95
  store i64 %96, ptr %6, align 8
  %97 = load i64, ptr %6, align 8
  %98 = add nsw i64 %97, 64
  %99 = sub nsw i64 %98, 1
  %100 = sdiv i64 %99, 64
  %101 = mul nsw i64 %100, 64
  %102 = load ptr, ptr %2, align 8
  %103 = getelementptr inbounds nuw %struct.Job, ptr %102, i32 0, i32 11
  store i64 %101, ptr %103, align 8
  %104 = load ptr, ptr %3, align 8
  %105 = getelementptr inbounds nuw %struct.Layout, ptr %104, i32 0, i32 0
  %106 = load i64, ptr %105, align 8
  %107 = load ptr, ptr %3, align 8
  %108 = getelementptr inbounds nuw %struct.Layout, ptr %107, i32 0, i32 1
  %109 = load i64, ptr %108, align 8
  %110 = load ptr, ptr %2, align 8
  %111 = getelementptr inbounds nuw %struct.Job, ptr %110, i32 0, i32 11
  %112 = load i64, ptr %111, align 8
  %113 = add nsw i64 %109, %112
  %114 = sub nsw i64 %113, 1
  %115 = load ptr, ptr %2, align 8
  %116 = getelementptr inbounds nuw %struct.Job, ptr %115, i32 0, i32 11
  %117 = load i64, ptr %116, align 8
  %118 = sdiv i64 %114, %117
  %119 = mul nsw i64 %106, %118
  %120 = load ptr, ptr %2, align 8
  %121 = getelementptr inbounds nuw %struct.Job, ptr %120, i32 0, i32 9
  store i64 %119, ptr %121, align 8
  br label %122

122:                                              ; preds = %78, %53, %39
  ret void
}

; Function Attrs: nounwind uwtable
define internal void @run_piece(ptr noundef %0, i64 noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %13 = load ptr, ptr %3, align 8
  store ptr %13, ptr %5, align 8
  %14 = load ptr, ptr %5, align 8
  %15 = getelementptr inbounds nuw %struct.Job, ptr %14, i32 0, i32 4
  store ptr %15, ptr %6, align 8
  %16 = load ptr, ptr %5, align 8
  %17 = getelementptr inbounds nuw %struct.Job, ptr %16, i32 0, i32 11
  %18 = load i64, ptr %17, align 8
  %19 = icmp ne i64 %18, 0
  br i1 %19, label %20, label %66

20:                                               ; preds = %2
  %21 = load ptr, ptr %6, align 8
  %22 = getelementptr inbounds nuw %struct.Layout, ptr %21, i32 0, i32 1
  %23 = load i64, ptr %22, align 8
  %24 = load ptr, ptr %5, align 8
  %25 = getelementptr inbounds nuw %struct.Job, ptr %24, i32 0, i32 11
  %26 = load i64, ptr %25, align 8
  %27 = add nsw i64 %23, %26
  %28 = sub nsw i64 %27, 1
  %29 = load ptr, ptr %5, align 8
  %30 = getelementptr inbounds nuw %struct.Job, ptr %29, i32 0, i32 11
  %31 = load i64, ptr %30, align 8
  %32 = sdiv i64 %28, %31
  store i64 %32, ptr %7, align 8
  %33 = load i64, ptr %4, align 8
  %34 = load i64, ptr %7, align 8
  %35 = sdiv i64 %33, %34
  store i64 %35, ptr %8, align 8
  %36 = load i64, ptr %4, align 8
  %37 = load i64, ptr %7, align 8
  %38 = srem i64 %36, %37
  %39 = load ptr, ptr %5, align 8
  %40 = getelementptr inbounds nuw %struct.Job, ptr %39, i32 0, i32 11
  %41 = load i64, ptr %40, align 8
  %42 = mul nsw i64 %38, %41
  store i64 %42, ptr %9, align 8
  %43 = load i64, ptr %9, align 8
  %44 = load ptr, ptr %5, align 8
  %45 = getelementptr inbounds nuw %struct.Job, ptr %44, i32 0, i32 11
  %46 = load i64, ptr %45, align 8
  %47 = add nsw i64 %43, %46
  store i64 %47, ptr %10, align 8
  %48 = load ptr, ptr %5, align 8
  %49 = load i64, ptr %8, align 8
  %50 = load i64, ptr %8, align 8
  %51 = add nsw i64 %50, 1
  %52 = load i64, ptr %9, align 8
  %53 = load i64, ptr %10, align 8
  %54 = load ptr, ptr %6, align 8
  %55 = getelementptr inbounds nuw %struct.Layout, ptr %54, i32 0, i32 1
  %56 = load i64, ptr %55, align 8
  %57 = icmp slt i64 %53, %56
  br i1 %57, label %58, label %60

58:                                               ; preds = %20
  %59 = load i64, ptr %10, align 8
  br label %64

60:                                               ; preds = %20
  %61 = load ptr, ptr %6, align 8
  %62 = getelementptr inbounds nuw %struct.Layout, ptr %61, i32 0, i32 1
  %63 = load i64, ptr %62, align 8
  br label %64

64:                                               ; preds = %60, %58
  %65 = phi i64 [ %59, %58 ], [ %63, %60 ]
  call void @run_on(ptr noundef %48, i64 noundef %49, i64 noundef %51, i64 noundef %52, i64 noundef %65) #2
  br label %95

66:                                               ; preds = %2
  %67 = load i64, ptr %4, align 8
  %68 = load ptr, ptr %5, align 8
  %69 = getelementptr inbounds nuw %struct.Job, ptr %68, i32 0, i32 10
  %70 = load i64, ptr %69, align 8
  %71 = mul nsw i64 %67, %70
  store i64 %71, ptr %11, align 8
  %72 = load i64, ptr %11, align 8
  %73 = load ptr, ptr %5, align 8
  %74 = getelementptr inbounds nuw %struct.Job, ptr %73, i32 0, i32 10
  %75 = load i64, ptr %74, align 8
  %76 = add nsw i64 %72, %75
  store i64 %76, ptr %12, align 8
  %77 = load ptr, ptr %5, align 8
  %78 = load i64, ptr %11, align 8
  %79 = load i64, ptr %12, align 8
  %80 = load ptr, ptr %6, align 8
  %81 = getelementptr inbounds nuw %struct.Layout, ptr %80, i32 0, i32 0
  %82 = load i64, ptr %81, align 8
  %83 = icmp slt i64 %79, %82
  br i1 %83, label %84, label %86

84:                                               ; preds = %66
  %85 = load i64, ptr %12, align 8
  br label %90

86:                                               ; preds = %66
  %87 = load ptr, ptr %6, align 8
  %88 = getelementptr inbounds nuw %struct.Layout, ptr %87, i32 0, i32 0
  %89 = load i64, ptr %88, align 8
  br label %90

90:                                               ; preds = %86, %84
  %91 = phi i64 [ %85, %84 ], [ %89, %86 ]
  %92 = load ptr, ptr %6, align 8
  %93 = getelementptr inbounds nuw %struct.Layout, ptr %92, i32 0, i32 1
  %94 = load i64, ptr %93, align 8
  call void @run_on(ptr noundef %77, i64 noundef %78, i64 noundef %91, i64 noundef 0, i64 noundef %94) #2
  br label %95

95:                                               ; preds = %90, %64
  ret void
}

; Function Attrs: nounwind uwtable
define internal void @run_on(ptr noundef %0, i64 noundef %1, i64 noundef %2, i64 noundef %3, i64 noundef %4) #1 {
  %6 = alloca ptr, align 8
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca ptr, align 8
  %12 = alloca ptr, align 8
  %13 = alloca i64, align 8
  %14 = alloca i64, align 8
  %15 = alloca [16 x ptr], align 16
  %16 = alloca [16 x ptr], align 16
  %17 = alloca i32, align 4
  %18 = alloca i64, align 8
  %19 = alloca i64, align 8
  %20 = alloca i64, align 8
  %21 = alloca i32, align 4
  %22 = alloca i64, align 8
  %23 = alloca i64, align 8
  %24 = alloca i64, align 8
  %25 = alloca i32, align 4
  %26 = alloca ptr, align 8
  %27 = alloca i64, align 8
  store ptr %0, ptr %6, align 8
  store i64 %1, ptr %7, align 8
  store i64 %2, ptr %8, align 8
  store i64 %3, ptr %9, align 8
  store i64 %4, ptr %10, align 8
  %28 = load ptr, ptr %6, align 8
  %29 = getelementptr inbounds nuw %struct.Job, ptr %28, i32 0, i32 1
  %30 = load ptr, ptr %29, align 8
  store ptr %30, ptr %11, align 8
  %31 = load ptr, ptr %6, align 8
  %32 = getelementptr inbounds nuw %struct.Job, ptr %31, i32 0, i32 4
  store ptr %32, ptr %12, align 8
  %33 = load ptr, ptr %12, align 8
  %34 = getelementptr inbounds nuw %struct.Layout, ptr %33, i32 0, i32 2
  %35 = load i64, ptr %34, align 8
  %36 = sub nsw i64 %35, 1
  store i64 %36, ptr %13, align 8
  %37 = load i64, ptr %13, align 8
  %38 = icmp sge i64 %37, 0
  br i1 %38, label %39, label %45

39:                                               ; preds = %5
  %40 = load ptr, ptr %12, align 8
  %41 = getelementptr inbounds nuw %struct.Layout, ptr %40, i32 0, i32 3
  %42 = load i64, ptr %13, align 8
  %43 = getelementptr inbounds [8 x i64], ptr %41, i64 0, i64 %42
  %44 = load i64, ptr %43, align 8
  br label %46

45:                                               ; preds = %5
  br label %46

46:                                               ; preds = %45, %39
  %47 = phi i64 [ %44, %39 ], [ 1, %45 ]
  store i64 %47, ptr %14, align 8
  %48 = load i64, ptr %9, align 8
  %49 = icmp eq i64 %48, 0
  br i1 %49, label %50, label %56

50:                                               ; preds = %46
  %51 = load i64, ptr %10, align 8
  %52 = load ptr, ptr %12, align 8
  %53 = getelementptr inbounds nuw %struct.Layout, ptr %52, i32 0, i32 1
  %54 = load i64, ptr %53, align 8
  %55 = icmp eq i64 %51, %54
  br label %56

56:                                               ; preds = %50, %46
  %57 = phi i1 [ false, %46 ], [ %55, %50 ]
  %58 = zext i1 %57 to i32
  store i32 %58, ptr %17, align 4
  br label %59

59:                                               ; preds = %227, %56
  %60 = load i64, ptr %7, align 8
  %61 = load i64, ptr %8, align 8
  %62 = icmp slt i64 %60, %61
  br i1 %62, label %63, label %246

63:                                               ; preds = %59
  %64 = load i64, ptr %7, align 8
  %65 = load i64, ptr %14, align 8
  %66 = sdiv i64 %64, %65
  store i64 %66, ptr %18, align 8
  %67 = load i64, ptr %7, align 8
  %68 = load i64, ptr %14, align 8
  %69 = srem i64 %67, %68
  store i64 %69, ptr %19, align 8
  %70 = load i64, ptr %14, align 8
  %71 = load i64, ptr %19, align 8
  %72 = sub nsw i64 %70, %71
  store i64 %72, ptr %20, align 8
  %73 = load i64, ptr %20, align 8
  %74 = load i64, ptr %8, align 8
  %75 = load i64, ptr %7, align 8
  %76 = sub nsw i64 %74, %75
  %77 = icmp sgt i64 %73, %76
  br i1 %77, label %78, label %82

78:                                               ; preds = %63
  %79 = load i64, ptr %8, align 8
  %80 = load i64, ptr %7, align 8
  %81 = sub nsw i64 %79, %80
  store i64 %81, ptr %20, align 8
  br label %82

82:                                               ; preds = %78, %63
  %83 = load i32, ptr %17, align 4
  %84 = icmp ne i32 %83, 0
  br i1 %84, label %86, label %85

85:                                               ; preds = %82
  store i64 1, ptr %20, align 8
  br label %86

86:                                               ; preds = %85, %82
  store i32 0, ptr %21, align 4
  br label %87

87:                                               ; preds = %168, %86
  %88 = load i32, ptr %21, align 4
  %89 = load ptr, ptr %11, align 8
  %90 = getelementptr inbounds nuw %struct.Descriptor, ptr %89, i32 0, i32 6
  %91 = load i32, ptr %90, align 8
  %92 = icmp slt i32 %88, %91
  br i1 %92, label %93, label %171

93:                                               ; preds = %87
  %94 = load i64, ptr %19, align 8
  %95 = load ptr, ptr %6, align 8
  %96 = getelementptr inbounds nuw %struct.Job, ptr %95, i32 0, i32 6
  %97 = load i32, ptr %21, align 4
  %98 = sext i32 %97 to i64
  %99 = getelementptr inbounds [16 x i64], ptr %96, i64 0, i64 %98
  %100 = load i64, ptr %99, align 8
  %101 = mul nsw i64 %94, %100
  %102 = load i64, ptr %9, align 8
  %103 = load ptr, ptr %6, align 8
  %104 = getelementptr inbounds nuw %struct.Job, ptr %103, i32 0, i32 5
  %105 = load i32, ptr %21, align 4
  %106 = sext i32 %105 to i64
  %107 = getelementptr inbounds [16 x i64], ptr %104, i64 0, i64 %106
  %108 = load i64, ptr %107, align 8
  %109 = mul nsw i64 %102, %108
  %110 = add nsw i64 %101, %109
  store i64 %110, ptr %22, align 8
  %111 = load i64, ptr %18, align 8
  store i64 %111, ptr %23, align 8
  %112 = load i64, ptr %13, align 8
  %113 = sub nsw i64 %112, 1
  store i64 %113, ptr %24, align 8
  br label %114

114:                                              ; preds = %144, %93
  %115 = load i64, ptr %24, align 8
  %116 = icmp sge i64 %115, 0
  br i1 %116, label %117, label %147

117:                                              ; preds = %114
  %118 = load i64, ptr %23, align 8
  %119 = load ptr, ptr %12, align 8
  %120 = getelementptr inbounds nuw %struct.Layout, ptr %119, i32 0, i32 3
  %121 = load i64, ptr %24, align 8
  %122 = getelementptr inbounds [8 x i64], ptr %120, i64 0, i64 %121
  %123 = load i64, ptr %122, align 8
  %124 = srem i64 %118, %123
  %125 = load ptr, ptr %12, align 8
  %126 = getelementptr inbounds nuw %struct.Layout, ptr %125, i32 0, i32 4
  %127 = load i32, ptr %21, align 4
  %128 = sext i32 %127 to i64
  %129 = getelementptr inbounds [16 x %struct.anon.0], ptr %126, i64 0, i64 %128
  %130 = getelementptr inbounds nuw %struct.anon.0, ptr %129, i32 0, i32 0
  %131 = load i64, ptr %24, align 8
  %132 = getelementptr inbounds [8 x i64], ptr %130, i64 0, i64 %131
  %133 = load i64, ptr %132, align 8
  %134 = mul nsw i64 %124, %133
  %135 = load i64, ptr %22, align 8
  %136 = add nsw i64 %135, %134
  store i64 %136, ptr %22, align 8
  %137 = load ptr, ptr %12, align 8
  %138 = getelementptr inbounds nuw %struct.Layout, ptr %137, i32 0, i32 3
  %139 = load i64, ptr %24, align 8
  %140 = getelementptr inbounds [8 x i64], ptr %138, i64 0, i64 %139
  %141 = load i64, ptr %140, align 8
  %142 = load i64, ptr %23, align 8
  %143 = sdiv i64 %142, %141
  store i64 %143, ptr %23, align 8
  br label %144

144:                                              ; preds = %117
  %145 = load i64, ptr %24, align 8
  %146 = add nsw i64 %145, -1
  store i64 %146, ptr %24, align 8
  br label %114

147:                                              ; preds = %114
  %148 = load ptr, ptr %6, align 8
  %149 = getelementptr inbounds nuw %struct.Job, ptr %148, i32 0, i32 7
  %150 = load i32, ptr %21, align 4
  %151 = sext i32 %150 to i64
  %152 = getelementptr inbounds [16 x ptr], ptr %149, i64 0, i64 %151
  %153 = load ptr, ptr %152, align 8
  %154 = load i64, ptr %22, align 8
  %155 = load ptr, ptr %11, align 8
  %156 = getelementptr inbounds nuw %struct.Descriptor, ptr %155, i32 0, i32 10
  %157 = load i32, ptr %21, align 4
  %158 = sext i32 %157 to i64
  %159 = getelementptr inbounds [16 x %struct.Tensor], ptr %156, i64 0, i64 %158
  %160 = getelementptr inbounds nuw %struct.Tensor, ptr %159, i32 0, i32 1
  %161 = load i32, ptr %160, align 4
  %162 = sext i32 %161 to i64
  %163 = mul nsw i64 %154, %162
  %164 = getelementptr inbounds i8, ptr %153, i64 %163
  %165 = load i32, ptr %21, align 4
  %166 = sext i32 %165 to i64
  %167 = getelementptr inbounds [16 x ptr], ptr %15, i64 0, i64 %166
  store ptr %164, ptr %167, align 8
  br label %168

168:                                              ; preds = %147
  %169 = load i32, ptr %21, align 4
  %170 = add nsw i32 %169, 1
  store i32 %170, ptr %21, align 4
  br label %87

171:                                              ; preds = %87
  store i32 0, ptr %25, align 4
  br label %172

172:                                              ; preds = %224, %171
  %173 = load i32, ptr %25, align 4
  %174 = load ptr, ptr %11, align 8
  %175 = getelementptr inbounds nuw %struct.Descriptor, ptr %174, i32 0, i32 7
  %176 = load i32, ptr %175, align 4
  %177 = icmp slt i32 %173, %176
  br i1 %177, label %178, label %227

178:                                              ; preds = %172
  %179 = load ptr, ptr %11, align 8
  %180 = getelementptr inbounds nuw %struct.Descriptor, ptr %179, i32 0, i32 10
  %181 = load ptr, ptr %11, align 8
  %182 = getelementptr inbounds nuw %struct.Descriptor, ptr %181, i32 0, i32 6
  %183 = load i32, ptr %182, align 8
  %184 = load i32, ptr %25, align 4
  %185 = add nsw i32 %183, %184
  %186 = sext i32 %185 to i64
  %187 = getelementptr inbounds [16 x %struct.Tensor], ptr %180, i64 0, i64 %186
  store ptr %187, ptr %26, align 8
  %188 = load ptr, ptr %26, align 8
  %189 = getelementptr inbounds nuw %struct.Tensor, ptr %188, i32 0, i32 2
  %190 = load i32, ptr %189, align 8
  %191 = icmp ne i32 %190, 0
  br i1 %191, label %192, label %194

192:                                              ; preds = %178
  %193 = load i64, ptr %7, align 8
  br label %202

194:                                              ; preds = %178
  %195 = load i64, ptr %7, align 8
  %196 = load ptr, ptr %12, align 8
  %197 = getelementptr inbounds nuw %struct.Layout, ptr %196, i32 0, i32 1
  %198 = load i64, ptr %197, align 8
  %199 = mul nsw i64 %195, %198
  %200 = load i64, ptr %9, align 8
  %201 = add nsw i64 %199, %200
  br label %202

202:                                              ; preds = %194, %192
  %203 = phi i64 [ %193, %192 ], [ %201, %194 ]
  store i64 %203, ptr %27, align 8
  %204 = load ptr, ptr %6, align 8
  %205 = getelementptr inbounds nuw %struct.Job, ptr %204, i32 0, i32 7
  %206 = load ptr, ptr %11, align 8
  %207 = getelementptr inbounds nuw %struct.Descriptor, ptr %206, i32 0, i32 6
  %208 = load i32, ptr %207, align 8
  %209 = load i32, ptr %25, align 4
  %210 = add nsw i32 %208, %209
  %211 = sext i32 %210 to i64
  %212 = getelementptr inbounds [16 x ptr], ptr %205, i64 0, i64 %211
  %213 = load ptr, ptr %212, align 8
  %214 = load i64, ptr %27, align 8
  %215 = load ptr, ptr %26, align 8
  %216 = getelementptr inbounds nuw %struct.Tensor, ptr %215, i32 0, i32 1
  %217 = load i32, ptr %216, align 4
  %218 = sext i32 %217 to i64
  %219 = mul nsw i64 %214, %218
  %220 = getelementptr inbounds i8, ptr %213, i64 %219
  %221 = load i32, ptr %25, align 4
  %222 = sext i32 %221 to i64
  %223 = getelementptr inbounds [16 x ptr], ptr %16, i64 0, i64 %222
  store ptr %220, ptr %223, align 8
  br label %224

224:                                              ; preds = %202
  %225 = load i32, ptr %25, align 4
  %226 = add nsw i32 %225, 1
  store i32 %226, ptr %25, align 4
  br label %172

227:                                              ; preds = %172
  %228 = load ptr, ptr %6, align 8
  %229 = getelementptr inbounds nuw %struct.Job, ptr %228, i32 0, i32 3
  %230 = load ptr, ptr %229, align 8
  %231 = getelementptr inbounds [16 x ptr], ptr %15, i64 0, i64 0
  %232 = getelementptr inbounds [16 x ptr], ptr %16, i64 0, i64 0
  %233 = load ptr, ptr %6, align 8
  %234 = getelementptr inbounds nuw %struct.Job, ptr %233, i32 0, i32 6
  %235 = getelementptr inbounds [16 x i64], ptr %234, i64 0, i64 0
  %236 = load ptr, ptr %6, align 8
  %237 = getelementptr inbounds nuw %struct.Job, ptr %236, i32 0, i32 5
  %238 = getelementptr inbounds [16 x i64], ptr %237, i64 0, i64 0
  %239 = load i64, ptr %20, align 8
  %240 = load i64, ptr %10, align 8
  %241 = load i64, ptr %9, align 8
  %242 = sub nsw i64 %240, %241
  call void %230(ptr noundef %231, ptr noundef %232, ptr noundef %235, ptr noundef %238, i64 noundef %239, i64 noundef %242) #2
  %243 = load i64, ptr %20, align 8
  %244 = load i64, ptr %7, align 8
  %245 = add nsw i64 %244, %243
  store i64 %245, ptr %7, align 8
  br label %59

246:                                              ; preds = %59
  ret void
}

; Function Attrs: nounwind uwtable
define internal ptr @driver_function(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %4 = load volatile ptr, ptr @find_library, align 8
  %5 = icmp ne ptr %4, null
  br i1 %5, label %6, label %12

6:                                                ; preds = %1
  %7 = load volatile ptr, ptr @find_function, align 8
  %8 = icmp ne ptr %7, null
  br i1 %8, label %9, label %12

9:                                                ; preds = %6
  %10 = load volatile ptr, ptr @find_library, align 8
  %11 = call ptr %10(ptr noundef @.str.22, i32 noundef 2) #2
  br label %13

12:                                               ; preds = %6, %1
  br label %13

13:                                               ; preds = %12, %9
  %14 = phi ptr [ %11, %9 ], [ null, %12 ]
  store ptr %14, ptr %3, align 8
  %15 = load ptr, ptr %3, align 8
  %16 = icmp ne ptr %15, null
  br i1 %16, label %17, label %22

17:                                               ; preds = %13
  %18 = load volatile ptr, ptr @find_function, align 8
  %19 = load ptr, ptr %3, align 8
  %20 = load ptr, ptr %2, align 8
  %21 = call ptr %18(ptr noundef %19, ptr noundef %20) #2
  br label %23

22:                                               ; preds = %13
  br label %23

23:                                               ; preds = %22, %17
  %24 = phi ptr [ %21, %17 ], [ null, %22 ]
  ret ptr %24
}

; Function Attrs: nounwind uwtable
define internal ptr @launch(ptr noundef %0, ptr noundef %1, ptr noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca ptr, align 8
  %12 = alloca [17 x ptr], align 16
  %13 = alloca i32, align 4
  %14 = alloca ptr, align 8
  %15 = alloca ptr, align 8
  %16 = alloca i64, align 8
  %17 = alloca i64, align 8
  %18 = alloca i32, align 4
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store ptr %2, ptr %7, align 8
  %19 = load ptr, ptr %5, align 8
  %20 = getelementptr inbounds nuw %struct.Kernel, ptr %19, i32 0, i32 0
  %21 = load ptr, ptr %20, align 8
  store ptr %21, ptr %8, align 8
  %22 = load ptr, ptr %6, align 8
  %23 = getelementptr inbounds nuw %struct.Job, ptr %22, i32 0, i32 4
  store ptr %23, ptr %9, align 8
  store ptr null, ptr %10, align 8
  store ptr null, ptr %11, align 8
  store i32 0, ptr %13, align 4
  br label %24

24:                                               ; preds = %3
  %25 = load ptr, ptr %5, align 8
  %26 = call ptr @loaded_function(ptr noundef %25, ptr noundef %11) #2
  store ptr %26, ptr %14, align 8
  %27 = load ptr, ptr %14, align 8
  %28 = icmp ne ptr %27, null
  br i1 %28, label %29, label %31

29:                                               ; preds = %24
  %30 = load ptr, ptr %14, align 8
  store ptr %30, ptr %4, align 8
  br label %116

31:                                               ; preds = %24
  br label %32

32:                                               ; preds = %31
  br label %33

33:                                               ; preds = %32
  %34 = load ptr, ptr %5, align 8
  %35 = getelementptr inbounds nuw %struct.Kernel, ptr %34, i32 0, i32 1
  %36 = load ptr, ptr %35, align 8
  %37 = getelementptr inbounds nuw %struct.Api, ptr %36, i32 0, i32 0
  %38 = getelementptr inbounds [512 x ptr], ptr %37, i64 0, i64 193
  %39 = load ptr, ptr %38, align 8
  %40 = load ptr, ptr %7, align 8
  %41 = call ptr %39(ptr noundef %40, ptr noundef %10) #2
  store ptr %41, ptr %15, align 8
  %42 = load ptr, ptr %15, align 8
  %43 = icmp ne ptr %42, null
  br i1 %43, label %44, label %46

44:                                               ; preds = %33
  %45 = load ptr, ptr %15, align 8
  store ptr %45, ptr %4, align 8
  br label %116

46:                                               ; preds = %33
  br label %47

47:                                               ; preds = %46
  br label %48

48:                                               ; preds = %58, %47
  %49 = load i32, ptr %13, align 4
  %50 = load ptr, ptr %8, align 8
  %51 = getelementptr inbounds nuw %struct.Descriptor, ptr %50, i32 0, i32 6
  %52 = load i32, ptr %51, align 8
  %53 = load ptr, ptr %8, align 8
  %54 = getelementptr inbounds nuw %struct.Descriptor, ptr %53, i32 0, i32 7
  %55 = load i32, ptr %54, align 4
  %56 = add nsw i32 %52, %55
  %57 = icmp slt i32 %49, %56
  br i1 %57, label %58, label %69

58:                                               ; preds = %48
  %59 = load ptr, ptr %6, align 8
  %60 = getelementptr inbounds nuw %struct.Job, ptr %59, i32 0, i32 7
  %61 = load i32, ptr %13, align 4
  %62 = sext i32 %61 to i64
  %63 = getelementptr inbounds [16 x ptr], ptr %60, i64 0, i64 %62
  %64 = load i32, ptr %13, align 4
  %65 = sext i32 %64 to i64
  %66 = getelementptr inbounds [17 x ptr], ptr %12, i64 0, i64 %65
  store ptr %63, ptr %66, align 8
  %67 = load i32, ptr %13, align 4
  %68 = add nsw i32 %67, 1
  store i32 %68, ptr %13, align 4
  br label %48

69:                                               ; preds = %48
  %70 = load ptr, ptr %9, align 8
  %71 = load i32, ptr %13, align 4
  %72 = sext i32 %71 to i64
  %73 = getelementptr inbounds [17 x ptr], ptr %12, i64 0, i64 %72
  store ptr %70, ptr %73, align 8
  %74 = load ptr, ptr %9, align 8
  %75 = getelementptr inbounds nuw %struct.Layout, ptr %74, i32 0, i32 0
  %76 = load i64, ptr %75, align 8
  %77 = load ptr, ptr %8, align 8
  %78 = getelementptr inbounds nuw %struct.Descriptor, ptr %77, i32 0, i32 8
  %79 = load i32, ptr %78, align 8
  %80 = icmp ne i32 %79, 0
  br i1 %80, label %81, label %82

81:                                               ; preds = %69
  br label %86

82:                                               ; preds = %69
  %83 = load ptr, ptr %9, align 8
  %84 = getelementptr inbounds nuw %struct.Layout, ptr %83, i32 0, i32 1
  %85 = load i64, ptr %84, align 8
  br label %86

86:                                               ; preds = %82, %81
  %87 = phi i64 [ 32, %81 ], [ %85, %82 ]
  %88 = mul nsw i64 %76, %87
  store i64 %88, ptr %16, align 8
  %89 = load i64, ptr %16, align 8
  %90 = add nsw i64 %89, 256
  %91 = sub nsw i64 %90, 1
  %92 = sdiv i64 %91, 256
  store i64 %92, ptr %17, align 8
  %93 = load i64, ptr %17, align 8
  %94 = icmp sgt i64 %93, 65535
  br i1 %94, label %95, label %96

95:                                               ; preds = %86
  store i64 65535, ptr %17, align 8
  br label %96

96:                                               ; preds = %95, %86
  %97 = load ptr, ptr %5, align 8
  %98 = getelementptr inbounds nuw %struct.Kernel, ptr %97, i32 0, i32 5
  %99 = getelementptr inbounds nuw %struct.Driver, ptr %98, i32 0, i32 3
  %100 = load ptr, ptr %99, align 8
  %101 = load ptr, ptr %11, align 8
  %102 = load i64, ptr %17, align 8
  %103 = trunc i64 %102 to i32
  %104 = load ptr, ptr %10, align 8
  %105 = getelementptr inbounds [17 x ptr], ptr %12, i64 0, i64 0
  %106 = call i32 %100(ptr noundef %101, i32 noundef %103, i32 noundef 1, i32 noundef 1, i32 noundef 256, i32 noundef 1, i32 noundef 1, i32 noundef 0, ptr noundef %104, ptr noundef %105, ptr noundef null) #2
  store i32 %106, ptr %18, align 4
  %107 = load i32, ptr %18, align 4
  %108 = icmp ne i32 %107, 0
  br i1 %108, label %109, label %113

109:                                              ; preds = %96
  %110 = load ptr, ptr %5, align 8
  %111 = load i32, ptr %18, align 4
  %112 = call ptr @complain_of_driver(ptr noundef %110, ptr noundef @.str.23, i32 noundef %111) #2
  br label %114

113:                                              ; preds = %96
  br label %114

114:                                              ; preds = %113, %109
  %115 = phi ptr [ %112, %109 ], [ null, %113 ]
  store ptr %115, ptr %4, align 8
  br label %116

116:                                              ; preds = %114, %44, %29
  %117 = load ptr, ptr %4, align 8
  ret ptr %117
}

; Function Attrs: nounwind uwtable
define internal ptr @loaded_function(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca ptr, align 8
  %8 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  br label %9

9:                                                ; preds = %16, %2
  %10 = load ptr, ptr %3, align 8
  %11 = getelementptr inbounds nuw %struct.Kernel, ptr %10, i32 0, i32 8
  store i32 1, ptr %5, align 4
  %12 = load i32, ptr %5, align 4
  %13 = atomicrmw xchg ptr %11, i32 %12 acquire, align 4
  store i32 %13, ptr %6, align 4
  %14 = load i32, ptr %6, align 4
  %15 = icmp ne i32 %14, 0
  br i1 %15, label %16, label %17

16:                                               ; preds = %9
  br label %9

17:                                               ; preds = %9
  %18 = load ptr, ptr %3, align 8
  %19 = load ptr, ptr %4, align 8
  %20 = call ptr @load_in_context(ptr noundef %18, ptr noundef %19) #2
  store ptr %20, ptr %7, align 8
  %21 = load ptr, ptr %3, align 8
  %22 = getelementptr inbounds nuw %struct.Kernel, ptr %21, i32 0, i32 8
  store i32 0, ptr %8, align 4
  %23 = load i32, ptr %8, align 4
  store atomic i32 %23, ptr %22 release, align 4
  %24 = load ptr, ptr %7, align 8
  ret ptr %24
}

; Function Attrs: nounwind uwtable
define internal ptr @complain_of_driver(ptr noundef %0, ptr noundef %1, i32 noundef %2) #1 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i32, align 4
  %7 = alloca %struct.Message, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  %8 = load ptr, ptr %4, align 8
  %9 = getelementptr inbounds nuw %struct.Kernel, ptr %8, i32 0, i32 0
  %10 = load ptr, ptr %9, align 8
  call void @say_operator(ptr noundef %7, ptr noundef %10) #2
  %11 = load ptr, ptr %5, align 8
  call void @say(ptr noundef %7, ptr noundef %11) #2
  call void @say(ptr noundef %7, ptr noundef @.str.29) #2
  %12 = load i32, ptr %6, align 4
  %13 = sext i32 %12 to i64
  call void @say_number(ptr noundef %7, i64 noundef %13) #2
  %14 = load ptr, ptr %4, align 8
  %15 = getelementptr inbounds nuw %struct.Kernel, ptr %14, i32 0, i32 1
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds nuw %struct.Message, ptr %7, i32 0, i32 1
  %18 = getelementptr inbounds [400 x i8], ptr %17, i64 0, i64 0
  %19 = call ptr @create_status(ptr noundef %16, i32 noundef 6, ptr noundef %18) #2
  ret ptr %19
}

; Function Attrs: nounwind uwtable
define internal ptr @load_in_context(ptr noundef %0, ptr noundef %1) #1 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  br label %11

11:                                               ; preds = %2
  %12 = load ptr, ptr %4, align 8
  %13 = call ptr @find_driver(ptr noundef %12) #2
  store ptr %13, ptr %6, align 8
  %14 = load ptr, ptr %6, align 8
  %15 = icmp ne ptr %14, null
  br i1 %15, label %16, label %18

16:                                               ; preds = %11
  %17 = load ptr, ptr %6, align 8
  store ptr %17, ptr %3, align 8
  br label %146

18:                                               ; preds = %11
  br label %19

19:                                               ; preds = %18
  store ptr null, ptr %7, align 8
  store ptr null, ptr %8, align 8
  %20 = load ptr, ptr %4, align 8
  %21 = getelementptr inbounds nuw %struct.Kernel, ptr %20, i32 0, i32 5
  %22 = getelementptr inbounds nuw %struct.Driver, ptr %21, i32 0, i32 0
  %23 = load ptr, ptr %22, align 8
  %24 = call i32 %23(ptr noundef %7) #2
  store i32 %24, ptr %9, align 4
  %25 = load i32, ptr %9, align 4
  %26 = icmp ne i32 %25, 0
  br i1 %26, label %30, label %27

27:                                               ; preds = %19
  %28 = load ptr, ptr %7, align 8
  %29 = icmp ne ptr %28, null
  br i1 %29, label %34, label %30

30:                                               ; preds = %27, %19
  %31 = load ptr, ptr %4, align 8
  %32 = load i32, ptr %9, align 4
  %33 = call ptr @complain_of_driver(ptr noundef %31, ptr noundef @.str.24, i32 noundef %32) #2
  store ptr %33, ptr %3, align 8
  br label %146

34:                                               ; preds = %27
  store i32 0, ptr %10, align 4
  br label %35

35:                                               ; preds = %61, %34
  %36 = load i32, ptr %10, align 4
  %37 = load ptr, ptr %4, align 8
  %38 = getelementptr inbounds nuw %struct.Kernel, ptr %37, i32 0, i32 7
  %39 = load i32, ptr %38, align 8
  %40 = icmp slt i32 %36, %39
  br i1 %40, label %41, label %64

41:                                               ; preds = %35
  %42 = load ptr, ptr %4, align 8
  %43 = getelementptr inbounds nuw %struct.Kernel, ptr %42, i32 0, i32 6
  %44 = load i32, ptr %10, align 4
  %45 = sext i32 %44 to i64
  %46 = getelementptr inbounds [8 x %struct.anon], ptr %43, i64 0, i64 %45
  %47 = getelementptr inbounds nuw %struct.anon, ptr %46, i32 0, i32 0
  %48 = load ptr, ptr %47, align 8
  %49 = load ptr, ptr %7, align 8
  %50 = icmp eq ptr %48, %49
  br i1 %50, label %51, label %60

51:                                               ; preds = %41
  %52 = load ptr, ptr %4, align 8
  %53 = getelementptr inbounds nuw %struct.Kernel, ptr %52, i32 0, i32 6
  %54 = load i32, ptr %10, align 4
  %55 = sext i32 %54 to i64
  %56 = getelementptr inbounds [8 x %struct.anon], ptr %53, i64 0, i64 %55
  %57 = getelementptr inbounds nuw %struct.anon, ptr %56, i32 0, i32 2
  %58 = load ptr, ptr %57, align 8
  %59 = load ptr, ptr %5, align 8
  store ptr %58, ptr %59, align 8
  store ptr null, ptr %3, align 8
  br label %146

60:                                               ; preds = %41
  br label %61

61:                                               ; preds = %60
  %62 = load i32, ptr %10, align 4
  %63 = add nsw i32 %62, 1
  store i32 %63, ptr %10, align 4
  br label %35

64:                                               ; preds = %35
  %65 = load ptr, ptr %4, align 8
  %66 = getelementptr inbounds nuw %struct.Kernel, ptr %65, i32 0, i32 7
  %67 = load i32, ptr %66, align 8
  %68 = icmp eq i32 %67, 8
  br i1 %68, label %69, label %77

69:                                               ; preds = %64
  %70 = load ptr, ptr %4, align 8
  %71 = getelementptr inbounds nuw %struct.Kernel, ptr %70, i32 0, i32 1
  %72 = load ptr, ptr %71, align 8
  %73 = load ptr, ptr %4, align 8
  %74 = getelementptr inbounds nuw %struct.Kernel, ptr %73, i32 0, i32 0
  %75 = load ptr, ptr %74, align 8
  %76 = call ptr @complain(ptr noundef %72, ptr noundef %75, i32 noundef 6, ptr noundef @.str.25) #2
  store ptr %76, ptr %3, align 8
  br label %146

77:                                               ; preds = %64
  %78 = load ptr, ptr %4, align 8
  %79 = getelementptr inbounds nuw %struct.Kernel, ptr %78, i32 0, i32 5
  %80 = getelementptr inbounds nuw %struct.Driver, ptr %79, i32 0, i32 1
  %81 = load ptr, ptr %80, align 8
  %82 = load ptr, ptr %4, align 8
  %83 = getelementptr inbounds nuw %struct.Kernel, ptr %82, i32 0, i32 0
  %84 = load ptr, ptr %83, align 8
  %85 = getelementptr inbounds nuw %struct.Descriptor, ptr %84, i32 0, i32 2
  %86 = load ptr, ptr %85, align 8
  %87 = call i32 %81(ptr noundef %8, ptr noundef %86, i32 noundef 0, ptr noundef null, ptr noundef null) #2
  store i32 %87, ptr %9, align 4
  %88 = load i32, ptr %9, align 4
  %89 = icmp ne i32 %88, 0
  br i1 %89, label %90, label %94

90:                                               ; preds = %77
  %91 = load ptr, ptr %4, align 8
  %92 = load i32, ptr %9, align 4
  %93 = call ptr @complain_of_driver(ptr noundef %91, ptr noundef @.str.26, i32 noundef %92) #2
  store ptr %93, ptr %3, align 8
  br label %146

94:                                               ; preds = %77
  %95 = load ptr, ptr %4, align 8
  %96 = getelementptr inbounds nuw %struct.Kernel, ptr %95, i32 0, i32 5
  %97 = getelementptr inbounds nuw %struct.Driver, ptr %96, i32 0, i32 2
  %98 = load ptr, ptr %97, align 8
  %99 = load ptr, ptr %5, align 8
  %100 = load ptr, ptr %8, align 8
  %101 = load ptr, ptr %4, align 8
  %102 = getelementptr inbounds nuw %struct.Kernel, ptr %101, i32 0, i32 0
  %103 = load ptr, ptr %102, align 8
  %104 = getelementptr inbounds nuw %struct.Descriptor, ptr %103, i32 0, i32 0
  %105 = load ptr, ptr %104, align 8
  %106 = call i32 %98(ptr noundef %99, ptr noundef %100, ptr noundef %105) #2
  store i32 %106, ptr %9, align 4
  %107 = load i32, ptr %9, align 4
  %108 = icmp ne i32 %107, 0
  br i1 %108, label %109, label %113

109:                                              ; preds = %94
  %110 = load ptr, ptr %4, align 8
  %111 = load i32, ptr %9, align 4
  %112 = call ptr @complain_of_driver(ptr noundef %110, ptr noundef @.str.27, i32 noundef %111) #2
  store ptr %112, ptr %3, align 8
  br label %146

113:                                              ; preds = %94
  %114 = load ptr, ptr %7, align 8
  %115 = load ptr, ptr %4, align 8
  %116 = getelementptr inbounds nuw %struct.Kernel, ptr %115, i32 0, i32 6
  %117 = load ptr, ptr %4, align 8
  %118 = getelementptr inbounds nuw %struct.Kernel, ptr %117, i32 0, i32 7
  %119 = load i32, ptr %118, align 8
  %120 = sext i32 %119 to i64
  %121 = getelementptr inbounds [8 x %struct.anon], ptr %116, i64 0, i64 %120
  %122 = getelementptr inbounds nuw %struct.anon, ptr %121, i32 0, i32 0
  store ptr %114, ptr %122, align 8
  %123 = load ptr, ptr %8, align 8
  %124 = load ptr, ptr %4, align 8
  %125 = getelementptr inbounds nuw %struct.Kernel, ptr %124, i32 0, i32 6
  %126 = load ptr, ptr %4, align 8
  %127 = getelementptr inbounds nuw %struct.Kernel, ptr %126, i32 0, i32 7
  %128 = load i32, ptr %127, align 8
  %129 = sext i32 %128 to i64
  %130 = getelementptr inbounds [8 x %struct.anon], ptr %125, i64 0, i64 %129
  %131 = getelementptr inbounds nuw %struct.anon, ptr %130, i32 0, i32 1
  store ptr %123, ptr %131, align 8
  %132 = load ptr, ptr %5, align 8
  %133 = load ptr, ptr %132, align 8
  %134 = load ptr, ptr %4, align 8
  %135 = getelementptr inbounds nuw %struct.Kernel, ptr %134, i32 0, i32 6
  %136 = load ptr, ptr %4, align 8
  %137 = getelementptr inbounds nuw %struct.Kernel, ptr %136, i32 0, i32 7
  %138 = load i32, ptr %137, align 8
  %139 = sext i32 %138 to i64
  %140 = getelementptr inbounds [8 x %struct.anon], ptr %135, i64 0, i64 %139
  %141 = getelementptr inbounds nuw %struct.anon, ptr %140, i32 0, i32 2
  store ptr %133, ptr %141, align 8
  %142 = load ptr, ptr %4, align 8
  %143 = getelementptr inbounds nuw %struct.Kernel, ptr %142, i32 0, i32 7
  %144 = load i32, ptr %143, align 8
  %145 = add nsw i32 %144, 1
  store i32 %145, ptr %143, align 8
  store ptr null, ptr %3, align 8
  br label %146

146:                                              ; preds = %113, %109, %90, %69, %51, %30, %16
  %147 = load ptr, ptr %3, align 8
  ret ptr %147
}

; Function Attrs: nounwind uwtable
define internal ptr @find_driver(ptr noundef %0) #1 {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  %5 = load ptr, ptr %3, align 8
  %6 = getelementptr inbounds nuw %struct.Kernel, ptr %5, i32 0, i32 5
  store ptr %6, ptr %4, align 8
  %7 = load ptr, ptr %4, align 8
  %8 = getelementptr inbounds nuw %struct.Driver, ptr %7, i32 0, i32 3
  %9 = load ptr, ptr %8, align 8
  %10 = icmp ne ptr %9, null
  br i1 %10, label %11, label %12

11:                                               ; preds = %1
  store ptr null, ptr %2, align 8
  br label %56

12:                                               ; preds = %1
  %13 = call ptr @driver_function(ptr noundef @.str.24) #2
  %14 = load ptr, ptr %4, align 8
  %15 = getelementptr inbounds nuw %struct.Driver, ptr %14, i32 0, i32 0
  store ptr %13, ptr %15, align 8
  %16 = call ptr @driver_function(ptr noundef @.str.26) #2
  %17 = load ptr, ptr %4, align 8
  %18 = getelementptr inbounds nuw %struct.Driver, ptr %17, i32 0, i32 1
  store ptr %16, ptr %18, align 8
  %19 = call ptr @driver_function(ptr noundef @.str.27) #2
  %20 = load ptr, ptr %4, align 8
  %21 = getelementptr inbounds nuw %struct.Driver, ptr %20, i32 0, i32 2
  store ptr %19, ptr %21, align 8
  %22 = load ptr, ptr %4, align 8
  %23 = getelementptr inbounds nuw %struct.Driver, ptr %22, i32 0, i32 0
  %24 = load ptr, ptr %23, align 8
  %25 = icmp ne ptr %24, null
  br i1 %25, label %26, label %40

26:                                               ; preds = %12
  %27 = load ptr, ptr %4, align 8
  %28 = getelementptr inbounds nuw %struct.Driver, ptr %27, i32 0, i32 1
  %29 = load ptr, ptr %28, align 8
  %30 = icmp ne ptr %29, null
  br i1 %30, label %31, label %40

31:                                               ; preds = %26
  %32 = load ptr, ptr %4, align 8
  %33 = getelementptr inbounds nuw %struct.Driver, ptr %32, i32 0, i32 2
  %34 = load ptr, ptr %33, align 8
  %35 = icmp ne ptr %34, null
  br i1 %35, label %36, label %40

36:                                               ; preds = %31
  %37 = call ptr @driver_function(ptr noundef @.str.23) #2
  %38 = load ptr, ptr %4, align 8
  %39 = getelementptr inbounds nuw %struct.Driver, ptr %38, i32 0, i32 3
  store ptr %37, ptr %39, align 8
  br label %40

40:                                               ; preds = %36, %31, %26, %12
  %41 = load ptr, ptr %4, align 8
  %42 = getelementptr inbounds nuw %struct.Driver, ptr %41, i32 0, i32 3
  %43 = load ptr, ptr %42, align 8
  %44 = icmp ne ptr %43, null
  br i1 %44, label %45, label %46

45:                                               ; preds = %40
  br label %54

46:                                               ; preds = %40
  %47 = load ptr, ptr %3, align 8
  %48 = getelementptr inbounds nuw %struct.Kernel, ptr %47, i32 0, i32 1
  %49 = load ptr, ptr %48, align 8
  %50 = load ptr, ptr %3, align 8
  %51 = getelementptr inbounds nuw %struct.Kernel, ptr %50, i32 0, i32 0
  %52 = load ptr, ptr %51, align 8
  %53 = call ptr @complain(ptr noundef %49, ptr noundef %52, i32 noundef 6, ptr noundef @.str.28) #2
  br label %54

54:                                               ; preds = %46, %45
  %55 = phi ptr [ null, %45 ], [ %53, %46 ]
  store ptr %55, ptr %2, align 8
  br label %56

56:                                               ; preds = %54, %11
  %57 = load ptr, ptr %2, align 8
  ret ptr %57
}

attributes #0 = { nounwind optsize "no-builtins" }
attributes #1 = { nounwind optsize "no-builtins" }
attributes #2 = { nounwind optsize "no-builtins" }

