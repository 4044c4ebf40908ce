#!/bin/sh
# The tests that need executors from PyPI, in a virtual environment of their own (build/peers), or another language's own implementation.
set -eu
build=$1
[ -x "$build/peers/bin/python" ] || python3 -m venv "$build/peers"
"$build/peers/bin/python" -c "import torch, safetensors, onnx, onnxruntime, jsonschema, cyclonedx, transformers, accelerate, fastapi, uvicorn, openai, yaml, opentelemetry.proto, kubernetes_validate" 2>/dev/null ||
  "$build/peers/bin/pip" install -q torch==2.13.0 numpy safetensors onnx onnxruntime transformers accelerate fastapi uvicorn openai pyyaml opentelemetry-proto kubernetes-validate jsonschema "cyclonedx-python-lib[json-validation]"
# Its programs alone: as an installed package it would begin to serve.
[ -x "$build/peers/prometheus/usr/bin/promtool" ] ||
  (cd "$build/peers" && apt-get -q download prometheus && dpkg -x prometheus_*.deb prometheus && rm prometheus_*.deb)
failed=""
for test in tests/peers/test_*.py; do
  echo "== $test"
  code=0
  BUILD="$PWD/$build" SOURCE="$PWD" PEERS_PYTHON="$PWD/$build/peers/bin/python" python3 "$test" || code=$?
  case $code in 0 | 77) ;; *) failed="$failed $test" ;; esac # 77: skipped, because it said why
done
[ -z "$failed" ] || { echo "FAILED:$failed"; exit 1; }
