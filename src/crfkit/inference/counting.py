"""Exact counting: residues modulo primes, put together by the Chinese remainder theorem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence


def exact_counts(residues: Callable[[int], Sequence[int]], size: int, bound: int) -> list[int]:
    """Return integers of at most `bound`, of which `residues(prime)` gives the remainders.

    Examples
    --------
    >>> exact_counts(lambda prime: [5**40 % prime], size=1, bound=5**40) == [5**40]
    True
    """
    totals, modulus = [0] * size, 1
    for prime in primes_below(1 << 61):
        inverse = pow(modulus, -1, prime)
        totals = [
            total + modulus * ((residue - total) * inverse % prime)
            for total, residue in zip(totals, residues(prime), strict=True)
        ]
        modulus *= prime
        if modulus > bound:
            break
    return totals


def primes_below(top: int) -> Iterator[int]:
    """Yield the primes below an even `top` <= 2**61, largest first.

    Miller-Rabin with the first 13 primes as witnesses is exact below 3.3e24.

    Examples
    --------
    >>> next(primes_below(1 << 61)) == 2**61 - 1
    True
    """
    witnesses = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    for n in range(top - 1, witnesses[-1], -2):
        if all(n % w for w in witnesses) and all(_passes(n, w) for w in witnesses):
            yield n


def _passes(n: int, witness: int) -> bool:
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    x = pow(witness, odd, n)
    if x in (1, n - 1):
        return True
    for _ in range(twos - 1):
        x = x * x % n
        if x == n - 1:
            return True
    return False
