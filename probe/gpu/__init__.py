"""What must be true of a GPU's kernels, and how fast is a decode step on it? The parts of `python -m probe.gpu_check`."""
