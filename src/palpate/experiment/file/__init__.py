"""The experiment file: its keys, how it is read and checked, the model that it states, templates and reference."""
