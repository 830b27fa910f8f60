"""Files that are either complete or not there."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator


def check_writable(path: str) -> None:
    """Raises OSError, naming ``path``, if no file can be put there."""
    folder = os.path.dirname(path) or "."
    number = 0
    if os.path.isdir(path):
        number = errno.EISDIR
    elif not os.path.isdir(folder):
        number = errno.ENOENT
    elif not os.access(folder, os.W_OK):
        number = errno.EACCES
    if number:
        raise OSError(number, os.strerror(number), path)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yields a temporary name beside ``path`` that becomes ``path`` at the end.

    If the block raises, ``path`` stays as it was and the temporary file goes.
    """
    path = os.fspath(path)
    check_writable(path)
    folder = os.path.dirname(path) or "."
    handle, temporary = tempfile.mkstemp(
        dir=folder, prefix=f".{os.path.basename(path)}."
    )
    os.close(handle)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
