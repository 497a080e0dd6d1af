"""`pip download` for a source archive that is only downloaded: a program of its own, run by path, knowing pip alone.

The command itself would prepare the package's metadata, and for that run its `setup.py` or its build backend. Here the
command is pip's, with pip's options, settings, credentials and finder of links; what differs is that the file found is
written to the folder, and that this is all.
"""

from __future__ import annotations

import sys
from optparse import Values
from pathlib import Path

from pip._internal.cli.cmdoptions import make_target_python
from pip._internal.cli.status_codes import SUCCESS
from pip._internal.commands.download import DownloadCommand
from pip._internal.exceptions import CommandError, DistributionNotFound
from pip._internal.models.link import Link
from pip._internal.network.session import PipSession
from pip._internal.network.utils import HEADERS, raise_for_status, response_chunks
from pip._internal.req.constructors import install_req_from_line


class DownloadOnly(DownloadCommand):
    """Finds and downloads an archive without opening it."""

    def run(self, options: Values, args: list[str]) -> int:
        """Download the archive of the one requirement in `args`."""
        session = self.get_default_session(options)
        finder = self._build_package_finder(
            options=options,
            session=session,
            target_python=make_target_python(options),
            ignore_requires_python=options.ignore_requires_python,
        )
        requirement = install_req_from_line(args[0]).req
        assert requirement is not None, "a name and a version were given"  # noqa: S101
        best = finder.find_best_candidate(requirement.name, requirement.specifier).best_candidate
        if best is None:
            raise DistributionNotFound(f"No matching distribution found for {args[0]}")
        try:
            self._download(session, best.link, Path(options.download_dir))
        except OSError as error:
            raise CommandError(str(error)) from error
        return SUCCESS

    def _download(self, session: PipSession, link: Link, folder: Path) -> None:
        response = session.get(link.url_without_fragment, headers=HEADERS, stream=True)
        raise_for_status(response)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / link.filename).open("wb") as file:
            for chunk in response_chunks(response):
                file.write(chunk)


if __name__ == "__main__":
    sys.exit(DownloadOnly("download", "Download a source archive.").main(sys.argv[1:]))
