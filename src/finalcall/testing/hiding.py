"""Masks a text piece by piece, character for character, so that its cut makes no difference.

What a character becomes depends on what came before it alone. So the pieces of a streamed argument
and the whole that some services send after them are masked alike, and a text that is cut stays cut
at the same place. Text that was JSON is JSON after it, and text that was not, is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, final

_VISIBLE: Final = 8
"""Characters of a word that looks like a credential that stay: they say whose it is."""

_LONGEST_NAME: Final = 64
"""Characters of a word that are kept, to tell whether it is a name whose value is masked."""

_PREFIXES: Final = (
    "AIza",
    "AKIA",
    "eyJ",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_p",
    "glpat-",
    "gsk_",
    "hf_",
    "nvapi-",
    "pplx-",
    "sk-",
    "sk_live_",
    "xai-",
    "xoxb-",
    "xoxp-",
    "ya29.",
)
"""How credentials of known services begin; a JSON Web Token begins as the last but many do."""

_IN_WORDS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
_IN_SECRETS: Final = _IN_WORDS | frozenset("+/=~:")
_IN_VALUES: Final = _IN_SECRETS | frozenset("%!$*^")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_LITERALS: Final = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_LONGEST_LITERAL: Final = 9
_HIGH_SURROGATES: Final = range(0xD800, 0xDC00)
_LOW_SURROGATES: Final = range(0xDC00, 0xE000)


def masked(character: str) -> str:
    """What stands for a character: `x` for letters and digits, itself for punctuation and space.

    Halves of surrogate pairs stay what they are, for a lone one makes a text no JSON.

    Args:
        character: One character.
    """
    code = ord(character)
    if code < 0x80:
        return "x" if character.isalnum() else character
    if code in _HIGH_SURROGATES:
        return "\ud800"
    if code in _LOW_SURROGATES:
        return "\udc00"
    return "x" if code < 0x10000 else "\U00010000"


@final
class CredentialWords:
    """Masks what looks like a credential.

    That is a word that begins as theirs do, a private key, what `Authorization: Basic` names, the
    value of a name as in `password=...`, and what follows the user in `https://user:...`.

    Args:
        hides: Whether the value of a name is masked.
    """

    __slots__ = (
        "_assigned",
        "_before",
        "_hides",
        "_in_key",
        "_in_user",
        "_length",
        "_secret",
        "_slashes",
        "_word",
    )

    def __init__(self, hides: Callable[[str], bool]) -> None:
        self._hides = hides
        self._word = ""  # its first characters
        self._length = 0
        self._before = ""
        self._secret: bool = False
        self._in_key = False
        self._assigned: bool = False  # the word is a value that is masked wholly
        self._slashes = ""  # as much of `://` as was just read
        self._in_user = False  # the word comes right after it

    def read(self, character: str) -> str:
        """What stands for the next character.

        Args:
            character: The character.
        """
        if self._in_key:
            self._in_key = character != "-"
            return masked(character)
        if self._assigned:
            if character in _IN_VALUES:
                return masked(character)
            self._assigned = False
        if character not in (_IN_SECRETS if self._secret else _IN_WORDS):
            self.separate(character)
            return character
        self._length += 1
        if self._length == 1:
            self._in_user, self._slashes = self._slashes == "://", ""
        if self._length > _VISIBLE and self._secret:
            return masked(character)
        if self._length <= _LONGEST_NAME:
            self._word += character
        if self._length <= _VISIBLE:
            self._secret = self._before.lower() == "bearer" or self._word.startswith(_PREFIXES)
            self._in_key = self._word == "KEY-----" and self._before == "PRIVATE"
        return character

    def separate(self, character: str) -> None:
        """A word is over, if there was one, by a character that may tell what the next one is.

        Args:
            character: It.
        """
        known = self._length <= _LONGEST_NAME
        basic = self._before.lower() == "authorization" and self._word.lower() == "basic"
        self._assigned = (
            (character == "=" and self._length > 0 and known and self._hides(self._word))
            or (character == ":" and self._in_user)
            or (character == " " and basic)
        )
        in_url = "://".startswith(self._slashes + character) and len(self._slashes) < 3
        slashes = self._slashes + character if in_url else ""
        self.end_word()
        self._slashes = slashes

    def end_word(self) -> None:
        """A word is over, if there was one."""
        if self._length:
            self._before = self._word
        self._word = ""
        self._length = 0
        self._secret = self._assigned and self._secret
        self._slashes = ""
        self._in_user = False


def masked_text(text: str) -> str:
    """A text of which nothing is to be read, masked.

    Args:
        text: The text, or a piece of one.
    """
    return "".join(map(masked, text))


@final
class JSONMask:
    """Masks values in a JSON text, which may be cut anywhere and malformed from anywhere on.

    What looks like a credential is masked in any text, JSON or not, and in names.

    Names, punctuation, literals and escapes stay. In a number every digit but 0 becomes 1, and the
    exponent stays, so that it is as whole and as finite as it was.

    Args:
        hides: Whether the value of a name is masked.
        everything: Mask every value.
        objects: Names that should have an object, in which something is hidden: whatever else is
            their value, or an item of it, is hidden. `None` among them stands for the whole.
    """

    __slots__ = (
        "_escape",
        "_everything",
        "_hidden_from",
        "_hides",
        "_in_string",
        "_is_name",
        "_name",
        "_name_is_next",
        "_named_hidden",
        "_objects",
        "_open",
        "_scalars",
        "_token",
        "_words",
    )

    def __init__(
        self,
        hides: Callable[[str], bool],
        everything: bool,
        objects: Callable[[str | None], bool] = lambda _: False,
    ) -> None:
        self._hides = hides
        self._everything = everything
        self._objects = objects
        self._words = CredentialWords(hides)
        self._scalars = [objects(None)]  # whether no object may stand at the place, for each around
        self._open: list[bool] = []  # the containers around, by whether they are objects
        self._hidden_from: int | None = None  # how many are around one that is hidden wholly
        self._named_hidden = False  # the value of this name is
        self._name_is_next = False
        self._in_string = False
        self._is_name = False
        self._name: list[str] = []
        self._escape = ""  # what was read of one
        self._token = ""  # the first characters of a number, or of a word

    def read(self, piece: str) -> str:
        """The next piece of the text, masked.

        Args:
            piece: The piece.
        """
        return "".join(map(self._read, piece))

    def _read(self, character: str) -> str:
        if not self._in_string:
            return self._outside(character)
        if self._is_name and (self._escape or character != '"'):
            self._name.append(character)
        return self._escaped(character) if self._escape else self._inside(character)

    @property
    def _hidden(self) -> bool:
        return (
            self._everything
            or self._named_hidden
            or self._hidden_from is not None
            or self._scalars[-1]
        )

    # In a string

    def _inside(self, character: str) -> str:
        if character == "\\":
            self._escape = character
            self._words.end_word()
            return character
        if character == '"':
            self._in_string = False
            self._words.end_word()
            if self._is_name:
                name = _text_of("".join(self._name))
                self._named_hidden = self._hides(name)
                self._scalars[-1] = self._objects(name)
            return character
        if self._hidden and not self._is_name:
            return masked(character)
        return self._words.read(character)

    def _escaped(self, character: str) -> str:
        """The rest of an escape: one letter, or `u` and four digits."""
        if self._escape == "\\":
            self._escape = "\\u" if character == "u" else ""
            return character
        if character not in _HEX:
            self._escape = ""
            return self._inside(character)
        before = self._escape[2:]
        self._escape = "" if len(before) == 3 else self._escape + character
        return _digit(before, character) if self._hidden and not self._is_name else character

    # Between strings

    def _outside(self, character: str) -> str:
        if character == '"':
            self._in_string = True
            self._is_name = self._name_is_next
            self._name_is_next = False
            self._name.clear()
        elif character in "{[":
            if self._named_hidden and self._hidden_from is None:
                self._hidden_from = len(self._open)
            self._open.append(character == "{")
            # The items of an array stand for its value; the members of an object do not.
            self._scalars.append(character == "[" and self._scalars[-1])
            self._end_value(character == "{")
        elif character in "]}":
            if self._open:
                self._open.pop()
                self._scalars.pop()
            if self._hidden_from is not None and len(self._open) <= self._hidden_from:
                self._hidden_from = None
            self._end_value(name_is_next=False)
        elif character == ",":
            self._end_value(name_is_next=bool(self._open) and self._open[-1])
        elif character not in ": \t\r\n":
            return self._of_token(character)
        self._token = ""
        self._words.separate(character)
        return character

    def _end_value(self, name_is_next: bool) -> None:
        self._named_hidden = False
        self._name_is_next = name_is_next

    def _of_token(self, character: str) -> str:
        """One character of a number, of a literal, or of what is neither."""
        if not self._hidden:
            return self._words.read(character)
        if len(self._token) <= _LONGEST_LITERAL or character in "eE":
            self._token += character
        if self._token[0] in "-0123456789" and character in "0123456789+-.eE":
            in_exponent = "e" in self._token or "E" in self._token
            return "1" if character in "123456789" and not in_exponent else character
        is_literal = any(literal.startswith(self._token) for literal in _LITERALS)
        return character if is_literal else masked(character)


def _text_of(name: str) -> str:
    try:
        text: str = json.loads(f'"{name}"', strict=False)
    except ValueError:
        return name
    return text


def _digit(before: str, character: str) -> str:
    """A digit of an escape that stands for `x`, or for half of a pair where it stood for one."""
    if not before:
        return character if character in "dD" else "0"
    if before[0] not in "dD":
        return "0078"[len(before)]
    if len(before) > 1:
        return "0"
    return "8" if character in "89abAB" else "c" if character in "cdefCDEF" else "0"
