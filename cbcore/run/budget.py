"""Limits on dollars and tokens: set aside before a call, settled after it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from cbcore.boundary import contained
from cbcore.components import Built
from cbcore.costs import Spent, declare_cost
from cbcore.exceptions import RunError, UsageError
from cbcore.protocols import Cost

_TOKENS_HINT = "Use --budget-tokens, which counts what was sent and received."


@attrs.define(eq=False, repr=False)
class CostModel:
    """The most that one call of a component may cost: `max_cost`, corrected by the calls seen.

    One call shows its cost first, then as many again may be open. A call that cost more than its
    bound starts over. A call that cost nothing, such as a request that was refused, shows nothing.
    """

    component: Built
    needs_usd: bool
    most: Cost = attrs.Factory(Cost)
    n_seen: int = 0  # calls that showed their cost
    n_open: int = 0
    n_uncounted: int = 0  # requests of unknown cost before any cost was known
    is_closed: bool = False  # it reports no cost: no further call under a dollar budget

    @property
    def must_wait(self) -> bool:
        """Whether open calls have to show their cost first."""
        return self.n_open >= max(1, self.n_seen)

    def find_bound(self, declared: Cost | None) -> Cost:
        """The most that a call is taken to cost. It is never below the most expensive call seen: a
        declared bound can be wrong, by hidden reasoning or another price.
        """
        is_bound = declared is not None and declared.is_bound
        learned = self.most if is_bound else self.most + self.most
        return (declared or Cost()).largest(learned)

    def learn(self, spent: Spent, bound: Cost) -> Cost:
        """Count a call that returned. A request of unknown cost counts with the bound or, as long as
        there is none, when the first cost is known."""
        actual = spent.cost
        if self.needs_usd and actual.usd is None and self.may_cost:
            self.is_closed = self.is_closed or spent.is_answered
            if not spent.n_unknown:
                actual = actual.largest(bound)
        shows = not self.may_cost or bool(actual.usd or actual.tokens)
        self.most = self.most.largest(actual)
        is_surprise = actual.largest(bound) != bound.largest(bound)
        self.n_seen = 1 if is_surprise else self.n_seen + shows
        self.n_uncounted += spent.n_unknown
        request = bound if self._is_known(bound) else self.most
        if self._is_known(request):
            actual = sum([request] * self.n_uncounted, actual)
            self.n_uncounted = 0
        return actual

    def _is_known(self, cost: Cost) -> bool:
        return bool(cost.usd if self.needs_usd else cost.tokens)

    @property
    def may_cost(self) -> bool:
        """Whether the component asks for money as far as it declares that."""
        return self.component.max_cost is not None or bool(self.component.endpoints)


@attrs.define(eq=False, repr=False)
class Reservation:
    """The cost that is set aside for one attempt. Calls of the components in `begun` have begun."""

    budget: Budget
    example: Mapping[str, Any]
    bounds: dict[Built, Cost]
    begun: set[Built] = attrs.Factory(set)

    def settle(self, spent: Mapping[Built, Spent]) -> None:
        """Replace the bounds by what was `spent`, for components whose calls returned.

        The bound counts for other calls that have begun. Only the first settlement counts; any
        thread may make it.
        """
        budget = self.budget
        with budget.changed:
            if self not in budget.open:
                return
            budget.open.discard(self)
            for component, bound in self.bounds.items():
                model = budget.find_model(component)
                model.n_open -= 1
                if component in spent:
                    budget.spent += model.learn(spent[component], bound)
                elif component in self.begun:
                    budget.spent += bound
            for component in spent.keys() - self.bounds.keys():  # it declared nothing
                budget.spent += spent[component].cost
            budget.changed.notify_all()


class Budget:
    """The limits of one run. `reserve` in the driver, `settle` in any thread."""

    def __init__(self, *, tokens: int | None = None, usd: float | None = None) -> None:
        self.limit_tokens = tokens
        self.limit_usd = usd
        self.is_limited = tokens is not None or usd is not None
        self.spent = Cost()
        self.open: set[Reservation] = set()
        self.changed = threading.Condition()  # a reservation was settled
        self._models: dict[int, CostModel] = {}

    def check_prices(self, components: Iterable[Built]) -> None:
        """Raise `UsageError` for a dollar budget with a component whose price is not known."""
        for component in components if self.limit_usd is not None else ():
            cost = None
            with contained():  # one that needs an example to tell
                cost = declare_cost(component, {})
            if cost is not None and cost.usd is None:
                raise UsageError(
                    f"A budget in dollars needs prices, and no price is known for "
                    f"{component.name!r}.",
                    hint=_TOKENS_HINT,
                )

    def reserve(
        self, example: Mapping[str, Any], components: Sequence[Built]
    ) -> Reservation | None:
        """Set aside what one attempt may cost. None: it does not fit now, or has to wait."""
        with self.changed:
            models = [self.find_model(component) for component in components]
            if any(model.must_wait or model.is_closed for model in models):
                return None
            if any(not model.n_seen for model in models) and self._has_unknown_call():
                return None
            bounds = {
                component: model.find_bound(declare_cost(component, example))
                for component, model in zip(components, models, strict=True)
            }
            if not self._fits(bounds.values()):
                return None
            for model in models:
                model.n_open += 1
            reservation = Reservation(self, example, bounds)
            self.open.add(reservation)
            return reservation

    def reserve_again(self, lost: Reservation) -> Reservation | None:
        """Set aside what a repeated call may cost, as soon as it may be open with the others.

        The lost one counts with its bound. None: it does not fit. Calls that have not begun are not
        waited for: they may be waiting for the thread that asks.
        """
        with self.changed:
            lost.settle({})
            while (again := self.reserve(lost.example, [*lost.bounds])) is None:
                if not any(one.begun for one in self.open):
                    return None
                self.changed.wait()
            return again

    def _has_unknown_call(self) -> bool:
        """Whether a call is open of a component that has shown nothing. One is enough in a run."""
        return any(not self.find_model(built).n_seen for one in self.open for built in one.bounds)

    def _fits(self, bounds: Iterable[Cost]) -> bool:
        set_aside = [bound for one in self.open for bound in one.bounds.values()]
        expected = sum([*set_aside, *bounds], self.spent)
        is_over_usd = self.limit_usd is not None and (expected.usd or 0.0) > self.limit_usd
        is_over_tokens = self.limit_tokens is not None and expected.tokens > self.limit_tokens
        return not (is_over_usd or is_over_tokens)

    def find_model(self, component: Built) -> CostModel:
        """The cost model of a component. Copies of the component, for other datasets, share it."""
        key = id(component.record)
        if key not in self._models:
            self._models[key] = CostModel(component, self.limit_usd is not None)
        return self._models[key]

    def describe_end(self) -> RunError:
        """Why no further call fits, as the error that ends the run."""
        closed = [model.component.name for model in self._models.values() if model.is_closed]
        if closed:
            return RunError(
                f"Stopped: {', '.join(map(repr, closed))} does not report what its calls cost, so "
                f"the budget of ${self.limit_usd:g} cannot be kept.",
                hint=_TOKENS_HINT,
            )
        limits = []
        if self.limit_tokens is not None:
            limits.append(f"{self.limit_tokens:,} tokens ({self.spent.tokens:,} spent)")
        if self.limit_usd is not None:
            limits.append(f"${self.limit_usd:g} (${self.spent.usd or 0.0:.4f} spent)")
        return RunError(
            f"Stopped: the next call could exceed the budget of {' and '.join(limits)}.",
            hint="Run the command again with a larger budget: cached outputs are free.",
        )

    def abandon(self) -> None:
        """At an early end, calls under way count with their bound."""
        for reservation in list(self.open):
            reservation.settle({})
