"""Warnings that several rooms raise."""

__all__ = ["DataWarning"]


class DataWarning(UserWarning):
    """Data look different from what was meant; the message says what to write.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DataWarning)  # in a program that wants to be sure
    """
