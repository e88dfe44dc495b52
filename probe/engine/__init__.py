"""Where do weights and cache lie? On a CPU in pages of 2 MB, where the kernel gives them to those who ask.

A step streams all weights, which pages of 4 KB make a tenth slower on a virtual machine. torch asks for large ones only where it is told so
before its first tensor; a value that is set already stands.
"""

import os

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
