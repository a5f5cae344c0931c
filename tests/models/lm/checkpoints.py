"""Tiny causal checkpoints and tokenizers, built from a few sentences."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "<|{{ message['role'] }}|>\n{{ message['content'] }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}" + CHAT_TEMPLATE
)
SPECIAL = ["<unk>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
TEXTS = [
    "前提と仮説の関係を選んでください。",
    "前提: 庭で犬が走る。\n仮説: 犬が動く。\n答え: A",
    "문장에서 개체명을 찾으세요. 하나람은 어제 푸른읍에 갔다.",
    '{"entities":[{"text":"푸른읍","occurrence":1,"label":"LC"}]}',
    "The answer is A, B or C.\n\nQuestion: which of the two is it?",
    "次の文章を読んで質問に答えてください。青木は1900年に港町で生まれた。 0.5 1.0 2.5 4.0",
]


@cache
def make_tokenizer(kind: str = "byte") -> Any:
    """A small tokenizer of one kind: byte, metaspace, unigram or wordpiece."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from tokenizers.processors import TemplateProcessing

    special: dict[str, Any] = {"special_tokens": SPECIAL, "show_progress": False}
    trainer: Any
    characters = sorted({each for text in TEXTS for each in text} - {" ", "\n"})
    if kind == "byte":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, **special)
    elif kind == "metaspace":  # as Llama 2: no line break ends a token
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        )
        trainer = trainers.BpeTrainer(
            vocab_size=420, initial_alphabet=[*characters, "\n", "\u2581"], **special
        )
    elif kind == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=300, initial_alphabet=[*characters, "\n"], unk_token="<unk>", **special
        )
    else:
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=420, initial_alphabet=characters, **special)
    tokenizer.train_from_iterator(TEXTS, trainer)
    ends = {"wordpiece": "<s> $A </s>"}  # as BERT's does
    tokenizer.post_processor = TemplateProcessing(
        single=ends.get(kind, "<s> $A"), special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def make_config(architecture: str, **changes: Any) -> Any:
    """The configuration of a tiny Llama, GPT-NeoX, Qwen, Mistral, Gemma 2 or BLOOM."""
    import transformers

    shape: dict[str, Any] = {
        "vocab_size": 420,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 2048,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": None,
    }
    grouped = {**shape, "num_key_value_heads": 2}
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "llama": ("LlamaConfig", grouped),
        "gpt-neox": ("GPTNeoXConfig", shape),
        "qwen": ("Qwen2Config", grouped),
        "mistral": ("MistralConfig", {**grouped, "sliding_window": 1024}),
        "gemma2": ("Gemma2Config", {**grouped, "head_dim": 8, "sliding_window": 1024}),
        "bloom": ("BloomConfig", {"vocab_size": 420, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    }
    name, values = kinds[architecture]
    return getattr(transformers, name)(**{**values, **changes})


def make_model(architecture: str, **changes: Any) -> Any:
    """A model with random weights, large enough that tokens differ in likelihood."""
    import torch
    import transformers

    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(make_config(architecture, **changes))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.mul_(3)
    return model.eval()


def save_checkpoint(
    folder: Path, architecture: str = "llama", template: str = "", **changes: Any
) -> Path:
    """The folder of a tiny checkpoint, with a chat template or without."""
    from copy import deepcopy

    make_model(architecture, **changes).save_pretrained(folder)
    tokenizer = deepcopy(make_tokenizer())
    if template:
        tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder
