"""The corners of JSON: each text whole, a character at a time, and with more behind it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from finalcall.preview import Preview
from finalcall.strict import NotStrictJSON, parse_strict

DOCUMENTS = {
    "empty object": "{}",
    "empty array": "[]",
    "space in empties": "{ \n}",
    "space everywhere": ' \t{ "a" \r:\n[ 1 ,\t2 ] , "b" : { } } \n',
    "no space": '{"a":[1,2,{"b":null}],"c":true}',
    "empty name": '{"":0}',
    "name with escapes": r'{"a\"\\\n\u00e9":1}',
    "names alike": '{"a":1,"A":2,"a ":3," a":4}',
    "names alike in siblings": '[{"a":1},{"a":2},{"b":{"a":3},"a":4}]',
    "nested arrays": "[[[[]],[]],[[]]]",
    "nested objects": '{"a":{"b":{"c":{}}}}',
    "zero": "[0]",
    "minus zero": "[-0]",
    "minus zero as a float": "[-0.0]",
    "integer": "[1234567890]",
    "negative integer": "[-17]",
    "integer beyond 64 bits": "[18446744073709551616,-9223372036854775809]",
    "integer of 4000 digits": f"[{'9' * 4000}]",
    "fraction": "[0.5,-1.25,123.456]",
    "long fraction": f"[0.{'123' * 500}]",
    "exponents": "[1e5,1E5,1e+5,1E-5,0e0,0E+00,-2.5e-3]",
    "largest float": "[1.7976931348623157e308]",
    "smallest float": "[5e-324]",
    "underflow to zero": "[1e-400]",
    "literals": "[true,false,null]",
    "root string": '"abc"',
    "root empty string": '""',
    "root integer": "42",
    "root float": " -1.5e3 ",
    "root true": "true",
    "root null": "\nnull\n",
    "short escapes": r'["\"\\\/\b\f\n\r\t"]',
    "escaped controls": r'["\u0000\u001f\u007f"]',
    "escaped letters in both cases": r'["\u00e9\u00E9\uaBcD"]',
    "escaped pair": r'["\ud83d\ude00\uD83D\uDE00"]',
    "escaped pair at its limits": r'["\ud800\udc00\udbff\udfff"]',
    "escaped pair twice": r'["\ud83d\ude00\ud83d\ude00"]',
    "escaped neighbours of surrogates": r'["\ud7ff\ue000"]',
    "escaped backslash before a quote": r'["\\","\\\\"]',
    "escaped backslash before a letter": r'["\\n\\u0041\\"]',
    "escaped quotes": r'["\"\"","\\\""]',
    "escaped solidus": r'["<\/script>"]',
    "unescaped solidus": '["</script>"]',
    "delete is no control": '["\x7f"]',
    "text of every width": '["a\xe9\u20ac\U0001f600"]',
    "byte order mark inside": '["\ufeff"]',
    "line separators": '["\u2028\u2029\x85\xa0"]',
    "noncharacters": '["\uffff\ufffe\U0010ffff"]',
    "pair in two characters": '["\ud83d\ude00"]',
    "punctuation in strings": '["{}[]:,","\\"}","true","1"]',
    "names of literals": '{"true":1,"null":2,"[":3}',
}

MALFORMED = {
    "two documents": "{} {}",
    "two numbers": "1 2",
    "trailing brace": '{"a":1}}',
    "trailing bracket": "[1]]",
    "trailing comma in array": "[1,]",
    "trailing comma in object": '{"a":1,}',
    "trailing comma after all": "[],",
    "leading comma": "[,1]",
    "double comma": "[1,,2]",
    "double comma in object": '{"a":1,,"b":2}',
    "no comma in array": "[1 2]",
    "no comma between strings": '["a" "b"]',
    "no comma in object": '{"a":1 "b":2}',
    "no colon": '{"a" 1}',
    "double colon": '{"a"::1}',
    "comma for colon": '{"a",1}',
    "colon for comma": '["a":1]',
    "no value": '{"a":}',
    "no name": "{:1}",
    "bare name": "{a:1}",
    "number as name": "{1:1}",
    "literal as name": "{null:1}",
    "single quotes": "{'a':1}",
    "wrong bracket for array": "[1}",
    "wrong bracket for object": '{"a":1]',
    "closing first": "]",
    "repeated name": '{"a":1,"a":2}',
    "repeated name after an escape": r'{"a":1,"\u0061":2}',
    "repeated empty name": '{"":1,"":2}',
    "repeated name deep inside": '[{"x":{"a":{},"b":0,"a":{}}}]',
    "leading zero": "[01]",
    "leading zeros": "[-00]",
    "leading plus": "[+1]",
    "minus alone": "[-]",
    "minus twice": "[--1]",
    "minus and a name": "[-a]",
    "point first": "[.5]",
    "point last": "[1.]",
    "point twice": "[1.2.3]",
    "point before an exponent": "[1.e5]",
    "exponent last": "[1e]",
    "exponent sign last": "[1e+]",
    "exponent twice": "[1e2e3]",
    "exponent with a point": "[1e2.5]",
    "hexadecimal": "[0x1f]",
    "underscores": "[1_000]",
    "digits of another script": "[\u0661]",
    "full-width digit": "[\uff11]",
    "infinity": "[Infinity]",
    "minus infinity": "[-Infinity]",
    "not a number": "[NaN]",
    "overflow": "[1e309]",
    "negative overflow": "[-1e999]",
    "overflow in a document": '{"a":1e999}',
    "integer of 5000 digits": f"[{'9' * 5000}]",
    "capital literal": "[True]",
    "literal with more": "[truex]",
    "literal with a letter wrong": "[nulk]",
    "literals without a comma": "[truefalse]",
    "bare word": "[undefined]",
    "number before a string": '[1"a"]',
    "string before a number": '["a"1]',
    "literal before a string": '[true"a"]',
    "number before a name": '{"a":1"b":2}',
    "number before a name, with space": '{"a": 12 "b": 2}',
    "number and a letter before a name": '{"a": 12x, "b": 2}',
    "literal before a name": '{"a": true"b": 2}',
    "unknown escape": r'["\q"]',
    "escape of a quote of the other kind": r'["\'"]',
    "escape in capitals": r'["\N"]',
    "hexadecimal escape": r'["\x41"]',
    "escape with too few digits": r'["\u12"]',
    "escape with a wrong digit": r'["\u12G4"]',
    "escape with a sign": r'["\u+123"]',
    "escaped low surrogate alone": r'["\udc00"]',
    "escaped high surrogate alone": r'["\ud800"]',
    "escaped high surrogate before a letter": r'["\ud800a"]',
    "escaped high surrogate before an escape": r'["\ud800\n"]',
    "escaped high surrogate twice": r'["\ud800\ud800"]',
    "escaped high surrogate before another character": r'["\ud800\u0041"]',
    "escaped surrogates in the wrong order": r'["\udc00\ud800"]',
    "escaped surrogate in a name": r'{"\ud800":1}',
    "high surrogate alone": '["\ud800"]',
    "low surrogate alone": '["\udc00"]',
    "surrogates in the wrong order": '["\ude00\ud83d"]',
    "half of a pair escaped": '["\\ud83d\ude00"]',
    "other half of a pair escaped": '["\ud83d\\ude00"]',
    "surrogate after an escape": '["\\n\ud83d0"]',
    "surrogate between strings": '["a",\ud83d',
    "newline in a string": '["\n"]',
    "tab in a string": '["a\tb"]',
    "null character in a string": '["\0"]',
    "null character after an escape": '["\\"\0"]',
    "control at the end of a string": '["a\x1f"]',
    "newline in a name": '{"a\n":1}',
    "backslash between strings": '["a",\\"b"]',
    "backslash before all": "\\",
    "null character between strings": "[\0]",
    "other whitespace": "[\x0b1]",
    "no-break space": "[\xa01]",
    "byte order mark": "\ufeff{}",
    "comment": "[1/* one */]",
    "line comment": "// one\n[]",
    "server-sent line": "data: {}",
    "fence": "```json\n{}\n```",
}

UNFINISHED = {
    "nothing": "",
    "only space": " \n",
    "object": "{",
    "array": "[[",
    "name": '{"na',
    "colon": '{"a"',
    "value": '{"a":',
    "comma": '{"a":1,',
    "string": '["abc',
    "string that ends in an escape": '["abc\\',
    "string that ends in a cut escape": '["abc\\u00',
    "string that ends in half a pair": '["abc\\ud83d',
    "string that ends in a cut pair": '["abc\\ud83d\\ude',
    "string that ends in half a character": '["abc\ud83d',
    "number": "[12",
    "minus": "[-",
    "point": "[1.",
    "exponent": "[1e",
    "literal": "[tru",
    "bracket": "[1",
}


def feed(fragments: Any) -> Preview:
    """A preview that has read these fragments and was told that the text is over."""
    preview = Preview()
    for fragment in fragments:
        preview.feed(fragment)
    preview.end()
    return preview


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_documents_are_read(text: str) -> None:
    """A document is complete and means what the standard library and the strict parser say."""
    expected = repr(json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")))
    assert expected == repr(parse_strict(text))
    for preview in (feed([text]), feed(text), feed([text[:1], text[1:]])):
        assert preview.complete
        assert not preview.malformed
        assert repr(preview.value.plain()) == expected


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS.keys())
@pytest.mark.parametrize("junk", ["}", "]", ",", ":", '"', "x", "{}", "\\", "\0", "\ud83d"])
def test_more_after_a_document_is_malformed(text: str, junk: str) -> None:
    """Anything but whitespace after a document is malformed, and its value stays."""
    expected = repr(feed([text]).value.plain())
    for preview in (feed([text, " ", junk]), feed([text + " " + junk]), feed(text + " " + junk)):
        assert preview.malformed
        assert not preview.complete
        assert repr(preview.value.plain()) == expected


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_texts_freeze(text: str) -> None:
    """Malformed text is malformed and shows the same however cut, and the strict parser agrees."""
    with pytest.raises((NotStrictJSON, UnicodeError)):
        parse_strict(text)
    shown = set()
    for preview in (feed([text]), feed(text), feed([text[:2], text[2:]])):
        assert preview.malformed
        assert not preview.complete
        shown.add(repr((preview.value.begun, preview.value.plain())))
    assert len(shown) == 1


@pytest.mark.parametrize("text", UNFINISHED.values(), ids=UNFINISHED.keys())
def test_unfinished_texts_are_neither(text: str) -> None:
    """A text that could go on is neither malformed nor complete, and shows the same however cut."""
    shown = set()
    for preview in (feed([text]), feed(text), feed([text[:2], text[2:]])):
        assert not preview.malformed
        assert not preview.complete
        shown.add(repr((preview.value.begun, preview.value.plain())))
    assert len(shown) == 1


@pytest.mark.parametrize("literal", ["-", "tru", "1e", "01", "nul"])
@pytest.mark.parametrize("size", [1, 8, 1000])
def test_a_broken_scalar_between_members_freezes(literal: str, size: int) -> None:
    """However the text is cut, what came before it stays and nothing after it is shown."""
    text = f'{{"x": "y", "a":{literal},"b":1}}'
    preview = Preview()
    for begin in range(0, len(text), size):
        preview.feed(text[begin : begin + size])
    assert preview.malformed
    assert preview.value.copy() == {"x": "y"}
