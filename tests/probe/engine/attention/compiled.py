"""What do the Triton kernels take of a Hopper GPU? Compiles them as they are launched; no GPU is needed for that.

Run as a program by `test_triton_compiles.py`, for in the tests' own process the kernels are interpreted.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from probe.engine.attention.triton_decode import _merge_kernel, _part_kernel, merge_constants, part_constants
from probe.engine.attention.triton_prefill import _prefill_kernel, prefill_constants
from probe.engine.models.spec import AttentionSpec

HOPPER = GPUTarget("cuda", 90, 32)
CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
SPECS = {
    "gqa": AttentionSpec(32, 8, 128, 128, 0.1),
    "mla": AttentionSpec(128, 1, 576, 512, 0.1, shares_key=True),
}
INTEGERS = ("tables", "num_past", "starts", "tile_sequence", "tile_first")
IN_FP32 = ("lse", "partial", "sinks")


def taken(kernel: Any, constants: dict[str, Any], dtype: str, out: str) -> dict[str, int]:
    """Bytes of shared memory a program takes, and bytes of registers a thread spills."""
    constants = dict(constants)
    warps = constants.pop("num_warps", 4)
    types = {"scale": "fp32", "out": f"*{out}", "query": f"*{dtype}", "key": f"*{dtype}", "value": f"*{dtype}"}
    types |= dict.fromkeys(INTEGERS, "*i32") | dict.fromkeys(IN_FP32, "*fp32")
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in kernel.arg_names}
    # As the launcher finds them: pointers and strides of whole rows divide by 16.
    whole = [name for name, kind in signature.items() if kind.startswith("*") or name.startswith("stride_")]
    attributes = {
        (kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in whole if name != "stride_table"
    }
    source = ASTSource(kernel, signature, constants, attributes)
    made = triton.compile(source, target=HOPPER, options={"num_warps": warps})
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(made.asm["cubin"])
        file.flush()
        said = subprocess.run([CUOBJDUMP, "-res-usage", file.name], capture_output=True, text=True, check=True).stdout
    [stack] = re.findall(r"STACK:(\d+)", said)
    return {"shared": made.metadata.shared, "spilled": int(stack)}


def main(dtype: str, *names: str) -> None:
    found = {}
    for name in names:
        spec = SPECS[name]
        found[f"{name}, parts"] = taken(_part_kernel, part_constants(spec, 16), dtype, "fp32")
        found[f"{name}, merge"] = taken(_merge_kernel, merge_constants(spec, 33, True), dtype, dtype)
        found[f"{name}, prefill"] = taken(_prefill_kernel, prefill_constants(spec, 16, False), dtype, dtype)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
