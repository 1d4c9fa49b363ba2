"""The base class of every settings object: frozen, strictly typed, unknown keys refused."""

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """Settings that cannot be misspelt, coerced or changed after loading.

    An integer is accepted where a float is asked for; text such as ``"1e-5"`` is not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())
