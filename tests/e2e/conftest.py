import lynx
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "long: minutes of real load")
    config.addinivalue_line("markers", "quiet: judges intervals, and wants the machine to itself")


@pytest.fixture(autouse=True)
def checks_hold():
    """No program crashed, and every check of the case held: lynx.check goes on, so that all that fails is shown."""
    lynx.failures.clear()
    yield
    assert not lynx.failures, "\n".join(map(str, lynx.failures))


@pytest.fixture
def d(tmp_path):
    """A folder of the case's own."""
    return str(tmp_path)
