"""What a node computes, from its ONNX operator: where works are a model's nodes, as in ONNX Runtime's CPU profiles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OPERATORS", "operator_class", "operator_classes"]

# The classes are those of `kernel_classes.OP_CLASSES`. ONNX (ai.onnx, opset 1 to 26) and ONNX Runtime's own operators
# (com.microsoft, and the layouts NCHWc and NHWC). In doubt an operator is not elementwise.
OPERATORS: dict[str, str] = {
    "gemm": """
        Gemm MatMul MatMulInteger QLinearMatMul Einsum LSTM GRU RNN AttnLSTM DynamicQuantizeLSTM FusedGemm FusedMatMul
        FusedMatMulActivation TransposeMatMul MatMulNBits MatMulBnb4 MatMulFpQ4 MatMulInteger16 MatMulIntegerToFloat
        MatMulNBitsMlp MatMulNBitsQkv MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight DynamicQuantizeMatMul
        QGemm GemmFastGelu GemmFloat8 QOrderedMatMul SparseToDenseMatMul MoE QMoE""",
    "conv": """
        Conv ConvInteger ConvTranspose QLinearConv QLinearConvTranspose DeformConv Col2Im CausalConvWithState FusedConv
        NhwcConv NhwcFusedConv ConvTransposeWithDynamicPads VarlenCausalConvWithState WordConvEmbedding""",
    "elementwise": """
        Abs Acos Acosh Add And Asin Asinh Atan Atanh Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr
        BitwiseXor Cast CastLike Ceil Celu Clip Cos Cosh DequantizeLinear Div Dropout Elu Equal Erf Exp Floor Gelu
        Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod
        Mul Neg Not Or PRelu Pow QuantizeLinear RandomNormal RandomNormalLike RandomUniform RandomUniformLike Reciprocal
        Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum SwiGLU Swish Tan Tanh
        ThresholdedRelu Trilu Where Xor BiasAdd BiasDropout BiasGelu BiasSplitGelu BitmaskBiasDropout BitmaskDropout
        ComplexMul ComplexMulConj FastGelu GatedAdd MulInteger QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid
        QLinearWhere QOrderedGelu QuickGelu ScaledSiLU LinearAttentionGate""",
    "reduction": """
        ArgMax ArgMin AveragePool CumProd CumSum Det DynamicQuantizeLinear GlobalAveragePool GlobalLpPool GlobalMaxPool
        LpPool MaxPool NegativeLogLikelihoodLoss DFT STFT Rfft Irfft CDist MaxpoolWithMask NhwcMaxPool MaxRoiPool
        QLinearAveragePool QLinearGlobalAveragePool QLinearReduceMean IsAllFinite Inverse""",
    "norm": """
        BatchNormalization GroupNormalization InstanceNormalization LRN LayerNormalization LpNormalization
        MeanVarianceNormalization RMSNormalization GroupNorm SkipGroupNorm SkipLayerNormalization BranchwiseRMSNorm
        SkipSimplifiedLayerNormalization SimplifiedLayerNormalization GatedRMSNorm QOrderedLayerNormalization""",
    "softmax": "Softmax LogSoftmax Hardmax SoftmaxCrossEntropyLoss BiasSoftmax QLinearSoftmax",
    "attention": "LinearAttention RotaryEmbedding GemmaRotaryEmbedding MRotaryEmbedding GatedDeltaNet",
    "copy": """
        CenterCropPad Concat DepthToSpace Expand Flatten Identity Pad Reshape Slice SpaceToDepth Split Squeeze Tile
        Transpose Unsqueeze ConcatFromSequence SplitToSequence ExpandDims QLinearConcat ReorderInput ReorderOutput
        UnfoldTensor""",
    "gather": """
        AffineGrid Compress Gather GatherElements GatherND GridSample Multinomial MaxUnpool NonMaxSuppression NonZero
        OneHot Resize ReverseSequence RoiAlign Scatter ScatterElements ScatterND TensorScatter TopK Unique Upsample
        CropAndResize EmbedLayerNormalization QEmbedLayerNormalization GatherBlockQuantized RemovePadding RestorePadding
        TorchEmbedding GatedRelativePositionBias RelativePositionBias""",
    "memory": """
        BlackmanWindow Constant ConstantOfShape EyeLike HammingWindow HannWindow MelWeightMatrix Range Shape Size
        MemcpyFromHost MemcpyToHost""",
}
"""The operators of each class, divided by blanks."""

_CLASSES = {name: op_class for op_class, names in OPERATORS.items() for name in names.split()}
# Families with many members, and subgraphs that a compiler made one node.
_FAMILIES = (
    ("reduction", re.compile(r"Reduce[A-Z]")),
    ("attention", re.compile(r"\w*Attention(?!Gate)")),
    ("fused", re.compile(r"(TensorRT|TRT|OpenVINO|MIGraphX|QNN|CoreML|NNAPI|Dnnl|VitisAI)\w*|EPContext$")),
    ("fused", re.compile(r"Fused_[0-9a-f]{16}$")),  # kernels that `fuse` generates
)


def operator_class(name: str) -> str:
    """The class of an ONNX operator, one of `kernel_classes.OP_CLASSES`; `other` for control flow and the unknown."""
    known = _CLASSES.get(name)
    if known is None:
        known = next((op_class for op_class, pattern in _FAMILIES if pattern.match(name)), "other")
    return known


def operator_classes(names: Sequence[str]) -> list[str]:
    """The class of each operator, in order."""
    return [operator_class(name) for name in names]
