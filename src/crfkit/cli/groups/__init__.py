"""Options by group: a dataclass for each panel of the help; its fields are options, its methods read them.

A command composes groups (`crfkit.cli.groups.compose.composed`); an option has its name, its short flag and
its meaning here, once.
"""
