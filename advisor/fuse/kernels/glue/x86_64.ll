; Made of x86_64.c by make_glue.py (make glue); do not edit.

%struct.Registers = type { i32, i32, i32, i32 }

; Function Attrs: nounwind uwtable
define hidden i32 @cpu_level() #0 {
  %1 = alloca i32, align 4
  %2 = alloca %struct.Registers, align 4
  %3 = alloca %struct.Registers, align 4
  %4 = alloca %struct.Registers, align 4
  %5 = alloca %struct.Registers, align 4
  %6 = alloca %struct.Registers, align 4
  %7 = call { i64, i64 } @cpuid(i32 noundef 0, i32 noundef 0) #1
  %8 = getelementptr inbounds nuw { i64, i64 }, ptr %2, i32 0, i32 0
  %9 = extractvalue { i64, i64 } %7, 0
  store i64 %9, ptr %8, align 4
  %10 = getelementptr inbounds nuw { i64, i64 }, ptr %2, i32 0, i32 1
  %11 = extractvalue { i64, i64 } %7, 1
  store i64 %11, ptr %10, align 4
  %12 = call { i64, i64 } @cpuid(i32 noundef -2147483648, i32 noundef 0) #1
  %13 = getelementptr inbounds nuw { i64, i64 }, ptr %3, i32 0, i32 0
  %14 = extractvalue { i64, i64 } %12, 0
  store i64 %14, ptr %13, align 4
  %15 = getelementptr inbounds nuw { i64, i64 }, ptr %3, i32 0, i32 1
  %16 = extractvalue { i64, i64 } %12, 1
  store i64 %16, ptr %15, align 4
  %17 = getelementptr inbounds nuw %struct.Registers, ptr %2, i32 0, i32 0
  %18 = load i32, ptr %17, align 4
  %19 = icmp ult i32 %18, 7
  br i1 %19, label %24, label %20

20:                                               ; preds = %0
  %21 = getelementptr inbounds nuw %struct.Registers, ptr %3, i32 0, i32 0
  %22 = load i32, ptr %21, align 4
  %23 = icmp ult i32 %22, -2147483647
  br i1 %23, label %24, label %25

24:                                               ; preds = %20, %0
  store i32 -1, ptr %1, align 4
  br label %82

25:                                               ; preds = %20
  %26 = call { i64, i64 } @cpuid(i32 noundef 1, i32 noundef 0) #1
  %27 = getelementptr inbounds nuw { i64, i64 }, ptr %4, i32 0, i32 0
  %28 = extractvalue { i64, i64 } %26, 0
  store i64 %28, ptr %27, align 4
  %29 = getelementptr inbounds nuw { i64, i64 }, ptr %4, i32 0, i32 1
  %30 = extractvalue { i64, i64 } %26, 1
  store i64 %30, ptr %29, align 4
  %31 = call { i64, i64 } @cpuid(i32 noundef 7, i32 noundef 0) #1
  %32 = getelementptr inbounds nuw { i64, i64 }, ptr %5, i32 0, i32 0
  %33 = extractvalue { i64, i64 } %31, 0
  store i64 %33, ptr %32, align 4
  %34 = getelementptr inbounds nuw { i64, i64 }, ptr %5, i32 0, i32 1
  %35 = extractvalue { i64, i64 } %31, 1
  store i64 %35, ptr %34, align 4
  %36 = call { i64, i64 } @cpuid(i32 noundef -2147483647, i32 noundef 0) #1
  %37 = getelementptr inbounds nuw { i64, i64 }, ptr %6, i32 0, i32 0
  %38 = extractvalue { i64, i64 } %36, 0
  store i64 %38, ptr %37, align 4
  %39 = getelementptr inbounds nuw { i64, i64 }, ptr %6, i32 0, i32 1
  %40 = extractvalue { i64, i64 } %36, 1
  store i64 %40, ptr %39, align 4
  %41 = getelementptr inbounds nuw %struct.Registers, ptr %4, i32 0, i32 2
  %42 = load i32, ptr %41, align 4
  %43 = call i32 @has(i32 noundef %42, i32 noundef 9970177) #1
  %44 = icmp ne i32 %43, 0
  br i1 %44, label %45, label %50

45:                                               ; preds = %25
  %46 = getelementptr inbounds nuw %struct.Registers, ptr %6, i32 0, i32 2
  %47 = load i32, ptr %46, align 4
  %48 = call i32 @has(i32 noundef %47, i32 noundef 1) #1
  %49 = icmp ne i32 %48, 0
  br i1 %49, label %51, label %50

50:                                               ; preds = %45, %25
  store i32 -1, ptr %1, align 4
  br label %82

51:                                               ; preds = %45
  %52 = getelementptr inbounds nuw %struct.Registers, ptr %4, i32 0, i32 2
  %53 = load i32, ptr %52, align 4
  %54 = call i32 @has(i32 noundef %53, i32 noundef 943722496) #1
  %55 = icmp ne i32 %54, 0
  br i1 %55, label %56, label %70

56:                                               ; preds = %51
  %57 = getelementptr inbounds nuw %struct.Registers, ptr %5, i32 0, i32 1
  %58 = load i32, ptr %57, align 4
  %59 = call i32 @has(i32 noundef %58, i32 noundef 296) #1
  %60 = icmp ne i32 %59, 0
  br i1 %60, label %61, label %70

61:                                               ; preds = %56
  %62 = getelementptr inbounds nuw %struct.Registers, ptr %6, i32 0, i32 2
  %63 = load i32, ptr %62, align 4
  %64 = call i32 @has(i32 noundef %63, i32 noundef 32) #1
  %65 = icmp ne i32 %64, 0
  br i1 %65, label %66, label %70

66:                                               ; preds = %61
  %67 = call i32 @saved_states() #1
  %68 = call i32 @has(i32 noundef %67, i32 noundef 6) #1
  %69 = icmp ne i32 %68, 0
  br i1 %69, label %71, label %70

70:                                               ; preds = %66, %61, %56, %51
  store i32 0, ptr %1, align 4
  br label %82

71:                                               ; preds = %66
  %72 = getelementptr inbounds nuw %struct.Registers, ptr %5, i32 0, i32 1
  %73 = load i32, ptr %72, align 4
  %74 = call i32 @has(i32 noundef %73, i32 noundef -805109760) #1
  %75 = icmp ne i32 %74, 0
  br i1 %75, label %76, label %80

76:                                               ; preds = %71
  %77 = call i32 @saved_states() #1
  %78 = call i32 @has(i32 noundef %77, i32 noundef 230) #1
  %79 = icmp ne i32 %78, 0
  br i1 %79, label %81, label %80

80:                                               ; preds = %76, %71
  store i32 1, ptr %1, align 4
  br label %82

81:                                               ; preds = %76
  store i32 2, ptr %1, align 4
  br label %82

82:                                               ; preds = %81, %80, %70, %50, %24
  %83 = load i32, ptr %1, align 4
  ret i32 %83
}

; Function Attrs: nounwind uwtable
define internal { i64, i64 } @cpuid(i32 noundef %0, i32 noundef %1) #0 {
  %3 = alloca %struct.Registers, align 4
  %4 = alloca i32, align 4
  %5 = alloca i32, align 4
  store i32 %0, ptr %4, align 4
  store i32 %1, ptr %5, align 4
  %6 = getelementptr inbounds nuw %struct.Registers, ptr %3, i32 0, i32 0
  %7 = getelementptr inbounds nuw %struct.Registers, ptr %3, i32 0, i32 1
  %8 = getelementptr inbounds nuw %struct.Registers, ptr %3, i32 0, i32 2
  %9 = getelementptr inbounds nuw %struct.Registers, ptr %3, i32 0, i32 3
  %10 = load i32, ptr %4, align 4
  %11 = load i32, ptr %5, align 4
  %12 = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"(i32 %10, i32 %11) #2
  %13 = extractvalue { i32, i32, i32, i32 } %12, 0
  %14 = extractvalue { i32, i32, i32, i32 } %12, 1
  %15 = extractvalue { i32, i32, i32, i32 } %12, 2
  %16 = extractvalue { i32, i32, i32, i32 } %12, 3
  store i32 %13, ptr %6, align 4
  store i32 %14, ptr %7, align 4
  store i32 %15, ptr %8, align 4
  store i32 %16, ptr %9, align 4
  %17 = load { i64, i64 }, ptr %3, align 4
  ret { i64, i64 } %17
}

; Function Attrs: nounwind uwtable
define internal i32 @has(i32 noundef %0, i32 noundef %1) #0 {
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store i32 %0, ptr %3, align 4
  store i32 %1, ptr %4, align 4
  %5 = load i32, ptr %3, align 4
  %6 = load i32, ptr %4, align 4
  %7 = and i32 %5, %6
  %8 = load i32, ptr %4, align 4
  %9 = icmp eq i32 %7, %8
  %10 = zext i1 %9 to i32
  ret i32 %10
}

; Function Attrs: nounwind uwtable
define internal i32 @saved_states() #0 {
  %1 = alloca i32, align 4
  %2 = alloca i32, align 4
  %3 = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"(i32 0) #2
  %4 = extractvalue { i32, i32 } %3, 0
  %5 = extractvalue { i32, i32 } %3, 1
  store i32 %4, ptr %1, align 4
  store i32 %5, ptr %2, align 4
  %6 = load i32, ptr %1, align 4
  ret i32 %6
}

attributes #0 = { nounwind optsize "no-builtins" }
attributes #1 = { nounwind optsize "no-builtins" }
attributes #2 = { nounwind optsize "no-builtins" }

