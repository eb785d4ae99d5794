"""A model in motion: fixed step, sticking friction, status codes."""

from palpate.runtime.pairing import HandleSensor as HandleSensor
from palpate.runtime.pairing import SensorStepper as SensorStepper
from palpate.runtime.stepper import Stepper as Stepper
from palpate.runtime.stepper import StepStatus as StepStatus
