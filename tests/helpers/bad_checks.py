"""Checks of damaged files that do not hold, for processes that import nothing else."""

import os
import signal
from time import sleep

from fuzz import damaged as script
from fuzz.damaged import Check, damage_of


def crashing(name: str) -> Check:
    def check(damage: bytes) -> bool:
        if damage == damage_of(7, 3):
            os.kill(os.getpid(), signal.SIGSEGV)
        return True

    return check


def hanging(name: str) -> Check:
    script.HANGS_S = 1  # in the new process
    return lambda damage: sleep(30) is None


def failing(name: str) -> Check:
    def check(damage: bytes) -> bool:
        if damage == damage_of(7, 3):
            raise ValueError("this one")
        return damage == damage_of(7, 1)

    return check
