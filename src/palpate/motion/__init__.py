"""From channels to motion: clocks, derivatives, frames."""

from palpate.motion.clocks.clock import evenly_sampled as evenly_sampled
from palpate.motion.clocks.clock import every_second as every_second
from palpate.motion.clocks.clock import noise_floor as noise_floor
from palpate.motion.clocks.clock import without_lost as without_lost
from palpate.motion.clocks.offset import ClockMap as ClockMap
from palpate.motion.clocks.offset import Offset as Offset
from palpate.motion.clocks.offset import estimate_offset as estimate_offset
from palpate.motion.derivatives.filters import Lowpass as Lowpass
from palpate.motion.derivatives.filters import design_lowpass as design_lowpass
from palpate.motion.derivatives.filters import savitzky_golay as savitzky_golay
from palpate.motion.imu.motion import PARALLEL as PARALLEL
from palpate.motion.imu.motion import Smoothing as Smoothing
from palpate.motion.imu.motion import imu_motion as imu_motion
from palpate.motion.imu.motion import resample_motion as resample_motion
