"""The fixed vocabulary of the small world: 256 two-syllable pseudo-words and a few closed lists.

Every file, folder, tool and value of the core templates is one of these words, so that a small tokenizer
holds each as one token and a small transformer can copy it. Nothing here is random: the list never changes.
"""

from __future__ import annotations

CONSONANTS = "bdfgklmnprstvz"
VOWELS = "aeiou"
SYLLABLES = tuple(c + v for c in CONSONANTS for v in VOWELS)

# English words and commands of this shape: a name must never mean something else.
_REAL_WORDS = frozenset(
    """babe bale bane bare base bate bike bile bite bone bore dale dare data date demo dive dome done dope
    dote dove dude duke dune fade fake fame fare fate fifo file fine fire five fore fuse gale game gate gave
    gene give gone gore kite lake lame lane late line live logo lone lore lose love made make male mane mare
    mate memo menu mere mile mine mini mode mole more move mute name nano nazi node none nose note nude pale
    pane pike pipe poke pole pope pore pose puke pure rape rare rate rave ripe rise robe rode role rope rose
    rule safe sale same sane save semi side sire site size soda sofa sole solo some sore sudo sure take tale
    tame tape tide tile time tini tire todo tofu tone tuba tuna tune type vane vape vase vine visa vote zero
    zone""".split()
)


def _words(count: int) -> tuple[str, ...]:
    pool = [a + b for a in SYLLABLES for b in SYLLABLES if a != b and a + b not in _REAL_WORDS]
    return tuple(pool[i * len(pool) // count] for i in range(count))


NAMES: tuple[str, ...] = _words(256)
VERBS: tuple[str, ...] = tuple(
    "pack sync load scan dump join trim sign seal lock mark fold link push split merge wipe".split()
)
EXTENSIONS: tuple[str, ...] = ("log", "txt", "cfg", "csv", "dat", "md")
KEYS: tuple[str, ...] = ("port", "mode", "size", "user", "rate", "host")
FLAGS: tuple[str, ...] = ("-a", "-b", "-d", "-f", "-g", "-k", "-m", "-p", "-q", "-r", "-s", "-t", "-w", "-z")
# every word that a tokenizer should hold whole
WORDS: tuple[str, ...] = NAMES + VERBS + EXTENSIONS + KEYS
