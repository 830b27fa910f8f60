"""The command line: ``python -m regather capture ...``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from regather import __version__
from regather.fx.errors import CaptureError
from regather.fx.files import check_writable


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="regather", description="Captures training graphs from PyTorch."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    capture = commands.add_parser(
        "capture",
        help="write one training step of a PyTorch model as a graph",
        description="Traces forward, loss and backward of a PyTorch model "
        "without computing anything, and writes them as one graph.",
    )
    capture.add_argument(
        "--model",
        required=True,
        metavar="FACTORY",
        help="MODULE:FUNCTION or FILE.py:FUNCTION; returns (model, inputs"
        "[, loss[, targets]])",
    )
    capture.add_argument(
        "--config",
        default="{}",
        metavar="JSON",
        help="keyword arguments for FACTORY: a JSON object or a file with one",
    )
    capture.add_argument(
        "-o", "--output", required=True, metavar="NAME.fx.json"
    )
    capture.add_argument(
        "--weights",
        metavar="NAME.safetensors",
        help="also write parameters and buffers",
    )
    capture.add_argument(
        "--verify",
        type=_steps,
        metavar="N",
        help="replay the graph for N steps beside the eager model; 0 for none "
        "(default 2 for models with data and at most 50 million parameters)",
    )
    capture.add_argument(
        "--attention",
        choices=("fused", "as-written"),
        default="fused",
        help="what becomes of attention that is written as products and a "
        "softmax: one node that stores no scores, or what is written",
    )
    capture.add_argument(
        "--quiet", action="store_true", help="no progress on standard error"
    )
    return parser


def _steps(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expects a number of steps, got '{text}'")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns 0, 1 for an error, 2 for wrong usage."""
    options = _parser().parse_args(arguments)
    try:
        return _capture(options)
    except CaptureError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename or 'file'}: {error.strerror or error}"
    except KeyboardInterrupt:
        message = "interrupted"
    except Exception as error:
        if os.environ.get("REGATHER_TRACEBACK"):
            raise
        message = (
            f"unexpected {type(error).__name__}: {error} "
            "(set REGATHER_TRACEBACK=1 to see where)"
        )
    print(f"regather capture: error: {message}", file=sys.stderr)
    return 1


def _capture(options: argparse.Namespace) -> int:
    start = time.monotonic()

    def say(text: str) -> None:
        if not options.quiet:
            spent = time.monotonic() - start
            print(f"regather capture: {text} ({spent:.1f} s)", file=sys.stderr)

    # Loading PyTorch takes seconds; `--help` and wrong usage need not wait.
    try:
        from regather.factory import make_step, read_config
        from regather.fx.capture import capture_step
    except ImportError as error:
        raise CaptureError(f"needs PyTorch 2.13 to 2.15: {error}") from error

    config = read_config(options.config)
    for path in filter(None, (options.output, options.weights)):
        check_writable(path)
    if options.weights and os.path.abspath(options.weights) == os.path.abspath(
        options.output
    ):
        raise CaptureError("expects different files for the graph and the weights")
    step = replace(make_step(options.model, config),
                   fuse_attention=options.attention == "fused")
    say("made the model")
    about = {"factory": options.model, "config": config}
    graph = capture_step(step, about=about, verify=options.verify)
    say(f"traced {len(graph.nodes)} nodes")
    for note in graph.notes:
        say(note)
    # Weights first: a graph on disk then always has what belongs to it.
    if options.weights:
        graph.save_weights(options.weights)
        say(f"wrote {options.weights}")
    graph.save(options.output)
    say(f"wrote {options.output}")
    return 0
