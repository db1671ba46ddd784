"""Every fusion that is tried: one module each, one line here. Where two fit the same nodes the earlier one is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse.rules.attention import ATTENTION
from advisor.fuse.rules.batch_norm import BATCH_NORM
from advisor.fuse.rules.broadcast import BROADCAST
from advisor.fuse.rules.channel_scale import CHANNEL_SCALE
from advisor.fuse.rules.channel_shift import CHANNEL_SHIFT
from advisor.fuse.rules.constant_chain import CONSTANT_CHAIN
from advisor.fuse.rules.conv_activation import CONV_ACTIVATION
from advisor.fuse.rules.euclidean_norm import EUCLIDEAN_NORM
from advisor.fuse.rules.fused_matmul import FUSED_MATMUL
from advisor.fuse.rules.gelu import GELU, TANH_GELU
from advisor.fuse.rules.gemm_activation import GEMM_ACTIVATION
from advisor.fuse.rules.gemm_bias import GEMM_BIAS
from advisor.fuse.rules.gemm_transpose import GEMM_TRANSPOSE
from advisor.fuse.rules.hard_sigmoid import HARD_SIGMOID
from advisor.fuse.rules.hard_swish import HARD_SWISH
from advisor.fuse.rules.instance_norm import INSTANCE_NORM
from advisor.fuse.rules.layer_norm import LAYER_NORM
from advisor.fuse.rules.leaky_relu import LEAKY_RELU, PRELU
from advisor.fuse.rules.mish import MISH
from advisor.fuse.rules.pad import PAD
from advisor.fuse.rules.residual_sum import RESIDUAL_SUM
from advisor.fuse.rules.rms_norm import RMS_NORM
from advisor.fuse.rules.rotary import ROTARY
from advisor.fuse.rules.silu import SILU
from advisor.fuse.rules.skip_norm import SKIP_NORM
from advisor.fuse.rules.softmax import LOG_SOFTMAX, SOFTMAX
from advisor.fuse.rules.turned_factor import TURNED_FACTOR

if TYPE_CHECKING:
    from advisor.fuse.rule import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    ATTENTION,
    ROTARY,
    LAYER_NORM,
    RMS_NORM,
    INSTANCE_NORM,
    LOG_SOFTMAX,
    SOFTMAX,
    EUCLIDEAN_NORM,
    GELU,
    TANH_GELU,
    HARD_SWISH,
    HARD_SIGMOID,
    SILU,
    MISH,
    LEAKY_RELU,
    PRELU,
    PAD,
    BATCH_NORM,
    CHANNEL_SCALE,
    CHANNEL_SHIFT,
    GEMM_BIAS,
    GEMM_TRANSPOSE,
    FUSED_MATMUL,
    TURNED_FACTOR,
    RESIDUAL_SUM,
    SKIP_NORM,
    CONV_ACTIVATION,
    GEMM_ACTIVATION,
    BROADCAST,
    CONSTANT_CHAIN,
)
