"""Networks run on a device that is there and holds data, or the message says what to name."""

import pytest

from worldenv.evaluators.backbones import device
from worldenv.evaluators.backbones.device import VARIABLE, device_name
from worldenv.world import Unsupported


@pytest.mark.parametrize(
    "wanted", ["meta", "meta:0", "gpu", "cuda:99", "cpu!", "0", "CPU", "vulkan"]
)
def test_what_holds_no_data_here_is_refused(monkeypatch, wanted):
    pytest.importorskip("torch")
    monkeypatch.setenv(VARIABLE, wanted)
    with pytest.raises(Unsupported, match=f"{VARIABLE}={wanted} is no device") as failure:
        device_name()
    assert "use cpu, cuda or cuda:N" in str(failure.value)


def test_without_a_choice_it_is_what_is_there(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_name() == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_name() == "cuda"
    monkeypatch.setenv(VARIABLE, "cpu")
    assert device_name() == "cpu"


def test_without_torch_only_the_cpu_can_be_named(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert device_name() == "cpu"
    monkeypatch.setenv(VARIABLE, "cuda")
    with pytest.raises(Unsupported, match="needs torch"):
        device_name()
