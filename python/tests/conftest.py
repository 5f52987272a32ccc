import fake_device
import fake_triton
import pytest

fake_triton.install()


@pytest.fixture(autouse=True)
def warnings_anew():
    """Each message is a warning once in a process; here once in a test."""
    from autoheuristic import errors

    errors._warned.clear()


@pytest.fixture
def device(monkeypatch, tmp_path):
    """A fake GPU, and a cache folder of this test's own."""
    from triton.runtime import driver

    import autoheuristic.device

    fake = fake_device.Device()
    driver.set_active(fake)
    monkeypatch.setattr(autoheuristic.device, "current", lambda: dict(fake_device.IDENTITY))
    for variable in ("USE", "COLLECT", "LOG_PATH", "DISABLE_CACHE", "CACHE_DIR"):
        monkeypatch.delenv(f"AUTOHEURISTIC_{variable}", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return fake
