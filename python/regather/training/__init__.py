"""Training steps in Python: `regather.compile(model, batch, ...)`."""

from regather.training.compilation import compile_step
from regather.training.step import TrainingStep

__all__ = ["TrainingStep", "compile_step"]
