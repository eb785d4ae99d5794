"""What the instruments wrote, in SI units: recordings, and the file formats that they come in."""

from palpate.recording.formats import FORMATS, Format, load, recognise
from palpate.recording.recording import Channel, Clock, Recording, merge_recordings

__all__ = ["FORMATS", "Channel", "Clock", "Format", "Recording", "load", "merge_recordings", "recognise"]
