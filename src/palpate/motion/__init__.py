"""From channels to motion: clocks, derivatives, frames."""

from palpate.motion.clocks import ClockMap as ClockMap
from palpate.motion.clocks import Offset as Offset
from palpate.motion.clocks import estimate_offset as estimate_offset
from palpate.motion.evenly import evenly_sampled as evenly_sampled
from palpate.motion.evenly import every_second as every_second
from palpate.motion.evenly import noise_floor as noise_floor
from palpate.motion.evenly import without_lost as without_lost
from palpate.motion.filters import Lowpass as Lowpass
from palpate.motion.filters import design_lowpass as design_lowpass
from palpate.motion.filters import savitzky_golay as savitzky_golay
from palpate.motion.imu import PARALLEL as PARALLEL
from palpate.motion.imu import Smoothing as Smoothing
from palpate.motion.imu import imu_motion as imu_motion
from palpate.motion.imu import resample_motion as resample_motion
