"""The engine against the reference model of SEMANTICS 6: the same steps in both, compared after each."""

from collections.abc import Iterator
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.schemas.revalidation import NewRevalidation
from app.services import drain_outbox, looks, revalidate
from tests.contract.cases import examples
from tests.contract.draining import drain
from tests.contract.engines import Database, Engine
from tests.contract.worlds import Twin
from tests.reference.cascade import INVALID, POTENTIALLY_STALE, VALID
from tests.reference.strategies import NOW, random_world

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def own(engine: Engine) -> Iterator[Database]:
    """A database whose outbox no other test fills."""
    database = engine.new_database()
    yield database
    database.store.dispose()


@examples(200)
@given(seed=seeds)
def test_every_finding_and_every_node_is_what_the_reference_model_says(own: Database, seed: int) -> None:
    random, world = Random(seed), random_world(seed)
    world.mode = random.choice(["automatic", "automatic", "agent"])
    twin = Twin(own.store, world)
    twin.compare()
    for _ in range(random.randint(1, 5)):
        _step(random, twin)
        twin.compare()
    twin.drain()
    twin.compare()
    if world.mode == "automatic":
        assert world.incoherent(NOW) == set()


@pytest.fixture
def level_by_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction has time for one level only, and what is left is read back for the next."""
    monkeypatch.setattr(drain_outbox, "_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(looks, "_LOOKS_PER_ORDER", 0.0)


@examples(100)
@given(seed=seeds)
@pytest.mark.usefixtures("level_by_level")
def test_it_does_not_matter_into_how_many_transactions_a_run_is_cut(own: Database, seed: int) -> None:
    random, twin = Random(seed), Twin(own.store, random_world(seed))
    ids = sorted(twin.world.nodes)
    for _ in range(3):
        twin.invalidate(random.sample(ids, random.choice([1, 2])), INVALID)
        twin.drain()
        twin.compare()
    leave_corrections_to_the_worker(twin, random)


def leave_corrections_to_the_worker(twin: Twin, random: Random) -> None:
    """The same as a correction in one transaction."""
    free = [n for n, node in sorted(twin.world.nodes.items()) if not node.pinned]
    if not free:
        return
    roots = random.sample(free, min(2, len(free)))
    body = NewRevalidation(root_node_ids=[UUID(root) for root in roots])
    twin.graph.write(lambda uow: revalidate.accept(uow, body))
    twin.world.correct(roots, NOW)
    drain(twin.graph)
    twin.world.drain(NOW)
    twin.compare()


@examples(200)
@given(seed=seeds)
def test_correcting_what_was_invalidated_restores_everything(own: Database, seed: int) -> None:
    """SEMANTICS 6, Law."""
    random, world = Random(seed), random_world(seed)
    valid = [n for n, node in sorted(world.nodes.items()) if node.status == VALID and not node.pinned]
    if not valid:
        return
    roots = random.sample(valid, min(len(valid), random.choice([1, 1, 2, 3])))
    twin = Twin(own.store, world)
    before = {n: (node.status, node.confidence) for n, node in world.nodes.items()}

    twin.invalidate(roots, random.choice([INVALID, INVALID, POTENTIALLY_STALE]))
    twin.drain()
    twin.compare()
    twin.correct(roots)
    twin.drain()
    twin.compare()

    for n, (status, confidence) in before.items():
        assert world.nodes[n].status == status
        assert abs(world.nodes[n].confidence - confidence) < 1e-9


@examples(60)
@given(seed=seeds)
def test_the_order_of_invalidations_does_not_matter(own: Database, seed: int) -> None:
    """SEMANTICS 6, Order independence."""
    random = Random(seed)
    ids = sorted(random_world(seed).nodes)
    first, second = random.sample(ids, 2)
    ends = []
    for steps in ([[first], [second]], [[second], [first]], [[first, second]]):
        for drains_between in (False, True):
            twin = Twin(own.store, random_world(seed))
            for roots in steps:
                twin.invalidate(roots, INVALID)
                if drains_between:
                    twin.drain()
            twin.drain()
            twin.compare()
            ends.append({n: node.status for n, node in twin.world.nodes.items()})
    assert all(end == ends[0] for end in ends)


def _step(random: Random, twin: Twin) -> None:
    """Something that a caller or a worker does."""
    ids = sorted(twin.world.nodes)
    free = [n for n in ids if not twin.world.nodes[n].pinned]
    waiting = [str(review.memory_node_id) for review in twin.open() if not twin.world.events]
    kind = random.choice(["invalidate", "invalidate", "correct", "drain", "drain", "decide", "everything"])
    if kind == "invalidate":
        twin.invalidate(
            random.sample(ids, random.choice([1, 1, 2])), random.choice([INVALID, INVALID, POTENTIALLY_STALE])
        )
    elif kind == "correct" and free:
        twin.correct(random.sample(free, random.choice([1, min(2, len(free))])))
    elif kind == "decide" and waiting:
        twin.accept(random.choice(sorted(waiting)))
    elif kind == "everything":
        twin.look_at_everything()
    else:
        twin.drain()
