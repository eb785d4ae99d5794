"""From channels to motion: clocks, markers, frames, derivatives, IMUs."""
