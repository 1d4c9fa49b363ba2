"""Text to token ids and back, with the control tokens on one side only.

``encode`` turns text into ids and can never produce a control token, whatever the text says: a terminal
that prints ``<|im_end|>`` prints nine ordinary tokens. ``frame`` is for the harness's own template text. In
our own vocabulary whole frames are single control tokens, so a turn costs few ids; with a stock Qwen
tokenizer the same text becomes several ids and all else holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from echo_terminal.agent.prompt import ACTION_FRAMES, FRAMES
from echo_terminal.config import StrictModel

PAD, END, START = "<|endoftext|>", "<|im_end|>", "<|im_start|>"
CONTROL = (
    PAD,
    START,
    END,
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)


class TokenizerParams(StrictModel):
    """``vocab_size`` counts control tokens and the 256 bytes; ``documents`` is the size of the corpus it
    learns from."""

    vocab_size: int = 768
    documents: int = 1000


class PolicyTokenizer:
    """A ``tokenizers.Tokenizer`` behind the two doors described above. A turn ends with ``<|im_end|>``, or with
    one of ``more_stops`` (a stock Qwen names ``<|endoftext|>`` too).

    Raises:
        ValueError: the vocabulary lacks one of Qwen's control tokens (the model has no such chat form).
    """

    def __init__(self, tokenizer: Tokenizer, more_stops: Iterable[int] = ()) -> None:
        vocabulary = tokenizer.get_vocab()
        missing = [t for t in (PAD, START, END) if t not in vocabulary]
        if missing:
            raise ValueError(
                f"tokenizer lacks the control tokens {missing}: a Qwen-style chat vocabulary is needed"
            )
        blob = tokenizer.to_str()
        self._framed = Tokenizer.from_str(blob)
        self._plain = Tokenizer.from_str(blob)
        self._plain.encode_special_tokens = True
        self.vocab_size: int = tokenizer.get_vocab_size()
        self.pad_id = vocabulary[PAD]
        self.stop_ids: tuple[int, ...] = tuple(dict.fromkeys([vocabulary[END], *more_stops]))
        self.encode = lru_cache(maxsize=65536)(self._encode)
        self.frame = lru_cache(maxsize=1024)(self._frame)
        added = tokenizer.get_added_tokens_decoder()
        self.control_ids: tuple[int, ...] = tuple(sorted(i for i, t in added.items() if t.special))
        actionable = self._actionable() | set(self.stop_ids)
        #: never sampled inside an action: every control token that is not part of a call, the
        #: done signal, thinking or the end
        self.forbidden_ids: tuple[int, ...] = tuple(i for i in self.control_ids if i not in actionable)

    def _actionable(self) -> set[int]:
        parts = (*ACTION_FRAMES, "<think>", "</think>", "<tool_call>", "</tool_call>")
        return {i for part in parts for i in self._frame(part)}

    def _encode(self, text: str) -> list[int]:
        return self._plain.encode(text, add_special_tokens=False).ids

    def _frame(self, text: str) -> list[int]:
        return self._framed.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ``ids``, control tokens written out."""
        return self._framed.decode(list(ids), skip_special_tokens=False)

    def token(self, token_id: int) -> str:
        """The vocabulary entry of one id."""
        return str(self._framed.id_to_token(token_id))

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` and its transformers configuration into ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        self._framed.save(str(folder / "tokenizer.json"))
        config = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": END,
            "pad_token": PAD,
            "clean_up_tokenization_spaces": False,
            "model_max_length": 1_000_000,
            "chat_template": CHAT_TEMPLATE,
        }
        (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


#: Qwen3's form without its thinking blocks: what ``agent.prompt`` builds piece by piece, for servers
#: that render messages
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n\n</think>\n\n{% endif %}"
)


def load_tokenizer(path: Path) -> PolicyTokenizer:
    """Read ``tokenizer.json`` (a file, or a folder holding one); the folder's ``generation_config.json`` names the
    stop ids."""
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.exists():
        raise FileNotFoundError(f"no tokenizer at {file}")
    generation = path / "generation_config.json"
    stops = json.loads(generation.read_text())["eos_token_id"] if generation.exists() else []
    return PolicyTokenizer(Tokenizer.from_file(str(file)), [stops] if isinstance(stops, int) else stops)


def train_tokenizer(texts: Iterable[str], params: TokenizerParams) -> PolicyTokenizer:
    """Byte-level BPE: words, single digits, single blanks and single signs are never merged with one another.

    Every byte is in the alphabet, so any text can be written. A word therefore has one spelling in ids
    wherever it stands, which is what a small model needs to copy it.
    """
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(r"[A-Za-z]+|[0-9]|\s|[^A-Za-z0-9\s]"), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = list(dict.fromkeys([*CONTROL, *FRAMES]))
    trainer = trainers.BpeTrainer(
        vocab_size=params.vocab_size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PolicyTokenizer(tokenizer)
