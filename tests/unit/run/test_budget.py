"""What a budget sets aside, what it learns, and which calls have to wait."""

from __future__ import annotations

import threading

import attrs
import pytest

from cbcore.components import Built
from cbcore.costs import Spent
from cbcore.protocols import Cost
from cbcore.run.budget import Budget

LIMIT_S = 60


class Endpoint:
    """A component that asks for money and declares no bound."""

    name = "endpoint"
    endpoints = ("http://localhost",)


@pytest.fixture
def component():
    return Built(Endpoint(), {"name": "endpoint"})


def pay(budget, component, usd, n_unknown=0):
    """A call that begins, and returns."""
    reservation = budget.reserve({}, [component])
    reservation.begun.add(component)
    reservation.settle({component: Spent(Cost(usd), n_unknown, is_answered=usd is not None)})


def test_requests_of_unknown_cost_count_when_the_first_cost_is_known(component):
    """Until then, nobody knows what they may have cost."""
    budget = Budget(usd=1.0)
    pay(budget, component, None, n_unknown=2)
    assert budget.spent.usd == 0.0
    pay(budget, component, 0.25)
    assert budget.spent.usd == 0.75


def test_requests_of_unknown_cost_count_like_the_known_ones_of_their_call(component):
    budget = Budget(usd=1.0)
    pay(budget, component, 0.25, n_unknown=1)
    assert budget.spent.usd == 0.5


def test_a_component_on_two_datasets_has_one_bound(component):
    """What it costs is learned once."""
    budget = Budget(usd=1.0)
    pay(budget, component, 0.5)
    other = attrs.evolve(component, is_automatic=True)
    assert budget.reserve({}, [other]) is None


def test_a_repeated_call_waits_for_its_turn(component):
    """After a surprise, one call at a time may be open: that of the lost worker counts as well."""
    budget = Budget(usd=100.0)
    for usd in (1.0, 1.0, 1.0):
        pay(budget, component, usd)
    lost, open_call, surprise = (budget.reserve({}, [component]) for _ in range(3))
    for reservation in (lost, open_call, surprise):
        reservation.begun.add(component)
    surprise.settle({component: Spent(Cost(10.0))})
    found = []

    def repeat():
        again = budget.reserve_again(lost)
        found.append((again, len(budget.open)))

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    open_call.settle({component: Spent(Cost(1.0))})
    thread.join(LIMIT_S)
    [(again, n_open)] = found
    assert again is not None
    assert n_open == 1
    assert budget.spent.usd == 3.0 + 10.0 + 2.0 + 1.0


def test_a_repeated_call_that_never_fits_is_not_made(component):
    budget = Budget(usd=2.0)
    pay(budget, component, 1.0)
    budget.limit_usd = 3.0
    lost = budget.reserve({}, [component])
    lost.begun.add(component)
    assert budget.reserve_again(lost) is None
    assert budget.spent.usd == 3.0
