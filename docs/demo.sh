#!/bin/sh
# What `make demo` runs: every command as a user would type it.
set -eu
models=$(python -c 'import importlib.util; print(importlib.util.find_spec("rapidocr_onnxruntime").submodule_search_locations[0])')/models
mkdir -p demo

echo "\$ advisor analyze sample_traces/launch_bound_decode.sqlite --html demo/analysis.html"
advisor analyze sample_traces/launch_bound_decode.sqlite --top 5 --html demo/analysis.html --json demo/analysis.json

echo "\$ advisor fuse ch_ppocr_mobile_v2.0_cls_infer.onnx --dim x:2=48 --dim x:3=192 --budget 20 -o demo/fused.onnx --html demo/fusion.html"
advisor fuse "$models/ch_ppocr_mobile_v2.0_cls_infer.onnx" --dim x:2=48 --dim x:3=192 --budget 20 -o demo/fused.onnx \
    --html demo/fusion.html --json demo/fusion.json

echo "Reports: demo/analysis.html, demo/fusion.html (and .json); the fused model: demo/fused.onnx"
