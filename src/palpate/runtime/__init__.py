"""A model in motion: fixed step, sticking friction, status codes."""

from palpate.runtime.stepper import Status as Status
from palpate.runtime.stepper import Stepper as Stepper
