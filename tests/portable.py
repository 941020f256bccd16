"""The tests as an older processor would run them: `python tests/portable.py prescott|haswell [pytest arguments]`.

Which instructions a processor has decides how sums are added up, and with it the last digits of most numbers. Here
every library is told to leave the newer ones alone, and to work on one thread. Kernels are compiled anew, beside the
others: numba notices no change in what a kernel calls.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).resolve().parent.parent
PROCESSORS = {
    # No more than every x86-64 has, SSE2; numpy's own wheels want SSE4.2.
    "prescott": {
        "OPENBLAS_CORETYPE": "Prescott",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ARROW_USER_SIMD_LEVEL": "NONE",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F",
        "NUMBA_CPU_NAME": "x86-64",
        "NUMBA_CPU_FEATURES": "+sse2",
    },
    # AVX2 and fused multiplication, no AVX-512.
    "haswell": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "AVX2",
        "ARROW_USER_SIMD_LEVEL": "AVX2",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F",
        "NUMBA_CPU_NAME": "haswell",
    },
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def environment(processor: str) -> dict[str, str]:
    """What tells every library; numpy warns of a feature that this processor does not have."""
    kept = {"haswell": ("X86_V2", "X86_V3")}.get(processor, ())
    left = [name for name in __cpu_dispatch__ if __cpu_features__[name] and name not in kept]
    return {**PROCESSORS[processor], **dict.fromkeys(THREADS, "1"), "NPY_DISABLE_CPU_FEATURES": " ".join(left)}


def main(processor: str, *arguments: str) -> int:
    """Compile, then test with the given arguments, or all but the browser's in two processes; its exit code."""
    kernels = ROOT / ".venv" / f"kernels-{processor}"
    shutil.rmtree(kernels, ignore_errors=True)
    environ = {**os.environ, **environment(processor), "NUMBA_CACHE_DIR": str(kernels)}
    subprocess.run([sys.executable, "-m", "spofr_core.cli.compile_kernels"], cwd=ROOT, env=environ, check=True)
    tests = arguments or ("-n", "2", "--dist", "loadfile", "-m", "not slow and not browser")
    return subprocess.run([sys.executable, "-m", "pytest", *tests], cwd=ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
