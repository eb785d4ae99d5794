"""The studio: a page in the browser to look at recordings, pick segments, fit, feel and compare.

It holds no pipeline of its own: what it shows comes from the functions that the commands call, and what is changed in
it is written into the experiment file.
"""
