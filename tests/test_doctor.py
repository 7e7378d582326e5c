"""The doctor says where networks run and which weights of light are here."""

import pytest
from stamped import stamped

from worldenv import doctor, weights
from worldenv.evaluators.backbones.device import VARIABLE
from worldenv.evaluators.profiles import weights_of


def test_the_device_is_named_with_what_chose_it(monkeypatch):
    monkeypatch.setenv(VARIABLE, "cpu")
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: object())
    found = doctor._device()
    assert found.state == "ok" and found.note == f"cpu, by {VARIABLE}"
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    found = doctor._device()
    assert found.state == "note" and found.note == "cpu; torch is absent"


def test_a_device_that_is_none_is_a_problem(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv(VARIABLE, "meta")
    found = doctor._device()
    assert found.state == "problem" and f"{VARIABLE}=meta" in found.note


def test_absent_weights_are_a_note_with_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv(weights.FOLDER, str(tmp_path))
    names = weights_of("light")
    found = doctor._weights()
    assert found.state == "note"
    assert found.note == f"0 of {len(names)} here in {tmp_path}; worldenv weights fetch light"

    def fake(folder):
        for path in weights.table()[folder.name].files:
            (folder / path).write_bytes(b"fake")

    for name in names:
        stamped(tmp_path, name, fake)
    assert doctor._weights() == doctor.Finding("weights of light", "ok", f"all here: {tmp_path}")
    first = next(iter(weights.table()[names[0]].files))
    (tmp_path / names[0] / first).unlink()
    found = doctor._weights()
    assert found.state == "note" and f"({names[0]} incomplete)" in found.note
