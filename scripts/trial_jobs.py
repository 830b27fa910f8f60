"""How the jobs that `kill_trials.py` disturbs are started: over threads, MPI, NCCL
(on libraries that stand in for it) and process groups of PyTorch."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from project import ROOT

SCRIPTS = ROOT / "scripts"
STEP_LINE = re.compile(rb"^step (\d+)/\d+  loss (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Setting:
    """What is run: the number of ranks, and whether they form a mesh of two axes
    with groups of their own along each."""
    communicator: str
    ranks: int
    is_mesh: bool

    @property
    def name(self) -> str:
        return (f"{self.communicator}-{self.ranks}"
                f"{'-mesh' if self.is_mesh else ''}")


@dataclass(frozen=True)
class Job:
    """What is the same in all trials of a setting."""
    setting: Setting
    # Of PyTorch none.
    bundle: Path | None
    steps: int
    losses: tuple[str, ...]
    # How many messages each rank sends; of MPI and PyTorch.
    messages: tuple[int, ...] = ()


def has_mpi(build: Path) -> bool:
    return ((build / "lib" / "libregather_mpi.so").exists()
            and shutil.which("mpirun") is not None)


def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


class Jobs:
    """Starts jobs. `timeout` is after how many seconds ranks give up."""

    def __init__(self, build: Path, folder: Path, timeout: float) -> None:
        self.build, self.folder, self.timeout = build, folder, timeout
        self._known: dict[Setting, Job] = {}

    def get_steps(self, communicator: str) -> int:
        # Nothing else than steps is drawn of threads.
        return 20 if communicator == "threads" else 6

    def get_job(self, setting: Setting) -> Job:
        if setting not in self._known:
            self._known[setting] = self._prepare(setting)
        return self._known[setting]

    def _prepare(self, setting: Setting) -> Job:
        """Compiles, and runs without any fault."""
        bundle = None if setting.communicator == "torch" else self._compile(
            setting)
        job = Job(setting, bundle, self.get_steps(setting.communicator), ())
        folder = self.folder / f"whole-{setting.name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with self.start(job, folder, ("--quiet",),
                        REGATHER_FAULT_COUNT=str(folder / "count")) as process:
            stdout, _ = process.communicate(timeout=300)
        losses = tuple(loss.decode() for _, loss in STEP_LINE.findall(stdout))
        if len(losses) != job.steps or len(set(losses)) != job.steps:
            records = [path.read_text() for path in folder.glob("rank-*.json")]
            raise RuntimeError(f"{setting.name} does not run without a fault: "
                               f"{stdout.decode()} {records}")
        counts = [folder / f"count{rank}" for rank in range(setting.ranks)]
        return Job(setting, bundle, job.steps, losses,
                   tuple(int(path.read_text()) for path in counts
                         if path.exists()))

    def _compile(self, setting: Setting) -> Path:
        name = f"{setting.name}.rgb"
        command: list[str | Path] = [
            self.build / "bin" / "regather", "compile",
            ROOT / "examples" / "mlp.mlir", "--quiet", "-o", self.folder / name]
        command += ([f"--mesh=rep:2,dp:{setting.ranks // 2}",
                     "--replicate-axis=rep"] if setting.is_mesh
                    else [f"--mesh=dp:{setting.ranks}"])
        if setting.communicator == "nccl":
            command += ["--target=nvptx:sm_90a", "--emit=bundle"]
        subprocess.run(command, check=True, capture_output=True)
        return self.folder / name

    def start(self, job: Job, folder: Path, options: tuple[str, ...],
              is_tcp: bool = False, **variables: str) -> subprocess.Popen[bytes]:
        """Begins to run a job. Each rank leaves `rank-R.json` in `folder` when it
        ends. The process prints the losses."""
        setting = job.setting
        environment = {**os.environ, **variables, "PYTHONPATH":
                       f"{ROOT / 'python'}:{os.environ.get('PYTHONPATH', '')}"}
        rank = [sys.executable, str(SCRIPTS / "trial_rank.py"), str(folder),
                "1" if setting.communicator == "threads"
                else str(setting.ranks)]
        if setting.communicator == "torch":
            run = [sys.executable, str(SCRIPTS / "trial_training.py"),
                   str(folder / "saved"), str(job.steps), str(self.timeout)]
        else:
            assert job.bundle
            run = [str(self.build / "bin" / "regather-run"), str(job.bundle),
                   "--random-inputs=1", f"--steps={job.steps}",
                   f"--timeout={self.timeout:g}",
                   f"--outputs-sharded={folder / 'saved'}", "--save-every=1",
                   *options]
        if setting.communicator == "threads":
            return self._spawn([*rank, *run], environment)
        if setting.communicator == "mpi":
            environment["REGATHER_MPI_LIBRARY"] = str(
                self.build / "lib" / "libregather_faulty_mpi.so")
            # Memory has no connections that could end.
            transport = ["--mca", "btl", "tcp,self"] if is_tcp else []
            return self._spawn(
                ["mpirun", "--oversubscribe", "--allow-run-as-root",
                 *transport, "-n", str(setting.ranks), *rank, *run,
                 "--comm=mpi,checked"], environment)
        return self._launch(setting, rank, run, folder, environment)

    def _spawn(self, command: list[str], environment: dict[str, str]
               ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, env=environment,
                                start_new_session=True)

    def _launch(self, setting: Setting, rank: list[str], run: list[str],
                folder: Path, environment: dict[str, str]
                ) -> subprocess.Popen[bytes]:
        """A process for each rank, as torchrun starts them."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment |= {"WORLD_SIZE": str(setting.ranks),
                        "LOCAL_WORLD_SIZE": str(setting.ranks),
                        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                        "TORCHELASTIC_RUN_ID": "trial", "OMP_NUM_THREADS": "1"}
        if setting.communicator == "nccl":
            stand_in = str(self.build / "lib" / "libregather_recording.so")
            (folder / "nccl").mkdir(exist_ok=True)
            environment |= {"REGATHER_CUDA_LIBRARY": stand_in,
                            "REGATHER_CUBLASLT_LIBRARY": stand_in,
                            "REGATHER_NCCL_LIBRARY": stand_in,
                            "REGATHER_STAND_IN_NCCL_FOLDER":
                                str(folder / "nccl")}
            run = [*run, "--comm=nccl,reproducible"]
        script = "".join(
            f"RANK={i} LOCAL_RANK={i} "
            f"{' '.join(map(_quote, [*rank, *run]))} &\n"
            for i in range(setting.ranks)) + "wait\n"
        return self._spawn(["bash", "-c", script], environment)

    def resume(self, job: Job, folder: Path, step: int) -> list[str]:
        """The losses behind a step whose save `folder` holds; none if it holds
        no save that can be read."""
        if not (folder / "saved").exists():
            return []
        rest = Job(job.setting, job.bundle, job.steps - step, ())
        again = folder / "again"
        shutil.rmtree(again, ignore_errors=True)
        again.mkdir()
        options = (f"--inputs={folder / 'saved'}", f"--first-step={step + 1}",
                   "--quiet")
        if job.setting.communicator == "torch":
            shutil.copytree(folder / "saved", again / "saved")
            rest = job
        with self.start(rest, again, options) as process:
            stdout, _ = process.communicate(timeout=300)
        return [loss.decode() for _, loss in STEP_LINE.findall(stdout)]


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def read_records(folder: Path) -> dict[int, dict]:
    records = {}
    for path in folder.glob("rank-*.json"):
        record = json.loads(path.read_text())
        records[record["rank"]] = record
    return records
