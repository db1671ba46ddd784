"""The sample programs: what small-batch inference looks like when it waits for launches, and when it does not.

Kernel names are those that ONNX Runtime, PyTorch, Triton, cuBLAS, cuDNN and CUTLASS give; durations and host times are
of the size seen on data-centre GPUs. Nothing here was captured: every time is made up by the simulator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_traces.operations import (
    BeginCapture,
    Call,
    CallKind,
    Copy,
    EndCapture,
    Fill,
    Host,
    Instantiate,
    Launch,
    LaunchGraph,
    Operation,
    Pop,
    Push,
    RecordEvent,
    Stream,
    Synchronize,
    WaitEvent,
)
from sample_traces.simulator import Jitter, Machine, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sample_traces.run import Run

__all__ = [
    "NOISE",
    "SAMPLES",
    "cuda_graph_replay",
    "gpu_bound_cnn",
    "launch_bound_decode",
    "sync_bound_loop",
]

NOISE = Jitter(host=0.15, call=0.12, latency=0.08, duration=0.02, spikes=0.001, drift=0.005)
"""Noise of the size seen between runs of one program on one machine."""

MAIN = Stream(id=7)
SIDE = Stream(id=14)


def _ort_unary(functor: str) -> str:
    function = f"onnxruntime::cuda::OP_{functor}<__half>"
    return (
        f"void onnxruntime::cuda::_UnaryElementWise<__half, __half, {function}, 256, 4>"
        f"(const __half *, __half *, {function}, int)"
    )


def _ort_binary(functor: str) -> str:
    function = f"onnxruntime::cuda::OP_{functor}<__half, __half, __half>"
    return (
        f"void onnxruntime::cuda::_BinaryElementWiseSimple<true, true, __half, __half, __half, {function}, 256, 4>"
        f"(const __half *, const __half *, __half *, const {function} &, int)"
    )


def _torch_elementwise(functor: str, inputs: int = 1) -> str:
    return (
        f"void at::native::vectorized_elementwise_kernel<(int)4, {functor}, "
        f"std::array<char *, (unsigned long){inputs + 1}>>(int, T2, T3)"
    )


ORT_GATHER = (
    "void onnxruntime::cuda::_GatherKernel<__half>(long, long, onnxruntime::cuda::fast_divmod, "
    "onnxruntime::cuda::fast_divmod, const void *, unsigned long, const __half *, __half *, int)"
)
ORT_REDUCE = (
    "void onnxruntime::cuda::detail::reduce_matrix_columns_kernel<__half, __half, float, onnxruntime::cuda::Identity, "
    "onnxruntime::cuda::Identity, true>(int, int, const __half *, __half *, float *, int *)"
)
ORT_SOFTMAX = (
    "void onnxruntime::cuda::softmax_warp_forward<__half, __half, float, 10, false>("
    "__half *, const __half *, int, int, int)"
)
ORT_TRANSPOSE = (
    "void onnxruntime::cuda::Transpose4DKernelParallelizeMultipleElementsPerThreadInInnermostDim<2>("
    "onnxruntime::cuda::TArray<long, 8>, const void *, onnxruntime::cuda::TArray<long, 8>, void *, int)"
)
ORT_CONCAT = (
    "void onnxruntime::cuda::_ConcatKernelSameConcatDim<__half, onnxruntime::cuda::TArray<const void *, 32>>("
    "onnxruntime::cuda::fast_divmod, onnxruntime::cuda::fast_divmod, onnxruntime::cuda::fast_divmod, __half *, "
    "onnxruntime::cuda::TArray<const void *, 32>, int)"
)
ORT_ARGMAX = (
    "void onnxruntime::cuda::BitonicTopK<__half>(const __half *, __half *, long *, "
    "onnxruntime::cuda::TArray<long, 8>, unsigned long, unsigned long, long, long, long, long, long, __half)"
)
GEMV = (
    "void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false, false, "
    "cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<const __half>, cublasGemvTensorStridedBatched<const "
    "__half>, cublasGemvTensorStridedBatched<__half>, float>>(T13, float, float)"
)
GEMM = "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn"
SPLIT_K = (
    "void cublasLt::splitKreduce_kernel<32, 16, int, __half, __half, float, __half, true, false, false>("
    "cublasLt::cublasSplitKParams<float>, const __half *, const __half *, __half *, const float *, const float *, "
    "const __half *, const __half *, __half *, void *, long, float *, int *)"
)

# One decoder layer as ONNX Runtime runs it without fusion: (kernel, duration in ns).
_DECODER_LAYER: tuple[tuple[str, int], ...] = (
    (_ort_binary("Mul"), 1_500),  # RMSNorm, written out: x * x, mean, + eps, sqrt, x / , * weight
    (ORT_REDUCE, 3_100),
    (_ort_binary("Add"), 1_400),
    (_ort_unary("Sqrt"), 1_300),
    (_ort_binary("Div"), 1_500),
    (_ort_binary("Mul"), 1_500),
    (GEMM, 6_200),  # query, key and value
    (ORT_TRANSPOSE, 1_900),
    (_ort_unary("Neg"), 1_300),  # rotary embedding
    (ORT_CONCAT, 1_800),
    (_ort_binary("Mul"), 1_400),
    (_ort_binary("Add"), 1_400),
    (ORT_CONCAT, 2_400),  # the key-value cache grows
    (GEMV, 3_600),  # scores
    (_ort_binary("Mul"), 1_400),
    (ORT_SOFTMAX, 2_200),
    (GEMV, 3_500),
    (GEMM, 5_300),  # output projection
    (_ort_binary("Add"), 1_400),
    (_ort_binary("Mul"), 1_500),  # the second norm
    (ORT_REDUCE, 3_100),
    (_ort_binary("Add"), 1_400),
    (_ort_unary("Sqrt"), 1_300),
    (_ort_binary("Div"), 1_500),
    (_ort_binary("Mul"), 1_500),
    (GEMM, 9_800),  # gate and up projection
    (_ort_unary("Sigmoid"), 1_600),
    (_ort_binary("Mul"), 1_500),
    (GEMM, 9_400),  # down projection
    (SPLIT_K, 2_100),
    (_ort_binary("Add"), 1_400),
)


def launch_bound_decode(tokens: int = 10, layers: int = 3, dispatch_ns: int = 5_500) -> Iterator[Operation]:
    """Transformer decode at batch 1: some thirty tiny kernels per layer, each launched by itself.

    NVTX ranges `decode_token` and `layer_N` per token and layer; the sampled token is read back after each token.
    """
    yield Call("cudaMalloc_v3020", CallKind.MEMORY, 90_000)
    for _ in range(tokens):
        yield Push("decode_token")
        yield Copy(1_100, MAIN, size=8)
        yield Host(dispatch_ns)
        yield Launch(ORT_GATHER, 1_700, MAIN)
        for layer in range(layers):
            yield Push(f"layer_{layer}")
            for kernel, duration in _DECODER_LAYER:
                yield Host(dispatch_ns)
                yield Launch(kernel, duration, MAIN)
            yield Pop()
        yield Host(dispatch_ns)
        yield Launch(GEMM, 21_000, MAIN)
        yield Host(dispatch_ns)
        yield Launch(ORT_ARGMAX, 5_200, MAIN)
        yield Copy(1_300, MAIN, direction="DtoH", size=8)
        yield Synchronize(MAIN)
        yield Pop()
        yield Host(28_000)


CUDNN_CONV_1X1 = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_warpsize2x2x1_g1_"
    "tensor16x8x16_t1r1s1_execute_kernel__5x_cudnn"
)
CUDNN_CONV_3X3 = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x64x32_stage3_warpsize4x1x1_g1_"
    "tensor16x8x16_execute_kernel__5x_cudnn"
)
CUTLASS_CONV = (
    "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_f16_s16816fprop_optimized_f16_128x64_32x6_nhwc_align8>("
    "cutlass_tensorop_f16_s16816fprop_optimized_f16_128x64_32x6_nhwc_align8::Params)"
)
CUDNN_POOL = (
    "void cudnn::pooling_fw_4d_kernel<__half, float, cudnn::maxpooling_func<float, (cudnnNanPropagation_t)0>, 0, false>"
    "(cudnnTensorStruct, const __half *, cudnnTensorStruct, __half *, cudnnPoolingStruct, float, float, int, "
    "cudnn::reduced_divisor, cudnn::reduced_divisor)"
)
CUDNN_TO_NHWC = (
    "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, (cudnnKernelDataType_t)0>("
    "cudnn::ops::nchw2nhwc_params_t<float>, const __half *, __half *)"
)


def gpu_bound_cnn(
    images: int = 9, blocks: Sequence[int] = (3, 4, 6, 3), dispatch_ns: int = 6_000
) -> Iterator[Operation]:
    """A residual network at batch 64: kernels of 30 to 300 us keep the queue full and the GPU busy."""
    yield Call("cudaMalloc_v3020", CallKind.MEMORY, 120_000)
    for _ in range(images):
        yield Push("infer")
        yield Copy(310_000, MAIN, size=9_633_792)
        for kernel, duration in (
            (CUDNN_TO_NHWC, 58_000),
            (CUTLASS_CONV, 290_000),
            (_ort_unary("Relu"), 74_000),
            (CUDNN_POOL, 61_000),
        ):
            yield Host(dispatch_ns)
            yield Launch(kernel, duration, MAIN)
        for stage, count in enumerate(blocks):
            for _ in range(count):
                for kernel, duration in (
                    (CUDNN_CONV_1X1, 96_000),
                    (_ort_unary("Relu"), 38_000),
                    (CUDNN_CONV_3X3, 168_000),
                    (_ort_unary("Relu"), 38_000),
                    (CUDNN_CONV_1X1, 104_000),
                    (_ort_binary("Add"), 52_000),
                    (_ort_unary("Relu"), 41_000),
                ):
                    yield Host(dispatch_ns)
                    yield Launch(kernel, duration // (stage + 1), MAIN)
        yield Host(dispatch_ns)
        yield Launch(GEMM, 23_000, MAIN)
        yield Copy(4_000, MAIN, direction="DtoH", size=256_000)
        yield Pop()
    yield Synchronize(MAIN)


TORCH_GEMM = (
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>("
    "cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4::Params)"
)
TORCH_REDUCE = (
    "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::MeanOps<float, float, "
    "float, float>, unsigned int, float, (int)4, (int)4>>(T3)"
)
TORCH_RELU = _torch_elementwise(
    "at::native::<unnamed>::launch_clamp_scalar(at::TensorIteratorBase &, c10::Scalar, c10::Scalar, "
    "at::native::detail::ClampLimits)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 7)]::"
    "operator ()() const::[lambda(float) (instance 1)]"
)
TORCH_ADD = _torch_elementwise("at::native::CUDAFunctor_add<float>", 2)


def sync_bound_loop(steps: int = 40, rounds: int = 4) -> Iterator[Operation]:
    """Steps of a few rounds, each of which reads a value back to decide: the GPU waits for the host to wake up."""
    yield Call("cudaMalloc_v3020", CallKind.MEMORY, 80_000)
    for _ in range(steps):
        yield Push("step")
        for _ in range(rounds):
            yield Launch(TORCH_GEMM, 18_000, MAIN)
            yield Host(3_000)
            yield Launch(TORCH_ADD, 2_100, MAIN)
            yield Host(3_000)
            yield Launch(TORCH_RELU, 2_000, MAIN)
            yield Host(3_000)
            yield Launch(TORCH_REDUCE, 6_400, MAIN)
            yield Copy(1_300, MAIN, direction="DtoH", size=4)
            yield Synchronize(MAIN)
            yield Host(2_500)
        yield Pop()


TRITON_NORM = "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"
TRITON_SILU = "triton_poi_fused_mul_silu_1"
TRITON_ROPE = "triton_poi_fused_add_cat_mul_neg_slice_2"
CUBLAS_NVJET = "nvjet_hsh_64x8_64x16_4x1_v_bz_TNT"
FLASH_DECODE = (
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128, (int)64, (int)128, (int)4, (bool)0, "
    "(bool)0, cutlass::half_t, Flash_kernel_traits<(int)128, (int)64, (int)128, (int)4, cutlass::half_t>>, (bool)0, "
    "(bool)0, (bool)0, (bool)0, (bool)1, (bool)0, (bool)0, (bool)0>(flash::Flash_fwd_params)"
)


def cuda_graph_replay(replays: int = 40, layers: int = 3) -> Iterator[Operation]:
    """The same kind of decode as one CUDA graph: captured once, replayed per token, with a side branch per layer."""
    fork, join = 1, 2
    yield Call("cudaMalloc_v3020", CallKind.MEMORY, 90_000)
    yield BeginCapture(MAIN)
    for _ in range(layers):
        yield Launch(TRITON_NORM, 3_400, MAIN)
        yield Launch(CUBLAS_NVJET, 6_100, MAIN)
        yield RecordEvent(fork, MAIN)
        yield WaitEvent(fork, SIDE)
        yield Fill(1_200, SIDE)
        yield Launch(TRITON_ROPE, 1_900, MAIN)
        yield RecordEvent(join, SIDE)
        yield WaitEvent(join, MAIN)
        yield Launch(FLASH_DECODE, 7_800, MAIN)
        yield Launch(CUBLAS_NVJET, 5_200, MAIN)
        yield Launch(TRITON_NORM, 3_400, MAIN)
        yield Launch(TRITON_SILU, 1_700, MAIN)
        yield Launch(CUBLAS_NVJET, 9_600, MAIN)
    yield EndCapture(1, MAIN)
    yield Instantiate(1, 210_000)
    for _ in range(replays):
        yield Copy(1_200, MAIN, size=64)
        yield Host(4_000)
        yield LaunchGraph(1, MAIN)
        yield Copy(1_300, MAIN, direction="DtoH", size=64)
        yield Synchronize(MAIN)
        yield Host(16_000)


def _decode() -> Run:
    return simulate(launch_bound_decode(), Machine(jitter=NOISE, module_load_ns=160_000), seed=1)


def _cnn() -> Run:
    return simulate(gpu_bound_cnn(), Machine(jitter=NOISE, module_load_ns=400_000), seed=2)


def _sync() -> Run:
    return simulate(sync_bound_loop(), Machine(jitter=NOISE, module_load_ns=160_000, return_ns=34_000), seed=3)


def _graph() -> Run:
    return simulate(cuda_graph_replay(), Machine(jitter=NOISE, module_load_ns=300_000), seed=4)


SAMPLES: dict[str, Callable[[], Run]] = {
    "launch_bound_decode": _decode,
    "gpu_bound_cnn": _cnn,
    "sync_bound_loop": _sync,
    "cuda_graph_replay": _graph,
}
"""The committed samples by name; each makes its run anew."""
